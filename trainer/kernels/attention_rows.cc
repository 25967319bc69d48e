// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/kernels/attention_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/attention_rows.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
#include "common/base/rng_lanes-inl.h"
#include "trainer/kernels/attention_heads-inl.h"
#include "trainer/kernels/weighted_rows-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// exp of values that are not above 0; NaN stays.
template <class D>
HWY_ATTR hn::Vec<D> ExpOf(D d, hn::Vec<D> x) {
  // Highway's exp takes NaN for a small number, and has 0 below -104.
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Max(x, hn::Set(d, -128.0F))));
}

// The scores of one destination's edges, `count` rows from `values` on, become weights: of the
// heads in the lanes of `d`. `kMayBeNone`: where all scores are minus infinity, weights are 0.
template <bool kMayBeNone, class D>
HWY_ATTR void SoftmaxOf(D d, int64_t heads, int64_t count, float* values) {
  using V = hn::Vec<D>;
  V most = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (int64_t e = 0; e < count; ++e) {
    most = hn::Max(hn::LoadU(d, values + e * heads), most);  // of NaN all weights become NaN
  }
  if constexpr (kMayBeNone) {
    const V least = hn::Set(d, -std::numeric_limits<float>::infinity());
    most = hn::IfThenElse(hn::Eq(most, least), hn::Zero(d), most);
  }
  V total = hn::Zero(d);
  for (int64_t e = 0; e < count; ++e) {
    const V power = ExpOf(d, hn::Sub(hn::LoadU(d, values + e * heads), most));
    total = hn::Add(total, power);
    hn::StoreU(power, d, values + e * heads);
  }
  V factor = hn::Div(hn::Set(d, 1.0F), total);
  if constexpr (kMayBeNone) factor = hn::IfThenZeroElse(hn::Eq(total, hn::Zero(d)), factor);
  for (int64_t e = 0; e < count; ++e) {
    hn::StoreU(hn::Mul(hn::LoadU(d, values + e * heads), factor), d, values + e * heads);
  }
}

template <bool kMayBeNone>
HWY_ATTR void SoftmaxBy(const int64_t* indptr, int64_t heads, int64_t begin, int64_t end,
                        float* values) {
  ForHeads(heads, [&](auto d, int64_t head) HWY_ATTR {
    for (int64_t v = begin; v < end; ++v) {
      SoftmaxOf<kMayBeNone>(d, heads, indptr[v + 1] - indptr[v], values + indptr[v] * heads + head);
    }
  });
}

// To the scores of edges [begin, end): the logarithm of the edge's coefficient.
void AddLogarithms(const float* coefficients, int64_t heads, int64_t begin, int64_t end,
                   float* values) {
  for (int64_t e = begin; e < end; ++e) {
    float* const scores = values + e * heads;
    if (coefficients[e] > 0) {
      const float logarithm = std::log(coefficients[e]);
      for (int64_t head = 0; head < heads; ++head) scores[head] += logarithm;
    } else {
      std::fill_n(scores, heads, -std::numeric_limits<float>::infinity());
    }
  }
}

HWY_ATTR void Softmax(const int64_t* indptr, int64_t heads, const float* coefficients,
                      int64_t begin, int64_t end, float* values) {
  if (coefficients == nullptr) return SoftmaxBy<false>(indptr, heads, begin, end, values);
  AddLogarithms(coefficients, heads, indptr[begin], indptr[end], values);
  SoftmaxBy<true>(indptr, heads, begin, end, values);
}

HWY_ATTR void SoftmaxBack(const int64_t* indptr, int64_t heads, const float* weights, int64_t begin,
                          int64_t end, float* grad) {
  ForHeads(heads, [&](auto d, int64_t head) HWY_ATTR {
    for (int64_t v = begin; v < end; ++v) {
      auto product = hn::Zero(d);
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
        const int64_t at = e * heads + head;
        product = hn::MulAdd(hn::LoadU(d, weights + at), hn::LoadU(d, grad + at), product);
      }
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
        const int64_t at = e * heads + head;
        const auto rest = hn::Sub(hn::LoadU(d, grad + at), product);
        hn::StoreU(hn::Mul(hn::LoadU(d, weights + at), rest), d, grad + at);
      }
    }
  });
}

HWY_ATTR void Drop(const Dropout& dropout, int64_t heads, int64_t begin, int64_t end,
                   const float* values, float* out) {
  const hn::CappedTag<uint64_t, 8> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float scale = dropout.scale();
  std::array<uint64_t, 8> bits{};
  for (int64_t first = begin; first < end; first += lanes) {
    const auto row_keys = SubKeyLanes(d, dropout.key, static_cast<uint64_t>(first));
    const int64_t count = std::min(lanes, end - first);
    for (int64_t head = 0; head < heads; head += 4) {
      const uint64_t step = kGolden * static_cast<uint64_t>(head / 4 + 1);
      hn::StoreU(MixLanes(d, hn::Add(row_keys, hn::Set(d, step))), d, bits.data());
      const int64_t some = std::min<int64_t>(4, heads - head);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = (first + i) * heads + head;
        for (int64_t h = 0; h < some; ++h) {
          const auto drawn = static_cast<uint32_t>(bits[i] >> (16 * h) & 0xffff);
          out[at + h] = drawn >= dropout.dropped ? values[at + h] * scale : 0.0F;
        }
      }
    }
  }
}

