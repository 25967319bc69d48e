// XXH3, as files and identities use it: 64 bits for chunks of files, 128 for identities.
// Written as lowercase hex (16 and 32 digits). Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace halograph {

[[nodiscard]] uint64_t Checksum64(std::span<const std::byte> bytes);
// The same number, read in pieces of `piece_bytes`, one at least: `done` is told the place and the
// length of each behind it.
[[nodiscard]] uint64_t Checksum64(std::span<const std::byte> bytes, size_t piece_bytes,
                                  const std::function<void(size_t, size_t)>& done);
[[nodiscard]] std::string Hex64(uint64_t checksum);
[[nodiscard]] std::string Checksum128Hex(std::string_view text);

}  // namespace halograph
