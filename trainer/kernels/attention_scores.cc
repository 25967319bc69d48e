// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/kernels/attention_scores.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/attention_scores.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "trainer/kernels/attention_heads-inl.h"
#include "trainer/kernels/weighted_rows-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// `values` where `sums` are above 0, else `values` times the slope: LeakyReLU of sums, and of
// gradients.
template <class D, class V = hn::Vec<D>>
HWY_ATTR V Leak(D d, V sums, V values, V slope) {
  return hn::IfThenElse(hn::Gt(sums, hn::Zero(d)), values, hn::Mul(values, slope));
}

HWY_ATTR void Score(const AdditiveScores& scores, const int64_t* indptr, const int32_t* indices,
                    int64_t begin, int64_t end, float* out) {
  const int64_t heads = scores.heads;
  ForHeads(heads, [&](auto d, int64_t head) HWY_ATTR {
    const auto slope = hn::Set(d, scores.negative_slope);
    for (int64_t v = begin; v < end; ++v) {
      const auto own = hn::LoadU(d, scores.destination + v * heads + head);
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
        const auto sum = hn::Add(hn::LoadU(d, scores.source + indices[e] * heads + head), own);
        hn::StoreU(Leak(d, sum, sum, slope), d, out + e * heads + head);
      }
    }
  });
}

HWY_ATTR void ScoreBack(const AdditiveScores& scores, const int64_t* indptr, const int32_t* indices,
                        int64_t begin, int64_t end, float* grad, float* destination_grad) {
  const int64_t heads = scores.heads;
  ForHeads(heads, [&](auto d, int64_t head) HWY_ATTR {
    const auto slope = hn::Set(d, scores.negative_slope);
    for (int64_t v = begin; v < end; ++v) {
      const auto own = hn::LoadU(d, scores.destination + v * heads + head);
      auto total = hn::Zero(d);
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
        const auto sum = hn::Add(hn::LoadU(d, scores.source + indices[e] * heads + head), own);
        const auto passed = Leak(d, sum, hn::LoadU(d, grad + e * heads + head), slope);
        total = hn::Add(total, passed);
        hn::StoreU(passed, d, grad + e * heads + head);
      }
      hn::StoreU(total, d, destination_grad + v * heads + head);
    }
  });
}

HWY_ATTR void SumBySource(const TransposedBlock& by_source, int64_t heads, const float* values,
                          int64_t begin, int64_t end, float* out) {
  ForHeads(heads, [&](auto d, int64_t head) HWY_ATTR {
    for (int64_t u = begin; u < end; ++u) {
      auto total = hn::Zero(d);
      for (int64_t i = by_source.indptr[u]; i < by_source.indptr[u + 1]; ++i) {
        total = hn::Add(total, hn::LoadU(d, values + by_source.edges[i] * heads + head));
      }
      hn::StoreU(total, d, out + u * heads + head);
    }
  });
}

// The segments of one edge and head.
template <class D, class V = hn::Vec<D>>
HWY_ATTR float DynamicScoreOf(D d, const float* source, const float* destination,
                              const float* vector, int64_t width, V slope) {
  V total = hn::Zero(d);
  ForVectors(d, width, [&](auto count, int64_t column, int64_t had) HWY_ATTR {
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int n = 0; n < count(); ++n) {
      const int64_t c = column + n * lanes;
      const V sum = hn::Add(hn::LoadU(d, source + c), hn::LoadU(d, destination + c));
      const V product = hn::Mul(Leak(d, sum, sum, slope), hn::LoadU(d, vector + c));
      total = hn::Add(total, had > 0 ? hn::IfThenElseZero(FreshLanes(d, had), product) : product);
    }
  });
  return hn::GetLane(hn::SumOfLanes(d, total));
}

HWY_ATTR void DynamicScore(const DynamicScores& scores, const int64_t* indptr,
                           const int32_t* indices, int64_t begin, int64_t end, float* out) {
  const int64_t heads = scores.heads;
  const int64_t width = scores.cols / heads;
  WithTagFor(width, [&](auto d) HWY_ATTR {
    const auto slope = hn::Set(d, scores.negative_slope);
    for (int64_t v = begin; v < end; ++v) {
      const float* destination = scores.destination.data + v * scores.destination.stride;
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
        const float* source = scores.source.data + indices[e] * scores.source.stride;
        for (int64_t head = 0; head < heads; ++head) {
          const int64_t at = head * width;
          out[e * heads + head] =
              DynamicScoreOf(d, source + at, destination + at, scores.vector + at, width, slope);
        }
      }
    }
  });
}

