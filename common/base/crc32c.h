// CRC-32C (Castagnoli; RFC 3720, appendix B.4), as formats of others ask for it. What Halograph
// writes for itself has the checksums of checksum.h. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace halograph {

// Of bytes; 0 of none.
[[nodiscard]] uint32_t Crc32c(std::string_view bytes);

}  // namespace halograph
