#include "server/rights/token_hash.h"

#include <cstring>

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
  // Looked up by name each time it takes longer than the hash. Kept for ever; null: there is none.
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  if (algorithm == nullptr) return std::nullopt;
  TokenHash hash;
  unsigned size = 0;
  if (EVP_Digest(token.data(), token.size(), hash.bytes.data(), &size, algorithm, nullptr) != 1 ||
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
  uint64_t different = 0;
  for (size_t at = 0; at < a.bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word_of_a = 0;
    uint64_t word_of_b = 0;
    std::memcpy(&word_of_a, a.bytes.data() + at, sizeof(uint64_t));
    std::memcpy(&word_of_b, b.bytes.data() + at, sizeof(uint64_t));
    different |= word_of_a ^ word_of_b;
  }
  return different == 0;
}

}  // namespace halograph::server