// A head of one node, and of the nodes at the other ends of its edges.
struct HeadOfNode {
  const float* row;     // of the node
  const float* others;  // of node 0 of the others
  int64_t stride;       // of theirs
  const int32_t* ends;  // one an edge of the node
  int64_t count;
};

// N vectors, 4 at most, from `column` on, over the edges of a node. For each calls use(its number,
// the sum of the gradients of LeakyReLU's sums without the vector's factor, and, if `kProducts`,
// the sum of gradients times LeakyReLU of the sums). grad_of(i): the gradient of the score of edge
// i of the node.
template <int N, bool kProducts, class D, class GradOf, class Use, class V = hn::Vec<D>>
HWY_ATTR void SumLeaked(D d, const HeadOfNode& head, int64_t column, V slope, const GradOf& grad_of,
                        const Use& use) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* row = head.row + column;
  // Named one by one: an array of vectors is not allowed for every instruction set.
  const auto of_row = [&](int n) HWY_ATTR { return hn::LoadU(d, row + (n < N ? n * lanes : 0)); };
  const V own0 = of_row(0), own1 = of_row(1), own2 = of_row(2), own3 = of_row(3);
  V f0 = hn::Zero(d), f1 = f0, f2 = f0, f3 = f0, p0 = f0, p1 = f0, p2 = f0, p3 = f0;
  for (int64_t i = 0; i < head.count; ++i) {
    const float* other = head.others + head.ends[i] * head.stride + column;
    const V grad = hn::Set(d, grad_of(i));
    const auto add = [&](int n, V own, V so_far, V& products) HWY_ATTR {
      if (n >= N) return so_far;
      const V sum = hn::Add(hn::LoadU(d, other + n * lanes), own);
      const V factor = Leak(d, sum, grad, slope);
      if (kProducts) products = hn::MulAdd(sum, factor, products);
      return hn::Add(so_far, factor);
    };
    f0 = add(0, own0, f0, p0), f1 = add(1, own1, f1, p1);
    f2 = add(2, own2, f2, p2), f3 = add(3, own3, f3, p3);
  }
  const auto hand = [&](int n, V factors, V products) HWY_ATTR {
    if (n < N) use(n, factors, products);
  };
  hand(0, f0, p0), hand(1, f1, p1), hand(2, f2, p2), hand(3, f3, p3);
}

// Adds the lanes of `values` that `to` was not given before.
template <class D, class V = hn::Vec<D>>
HWY_ATTR void AddFresh(D d, int64_t had, V values, float* to) {
  const V fresh = had > 0 ? hn::IfThenElseZero(FreshLanes(d, had), values) : values;
  hn::StoreU(hn::Add(hn::LoadU(d, to), fresh), d, to);
}

HWY_ATTR void DynamicScoreBack(const DynamicScores& scores, const int64_t* indptr,
                               const int32_t* indices, const float* grad, int64_t begin,
                               int64_t end, const MutableRows& destination_grad,
                               float* vector_grad) {
  const int64_t heads = scores.heads;
  const int64_t width = scores.cols / heads;
  WithTagFor(width, [&](auto d) HWY_ATTR {
    const auto slope = hn::Set(d, scores.negative_slope);
    for (int64_t v = begin; v < end; ++v) {
      float* out = destination_grad.data + v * destination_grad.stride;
      const int64_t first = indptr[v];
      if (first == indptr[v + 1]) std::fill_n(out, scores.cols, 0.0F);
      for (int64_t h = 0; h < heads && first < indptr[v + 1]; ++h) {
        const int64_t at = h * width;
        const HeadOfNode head = {scores.destination.data + v * scores.destination.stride + at,
                                 scores.source.data + at, scores.source.stride, indices + first,
                                 indptr[v + 1] - first};
        const auto grad_of = [&](int64_t i) { return grad[(first + i) * heads + h]; };
        ForVectors(d, width, [&](auto count, int64_t column, int64_t had) HWY_ATTR {
          const auto use = [&](int n, auto factors, auto products) HWY_ATTR {
            const int64_t c = at + column + n * static_cast<int64_t>(hn::Lanes(d));
            hn::StoreU(hn::Mul(factors, hn::LoadU(d, scores.vector + c)), d, out + c);
            AddFresh(d, had, products, vector_grad + c);
          };
          SumLeaked<count(), true>(d, head, column, slope, grad_of, use);
        });
      }
    }
  });
}

