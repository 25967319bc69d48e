#include "server/rights/rights.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/printable.h"

namespace halograph::server {
namespace {

constexpr std::string_view kBearer = "bearer ";
// The names of a certificate that an error shows.
constexpr size_t kNamesShown = 4;
constexpr size_t kNumVerbs = static_cast<size_t>(Right::kEnd) - static_cast<size_t>(Right::kSample);

bool SameLetter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
}

template <typename... Args>
Status Unauthenticated(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kUnauthenticated,
                    fmt::format(format, std::forward<Args>(args)...));
}

std::string ShownNames(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kNamesShown) break;
    shown.push_back(Printable(name, kNameShown));
  }
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kNamesShown ? ", ..." : "");
}

}  // namespace

std::string_view TokenOf(std::string_view authorization) {
  if (authorization.size() < kBearer.size() ||
      !std::equal(kBearer.begin(), kBearer.end(), authorization.begin(),
                  [](char word, char letter) { return SameLetter(letter, word); })) {
    return {};
  }
  return authorization.substr(kBearer.size());
}

Rights::Rights(std::unique_ptr<PolicyFile> policy, MetricRegistry* metrics)
    : policy_(std::move(policy)),
      calls_(metrics->AddFoundCounters(
          {"halograph_server_principal_calls_total", MetricUnit::kNone, "Calls, by who called."},
          {"principal"}, {}, Policy::kMostPrincipals)),
      denied_(metrics->AddFoundCounters(
          {"halograph_server_permission_denied_total", MetricUnit::kNone,
           "Calls that got PERMISSION_DENIED, by who called and the verb of the method."},
          {"principal", "verb"}, {}, kNumVerbs * Policy::kMostPrincipals)),
      unauthenticated_(
          metrics->AddCounter({"halograph_server_unauthenticated_total", MetricUnit::kNone,
                               "Calls that got UNAUTHENTICATED: no principal of the policy."})) {
  // At 0 from the start.
  for (const Principal& principal : policy_->policy()->principals()) {
    static_cast<void>(calls_->Of(principal.name));
    for (auto verb = static_cast<size_t>(Right::kSample); verb < static_cast<size_t>(Right::kEnd);
         ++verb) {
      static_cast<void>(denied_->Of(principal.name, WordOf(static_cast<Right>(verb))));
    }
  }
  readers_.push_back(metrics->ReadCounter(
      {"halograph_server_policy_refused_total", MetricUnit::kNone,
       "Contents of --policy that could not be read or were no policy: the one before held on."},
      {}, [this] { return static_cast<double>(policy_->refused()); }));
  readers_.push_back(metrics->ReadGauge({"halograph_server_policy_stale", MetricUnit::kNone,
                                         "1 while the policy that holds is not what the file has."},
                                        {}, [this] { return policy_->stale() ? 1.0 : 0.0; }));
}

StatusOr<Access> Rights::Of(const CallerFacts& facts) {
  std::shared_ptr<const Policy> policy = policy_->policy();
  const StatusOr<const Principal*> principal = Find(*policy, facts);
  if (!principal.ok()) {
    unauthenticated_->Add();
    return principal.status();
  }
  calls_->Of((*principal)->name)->Add();
  return Access(std::move(policy), **principal);
}

void Rights::CountDenied(std::string_view principal, Right right) {
  denied_->Of(principal, WordOf(right))->Add();
}

StatusOr<const Principal*> Rights::Find(const Policy& policy, const CallerFacts& facts) const {
  if (facts.authorizations.size() > 1) {
    return Unauthenticated("{} times metadata authorization: send one",
                           facts.authorizations.size());
  }
  if (!facts.authorizations.empty()) {
    if (!facts.is_private) {
      return Unauthenticated(
          "a token came unencrypted from another machine, where others may have read it: make a "
          "new "
          "one, and call by TLS");
    }
    const std::string_view token = TokenOf(facts.authorizations.front());
    if (token.empty()) {
      return Unauthenticated("metadata authorization is no \"Bearer TOKEN\": send that");
    }
    if (const Principal* const found = policy.FindToken(token)) return found;
    return Unauthenticated(
        "the token is nobody's: its sha256 is not in the file of --policy; check --token-file, or "
        "let who runs the servers add it");
  }
  if (facts.certificate_names.empty()) {
    return Unauthenticated(
        "nobody says who calls: give --token-file, or --tls-cert and --tls-key with a certificate "
        "that the file of --policy names");
  }
  if (const Principal* const found = policy.FindCertificate(facts.certificate_names)) return found;
  return Unauthenticated(
      "the certificate ({}) is nobody's: let who runs the servers add one of its names to the file "
      "of --policy",
      ShownNames(facts.certificate_names));
}

}  // namespace halograph::server
