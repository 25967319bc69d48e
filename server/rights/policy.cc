#include "server/rights/policy.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/printable.h"
#include "common/yaml/yaml_value.h"

namespace halograph::server {
namespace {

using Kind = YamlValue::Kind;

constexpr std::array<std::string_view, static_cast<size_t>(Right::kEnd)> kWords = {
    "none", "any", "sample", "pull", "push", "create", "snapshot", "admin"};
constexpr std::string_view kPrincipals = "principals";
constexpr std::string_view kCertificates = "certificates";
constexpr std::string_view kTokens = "tokens";
constexpr std::string_view kMay = "may";
constexpr std::string_view kVerbs = "sample, pull, push, create, snapshot, admin";

std::string Shown(std::string_view text) { return Printable(text, kNameShown); }

Status CheckKeys(const YamlValue& map, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : map.fields) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return value.Error(
        fmt::format("there is no key `{}` here: expected {}", Shown(name), fmt::join(known, ", ")));
  }
  return OkStatus();
}

// The items of a list of texts; one that is there has at least one. InvalidArgument if it is
// something else, or has more than `most`.
StatusOr<std::span<const YamlValue>> TextsOf(const YamlValue& list, size_t most,
                                             std::string_view example) {
  if (list.kind != Kind::kSequence) {
    return list.Error(fmt::format("expected a list: [{}]", example));
  }
  if (list.items.size() > most) {
    return list.Error(fmt::format("{} entries, of {} at most", list.items.size(), most));
  }
  for (const YamlValue& item : list.items) {
    if (item.kind != Kind::kScalar || item.text.empty()) {
      return item.Error(fmt::format("expected a text such as {}", example));
    }
    if (item.text.size() > Policy::kMostPatternBytes) {
      return item.Error(fmt::format("a text of {} bytes, of {} at most", item.text.size(),
                                    Policy::kMostPatternBytes));
    }
  }
  return std::span<const YamlValue>(list.items);
}

StatusOr<Right> VerbOf(const YamlValue::Field& field) {
  for (auto right = static_cast<size_t>(Right::kSample); right < kWords.size(); ++right) {
    if (kWords[right] == field.name) return static_cast<Right>(right);
  }
  return field.value.Error(
      fmt::format("there is no verb `{}`: expected one of {}", Shown(field.name), kVerbs));
}

Status ReadGrants(const YamlValue& may, Principal* principal) {
  if (may.kind != Kind::kMap) {
    return may.Error(fmt::format("expected verbs ({}), each with a list of names", kVerbs));
  }
  for (const YamlValue::Field& field : may.fields) {
    HG_ASSIGN_OR_RETURN(const Right right, VerbOf(field));
    HG_ASSIGN_OR_RETURN(const auto texts,
                        TextsOf(field.value, Policy::kMostPatterns, "\"paper/*\""));
    for (const YamlValue& text : texts) {
      StatusOr<NamePattern> pattern = NamePattern::Parse(text.text);
      if (!pattern.ok()) return text.Annotated(pattern.status());
      principal->grants[static_cast<size_t>(right)].push_back(*std::move(pattern));
    }
  }
  return OkStatus();
}

bool IsPrincipalName(std::string_view name) {
  return !name.empty() && name.size() <= Policy::kMostNameBytes &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char letter) { return letter > ' ' && letter < 0x7f; });
}

}  // namespace

std::string_view WordOf(Right right) { return kWords[static_cast<size_t>(right)]; }

StatusOr<NamePattern> NamePattern::Parse(std::string_view text) {
  NamePattern pattern;
  pattern.prefix_ = text.ends_with('*');
  pattern.text_ = text.substr(0, text.size() - (pattern.prefix_ ? 1 : 0));
  if (text.empty() || pattern.text_.find('*') != std::string::npos) {
    return InvalidArgument("'{}' is no pattern: give a name, or its beginning and one * behind it",
                           Shown(text));
  }
  return pattern;
}

bool Principal::May(Right right, std::string_view what) const {
  const auto patterns = Of(right);
  return std::any_of(patterns.begin(), patterns.end(),
                     [what](const NamePattern& pattern) { return pattern.Matches(what); });
}

bool Principal::MayEverything(Right right) const {
  const auto patterns = Of(right);
  return std::any_of(patterns.begin(), patterns.end(),
                     [](const NamePattern& pattern) { return pattern.everything(); });
}

