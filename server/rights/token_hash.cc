#include "server/rights/token_hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace halograph::server {
namespace {

constexpr std::string_view kAlgorithm = "sha256:";

int DigitOf(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<TokenHash> HashOfToken(std::string_view token) {
  TokenHash hash;
  unsigned size = 0;
  if (EVP_Digest(token.data(), token.size(), hash.bytes.data(), &size, EVP_sha256(), nullptr) !=
          1 ||
      size != hash.bytes.size()) {
    return std::nullopt;
  }
  return hash;
}

std::optional<TokenHash> ParseTokenHash(std::string_view text) {
  TokenHash hash;
  if (!text.starts_with(kAlgorithm)) return std::nullopt;
  text.remove_prefix(kAlgorithm.size());
  if (text.size() != 2 * hash.bytes.size()) return std::nullopt;
  for (size_t i = 0; i < hash.bytes.size(); ++i) {
    const int high = DigitOf(text[2 * i]);
    const int low = DigitOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash.bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return hash;
}

bool SameHash(const TokenHash& a, const TokenHash& b) {
  return CRYPTO_memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

}  // namespace halograph::server
