// Compiled once for each instruction set and chosen when first called (Highway), so that no
// multiplication and addition become one operation (CMakeLists.txt).
#include "common/state/row_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "common/base/prefetch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/state/row_kernels.cc"
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

using V = VecF32;

constexpr size_t kBlock = 16;  // columns whose sums stand side by side (kRowAdagrad)
// Entries whose rows and values are asked for ahead, and how much of each: the hardware follows
// longer ones.
constexpr size_t kAhead = 12;
constexpr size_t kAskedBytes = 2048;
constexpr size_t kCacheLineBytes = 64;

// --- Vectors at the start, and what is left at the end, of an array
// --------------------------------

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

// Reads zeros behind `count` elements, and writes nothing there.
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

// --- Dtypes
// ------------------------------------------------------------------------------------------

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
using Float16s = HalfFloats<Float16Lanes>;
using BFloat16s = HalfFloats<BFloat16Lanes>;

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

// --- Steps: w and state of a row after the sum g of its gradients
// ------------------------------------

class SgdStep {
 public:
  explicit SgdStep(const RowOptimizer& o)
      : decay_(static_cast<float>(o.weight_decay)), rate_(static_cast<float>(o.learning_rate)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* /*state*/) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = hn::Add(access.Load(d, g + c), hn::Mul(hn::Set(d, decay_), old));
      access.Store(hn::Sub(old, hn::Mul(hn::Set(d, rate_), sum)), d, w + c);
    });
  }

 private:
  const float decay_;
  const float rate_;
};

class MomentumStep {
 public:
  explicit MomentumStep(const RowOptimizer& o)
      : decay_(static_cast<float>(o.weight_decay)),
        rate_(static_cast<float>(o.learning_rate)),
        momentum_(static_cast<float>(o.momentum)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* m) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = hn::Add(access.Load(d, g + c), hn::Mul(hn::Set(d, decay_), old));
      const V moment = hn::Add(hn::Mul(hn::Set(d, momentum_), access.Load(d, m + c)), sum);
      access.Store(moment, d, m + c);
      access.Store(hn::Sub(old, hn::Mul(hn::Set(d, rate_), moment)), d, w + c);
    });
  }

 private:
  const float decay_;
  const float rate_;
  const float momentum_;
};

class AdagradStep {
 public:
  explicit AdagradStep(const RowOptimizer& o)
      : decay_(static_cast<float>(o.weight_decay)),
        rate_(static_cast<float>(o.learning_rate)),
        epsilon_(static_cast<float>(o.epsilon)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* s) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = hn::Add(access.Load(d, g + c), hn::Mul(hn::Set(d, decay_), old));
      const V squares = hn::Add(access.Load(d, s + c), hn::Mul(sum, sum));
      access.Store(squares, d, s + c);
      const V divisor = hn::Add(hn::Sqrt(squares), hn::Set(d, epsilon_));
      access.Store(hn::Sub(old, hn::Div(hn::Mul(hn::Set(d, rate_), sum), divisor)), d, w + c);
    });
  }

 private:
  const float decay_;
  const float rate_;
  const float epsilon_;
};

class RowAdagradStep {
 public:
  explicit RowAdagradStep(const RowOptimizer& o)
      : decay_(static_cast<float>(o.weight_decay)),
        rate_(static_cast<float>(o.learning_rate)),
        epsilon_(static_cast<float>(o.epsilon)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* s) const {
    *s += SumOfSquares(dim, g, w) / static_cast<float>(dim);
    const float rate = rate_ / (std::sqrt(*s) + epsilon_);
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = hn::Add(access.Load(d, g + c), hn::Mul(hn::Set(d, decay_), old));
      access.Store(hn::Sub(old, hn::Mul(hn::Set(d, rate), sum)), d, w + c);
    });
  }

 private:
  HWY_INLINE HWY_ATTR float SumOfSquares(size_t dim, const float* g, const float* w) const {
    HWY_ALIGN float sums[kBlock] = {};
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V sum =
          hn::Add(access.Load(d, g + c), hn::Mul(hn::Set(d, decay_), access.Load(d, w + c)));
      float* const at = sums + c % kBlock;
      hn::Store(hn::Add(hn::Load(d, at), hn::Mul(sum, sum)), d, at);
    });
    for (size_t half = kBlock / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
  }

  const float decay_;
  const float rate_;
  const float epsilon_;
};

