// The integers of the sampling contract (common/sampling/SAMPLING.md): counter-based, so that
// what is drawn depends on keys only, never on threads, servers or order. All arithmetic is
// unsigned modulo 2^64. Pure functions.
#pragma once

#include <cstdint>

namespace halograph {

inline constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

// The SplitMix64 finaliser.
constexpr uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The n-th key (counted from 0) below `parent`: node keys, draws and batch seeds are made of it.
constexpr uint64_t SubKey(uint64_t parent, uint64_t n) { return Mix(parent + kGolden * (n + 1)); }

// An integer in [0, n) out of a full 64-bit draw: the high half of the 128-bit product.
constexpr uint64_t Bounded(uint64_t draw, uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(draw) * n) >> 64);
}

// A counter-based stream: draw i is SubKey(key, i).
class CounterRng {
 public:
  explicit constexpr CounterRng(uint64_t key) : key_(key) {}
  constexpr uint64_t Next() { return SubKey(key_, counter_++); }
  constexpr uint64_t NextBounded(uint64_t n) { return Bounded(Next(), n); }
  // Uniform in [0, 1) with 53 bits.
  constexpr double NextDouble() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace halograph