HWY_ATTR void DynamicSourcesBack(const DynamicScores& scores, const TransposedBlock& by_source,
                                 const float* grad, int64_t begin, int64_t end,
                                 const MutableRows& source_grad) {
  const int64_t heads = scores.heads;
  const int64_t width = scores.cols / heads;
  WithTagFor(width, [&](auto d) HWY_ATTR {
    const auto slope = hn::Set(d, scores.negative_slope);
    for (int64_t u = begin; u < end; ++u) {
      const int64_t first = by_source.indptr[u];
      const int64_t count = by_source.indptr[u + 1] - first;
      const int32_t* edges = by_source.edges.data() + first;
      for (int64_t h = 0; h < heads && count > 0; ++h) {
        const int64_t at = h * width;
        const HeadOfNode head = {scores.source.data + u * scores.source.stride + at,
                                 scores.destination.data + at, scores.destination.stride,
                                 by_source.destinations.data() + first, count};
        const auto grad_of = [&](int64_t i) { return grad[edges[i] * heads + h]; };
        float* const out = source_grad.data + u * source_grad.stride + at;
        ForVectors(d, width, [&](auto size, int64_t column, int64_t had) HWY_ATTR {
          const auto use = [&](int n, auto factors, auto /*products*/) HWY_ATTR {
            const int64_t c = column + n * static_cast<int64_t>(hn::Lanes(d));
            AddFresh(d, had, hn::Mul(factors, hn::LoadU(d, scores.vector + at + c)), out + c);
          };
          SumLeaked<size(), false>(d, head, column, slope, grad_of, use);
        });
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

HWY_EXPORT(Score);
HWY_EXPORT(ScoreBack);
HWY_EXPORT(SumBySource);
HWY_EXPORT(DynamicScore);
HWY_EXPORT(DynamicScoreBack);
HWY_EXPORT(DynamicSourcesBack);

void ScoreEdges(const AdditiveScores& scores, const int64_t* indptr, const int32_t* indices,
                int64_t begin, int64_t end, float* out) {
  HWY_DYNAMIC_DISPATCH(Score)(scores, indptr, indices, begin, end, out);
}

void ScoreEdgesBackward(const AdditiveScores& scores, const int64_t* indptr, const int32_t* indices,
                        int64_t begin, int64_t end, float* grad, float* destination_grad) {
  HWY_DYNAMIC_DISPATCH(ScoreBack)(scores, indptr, indices, begin, end, grad, destination_grad);
}

void SumEdgesBySource(const TransposedBlock& by_source, int64_t heads, const float* values,
                      int64_t begin, int64_t end, float* out) {
  HWY_DYNAMIC_DISPATCH(SumBySource)(by_source, heads, values, begin, end, out);
}

void ScoreEdges(const DynamicScores& scores, const int64_t* indptr, const int32_t* indices,
                int64_t begin, int64_t end, float* out) {
  HWY_DYNAMIC_DISPATCH(DynamicScore)(scores, indptr, indices, begin, end, out);
}

void ScoreEdgesBackward(const DynamicScores& scores, const int64_t* indptr, const int32_t* indices,
                        const float* grad, int64_t begin, int64_t end,
                        const MutableRows& destination_grad, float* vector_grad) {
  HWY_DYNAMIC_DISPATCH(DynamicScoreBack)
  (scores, indptr, indices, grad, begin, end, destination_grad, vector_grad);
}

void ScoreSourcesBackward(const DynamicScores& scores, const TransposedBlock& by_source,
                          const float* grad, int64_t begin, int64_t end,
                          const MutableRows& source_grad) {
  HWY_DYNAMIC_DISPATCH(DynamicSourcesBack)(scores, by_source, grad, begin, end, source_grad);
}

}  // namespace halograph
#endif  // HWY_ONCE
