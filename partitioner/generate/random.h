// Draws that generators need beyond common/base/rng.h. Pure functions of 64 random bits.
#pragma once

#include <cstdint>

namespace halograph {

// About normal with mean 0 and variance 1: the sum of four 16-bit uniforms (within +-3.5). Exact
// arithmetic but for one subtraction and one division, so no mathematics library changes it.
constexpr double GaussianLike(uint64_t draw) {
  const uint64_t sum =
      (draw & 0xffff) + ((draw >> 16) & 0xffff) + ((draw >> 32) & 0xffff) + ((draw >> 48) & 0xffff);
  constexpr double kMean = 2 * 65535.0;
  constexpr double kDeviation = 37837.227054;  // sqrt(4 * (65536^2 - 1) / 12)
  return (static_cast<double>(sum) - kMean) / kDeviation;
}

}  // namespace halograph