// base^exponent by squares, the same on every machine.
double WholePower(double base, uint32_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) power *= base;
  }
  return power;
}

class AdamStep {
 public:
  explicit AdamStep(const RowOptimizer& o)
      : o_(o),
        decay_(static_cast<float>(o.weight_decay)),
        epsilon_(static_cast<float>(o.epsilon)),
        beta1_(static_cast<float>(o.beta1)),
        beta2_(static_cast<float>(o.beta2)),
        rest1_(static_cast<float>(1 - o.beta1)),
        rest2_(static_cast<float>(1 - o.beta2)) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* state) const {
    float* const m = state;
    float* const v = state + dim;
    uint32_t updates = 0;
    std::memcpy(&updates, state + 2 * dim, sizeof(updates));
    if (updates < UINT32_MAX) ++updates;
    std::memcpy(state + 2 * dim, &updates, sizeof(updates));
    const auto rate = static_cast<float>(o_.learning_rate / (1 - WholePower(o_.beta1, updates)));
    const auto scale = static_cast<float>(1 / std::sqrt(1 - WholePower(o_.beta2, updates)));
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      const V old = access.Load(d, w + c);
      const V sum = hn::Add(access.Load(d, g + c), hn::Mul(hn::Set(d, decay_), old));
      const V first = hn::Add(hn::Mul(hn::Set(d, beta1_), access.Load(d, m + c)),
                              hn::Mul(hn::Set(d, rest1_), sum));
      const V second = hn::Add(hn::Mul(hn::Set(d, beta2_), access.Load(d, v + c)),
                               hn::Mul(hn::Mul(hn::Set(d, rest2_), sum), sum));
      access.Store(first, d, m + c);
      access.Store(second, d, v + c);
      const V divisor = hn::Add(hn::Mul(hn::Sqrt(second), hn::Set(d, scale)), hn::Set(d, epsilon_));
      access.Store(hn::Sub(old, hn::Div(hn::Mul(hn::Set(d, rate), first), divisor)), d, w + c);
    });
  }

 private:
  const RowOptimizer o_;
  const float decay_;
  const float epsilon_;
  const float beta1_;
  const float beta2_;
  const float rest1_;
  const float rest2_;
};

class AddStep {
 public:
  explicit AddStep(const RowOptimizer& /*o*/) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* /*state*/) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      const LanesF32 d;
      access.Store(hn::Add(access.Load(d, w + c), access.Load(d, g + c)), d, w + c);
    });
  }
};

class AssignStep {
 public:
  explicit AssignStep(const RowOptimizer& /*o*/) {}

  HWY_INLINE HWY_ATTR void Apply(size_t dim, const float* g, float* w, float* /*state*/) const {
    ForVectors(dim, [&](auto access, size_t c) HWY_ATTR {
      access.Store(access.Load(LanesF32(), g + c), LanesF32(), w + c);
    });
  }
};

// --- Rows in memory
// ----------------------------------------------------------------------------------

// The rows and entries of an update, from entry `begin` on.
class Entries {
 public:
  Entries(const RowUpdate& update, size_t begin)
      : update_(update), order_(*update.order), asked_(begin) {}

  struct Values {
    DType dtype;
    const std::byte* data;
    size_t bytes;
  };
  [[nodiscard]] Values At(size_t i) const {
    const PushOrder::Place place = order_.PlaceOf(i);
    const PushedRows& list = update_.lists[place.list];
    const size_t bytes =
        static_cast<size_t>(update_.layout.dim) * (list.dtype == DType::kFloat32 ? 4 : 2);
    return {list.dtype, list.values.data() + place.position * bytes, bytes};
  }
  [[nodiscard]] std::byte* Row(size_t i) const {
    return update_.rows + static_cast<size_t>(order_.Row(i)) * update_.layout.stride;
  }

