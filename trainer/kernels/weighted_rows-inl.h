// Sums of rows, each times weights of its own, and inner products of rows, in the vectors of one
// instruction set. For sources of Highway's only.

// Highway's guard: once a target.
#if defined(HALOGRAPH_TRAINER_KERNELS_WEIGHTED_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOGRAPH_TRAINER_KERNELS_WEIGHTED_ROWS_INL_H_
#undef HALOGRAPH_TRAINER_KERNELS_WEIGHTED_ROWS_INL_H_
#else
#define HALOGRAPH_TRAINER_KERNELS_WEIGHTED_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

// Calls `body` with the tag of the widest vector that is not wider than `width` columns.
template <class Body>
HWY_ATTR void WithTagFor(int64_t width, const Body& body) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 16> wide;
  if (width >= static_cast<int64_t>(hn::Lanes(wide))) return body(wide);
  const hn::CappedTag<float, 4> narrow;
  if (width >= static_cast<int64_t>(hn::Lanes(narrow))) return body(narrow);
  body(hn::CappedTag<float, 1>());
}

// One vector of a sum.
struct SumVector {
  int32_t from;    // its first column in the rows that are summed
  int32_t to;      // and in the sum
  int32_t weight;  // which of a row's weights it takes
};

// The vectors of `segments` segments of `width` columns. Segment s starts at column s * from_step
// of the rows, at s * to_step of the sum, and takes weight s. The last vector of a segment ends
// with it and may repeat columns of the one before it. Requires width >= lanes of `d`.
template <class D>
HWY_ATTR std::vector<SumVector> PlanSum(D d, int64_t segments, int64_t width, int64_t from_step,
                                        int64_t to_step) {
  const auto lanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(d));
  std::vector<SumVector> plan;
  plan.reserve(static_cast<size_t>(segments * ((width + lanes - 1) / lanes)));
  for (int64_t s = 0; s < segments; ++s) {
    for (int64_t column = 0; column < width; column += lanes) {
      const int64_t at = std::min(column, width - lanes);
      plan.push_back({static_cast<int32_t>(s * from_step + at),
                      static_cast<int32_t>(s * to_step + at), static_cast<int32_t>(s)});
    }
  }
  return plan;
}

// Term i: row picks[i] of `rows`, with weights from weights[weight_picks[i] * weight_step] on.
// Without picks the row, or the place of the weights, is i.
struct SumOfRows {
  const float* rows;
  int64_t stride;
  const int32_t* picks;
  const float* weights;
  int64_t weight_step;
  const int32_t* weight_picks;
  int64_t count;
};

// N vectors, 8 at most, are summed in registers in the order of the terms. `kSideBySide`: they
// stand one behind the other, in the rows and in the sum, so that only the first place is read.
template <int N, bool kSideBySide, class D>
HWY_ATTR void SumVectorsOf(D d, const SumOfRows& sum, const SumVector* at, float* out) {
  namespace hn = hwy::HWY_NAMESPACE;
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto from = [&](int n) { return kSideBySide ? at[0].from + n * lanes : at[n].from; };
  const auto to = [&](int n) { return kSideBySide ? at[0].to + n * lanes : at[n].to; };
  // Named one by one: an array of vectors is not allowed for every instruction set.
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (int64_t i = 0; i < sum.count; ++i) {
    const float* row = sum.rows + (sum.picks != nullptr ? sum.picks[i] : i) * sum.stride;
    const int64_t place = sum.weight_picks != nullptr ? sum.weight_picks[i] : i;
    const float* weights = sum.weights + place * sum.weight_step;
    const auto add = [&](int n, V so_far) HWY_ATTR {
      if (n >= N) return so_far;
      return hn::MulAdd(hn::LoadU(d, row + from(n)), hn::Set(d, weights[at[n].weight]), so_far);
    };
    s0 = add(0, s0), s1 = add(1, s1), s2 = add(2, s2), s3 = add(3, s3);
    s4 = add(4, s4), s5 = add(5, s5), s6 = add(6, s6), s7 = add(7, s7);
  }
  const auto store = [&](int n, V total) HWY_ATTR {
    if (n < N) hn::StoreU(total, d, out + to(n));
  };
  store(0, s0), store(1, s1), store(2, s2), store(3, s3);
  store(4, s4), store(5, s5), store(6, s6), store(7, s7);
}

// Writes the sum of rows to `out`: zeros if there are no terms.
template <class D>
HWY_ATTR void SumByPlan(D d, const SumOfRows& sum, const std::vector<SumVector>& plan, float* out) {
  const auto apart = static_cast<int32_t>(7 * hwy::HWY_NAMESPACE::Lanes(d));
  const SumVector* at = plan.data();
  size_t left = plan.size();
  for (; left >= 8; left -= 8, at += 8) {
    // Places ascend by at most the lanes, so only vectors side by side are so far apart.
    if (at[7].from - at[0].from == apart && at[7].to - at[0].to == apart) {
      SumVectorsOf<8, true>(d, sum, at, out);
    } else {
      SumVectorsOf<8, false>(d, sum, at, out);
    }
  }
  if (left >= 4) SumVectorsOf<4, false>(d, sum, at, out), left -= 4, at += 4;
  if (left >= 2) SumVectorsOf<2, false>(d, sum, at, out), left -= 2, at += 2;
  if (left >= 1) SumVectorsOf<1, false>(d, sum, at, out);
}

// The inner product of two rows of `width` values. Requires width >= lanes of `d`.
template <class D>
HWY_ATTR float InnerProduct(D d, const float* a, const float* b, int64_t width) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int64_t c = 0;
  for (; c + lanes <= width; c += lanes) {
    sum = hn::MulAdd(hn::LoadU(d, a + c), hn::LoadU(d, b + c), sum);
  }
  if (c < width) {  // a vector that ends with the row, less what is in the sum
    const int64_t at = width - lanes;
    const auto products = hn::Mul(hn::LoadU(d, a + at), hn::LoadU(d, b + at));
    const auto summed = hn::FirstN(d, static_cast<size_t>(c - at));
    sum = hn::Add(sum, hn::IfThenZeroElse(summed, products));
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#endif  // HALOGRAPH_TRAINER_KERNELS_WEIGHTED_ROWS_INL_H_
