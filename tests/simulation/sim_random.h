// The one source of chance in a simulated run: what it draws follows from the seed alone.
#pragma once

#include <cstdint>

#include "common/base/rng.h"

namespace halograph::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : draws_(Mix(seed + kGolden)) {}
  // An integer in [0, n). Requires n > 0.
  uint64_t Below(uint64_t n) { return draws_.NextBounded(n); }
  // An integer in [low, high].
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low) + 1));
  }
  bool Chance(double probability) { return draws_.NextDouble() < probability; }
  uint64_t Bits() { return draws_.Next(); }

 private:
  CounterRng draws_;
};

}  // namespace halograph::sim