  // The first entry from `i` on of another row than the entry before it.
  [[nodiscard]] size_t NextRow(size_t i) const {
    while (i < order_.size() && i > 0 && order_.Row(i) == order_.Row(i - 1)) ++i;
    return i;
  }

  // Asks for the memory of the entries that come soon after i.
  void AskAfter(size_t i) {
    for (const size_t end = std::min(i + kAhead, order_.size()); asked_ < end; ++asked_) {
      std::byte* const row = Row(asked_);
      const RowLayout& layout = update_.layout;
      const size_t bytes = std::min(layout.state_at + layout.state_bytes, kAskedBytes);
      for (size_t at = 0; at < bytes; at += kCacheLineBytes) PrefetchToWrite(row + at);
      PrefetchToWrite(row + bytes - 1);
      const Values values = At(asked_);
      const size_t read = std::min(values.bytes, kAskedBytes);
      for (size_t at = 0; at < read; at += kCacheLineBytes) PrefetchToRead(values.data + at);
      PrefetchToRead(values.data + read - 1);
    }
  }

 private:
  const RowUpdate& update_;
  const PushOrder& order_;
  size_t asked_;
};

HWY_ATTR void Widen(const Entries::Values& values, size_t dim, float* to) {
  if (values.dtype == DType::kFloat32) return WidenTo<Float32s>(values.data, dim, to);
  if (values.dtype == DType::kFloat16) return WidenTo<Float16s>(values.data, dim, to);
  WidenTo<BFloat16s>(values.data, dim, to);
}
HWY_ATTR void Add(const Entries::Values& values, size_t dim, float* to) {
  if (values.dtype == DType::kFloat32) return AddTo<Float32s>(values.data, dim, to);
  if (values.dtype == DType::kFloat16) return AddTo<Float16s>(values.data, dim, to);
  AddTo<BFloat16s>(values.data, dim, to);
}

// The sum of entries [begin, end), which are of one row: where it stands, or in `sum`.
HWY_ATTR const float* Sum(Entries& entries, size_t begin, size_t end, size_t dim, float* sum) {
  const Entries::Values first = entries.At(begin);
  if (end - begin == 1 && first.dtype == DType::kFloat32) {
    return reinterpret_cast<const float*>(first.data);
  }
  Widen(first, dim, sum);
  for (size_t i = begin + 1; i < end; ++i) {
    entries.AskAfter(i);
    Add(entries.At(i), dim, sum);
  }
  return sum;
}

// Applies a step to a row of float32 where it stands, and to another in float32 beside it.
template <class Dtype, class Step>
HWY_INLINE HWY_ATTR void UpdateRow(const Step& step, const RowLayout& layout, const float* g,
                                   std::byte* row, float* wide) {
  const auto dim = static_cast<size_t>(layout.dim);
  auto* const state = reinterpret_cast<float*>(row + layout.state_at);
  if constexpr (std::is_same_v<Dtype, Float32s>) {
    step.Apply(dim, g, reinterpret_cast<float*>(row), state);
  } else {
    WidenTo<Dtype>(row, dim, wide);
    step.Apply(dim, g, wide, state);
    NarrowTo<Dtype>(wide, dim, row);
  }
}

template <class Dtype, class Step>
HWY_ATTR void UpdateAll(const RowUpdate& update, size_t begin, size_t end) {
  const Step step(update.optimizer);
  Entries entries(update, begin);
  const auto dim = static_cast<size_t>(update.layout.dim);
  HWY_ALIGN float sum[kMaxTensorDim];  // no more than dim of them are touched
  HWY_ALIGN float wide[std::is_same_v<Dtype, Float32s> ? 1 : kMaxTensorDim];
  for (size_t i = entries.NextRow(begin); i < end;) {
    entries.AskAfter(i);
    const size_t next = entries.NextRow(i + 1);
    const size_t first = std::is_same_v<Step, AssignStep> ? next - 1 : i;
    UpdateRow<Dtype>(step, update.layout, Sum(entries, first, next, dim, sum), entries.Row(i),
                     wide);
    i = next;
  }
}

