// What a policy has of a bearer token: its SHA-256, from which nobody finds the token. Pure
// functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace halograph::server {

struct TokenHash {
  std::array<uint8_t, 32> bytes{};
};

// Of the token's characters, without an end of line: what `printf %s TOKEN | sha256sum` prints.
// Nothing if the library of hashes fails: no token is known then.
[[nodiscard]] std::optional<TokenHash> HashOfToken(std::string_view token);

// "sha256:" and 64 hexadecimal digits, in either case. Nothing for anything else.
[[nodiscard]] std::optional<TokenHash> ParseTokenHash(std::string_view text);

// In a time that does not depend on what they are.
[[nodiscard]] bool SameHash(const TokenHash& a, const TokenHash& b);

}  // namespace halograph::server
