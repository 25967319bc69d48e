// float16 and bfloat16 from and to float32 in the lanes of vectors, compiled for each instruction
// set: exact where it widens, rounded to nearest even where it narrows (beyond the largest number:
// infinity), the same bits everywhere. For sources of Highway's only.

// Highway's guard: once a target.
#if defined(HALOGRAPH_COMMON_STORAGE_FLOAT_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOGRAPH_COMMON_STORAGE_FLOAT_LANES_INL_H_
#undef HALOGRAPH_COMMON_STORAGE_FLOAT_LANES_INL_H_
#else
#define HALOGRAPH_COMMON_STORAGE_FLOAT_LANES_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {

using LanesF32 = hwy::HWY_NAMESPACE::CappedTag<float, 16>;
using LanesU32 = hwy::HWY_NAMESPACE::RebindToUnsigned<LanesF32>;
using LanesI32 = hwy::HWY_NAMESPACE::RebindToSigned<LanesF32>;
using LanesU16 = hwy::HWY_NAMESPACE::Rebind<uint16_t, LanesF32>;
using VecF32 = hwy::HWY_NAMESPACE::Vec<LanesF32>;
using VecU16 = hwy::HWY_NAMESPACE::Vec<LanesU16>;

struct Float16Lanes {
  static HWY_INLINE HWY_ATTR VecF32 Widen(VecU16 bits16) {
    namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86 && !defined(HWY_DISABLE_F16C)
    const hn::Rebind<hwy::float16_t, LanesF32> half;
    return hn::PromoteTo(LanesF32(), hn::BitCast(half, bits16));
#else
    // As in dtype.cc: Highway's own way knows no infinity where there is no instruction for it.
    const LanesU32 wide;
    const LanesI32 whole;
    const auto bits = hn::PromoteTo(wide, bits16);
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(wide, 0x8000U)));
    const auto size = hn::And(bits, hn::Set(wide, 0x7fffU));
    const auto is_small = hn::Lt(hn::BitCast(whole, size), hn::Set(whole, 0x400));
    const auto is_special = hn::Gt(hn::BitCast(whole, size), hn::Set(whole, 0x7bff));
    const auto small = hn::Mul(hn::ConvertTo(LanesF32(), hn::BitCast(whole, size)),
                               hn::Set(LanesF32(), 0x1.0p-24F));
    // Rebased by 127 - 15; infinity and NaN by as much again.
    const auto base = hn::Set(wide, 112U << 23);
    const auto more = hn::IfThenElseZero(hn::RebindMask(wide, is_special), base);
    const auto normal = hn::Add(hn::Add(hn::ShiftLeft<13>(size), base), more);
    const auto value = hn::IfThenElse(hn::RebindMask(LanesF32(), is_small), small,
                                      hn::BitCast(LanesF32(), normal));
    return hn::Or(value, hn::BitCast(LanesF32(), sign));
#endif
  }

  static HWY_INLINE HWY_ATTR VecU16 Narrow(VecF32 values) {
    namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86 && !defined(HWY_DISABLE_F16C)
    const hn::Rebind<hwy::float16_t, LanesF32> half;
    return hn::BitCast(LanesU16(), hn::DemoteTo(half, values));
#else
    // As in narrow_rows.cc.
    const LanesU32 wide;
    const LanesI32 whole;
    const auto bits = hn::BitCast(wide, values);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 0x8000U));
    const auto size = hn::And(bits, hn::Set(wide, 0x7fffffffU));
    // Multiples of 2^-24, the last bit of 0.5F: the addition rounds.
    const auto half = hn::Set(LanesF32(), 0.5F);
    const auto small = hn::Sub(hn::BitCast(wide, hn::Add(hn::BitCast(LanesF32(), size), half)),
                               hn::BitCast(wide, half));
    const auto last = hn::And(hn::ShiftRight<13>(size), hn::Set(wide, 1U));
    // Rebased and rounded. It wraps where `small` is taken.
    const auto normal = hn::BitCast(
        whole,
        hn::ShiftRight<13>(hn::Add(hn::Add(size, last), hn::Set(wide, 0xfffU - (112U << 23)))));
    const auto number =
        hn::IfThenElse(hn::Lt(hn::BitCast(whole, size), hn::Set(whole, 0x38800000)),
                       hn::BitCast(whole, small), hn::Min(normal, hn::Set(whole, 0x7c00)));
    const auto nan =
        hn::Or(hn::Set(wide, 0x7e00U), hn::And(hn::ShiftRight<13>(size), hn::Set(wide, 0x1ffU)));
    const auto is_nan = hn::Gt(hn::BitCast(whole, size), hn::Set(whole, 0x7f800000));
    const auto magnitude = hn::IfThenElse(is_nan, hn::BitCast(whole, nan), number);
    return hn::DemoteTo(LanesU16(), hn::Or(magnitude, hn::BitCast(whole, sign)));
#endif
  }
};

struct BFloat16Lanes {
  static HWY_INLINE HWY_ATTR VecF32 Widen(VecU16 bits) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::BitCast(LanesF32(), hn::ShiftLeft<16>(hn::PromoteTo(LanesU32(), bits)));
  }

  static HWY_INLINE HWY_ATTR VecU16 Narrow(VecF32 values) {
    namespace hn = hwy::HWY_NAMESPACE;
    const LanesU32 wide;
    const LanesI32 whole;
    const auto bits = hn::BitCast(wide, values);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto last = hn::And(upper, hn::Set(wide, 1U));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, last), hn::Set(wide, 0x7fffU)));
    const auto nan = hn::Or(upper, hn::Set(wide, 0x40U));
    const auto size = hn::And(bits, hn::Set(wide, 0x7fffffffU));
    const auto is_nan = hn::Gt(hn::BitCast(whole, size), hn::Set(whole, 0x7f800000));
    return hn::DemoteTo(
        LanesU16(), hn::IfThenElse(is_nan, hn::BitCast(whole, nan), hn::BitCast(whole, rounded)));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#endif  // HALOGRAPH_COMMON_STORAGE_FLOAT_LANES_INL_H_
