// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/blocks/gather_rows.h"

#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/blocks/gather_rows.cc"
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

// Vectors of one row that are summed in registers at a time.
constexpr int kSums = 8;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

// How one row is summed. `scales`, `first` and `coefficients` may be missing.
struct RowSum {
  const int32_t* indices;
  int64_t edges;
  const float* scales;
  const float* first;
  float factor;  // of the whole sum
  const float* coefficients;
};

// What the row of edge e is multiplied by. Without coefficients nothing is read of the edge.
template <bool kWithCoefficients>
HWY_INLINE float FactorOf(const RowSum& row, int64_t e, int64_t index) {
  const float scale = row.scales != nullptr ? row.scales[index] : 1.0F;
  if constexpr (kWithCoefficients) return scale * row.coefficients[e];
  return scale;
}

// Columns at[0] to at[N - 1], one vector from each on.
template <bool kWithCoefficients, int N, typename Rows>
HWY_ATTR void SumVectors(const Rows& rows, const RowSum& row, const int64_t* at, float* out) {
  const D d;
  // Named one by one: an array of vectors is not allowed for every instruction set.
  const auto start = [&](int n) HWY_ATTR {
    return n < N && row.first != nullptr ? hn::LoadU(d, row.first + at[n]) : hn::Zero(d);
  };
  V s0 = start(0), s1 = start(1), s2 = start(2), s3 = start(3);
  V s4 = start(4), s5 = start(5), s6 = start(6), s7 = start(7);
  for (int64_t e = 0; e < row.edges; ++e) {
    const int64_t index = row.indices[e];
    const auto* const source = RowAt(rows, index);
    const V scale = hn::Set(d, FactorOf<kWithCoefficients>(row, e, index));
    const auto add = [&](int n, V sum) HWY_ATTR {
      return n < N ? hn::MulAdd(LoadValues(source + at[n]), scale, sum) : sum;
    };
    s0 = add(0, s0), s1 = add(1, s1), s2 = add(2, s2), s3 = add(3, s3);
    s4 = add(4, s4), s5 = add(5, s5), s6 = add(6, s6), s7 = add(7, s7);
  }
  const V factor = hn::Set(d, row.factor);
  const auto store = [&](int n, V sum) HWY_ATTR {
    if (n < N) hn::StoreU(hn::Mul(sum, factor), d, out + at[n]);
  };
  store(0, s0), store(1, s1), store(2, s2), store(3, s3);
  store(4, s4), store(5, s5), store(6, s6), store(7, s7);
}

template <bool kWithCoefficients, typename Rows, int... I>
HWY_ATTR void SumVectorsOf(int count, const Rows& rows, const RowSum& row, const int64_t* at,
                           float* out, std::integer_sequence<int, I...>) {
  static constexpr std::array kByCount = {&SumVectors<kWithCoefficients, I + 1, Rows>...};
  kByCount[count - 1](rows, row, at, out);
}

// Rows narrower than a vector.
template <bool kWithCoefficients, typename Rows>
void SumScalars(const Rows& rows, const RowSum& row, int64_t cols, float* out) {
  for (int64_t c = 0; c < cols; ++c) {
    float sum = row.first != nullptr ? row.first[c] : 0.0F;
    for (int64_t e = 0; e < row.edges; ++e) {
      const int64_t index = row.indices[e];
      sum += OneValue(RowAt(rows, index)[c]) * FactorOf<kWithCoefficients>(row, e, index);
    }
    out[c] = sum * row.factor;
  }
}

template <bool kWithCoefficients, typename Rows>
HWY_ATTR void SumRow(const Rows& rows, const RowSum& row, int64_t cols, float* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  if (cols < lanes) return SumScalars<kWithCoefficients>(rows, row, cols, out);
  // The last vector ends with the row: it may repeat columns of the one before it.
  std::array<int64_t, kSums> at{};
  for (int64_t column = 0; column < cols;) {
    int count = 0;
    for (; count < kSums && column < cols; ++count, column += lanes) {
      at[count] = std::min(column, cols - lanes);
    }
    SumVectorsOf<kWithCoefficients>(count, rows, row, at.data(), out,
                                    std::make_integer_sequence<int, kSums>());
  }
}

// Edges whose rows are asked for before they are summed: enough to cover an access of memory.
constexpr int64_t kEdgesAhead = 32;

template <bool kWithCoefficients, typename Rows>
HWY_ATTR void MeanBy(const Picked<Rows>& picked, int64_t begin, int64_t end,
                     const MutableRows& out) {
  int64_t asked = picked.indptr[begin];
  for (int64_t i = begin; i < end; ++i) {
    const int64_t until = std::min(picked.indptr[i + 1] + kEdgesAhead, picked.indptr[end]);
    for (; asked < until; ++asked) AskForRow(picked.rows, picked.indices[asked], picked.cols);
    const int64_t edges = picked.indptr[i + 1] - picked.indptr[i];
    const float degree = picked.degrees != nullptr ? picked.degrees[i] : static_cast<float>(edges);
    const float factor = degree > 0 ? 1.0F / degree : 0.0F;
    SumRow<kWithCoefficients>(
        picked.rows,
        {picked.indices + picked.indptr[i], edges, nullptr, nullptr, factor,
         kWithCoefficients ? picked.coefficients + picked.indptr[i] : nullptr},
        picked.cols, out.data + i * out.stride);
  }
}

