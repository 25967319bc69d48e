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
#include "common/state/row_columns-inl.h"
#include "common/state/row_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

// Entries whose rows and values are asked for ahead, and how much of each: the hardware follows
// longer ones.
constexpr size_t kAhead = 12;
constexpr size_t kAskedBytes = 2048;
constexpr size_t kCacheLineBytes = 64;

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

// Float32 numbers of the state that a step changes.
size_t ChangedState(const RowUpdate& update) {
  const bool state = update.step != RowStep::kAdd && update.step != RowStep::kAssign;
  return state ? update.layout.state_floats : 0;
}

// Of the rows whose first entry is among [begin, end): those of which a value, or a number of the
// state that the step changed, is NaN or infinite.
size_t CountNotFinite(const RowUpdate& update, size_t begin, size_t end) {
  const RowLayout& layout = update.layout;
  const Entries entries(update, begin);
  const size_t state = ChangedState(update) * sizeof(float);
  size_t count = 0;
  for (size_t i = entries.NextRow(begin); i < end; i = entries.NextRow(i + 1)) {
    const std::byte* const row = entries.Row(i);
    const bool found = FindNotFinite(layout.dtype, {row, layout.value_bytes}).has_value() ||
                       FindNotFinite(DType::kFloat32, {row + layout.state_at, state}).has_value();
    count += found ? 1 : 0;
  }
  return count;
}

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
                                   std::byte* row, float* wide, SeenFinite* seen) {
  const auto dim = static_cast<size_t>(layout.dim);
  auto* const state = reinterpret_cast<float*>(row + layout.state_at);
  if constexpr (std::is_same_v<Dtype, Float32s>) {
    step.Apply(dim, g, reinterpret_cast<float*>(row), state, seen);
  } else {
    WidenTo<Dtype>(row, dim, wide);
    step.Apply(dim, g, wide, state, seen);
    NarrowTo<Dtype>(wide, dim, row, seen);
  }
}

template <class Dtype, class Step>
HWY_ATTR size_t UpdateAll(const RowUpdate& update, size_t begin, size_t end) {
  const Step step(update.optimizer);
  Entries entries(update, begin);
  const auto dim = static_cast<size_t>(update.layout.dim);
  HWY_ALIGN float sum[kMaxTensorDim];  // no more than dim of them are touched
  HWY_ALIGN float wide[std::is_same_v<Dtype, Float32s> ? 1 : kMaxTensorDim];
  SeenFinite seen;
  for (size_t i = entries.NextRow(begin); i < end;) {
    entries.AskAfter(i);
    const size_t next = entries.NextRow(i + 1);
    const size_t first = std::is_same_v<Step, AssignStep> ? next - 1 : i;
    UpdateRow<Dtype>(step, update.layout, Sum(entries, first, next, dim, sum), entries.Row(i), wide,
                     &seen);
    i = next;
  }
  return seen.all() ? 0 : CountNotFinite(update, begin, end);
}

template <class Step>
HWY_ATTR size_t UpdateByDtype(const RowUpdate& update, size_t begin, size_t end) {
  switch (update.layout.dtype) {
    case DType::kFloat16:
      return UpdateAll<Float16s, Step>(update, begin, end);
    case DType::kBFloat16:
      return UpdateAll<BFloat16s, Step>(update, begin, end);
    default:
      return UpdateAll<Float32s, Step>(update, begin, end);
  }
}

HWY_ATTR size_t Update(const RowUpdate& update, size_t begin, size_t end) {
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
  return 0;
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

size_t UpdateRows(const RowUpdate& update, size_t begin, size_t end) {
  return HWY_DYNAMIC_DISPATCH(Update)(update, begin, end);
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

bool IsFiniteImage(const RowLayout& layout, const std::byte* image) {
  const std::byte* const state = image + layout.value_bytes;
  return !FindNotFinite(layout.dtype, {image, layout.value_bytes}).has_value() &&
         !FindNotFinite(DType::kFloat32, {state, layout.state_floats * sizeof(float)}).has_value();
}

}  // namespace halograph
#endif  // HWY_ONCE
