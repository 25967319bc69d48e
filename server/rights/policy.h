// Who may do what, as a file says. The names of a client's certificate, or its token, make it a
// principal; a principal has verbs, each for names:
//
//   principals:
//     trainer:                         # the name that logs, metrics and errors have
//       certificates:                  # SPIFFE URI, other alternative name, or common name
//         - spiffe://example.org/halograph/trainer
//         - trainer.example.org
//       tokens:                        # of bearer tokens: printf %s TOKEN | sha256sum
//         - sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//       may:
//         sample: ["*"]                # relations
//         pull: ["paper/*", "task:*"]  # tensors and task sets
//         push: ["paper/embedding"]    # tensors; so the three below
//         create: ["paper/embedding"]
//         snapshot: ["*"]
//         admin: []
//
// What is not granted is refused. Every principal may describe the server, ask for its health, and
// list statistics and tensors, of which it is told what it has any verb for.
//
// A name is that of
//   a relation   "author:writes:paper"
//   a tensor     its type or relation and its own name, as metrics have it: "paper/feat",
//                "author:writes:paper/year", and "/counts" where it is of no graph object
//   a task set   "task:" and the task's name: all its sets
// A pattern is such a name, and stands for it alone; or ends in `*`, which stands for any end, `/`
// and `:` too. There is no other wildcard. "*" alone is everything: what concerns all tensors at
// once (to make, delete and restore snapshots, to import) takes that. Case counts.
//
// Immutable; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "proto/methods/methods.h"
#include "server/rights/token_hash.h"

namespace halograph {
struct YamlValue;
}

namespace halograph::server {

// "push", as policies and errors have it; "any" for kAny.
[[nodiscard]] std::string_view WordOf(Right right);

class NamePattern {
 public:
  // InvalidArgument, without a place: it is empty, or has a `*` that is not its end.
  [[nodiscard]] static StatusOr<NamePattern> Parse(std::string_view text);

  [[nodiscard]] bool Matches(std::string_view name) const {
    return prefix_ ? name.starts_with(text_) : name == text_;
  }
  [[nodiscard]] bool everything() const { return prefix_ && text_.empty(); }

 private:
  std::string text_;  // before the `*`
  bool prefix_ = false;
};

struct Principal {
  std::string name;
  // Of each right that is a verb.
  std::array<std::vector<NamePattern>, static_cast<size_t>(Right::kEnd)> grants;

  [[nodiscard]] std::span<const NamePattern> Of(Right right) const {
    return grants[static_cast<size_t>(right)];
  }
  [[nodiscard]] bool May(Right right, std::string_view what) const;
  [[nodiscard]] bool MayAnything(Right right) const { return !Of(right).empty(); }
  [[nodiscard]] bool MayEverything(Right right) const;
};

class Policy {
 public:
  // Bounds of a file; beyond them it does not parse.
  static constexpr int64_t kMostBytes = 1 << 20;
  static constexpr size_t kMostPrincipals = 1024;
  static constexpr size_t kMostTokens = 1024;       // of all principals: each call looks at all
  static constexpr size_t kMostPatterns = 256;      // of a verb of a principal
  static constexpr size_t kMostNameBytes = 64;      // of a principal: visible ASCII, no blanks
  static constexpr size_t kMostPatternBytes = 512;  // also of a certificate's name

  // InvalidArgument naming the file, the line where there is one, what is wrong and what to do: not
  // YAML, no principals, a key or verb that there is none of, a principal, certificate or hash
  // named twice, a hash that is none, a principal without any, a bound exceeded.
  [[nodiscard]] static StatusOr<Policy> Parse(const std::string& text,
                                              const std::filesystem::path& path);

  // By the first of the names that the policy has; null: it has none of them.
  [[nodiscard]] const Principal* FindCertificate(std::span<const std::string> names) const;
  // In a time that does not depend on the token, nor on where among all it is. Null: nobody's.
  [[nodiscard]] const Principal* FindToken(std::string_view token) const;

  [[nodiscard]] const std::vector<Principal>& principals() const { return principals_; }
  // Null if there is none of that name.
  [[nodiscard]] const Principal* Find(std::string_view name) const;

 private:
  Status AddPrincipal(std::string_view name, const YamlValue& about);
  Status AddCertificates(size_t principal, const YamlValue& list);
  Status AddTokens(size_t principal, const YamlValue& list);

  std::vector<Principal> principals_;
  // To their index in principals_.
  std::map<std::string, size_t, std::less<>> certificates_;
  std::vector<std::pair<TokenHash, size_t>> tokens_;
};

}  // namespace halograph::server