template <typename Rows>
HWY_ATTR void MeanOf(const Picked<Rows>& picked, int64_t begin, int64_t end,
                     const MutableRows& out) {
  if (picked.coefficients == nullptr) return MeanBy<false>(picked, begin, end, out);
  MeanBy<true>(picked, begin, end, out);
}

HWY_ATTR void Mean(const PickedRows& picked, int64_t begin, int64_t end, const MutableRows& out) {
  MeanOf(picked, begin, end, out);
}
HWY_ATTR void MeanBf16(const PickedBf16Rows& picked, int64_t begin, int64_t end,
                       const MutableRows& out) {
  MeanOf(picked, begin, end, out);
}
HWY_ATTR void ScatteredMean(const Picked<ScatteredRows<float>>& picked, int64_t begin, int64_t end,
                            const MutableRows& out) {
  MeanOf(picked, begin, end, out);
}
HWY_ATTR void ScatteredMeanBf16(const Picked<ScatteredRows<uint16_t>>& picked, int64_t begin,
                                int64_t end, const MutableRows& out) {
  MeanOf(picked, begin, end, out);
}

template <bool kWithCoefficients, typename Rows>
HWY_ATTR void ScaledSumBy(const Picked<Rows>& picked, const float* scales, const ConstRows& first,
                          int64_t first_rows, int64_t begin, int64_t end, const MutableRows& out) {
  for (int64_t i = begin; i < end; ++i) {
    const float* in_front = i < first_rows ? first.data + i * first.stride : nullptr;
    SumRow<kWithCoefficients>(
        picked.rows,
        {picked.indices + picked.indptr[i], picked.indptr[i + 1] - picked.indptr[i], scales,
         in_front, 1.0F, kWithCoefficients ? picked.coefficients + picked.indptr[i] : nullptr},
        picked.cols, out.data + i * out.stride);
  }
}

template <typename Rows>
HWY_ATTR void ScaledSumOf(const Picked<Rows>& picked, const float* scales, const ConstRows& first,
                          int64_t first_rows, int64_t begin, int64_t end, const MutableRows& out) {
  if (picked.coefficients == nullptr) {
    return ScaledSumBy<false>(picked, scales, first, first_rows, begin, end, out);
  }
  ScaledSumBy<true>(picked, scales, first, first_rows, begin, end, out);
}

HWY_ATTR void ScaledSum(const PickedRows& picked, const float* scales, const ConstRows& first,
                        int64_t first_rows, int64_t begin, int64_t end, const MutableRows& out) {
  ScaledSumOf(picked, scales, first, first_rows, begin, end, out);
}
HWY_ATTR void ScaledSumBf16(const PickedBf16Rows& picked, const float* scales,
                            const ConstRows& first, int64_t first_rows, int64_t begin, int64_t end,
                            const MutableRows& out) {
  ScaledSumOf(picked, scales, first, first_rows, begin, end, out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Mean);
HWY_EXPORT(MeanBf16);
HWY_EXPORT(ScatteredMean);
HWY_EXPORT(ScatteredMeanBf16);
HWY_EXPORT(ScaledSum);
HWY_EXPORT(ScaledSumBf16);

void MeanOfRows(const PickedRows& picked, int64_t begin, int64_t end, const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(Mean)(picked, begin, end, out);
}

void MeanOfRows(const PickedBf16Rows& picked, int64_t begin, int64_t end, const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(MeanBf16)(picked, begin, end, out);
}

void MeanOfRows(const Picked<ScatteredRows<float>>& picked, int64_t begin, int64_t end,
                const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(ScatteredMean)(picked, begin, end, out);
}

void MeanOfRows(const Picked<ScatteredRows<uint16_t>>& picked, int64_t begin, int64_t end,
                const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(ScatteredMeanBf16)(picked, begin, end, out);
}

void ScaledSumOfRows(const PickedRows& picked, const float* scales, const ConstRows& first,
                     int64_t first_rows, int64_t begin, int64_t end, const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(ScaledSum)(picked, scales, first, first_rows, begin, end, out);
}

void ScaledSumOfRows(const PickedBf16Rows& picked, const float* scales, const ConstRows& first,
                     int64_t first_rows, int64_t begin, int64_t end, const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(ScaledSumBf16)(picked, scales, first, first_rows, begin, end, out);
}

}  // namespace halograph
#endif  // HWY_ONCE
