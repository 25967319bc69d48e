#include "common/base/checksum.h"

#include <algorithm>

#include <fmt/core.h>

// The state of a checksum is of a size that is known.
#define XXH_STATIC_LINKING_ONLY
// The widest vectors that the processor has, chosen when first called: the same numbers, five times
// as fast as those that every x86-64 has.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace halograph {

uint64_t Checksum64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

uint64_t Checksum64(std::span<const std::byte> bytes, size_t piece_bytes,
                    const std::function<void(size_t, size_t)>& done) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
    const size_t length = std::min(piece_bytes, bytes.size() - at);
    XXH3_64bits_update(&state, bytes.data() + at, length);
    done(at, length);
  }
  return XXH3_64bits_digest(&state);
}

std::string Hex64(uint64_t checksum) { return fmt::format("{:016x}", checksum); }

std::string Checksum128Hex(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return Hex64(hash.high64) + Hex64(hash.low64);
}

}  // namespace halograph