template <class Step>
HWY_ATTR void UpdateByDtype(const RowUpdate& update, size_t begin, size_t end) {
  switch (update.layout.dtype) {
    case DType::kFloat16:
      return UpdateAll<Float16s, Step>(update, begin, end);
    case DType::kBFloat16:
      return UpdateAll<BFloat16s, Step>(update, begin, end);
    default:
      return UpdateAll<Float32s, Step>(update, begin, end);
  }
}

HWY_ATTR void Update(const RowUpdate& update, size_t begin, size_t end) {
  switch (update.step) {
    case RowStep::kSgd:
      return UpdateByDtype<SgdStep>(update, begin, end);
    case RowStep::kMomentum:
      return UpdateByDtype<MomentumStep>(update, begin, end);
    case RowStep::kAdagrad:
      return UpdateByDtype<AdagradStep>(update, begin, end);
    case RowStep::kRowAdagrad:
      return UpdateByDtype<RowAdagradStep>(update, begin, end);
    case RowStep::kAdam:
      return UpdateByDtype<AdamStep>(update, begin, end);
    case RowStep::kAdd:
      return UpdateByDtype<AddStep>(update, begin, end);
    case RowStep::kAssign:
      return UpdateByDtype<AssignStep>(update, begin, end);
  }
}

HWY_ATTR void Write(const RowLayout& layout, const float* values, std::byte* row) {
  const auto dim = static_cast<size_t>(layout.dim);
  if (layout.dtype == DType::kFloat16) return NarrowTo<Float16s>(values, dim, row);
  if (layout.dtype == DType::kBFloat16) return NarrowTo<BFloat16s>(values, dim, row);
  NarrowTo<Float32s>(values, dim, row);
}

// Whether any of `count` elements is NaN or infinite: the largest magnitude, as integers.
template <typename T>
HWY_ATTR bool AnyNotFinite(const std::byte* values, size_t count, T infinity) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  const auto magnitude = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 0x7fffffff : 0x7fff));
  auto largest = hn::Zero(d);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto bits = hn::LoadU(d, reinterpret_cast<const T*>(values) + i);
    largest = hn::Max(largest, hn::And(bits, magnitude));
  }
  bool found = !hn::AllTrue(d, hn::Lt(largest, hn::Set(d, infinity)));
  for (; i < count; ++i) {
    T bits;
    std::memcpy(&bits, values + i * sizeof(T), sizeof(T));
    found |= (bits & (sizeof(T) == 4 ? 0x7fffffff : 0x7fff)) >= infinity;
  }
  return found;
}

HWY_ATTR bool HasNotFinite(DType dtype, const std::byte* values, size_t count) {
  if (dtype == DType::kFloat32) return AnyNotFinite<int32_t>(values, count, 0x7f800000);
  return AnyNotFinite<int16_t>(values, count, dtype == DType::kFloat16 ? 0x7c00 : 0x7f80);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Update);
HWY_EXPORT(Write);
HWY_EXPORT(HasNotFinite);

void UpdateRows(const RowUpdate& update, size_t begin, size_t end) {
  HWY_DYNAMIC_DISPATCH(Update)(update, begin, end);
}

void WriteRow(const RowLayout& layout, const float* values, std::byte* row) {
  HWY_DYNAMIC_DISPATCH(Write)(layout, values, row);
}

std::optional<size_t> FindNotFinite(DType dtype, std::span<const std::byte> values) {
  constexpr size_t kChunk = 4096;  // elements: those of the first bad one are looked at one by one
  const size_t bytes = DTypeSize(dtype);
  const size_t count = values.size() / bytes;
  for (size_t first = 0; first < count; first += kChunk) {
    const size_t here = std::min(kChunk, count - first);
    const std::byte* const at = values.data() + first * bytes;
    if (!HWY_DYNAMIC_DISPATCH(HasNotFinite)(dtype, at, here)) continue;
    size_t i = 0;
    while (std::isfinite(ToFloat(dtype, at + i * bytes))) ++i;
    return first + i;
  }
  return std::nullopt;
}

}  // namespace halograph
#endif  // HWY_ONCE
