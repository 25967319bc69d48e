// Compiled once for each instruction set and chosen when first called (Highway).
#include "common/sampling/kernel/column_sweep.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/sampling/kernel/column_sweep.cc"
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

// A bit for each of 64 nodes whose sum is not 0.
HWY_ATTR uint64_t FindNonzero(const uint32_t* lower, const uint32_t* upper) {
  uint64_t found = 0;
  size_t at = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<uint32_t, 64> d;
  for (; at < 64; at += hn::Lanes(d)) {
    auto entries = hn::LoadU(d, lower + at);
    if (upper != nullptr) entries = hn::Or(entries, hn::LoadU(d, upper + at));
    uint64_t bits = 0;  // as many as lanes; the others stay 0
    hn::StoreMaskBits(d, hn::Ne(entries, hn::Zero(d)), reinterpret_cast<uint8_t*>(&bits));
    found |= bits << at;
  }
#endif
  for (; at < 64; ++at) {
    const uint32_t entry = lower[at] | (upper != nullptr ? upper[at] : 0);
    found |= uint64_t{entry != 0} << at;
  }
  return found;
}

HWY_ATTR void Sweep(const SumTable& table, int64_t nodes, ColumnSums* sums) {
  const auto append = [&](int64_t node) {
    sums->sources.push_back(node);
    sums->sums.push_back(table.Take(node));
  };
  int64_t begin = 0;
  for (; begin + 64 <= nodes; begin += 64) {
    const uint32_t* const upper = table.carried ? table.upper + begin : nullptr;
    for (uint64_t left = FindNonzero(table.lower + begin, upper); left != 0; left &= left - 1) {
      append(begin + std::countr_zero(left));
    }
  }
  for (; begin < nodes; ++begin) {
    if (table.lower[begin] != 0 || (table.carried && table.upper[begin] != 0)) append(begin);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Sweep);

void SweepTable(const SumTable& table, int64_t nodes, ColumnSums* sums) {
  HWY_DYNAMIC_DISPATCH(Sweep)(table, nodes, sums);
}

}  // namespace halograph
#endif  // HWY_ONCE