HWY_ATTR void Attend(const PickedRows& picked, int64_t heads, const float* weights, int64_t begin,
                     int64_t end, const MutableRows& out) {
  const int64_t width = picked.cols / heads;
  WithTagFor(width, [&](auto d) HWY_ATTR {
    const std::vector<SumVector> plan = PlanSum(d, heads, width, width, width);
    for (int64_t v = begin; v < end; ++v) {
      const int64_t first = picked.indptr[v];
      const SumOfRows sum = {picked.rows.data,
                             picked.rows.stride,
                             picked.indices + first,
                             weights + first * heads,
                             heads,
                             nullptr,
                             picked.indptr[v + 1] - first};
      SumByPlan(d, sum, plan, out.data + v * out.stride);
    }
  });
}

// A head of one source: its segments of rows, and the weights of its edges.
struct HeadOfSource {
  const float* grad;  // of destination 0
  int64_t grad_stride;
  const int32_t* destinations;  // one an edge of the source
  const int32_t* edges;
  int64_t count;
  const float* row;      // of the source
  float* out;            // its gradient
  const float* weights;  // of edge 0
  float* weights_grad;
  int64_t heads;
};

// N vectors of the segment, 4 at most, from `column` on, of which the first `had` columns are done;
// N is then 1. Their share of the weights' gradients is added to what is there.
template <int N, class D>
HWY_ATTR void BackToVectors(D d, const HeadOfSource& head, int64_t column, int64_t had) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* row = head.row + column;
  // Named one by one: an array of vectors is not allowed for every instruction set.
  const auto of_row = [&](int n) HWY_ATTR { return hn::LoadU(d, row + (n < N ? n * lanes : 0)); };
  const V r0 = of_row(0), r1 = of_row(1), r2 = of_row(2), r3 = of_row(3);
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const auto fresh = FreshLanes(d, had);
  for (int64_t i = 0; i < head.count; ++i) {
    const float* grad = head.grad + head.destinations[i] * head.grad_stride + column;
    const int64_t place = head.edges[i] * head.heads;
    const V weight = hn::Set(d, head.weights[place]);
    V product = hn::Zero(d);
    const auto add = [&](int n, V of_source, V sum) HWY_ATTR {
      if (n >= N) return sum;
      const V g = hn::LoadU(d, grad + n * lanes);
      product = hn::MulAdd(g, of_source, product);
      return hn::MulAdd(g, weight, sum);
    };
    s0 = add(0, r0, s0), s1 = add(1, r1, s1), s2 = add(2, r2, s2), s3 = add(3, r3, s3);
    if (N == 1) product = hn::IfThenElseZero(fresh, product);
    head.weights_grad[place] += hn::GetLane(hn::SumOfLanes(d, product));
  }
  const auto store = [&](int n, V total) HWY_ATTR {
    if (n < N) hn::StoreU(total, d, head.out + column + n * lanes);
  };
  store(0, s0), store(1, s1), store(2, s2), store(3, s3);
}

HWY_ATTR void AttendBack(const TransposedBlock& by_source, const ConstRows& grad,
                         const ConstRows& rows, int64_t cols, int64_t heads, const float* weights,
                         int64_t begin, int64_t end, const MutableRows& out, float* weights_grad) {
  const int64_t width = cols / heads;
  WithTagFor(width, [&](auto d) HWY_ATTR {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t first = by_source.indptr[u];
      HeadOfSource head = {grad.data,
                           grad.stride,
                           by_source.destinations.data() + first,
                           by_source.edges.data() + first,
                           by_source.indptr[u + 1] - first,
                           rows.data + u * rows.stride,
                           out.data + u * out.stride,
                           weights,
                           weights_grad,
                           heads};
      for (int64_t i = 0; i < head.count; ++i) {
        std::fill_n(weights_grad + head.edges[i] * heads, heads, 0.0F);
      }
      for (int64_t h = 0; h < heads; ++h) {
        ForVectors(d, width, [&](auto count, int64_t column, int64_t had) HWY_ATTR {
          BackToVectors<count()>(d, head, column, had);
        });
        head.grad += width, head.row += width, head.out += width;
        ++head.weights, ++head.weights_grad;
      }
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Softmax);
HWY_EXPORT(SoftmaxBack);
HWY_EXPORT(Drop);
HWY_EXPORT(Attend);
HWY_EXPORT(AttendBack);

void SoftmaxOfEdges(const int64_t* indptr, int64_t heads, const float* coefficients, int64_t begin,
                    int64_t end, float* values) {
  HWY_DYNAMIC_DISPATCH(Softmax)(indptr, heads, coefficients, begin, end, values);
}

void SoftmaxOfEdgesBackward(const int64_t* indptr, int64_t heads, const float* weights,
                            int64_t begin, int64_t end, float* grad) {
  HWY_DYNAMIC_DISPATCH(SoftmaxBack)(indptr, heads, weights, begin, end, grad);
}

void DropEdges(const Dropout& dropout, int64_t heads, int64_t begin, int64_t end,
               const float* values, float* out) {
  HWY_DYNAMIC_DISPATCH(Drop)(dropout, heads, begin, end, values, out);
}

void AttendRows(const PickedRows& picked, int64_t heads, const float* weights, int64_t begin,
                int64_t end, const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(Attend)(picked, heads, weights, begin, end, out);
}

void AttendRowsBackward(const TransposedBlock& by_source, const ConstRows& grad,
                        const ConstRows& rows, int64_t cols, int64_t heads, const float* weights,
                        int64_t begin, int64_t end, const MutableRows& out, float* weights_grad) {
  HWY_DYNAMIC_DISPATCH(AttendBack)
  (by_source, grad, rows, cols, heads, weights, begin, end, out, weights_grad);
}

}  // namespace halograph
#endif  // HWY_ONCE
