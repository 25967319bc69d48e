// Compiled once for each instruction set and chosen when first called (Highway).
#include "common/storage/widen_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/storage/widen_rows.cc"
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
using V = hn::Vec<F32>;

// What one vector of elements becomes, by the dtype. `Load` reads Lanes(F32()) of them.
struct FromFloat16 {
  static constexpr size_t kBytes = 2;
  static constexpr DType kDType = DType::kFloat16;
  HWY_ATTR V Load(const std::byte* from) const {
    const U16 narrow;
    const auto bits16 = hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(from));
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86 && !defined(HWY_DISABLE_F16C)
    const hn::Rebind<hwy::float16_t, F32> half;
    return hn::PromoteTo(F32(), hn::BitCast(half, bits16));
#else
    // As in dtype.cc: Highway's own way knows no infinity where there is no instruction for it.
    const U32 wide;
    const auto bits = hn::PromoteTo(wide, bits16);
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(wide, 0x8000U)));
    const auto size = hn::And(bits, hn::Set(wide, 0x7fffU));
    const auto is_small = hn::Lt(hn::BitCast(I32(), size), hn::Set(I32(), 0x400));
    const auto is_special = hn::Gt(hn::BitCast(I32(), size), hn::Set(I32(), 0x7bff));
    const auto small =
        hn::Mul(hn::ConvertTo(F32(), hn::BitCast(I32(), size)), hn::Set(F32(), 0x1.0p-24F));
    // Rebased by 127 - 15; infinity and NaN by as much again.
    const auto base = hn::Set(wide, 112U << 23);
    const auto more = hn::IfThenElseZero(hn::RebindMask(wide, is_special), base);
    const auto normal = hn::Add(hn::Add(hn::ShiftLeft<13>(size), base), more);
    const auto value =
        hn::IfThenElse(hn::RebindMask(F32(), is_small), small, hn::BitCast(F32(), normal));
    return hn::Or(value, hn::BitCast(F32(), sign));
#endif
  }
};

struct FromBFloat16 {
  static constexpr size_t kBytes = 2;
  static constexpr DType kDType = DType::kBFloat16;
  HWY_ATTR V Load(const std::byte* from) const {
    const auto bits = hn::LoadU(U16(), reinterpret_cast<const uint16_t*>(from));
    return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), bits)));
  }
};

struct FromScaledInt8 {
  static constexpr size_t kBytes = 1;
  static constexpr DType kDType = DType::kInt8;
  float scale;
  HWY_ATTR V Load(const std::byte* from) const {
    const hn::Rebind<int8_t, F32> narrow;
    const auto values = hn::LoadU(narrow, reinterpret_cast<const int8_t*>(from));
    const auto wide = hn::ConvertTo(F32(), hn::PromoteTo(I32(), values));
    return hn::Mul(wide, hn::Set(F32(), scale));
  }
};

template <typename From>
HWY_ATTR void WidenRow(const From& from, const std::byte* row, int64_t dim, float* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F32()));
  int64_t column = 0;
  for (; column + lanes <= dim; column += lanes) {
    hn::StoreU(from.Load(row + static_cast<size_t>(column) * From::kBytes), F32(), out + column);
  }
  if (column == dim) return;
  // The last vector ends with the row, and makes some values of the one before it again.
  if (dim >= lanes) {
    column = dim - lanes;
    hn::StoreU(from.Load(row + static_cast<size_t>(column) * From::kBytes), F32(), out + column);
    return;
  }
  ConvertToFloat(From::kDType, row, static_cast<size_t>(dim), out);
  if constexpr (From::kBytes == 1) {
    for (int64_t c = 0; c < dim; ++c) out[c] *= from.scale;
  }
}

HWY_ATTR void Widen(const NarrowRows& rows, int64_t count, float* out, int64_t stride) {
  const size_t row_bytes = RowBytes(rows.dtype, rows.dim);
  const std::byte* row = rows.data;
  for (int64_t i = 0; i < count; ++i, row += row_bytes, out += stride) {
    switch (rows.dtype) {
      case DType::kFloat16:
        WidenRow(FromFloat16(), row, rows.dim, out);
        break;
      case DType::kBFloat16:
        WidenRow(FromBFloat16(), row, rows.dim, out);
        break;
      case DType::kScaledInt8: {
        FromScaledInt8 from{};
        std::memcpy(&from.scale, row + rows.dim, sizeof(from.scale));
        WidenRow(from, row, rows.dim, out);
        break;
      }
      default:
        ConvertToFloat(rows.dtype, row, static_cast<size_t>(rows.dim), out);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Widen);

void WidenRows(const NarrowRows& rows, int64_t count, float* out, int64_t stride) {
  if (stride != rows.dim || HasRowScale(rows.dtype)) {
    HWY_DYNAMIC_DISPATCH(Widen)(rows, count, out, stride);
    return;
  }
  // One long row.
  const NarrowRows whole = {rows.dtype, rows.dim * count, rows.data};
  HWY_DYNAMIC_DISPATCH(Widen)(whole, 1, out, whole.dim);
}

}  // namespace halograph
#endif  // HWY_ONCE
