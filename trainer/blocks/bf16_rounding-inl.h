// Vectors of values that are float32 or bfloat16 in memory, rounded as bf16_rows.h says, for
// sources that Highway includes once for each instruction set.
#if defined(HALOGRAPH_TRAINER_BLOCKS_BF16_ROUNDING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOGRAPH_TRAINER_BLOCKS_BF16_ROUNDING_INL_H_
#undef HALOGRAPH_TRAINER_BLOCKS_BF16_ROUNDING_INL_H_
#else
#define HALOGRAPH_TRAINER_BLOCKS_BF16_ROUNDING_INL_H_
#endif

#include <bit>
#include <cmath>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

// Half a step of the upper half is added, or one less where that is even; a NaN is made quiet.
inline constexpr uint32_t kBelowHalf = 0x7fff;
inline constexpr uint32_t kQuiet = 0x400000;

using RoundedFloats = hwy::HWY_NAMESPACE::CappedTag<float, 16>;
using RoundedBits = hwy::HWY_NAMESPACE::RebindToUnsigned<RoundedFloats>;

// The bits of float32 whose upper halves are the rounded numbers; the lower halves are anything.
HWY_ATTR HWY_INLINE hwy::HWY_NAMESPACE::Vec<RoundedBits> RoundVectorToUpper(
    hwy::HWY_NAMESPACE::Vec<RoundedFloats> number) {
  namespace hn = hwy::HWY_NAMESPACE;
  const RoundedBits d;
  const auto bits = hn::BitCast(d, number);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1U));
  const auto rounded = hn::Add(bits, hn::Add(hn::Set(d, kBelowHalf), odd));
  const auto quiet = hn::Or(bits, hn::Set(d, kQuiet));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(number)), quiet, rounded);
}
HWY_ATTR HWY_INLINE hwy::HWY_NAMESPACE::Vec<RoundedBits> RoundToUpper(const float* values) {
  return RoundVectorToUpper(hwy::HWY_NAMESPACE::LoadU(RoundedFloats(), values));
}

// The same of one number.
inline uint32_t RoundToUpper(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::isnan(value) ? bits | kQuiet : bits + kBelowHalf + (bits >> 16 & 1);
}

// A vector of values, and one.
HWY_ATTR HWY_INLINE hwy::HWY_NAMESPACE::Vec<RoundedFloats> LoadValues(const float* values) {
  return hwy::HWY_NAMESPACE::LoadU(RoundedFloats(), values);
}
HWY_ATTR HWY_INLINE hwy::HWY_NAMESPACE::Vec<RoundedFloats> LoadValues(const uint16_t* values) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto bits = hn::LoadU(hn::Rebind<uint16_t, RoundedFloats>(), values);
  return hn::BitCast(RoundedFloats(), hn::ShiftLeft<16>(hn::PromoteTo(RoundedBits(), bits)));
}
HWY_ATTR HWY_INLINE void StoreValues(hwy::HWY_NAMESPACE::Vec<RoundedFloats> vector, float* out) {
  hwy::HWY_NAMESPACE::StoreU(vector, RoundedFloats(), out);
}
HWY_ATTR HWY_INLINE void StoreValues(hwy::HWY_NAMESPACE::Vec<RoundedFloats> vector, uint16_t* out) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<uint16_t, RoundedFloats> narrow;
  const hn::RebindToSigned<RoundedFloats> wide;
  const auto upper = hn::ShiftRight<16>(RoundVectorToUpper(vector));
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(wide, upper)), narrow, out);
}
inline float OneValue(float value) { return value; }
inline float OneValue(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline void StoreOne(float value, float* out) { *out = value; }
inline void StoreOne(float value, uint16_t* out) {
  *out = static_cast<uint16_t>(RoundToUpper(value) >> 16);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#endif
