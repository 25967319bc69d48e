// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/kernels/max_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/max_rows.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The edges of one row.
struct RowEdges {
  const int32_t* indices;
  int64_t count;
};

// Vectors from columns `a` and `b` on: two at a time, as each needs registers for values and for
// winners.
template <class D>
HWY_ATTR void MaxOfColumns(D d, const ConstRows& rows, const RowEdges& edges, int64_t a, int64_t b,
                           float* out, int32_t* winners) {
  const hn::RebindToSigned<D> di;
  using V = hn::Vec<D>;
  using VI = hn::Vec<decltype(di)>;
  V best_a = hn::Zero(d), best_b = best_a;
  VI who_a = hn::Set(di, -1), who_b = who_a;
  const auto start = [&](int64_t column, V& best, VI& who) HWY_ATTR {
    best = hn::LoadU(d, rows.data + edges.indices[0] * rows.stride + column);
    who = hn::Set(di, edges.indices[0]);
  };
  const auto step = [&](int32_t index, int64_t column, V& best, VI& who) HWY_ATTR {
    const V value = hn::LoadU(d, rows.data + index * rows.stride + column);
    // Not less or equal: larger, or one of both is NaN. The NaN that came first stays.
    const auto take = hn::AndNot(hn::IsNaN(best), hn::Not(hn::Le(value, best)));
    best = hn::IfThenElse(take, value, best);
    who = hn::IfThenElse(hn::RebindMask(di, take), hn::Set(di, index), who);
  };
  if (edges.count > 0) start(a, best_a, who_a), start(b, best_b, who_b);
  for (int64_t e = 1; e < edges.count; ++e) {
    step(edges.indices[e], a, best_a, who_a), step(edges.indices[e], b, best_b, who_b);
  }
  hn::StoreU(best_a, d, out + a), hn::StoreU(best_b, d, out + b);
  if (winners == nullptr) return;
  hn::StoreU(who_a, di, winners + a), hn::StoreU(who_b, di, winners + b);
}

// `sources` are the destinations of the block here; `source` is the row that gets the gradient.
template <class D>
HWY_ATTR void BackToColumns(D d, const ConstRows& grad, const RowEdges& edges, int32_t source,
                            const int32_t* winners, int64_t cols, int64_t a, int64_t b,
                            float* out) {
  const hn::RebindToSigned<D> di;
  using V = hn::Vec<D>;
  V sum_a = hn::Zero(d), sum_b = sum_a;
  const auto self = hn::Set(di, source);
  const auto won = [&](int64_t row, int64_t column) HWY_ATTR {
    const auto mine = hn::Eq(hn::LoadU(di, winners + row * cols + column), self);
    return hn::IfThenElseZero(hn::RebindMask(d, mine),
                              hn::LoadU(d, grad.data + row * grad.stride + column));
  };
  for (int64_t e = 0; e < edges.count; ++e) {
    const int64_t row = edges.indices[e];
    if (e > 0 && row == edges.indices[e - 1]) continue;
    sum_a = hn::Add(sum_a, won(row, a)), sum_b = hn::Add(sum_b, won(row, b));
  }
  hn::StoreU(sum_a, d, out + a), hn::StoreU(sum_b, d, out + b);
}

// Calls `two(d, a, b)` until it has been given vectors from columns that cover the row. The last
// one ends with the row and may repeat columns.
template <class D, class Two>
HWY_ATTR void ForColumns(D d, int64_t cols, const Two& two) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t column = 0; column < cols; column += 2 * lanes) {
    two(d, std::min(column, cols - lanes), std::min(column + lanes, cols - lanes));
  }
}

template <class D>
HWY_ATTR void MaxBy(D d, const PickedRows& picked, int64_t begin, int64_t end,
                    const MutableRows& out, int32_t* winners) {
  for (int64_t i = begin; i < end; ++i) {
    const RowEdges edges = {picked.indices + picked.indptr[i],
                            picked.indptr[i + 1] - picked.indptr[i]};
    float* values = out.data + i * out.stride;
    int32_t* who = winners != nullptr ? winners + i * picked.cols : nullptr;
    ForColumns(d, picked.cols, [&](D, int64_t a, int64_t b) HWY_ATTR {
      MaxOfColumns(d, picked.rows, edges, a, b, values, who);
    });
  }
}

template <class D>
HWY_ATTR void MaxBackBy(D d, const PickedRows& grad, const int32_t* winners, int64_t begin,
                        int64_t end, const MutableRows& out) {
  for (int64_t u = begin; u < end; ++u) {
    const RowEdges edges = {grad.indices + grad.indptr[u], grad.indptr[u + 1] - grad.indptr[u]};
    float* sums = out.data + u * out.stride;
    ForColumns(d, grad.cols, [&](D, int64_t a, int64_t b) HWY_ATTR {
      BackToColumns(d, grad.rows, edges, static_cast<int32_t>(u), winners, grad.cols, a, b, sums);
    });
  }
}

// Rows narrower than a vector go by single values.
HWY_ATTR bool IsWide(int64_t cols) {
  return cols >= static_cast<int64_t>(hn::Lanes(hn::CappedTag<float, 16>()));
}

HWY_ATTR void Max(const PickedRows& picked, int64_t begin, int64_t end, const MutableRows& out,
                  int32_t* winners) {
  if (IsWide(picked.cols)) {
    return MaxBy(hn::CappedTag<float, 16>(), picked, begin, end, out, winners);
  }
  MaxBy(hn::CappedTag<float, 1>(), picked, begin, end, out, winners);
}

HWY_ATTR void MaxBack(const PickedRows& grad, const int32_t* winners, int64_t begin, int64_t end,
                      const MutableRows& out) {
  if (IsWide(grad.cols)) {
    return MaxBackBy(hn::CappedTag<float, 16>(), grad, winners, begin, end, out);
  }
  MaxBackBy(hn::CappedTag<float, 1>(), grad, winners, begin, end, out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Max);
HWY_EXPORT(MaxBack);

void MaxOfRows(const PickedRows& picked, int64_t begin, int64_t end, const MutableRows& out,
               int32_t* winners) {
  HWY_DYNAMIC_DISPATCH(Max)(picked, begin, end, out, winners);
}

void MaxOfRowsBackward(const PickedRows& grad, const int32_t* winners, int64_t begin, int64_t end,
                       const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(MaxBack)(grad, winners, begin, end, out);
}

}  // namespace halograph
#endif  // HWY_ONCE