StatusOr<Policy> Policy::Parse(const std::string& text, const std::filesystem::path& path) {
  if (static_cast<int64_t>(text.size()) > kMostBytes) {
    return InvalidArgument("{}: the policy has {} bytes, of {} at most", path.string(), text.size(),
                           kMostBytes);
  }
  HG_ASSIGN_OR_RETURN(const YamlValue root, YamlValue::Parse(text, path));
  if (root.kind == Kind::kNull) {
    return InvalidArgument(
        "{}: the policy is empty: name at least one principal below `{}`, or start the server "
        "without --policy",
        path.string(), kPrincipals);
  }
  HG_ASSIGN_OR_RETURN(const YamlValue* const principals, root.Require(kPrincipals));
  HG_RETURN_IF_ERROR(CheckKeys(root, {kPrincipals}));
  if (principals->kind != Kind::kMap || principals->fields.empty()) {
    return principals->Error(
        "expected principals by name, at least one: each with certificates or tokens, and what it "
        "may");
  }
  if (principals->fields.size() > kMostPrincipals) {
    return principals->Error(
        fmt::format("{} principals, of {} at most", principals->fields.size(), kMostPrincipals));
  }
  Policy policy;
  for (const auto& [name, about] : principals->fields) {
    HG_RETURN_IF_ERROR(policy.AddPrincipal(name, about));
  }
  return policy;
}

Status Policy::AddPrincipal(std::string_view name, const YamlValue& about) {
  if (!IsPrincipalName(name)) {
    return about.Error(fmt::format(
        "'{}' is no name of a principal: expected 1 to {} visible ASCII characters without blanks",
        Shown(name), kMostNameBytes));
  }
  const size_t index = principals_.size();
  principals_.push_back({.name = std::string(name), .grants = {}});
  HG_RETURN_IF_ERROR(CheckKeys(about, {kCertificates, kTokens, kMay}));
  const YamlValue* const certificates = about.Find(kCertificates);
  const YamlValue* const tokens = about.Find(kTokens);
  const YamlValue* const may = about.Find(kMay);
  const size_t before = certificates_.size() + tokens_.size();
  if (certificates != nullptr) HG_RETURN_IF_ERROR(AddCertificates(index, *certificates));
  if (tokens != nullptr) HG_RETURN_IF_ERROR(AddTokens(index, *tokens));
  if (may != nullptr) HG_RETURN_IF_ERROR(ReadGrants(*may, &principals_.back()));
  if (certificates_.size() + tokens_.size() > before) return OkStatus();
  return about.Error(
      fmt::format("nobody can be this principal: give it a name below `{}`, or a hash below `{}`",
                  kCertificates, kTokens));
}

Status Policy::AddCertificates(size_t principal, const YamlValue& list) {
  HG_ASSIGN_OR_RETURN(const auto texts,
                      TextsOf(list, kMostPatterns, "spiffe://example.org/halograph/trainer"));
  for (const YamlValue& text : texts) {
    if (text.text.find('*') != std::string::npos) {
      return text.Error(
          fmt::format("'{}' has a *: names of certificates are whole, list each that there is",
                      Shown(text.text)));
    }
    const auto [known, added] = certificates_.emplace(text.text, principal);
    if (added) continue;
    return text.Error(fmt::format(
        "'{}' is a certificate of {} already: leave it with one of them, so that it is clear who "
        "calls",
        Shown(text.text), principals_[known->second].name));
  }
  return OkStatus();
}

Status Policy::AddTokens(size_t principal, const YamlValue& list) {
  HG_ASSIGN_OR_RETURN(const auto texts, TextsOf(list, kMostTokens, "sha256:..."));
  for (const YamlValue& text : texts) {
    const std::optional<TokenHash> hash = ParseTokenHash(text.text);
    if (!hash.has_value()) {
      // Not shown: it might be the token itself.
      return text.Error(
          "this is no hash of a token: expected sha256: and 64 hexadecimal digits, which `printf "
          "%s TOKEN | sha256sum` prints");
    }
    const auto known = std::find_if(tokens_.begin(), tokens_.end(), [&](const auto& token) {
      return SameHash(token.first, *hash);
    });
    if (known != tokens_.end()) {
      return text.Error(fmt::format(
          "this is the hash of a token of {} already: leave it with one of them, so that it is "
          "clear who calls",
          principals_[known->second].name));
    }
    if (tokens_.size() == kMostTokens) {
      return text.Error(fmt::format("more than {} tokens in all", kMostTokens));
    }
    tokens_.emplace_back(*hash, principal);
  }
  return OkStatus();
}

const Principal* Policy::FindCertificate(std::span<const std::string> names) const {
  for (const std::string& name : names) {
    const auto found = certificates_.find(name);
    if (found != certificates_.end()) return &principals_[found->second];
  }
  return nullptr;
}

const Principal* Policy::FindToken(std::string_view token) const {
  const std::optional<TokenHash> hash = HashOfToken(token);
  if (!hash.has_value()) return nullptr;
  const Principal* found = nullptr;
  for (const auto& [known, principal] : tokens_) {
    if (SameHash(known, *hash)) found = &principals_[principal];
  }
  return found;
}

const Principal* Policy::Find(std::string_view name) const {
  const auto found =
      std::find_if(principals_.begin(), principals_.end(),
                   [name](const Principal& principal) { return principal.name == name; });
  return found == principals_.end() ? nullptr : &*found;
}

}  // namespace halograph::server
