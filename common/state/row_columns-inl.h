// The columns of a row in vectors of float32, whatever their number and dtype, compiled for each
// instruction set. For row_kernels.cc only.

// Highway's guard: once a target.
#if defined(HALOGRAPH_COMMON_STATE_ROW_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOGRAPH_COMMON_STATE_ROW_COLUMNS_INL_H_
#undef HALOGRAPH_COMMON_STATE_ROW_COLUMNS_INL_H_
#else
#define HALOGRAPH_COMMON_STATE_ROW_COLUMNS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/storage/float_lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using V = VecF32;

inline constexpr size_t kBlock =
    16;  // columns of the widest vector; as many sums stand side by side

// Vectors at the start of an array.
struct Whole {
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE HWY_ATTR hn::Vec<D> Load(D d, const T* from) const {
    return hn::LoadU(d, from);
  }
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE HWY_ATTR void Store(hn::Vec<D> v, D d, T* to) const {
    hn::StoreU(v, d, to);
  }
};

// What is left at the end: reads zeros behind `count` elements, and writes nothing there.
struct Part {
  size_t count;

  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE HWY_ATTR hn::Vec<D> Load(D d, const T* from) const {
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
    if constexpr (sizeof(T) == 4) return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#endif
    HWY_ALIGN T elements[kBlock] = {};
    std::memcpy(elements, from, count * sizeof(T));
    return hn::Load(d, elements);
  }
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE HWY_ATTR void Store(hn::Vec<D> v, D d, T* to) const {
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
    if constexpr (sizeof(T) == 4) return hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#endif
    HWY_ALIGN T elements[kBlock];
    hn::Store(v, d, elements);
    std::memcpy(to, elements, count * sizeof(T));
  }
};

// body(access, column) for the vectors of a row of `dim` columns.
template <class Body>
HWY_INLINE HWY_ATTR void ForVectors(size_t dim, const Body& body) {
  const size_t lanes = hn::Lanes(LanesF32());
  size_t column = 0;
  for (; column + lanes <= dim; column += lanes) body(Whole{}, column);
  if (column < dim) body(Part{dim - column}, column);
}

// Has seen numbers: whether they were all finite. Costs an operation a vector.
class SeenFinite {
 public:
  HWY_INLINE HWY_ATTR SeenFinite() : zero_(hn::Zero(LanesF32())) {}

  HWY_INLINE HWY_ATTR void See(V v) { zero_ = hn::MulAdd(v, hn::Zero(LanesF32()), zero_); }
  [[nodiscard]] HWY_INLINE HWY_ATTR bool all() const {
    return hn::AllTrue(LanesF32(), hn::Eq(zero_, zero_));
  }

 private:
  V zero_;  // NaN for good once an infinite or NaN number was seen
};

// Columns of a dtype as float32. kOverflow times a number is infinite if the number is in the
// dtype, and for some that are just below.
template <class Half>
struct HalfFloats {
  template <class Access>
  static HWY_INLINE HWY_ATTR V Load(Access access, const std::byte* values, size_t column) {
    const auto* const from = reinterpret_cast<const uint16_t*>(values) + column;
    return Half::Widen(access.Load(LanesU16(), from));
  }
  template <class Access>
  static HWY_INLINE HWY_ATTR void Store(Access access, V v, std::byte* values, size_t column) {
    access.Store(Half::Narrow(v), LanesU16(), reinterpret_cast<uint16_t*>(values) + column);
  }
};
struct Float16s : HalfFloats<Float16Lanes> {
  static constexpr float kOverflow = 0x1.002p112F;  // from 65520 on
};
struct BFloat16s : HalfFloats<BFloat16Lanes> {
  static constexpr float kOverflow = 0x1.0081p0F;  // from 0x1.ffp127 on
};

struct Float32s {
  template <class Access>
  static HWY_INLINE HWY_ATTR V Load(Access access, const std::byte* values, size_t column) {
    return access.Load(LanesF32(), reinterpret_cast<const float*>(values) + column);
  }
  template <class Access>
  static HWY_INLINE HWY_ATTR void Store(Access access, V v, std::byte* values, size_t column) {
    access.Store(v, LanesF32(), reinterpret_cast<float*>(values) + column);
  }
};

template <class From>
HWY_ATTR void WidenTo(const std::byte* from, size_t dim, float* to) {
  ForVectors(dim, [&](auto access, size_t c)
                      HWY_ATTR { access.Store(From::Load(access, from, c), LanesF32(), to + c); });
}

template <class From>
HWY_ATTR void AddTo(const std::byte* from, size_t dim, float* to) {
  ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
    const V sum = access.Load(LanesF32(), to + c);
    access.Store(hn::Add(sum, From::Load(access, from, c)), LanesF32(), to + c);
  });
}

template <class To>
HWY_ATTR void NarrowTo(const float* from, size_t dim, std::byte* to) {
  ForVectors(dim, [&](auto access, size_t c)
                      HWY_ATTR { To::Store(access, access.Load(LanesF32(), from + c), to, c); });
}

// To halves; `seen` sees what becomes infinite, too.
template <class To>
HWY_INLINE HWY_ATTR void NarrowTo(const float* from, size_t dim, std::byte* to, SeenFinite* seen) {
  ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
    const LanesF32 d;
    const V v = access.Load(d, from + c);
    seen->See(hn::Mul(v, hn::Set(d, To::kOverflow)));
    To::Store(access, v, to, c);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#endif  // HALOGRAPH_COMMON_STATE_ROW_COLUMNS_INL_H_
