// rng.h in the lanes of a vector, compiled for each instruction set: the same integers, bit for
// bit. `D` is a tag of uint64_t lanes. For sources of Highway's only.

// Highway's guard: once a target.
#if defined(HALOGRAPH_COMMON_BASE_RNG_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOGRAPH_COMMON_BASE_RNG_LANES_INL_H_
#undef HALOGRAPH_COMMON_BASE_RNG_LANES_INL_H_
#else
#define HALOGRAPH_COMMON_BASE_RNG_LANES_INL_H_
#endif

#include <cstdint>

#include "common/base/rng.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {

// Mix of each lane.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V MixLanes(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<30>(x)), hn::Set(d, 0xbf58476d1ce4e5b9ULL));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<27>(x)), hn::Set(d, 0x94d049bb133111ebULL));
  return hn::Xor(x, hn::ShiftRight<31>(x));
}

// SubKey(parent, first + lane).
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V SubKeyLanes(D d, uint64_t parent, uint64_t first) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V steps = hn::Mul(hn::Iota(d, first + 1), hn::Set(d, kGolden));
  return MixLanes(d, hn::Add(hn::Set(d, parent), steps));
}

}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#endif  // HALOGRAPH_COMMON_BASE_RNG_LANES_INL_H_
