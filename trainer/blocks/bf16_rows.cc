// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/blocks/bf16_rows.h"

#include "common/storage/widen_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/blocks/bf16_rows.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "trainer/blocks/bf16_rounding-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_ATTR void NarrowVector(const float* values, uint16_t* out) {
  StoreValues(LoadValues(values), out);
}

HWY_ATTR void Narrow(const float* values, int64_t count, uint16_t* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(RoundedFloats()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) NarrowVector(values + i, out + i);
  if (i == count) return;
  // The last vector ends with the values, and makes some of the one before it again.
  if (count >= lanes) return NarrowVector(values + count - lanes, out + count - lanes);
  for (; i < count; ++i) StoreOne(values[i], out + i);
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
