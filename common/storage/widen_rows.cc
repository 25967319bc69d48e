// Compiled once for each instruction set and chosen when first called (Highway).
#include "common/storage/widen_rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/storage/widen_rows.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "common/storage/float_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = LanesF32;
using I32 = LanesI32;

// What one vector of elements becomes, by the dtype. `Load` reads Lanes(F32()) of them.
template <typename HalfLanes, DType kOf>
struct FromHalf {
  static constexpr size_t kBytes = 2;
  static constexpr DType kDType = kOf;
  HWY_ATTR VecF32 Load(const std::byte* from) const {
    return HalfLanes::Widen(hn::LoadU(LanesU16(), reinterpret_cast<const uint16_t*>(from)));
  }
};
using FromFloat16 = FromHalf<Float16Lanes, DType::kFloat16>;
using FromBFloat16 = FromHalf<BFloat16Lanes, DType::kBFloat16>;

struct FromScaledInt8 {
  static constexpr size_t kBytes = 1;
  static constexpr DType kDType = DType::kInt8;
  float scale;
  HWY_ATTR VecF32 Load(const std::byte* from) const {
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
