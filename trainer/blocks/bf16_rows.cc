// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/blocks/bf16_rows.h"

#include <bit>
#include <cmath>

#include "common/storage/widen_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/blocks/bf16_rows.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using U32 = hn::RebindToUnsigned<F32>;
using I32 = hn::RebindToSigned<F32>;
using U16 = hn::Rebind<uint16_t, F32>;

// Half a step of the upper half is added, or one less where that is even; a NaN is made quiet.
constexpr uint32_t kBelowHalf = 0x7fff;
constexpr uint32_t kQuiet = 0x400000;

HWY_ATTR void NarrowVector(const float* values, uint16_t* out) {
  const U32 wide;
  const auto number = hn::LoadU(F32(), values);
  const auto bits = hn::BitCast(wide, number);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 1U));
  const auto rounded = hn::Add(bits, hn::Add(hn::Set(wide, kBelowHalf), odd));
  const auto quiet = hn::Or(bits, hn::Set(wide, kQuiet));
  const auto is_nan = hn::RebindMask(wide, hn::IsNaN(number));
  const auto upper = hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded));
  hn::StoreU(hn::DemoteTo(U16(), hn::BitCast(I32(), upper)), U16(), out);
}

uint16_t NarrowOne(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + kBelowHalf + (bits >> 16 & 1);
  return static_cast<uint16_t>((std::isnan(value) ? bits | kQuiet : rounded) >> 16);
}

HWY_ATTR void Narrow(const float* values, int64_t count, uint16_t* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F32()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) NarrowVector(values + i, out + i);
  if (i == count) return;
  // The last vector ends with the values, and makes some of the one before it again.
  if (count >= lanes) return NarrowVector(values + count - lanes, out + count - lanes);
  for (; i < count; ++i) out[i] = NarrowOne(values[i]);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Narrow);

void NarrowToBf16(const float* values, int64_t count, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(Narrow)(values, count, out);
}

void WidenBf16(const uint16_t* values, int64_t count, float* out) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(values);
  WidenRows({DType::kBFloat16, count, bytes}, 1, out, count);
}

}  // namespace halograph
#endif  // HWY_ONCE
