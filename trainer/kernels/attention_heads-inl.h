// Values of edges by head, and heads' segments of rows, in the vectors of one instruction set. For
// sources of Highway's only.

// Highway's guard: once a target.
#if defined(HALOGRAPH_TRAINER_KERNELS_ATTENTION_HEADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOGRAPH_TRAINER_KERNELS_ATTENTION_HEADS_INL_H_
#undef HALOGRAPH_TRAINER_KERNELS_ATTENTION_HEADS_INL_H_
#else
#define HALOGRAPH_TRAINER_KERNELS_ATTENTION_HEADS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

// Calls `body` with a tag and a head until it has been given all heads: as many at a time as the
// tag has lanes.
template <class Body>
HWY_ATTR void ForHeads(int64_t heads, const Body& body) {
  namespace hn = hwy::HWY_NAMESPACE;
  int64_t head = 0;
  const auto all = [&](auto d) HWY_ATTR {
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; head + lanes <= heads; head += lanes) body(d, head);
  };
  all(hn::CappedTag<float, 8>());
  all(hn::CappedTag<float, 4>());
  all(hn::CappedTag<float, 1>());
}

// Calls `body` with a count, a column and how many columns from there on it had before, until it
// has had all columns of a segment: `count` vectors at a time, of type integral_constant. Only a
// last vector, which ends with the segment, repeats columns. Requires width >= lanes of `d`.
template <class D, class Body>
HWY_ATTR void ForVectors(D d, int64_t width, const Body& body) {
  const auto lanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(d));
  int64_t c = 0;
  for (; c + 4 * lanes <= width; c += 4 * lanes) body(std::integral_constant<int, 4>(), c, 0);
  if (c + 2 * lanes <= width) body(std::integral_constant<int, 2>(), c, 0), c += 2 * lanes;
  if (c + lanes <= width) body(std::integral_constant<int, 1>(), c, 0), c += lanes;
  if (c == width) return;
  body(std::integral_constant<int, 1>(), width - lanes, c - (width - lanes));
}

// The lanes of a first vector that its columns had not been given before.
template <class D>
HWY_ATTR auto FreshLanes(D d, int64_t had) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::Not(hn::FirstN(d, static_cast<size_t>(had)));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#endif  // HALOGRAPH_TRAINER_KERNELS_ATTENTION_HEADS_INL_H_
