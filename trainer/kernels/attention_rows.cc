// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/kernels/attention_rows.h"

#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/attention_rows.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
#include "trainer/kernels/weighted_rows-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Calls `body` with a tag and a head until it has been given all heads: as many at a time as the
// tag has lanes.
template <class Body>
HWY_ATTR void ForHeads(int64_t heads, const Body& body) {
  int64_t head = 0;
  const auto all = [&](auto d) HWY_ATTR {
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; head + lanes <= heads; head += lanes) body(d, head);
  };
  all(hn::CappedTag<float, 8>());
  all(hn::CappedTag<float, 4>());
  all(hn::CappedTag<float, 1>());
}

// exp of values that are not above 0; NaN stays.
template <class D>
HWY_ATTR hn::Vec<D> ExpOf(D d, hn::Vec<D> x) {
  // Highway's exp takes NaN for a small number, and has 0 below -104.
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Max(x, hn::Set(d, -128.0F))));
}

// The edges of one destination: `count` rows of weights from `weights` on.
template <class Float>
struct EdgesOfRow {
  const int32_t* sources;
  int64_t count;
  Float* weights;
};

template <class Float>
EdgesOfRow<Float> EdgesAt(const PickedRows& picked, int64_t row, int64_t heads, Float* weights) {
  const int64_t first = picked.indptr[row];
  return {picked.indices + first, picked.indptr[row + 1] - first, weights + first * heads};
}

// Weights of the heads in the lanes of `d`, `head` the first.
template <class D>
HWY_ATTR void WeighEdges(D d, const AttentionScores& scores, int64_t destination, int64_t head,
                         const EdgesOfRow<float>& edges) {
  using V = hn::Vec<D>;
  const V own = hn::LoadU(d, scores.destination + destination * scores.heads + head);
  const V slope = hn::Set(d, scores.negative_slope);
  V most = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (int64_t e = 0; e < edges.count; ++e) {
    const V sum =
        hn::Add(hn::LoadU(d, scores.source + edges.sources[e] * scores.heads + head), own);
    const V score = hn::IfThenElse(hn::Gt(sum, hn::Zero(d)), sum, hn::Mul(sum, slope));
    most = hn::Max(score, most);  // whatever it has for NaN, the weights become NaN
    hn::StoreU(score, d, edges.weights + e * scores.heads + head);
  }
  V total = hn::Zero(d);
  for (int64_t e = 0; e < edges.count; ++e) {
    float* weight = edges.weights + e * scores.heads + head;
    const V power = ExpOf(d, hn::Sub(hn::LoadU(d, weight), most));
    total = hn::Add(total, power);
    hn::StoreU(power, d, weight);
  }
  const V factor = hn::Div(hn::Set(d, 1.0F), total);
  for (int64_t e = 0; e < edges.count; ++e) {
    float* weight = edges.weights + e * scores.heads + head;
    hn::StoreU(hn::Mul(hn::LoadU(d, weight), factor), d, weight);
  }
}

HWY_ATTR void Attend(const PickedRows& picked, const AttentionScores& scores, int64_t begin,
                     int64_t end, float* weights, const MutableRows& out) {
  const int64_t heads = scores.heads;
  const int64_t width = picked.cols / heads;
  WithTagFor(width, [&](auto d) HWY_ATTR {
    const std::vector<SumVector> plan = PlanSum(d, heads, width, width, width);
    for (int64_t v = begin; v < end; ++v) {
      const EdgesOfRow<float> edges = EdgesAt(picked, v, heads, weights);
      ForHeads(heads, [&](auto lanes, int64_t head)
                          HWY_ATTR { WeighEdges(lanes, scores, v, head, edges); });
      const SumOfRows sum = {
          picked.rows.data, picked.rows.stride, edges.sources, edges.weights, heads,
          nullptr,          edges.count};
      SumByPlan(d, sum, plan, out.data + v * out.stride);
    }
  });
}

// `edge_grad` has the gradients of the weights of a destination's edges: makes them those of the
// sums that the scores are made of, for the heads in the lanes of `d`. Writes their sum.
template <class D>
HWY_ATTR void BackThroughWeights(D d, const AttentionScores& scores, int64_t destination,
                                 int64_t head, const EdgesOfRow<const float>& edges,
                                 float* edge_grad, float* destination_grad) {
  using V = hn::Vec<D>;
  const int64_t heads = scores.heads;
  V product = hn::Zero(d);
  for (int64_t e = 0; e < edges.count; ++e) {
    const int64_t at = e * heads + head;
    product = hn::MulAdd(hn::LoadU(d, edges.weights + at), hn::LoadU(d, edge_grad + at), product);
  }
  const V own = hn::LoadU(d, scores.destination + destination * heads + head);
  const V slope = hn::Set(d, scores.negative_slope);
  V total = hn::Zero(d);
  for (int64_t e = 0; e < edges.count; ++e) {
    const int64_t at = e * heads + head;
    const V grad =
        hn::Mul(hn::LoadU(d, edges.weights + at), hn::Sub(hn::LoadU(d, edge_grad + at), product));
    const V sum = hn::Add(hn::LoadU(d, scores.source + edges.sources[e] * heads + head), own);
    const V passed = hn::IfThenElse(hn::Gt(sum, hn::Zero(d)), grad, hn::Mul(grad, slope));
    total = hn::Add(total, passed);
    hn::StoreU(passed, d, edge_grad + at);
  }
  hn::StoreU(total, d, destination_grad + destination * heads + head);
}

HWY_ATTR void AttendBack(const PickedRows& picked, const AttentionScores& scores,
                         const float* weights, const ConstRows& grad, int64_t begin, int64_t end,
                         float* edge_grad, float* destination_grad) {
  const int64_t heads = scores.heads;
  const int64_t width = picked.cols / heads;
  WithTagFor(width, [&](auto d) HWY_ATTR {
    for (int64_t v = begin; v < end; ++v) {
      const EdgesOfRow<const float> edges = EdgesAt(picked, v, heads, weights);
      const float* row_grad = grad.data + v * grad.stride;
      float* out = edge_grad + picked.indptr[v] * heads;
      for (int64_t e = 0; e < edges.count; ++e) {
        const float* source = picked.rows.data + edges.sources[e] * picked.rows.stride;
        for (int64_t head = 0; head < heads; ++head) {
          out[e * heads + head] =
              InnerProduct(d, row_grad + head * width, source + head * width, width);
        }
      }
      ForHeads(heads, [&](auto lanes, int64_t head) HWY_ATTR {
        BackThroughWeights(lanes, scores, v, head, edges, out, destination_grad);
      });
    }
  });
}

HWY_ATTR void SourcesBack(const PickedRows& grad, const int32_t* edges, int64_t heads,
                          const float* weights, const float* edge_grad, int64_t begin, int64_t end,
                          const MutableRows& out, float* source_grad) {
  const int64_t width = grad.cols / heads;
  WithTagFor(width, [&](auto d) HWY_ATTR {
    const std::vector<SumVector> plan = PlanSum(d, heads, width, width, width);
    for (int64_t u = begin; u < end; ++u) {
      const int64_t first = grad.indptr[u];
      const int64_t count = grad.indptr[u + 1] - first;
      const SumOfRows sum = {
          grad.rows.data, grad.rows.stride, grad.indices + first, weights, heads, edges + first,
          count};
      SumByPlan(d, sum, plan, out.data + u * out.stride);
      ForHeads(heads, [&](auto lanes, int64_t head) HWY_ATTR {
        auto total = hn::Zero(lanes);
        for (int64_t i = first; i < first + count; ++i) {
          total = hn::Add(total, hn::LoadU(lanes, edge_grad + edges[i] * heads + head));
        }
        hn::StoreU(total, lanes, source_grad + u * heads + head);
      });
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Attend);
HWY_EXPORT(AttendBack);
HWY_EXPORT(SourcesBack);

void AttendRows(const PickedRows& picked, const AttentionScores& scores, int64_t begin, int64_t end,
                float* weights, const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(Attend)(picked, scores, begin, end, weights, out);
}

void AttendRowsBackward(const PickedRows& picked, const AttentionScores& scores,
                        const float* weights, const ConstRows& grad, int64_t begin, int64_t end,
                        float* edge_grad, float* destination_grad) {
  HWY_DYNAMIC_DISPATCH(AttendBack)
  (picked, scores, weights, grad, begin, end, edge_grad, destination_grad);
}

void AttendSourcesBackward(const PickedRows& grad, const int32_t* edges, int64_t heads,
                           const float* weights, const float* edge_grad, int64_t begin, int64_t end,
                           const MutableRows& out, float* source_grad) {
  HWY_DYNAMIC_DISPATCH(SourcesBack)
  (grad, edges, heads, weights, edge_grad, begin, end, out, source_grad);
}

}  // namespace halograph
#endif  // HWY_ONCE
