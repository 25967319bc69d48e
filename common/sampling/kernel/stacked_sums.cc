// Compiled once for each instruction set and chosen when first called (Highway).
#include "common/sampling/kernel/stacked_sums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/sampling/kernel/stacked_sums.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

#include "common/base/prefetch.h"

#ifndef HALOGRAPH_STACKED_SUMS_ONCE
#define HALOGRAPH_STACKED_SUMS_ONCE
namespace halograph {

// Counters of one stack while edges are added. A counter is `lower` + 256 `upper`, and what goes
// beyond is noted: each such note counts for 65,536 edges.
struct StackCounters {
  struct Beyond {
    int64_t source = 0;
    size_t frontier = 0;
    auto operator<=>(const Beyond&) const = default;
  };

  uint8_t* lower = nullptr;
  uint8_t* upper = nullptr;
  bool carried = false;  // else all upper ones are 0
  std::vector<Beyond> beyond = {};

  // The lower counters of `source` wrapped for the frontiers of `wrapped`.
  void Carry(int64_t source, uint64_t wrapped) {
    carried = true;
    for (; wrapped != 0; wrapped &= wrapped - 1) {
      const auto f = static_cast<size_t>(std::countr_zero(wrapped));
      if (++upper[64 * source + static_cast<int64_t>(f)] == 0) beyond.push_back({source, f});
    }
  }
};

// What is appended to one frontier's sums, some at a time.
struct StackedOut {
  static constexpr size_t kFull = 192;
  std::array<int64_t, kFull + 64> sources;
  std::array<uint64_t, kFull + 64> sums;
  size_t size = 0;

  void Flush(ColumnSums* to) {
    to->sources.insert(to->sources.end(), sources.begin(), sources.begin() + size);
    to->sums.insert(to->sums.end(), sums.begin(), sums.begin() + size);
    size = 0;
  }
};

// Bit j of word i becomes bit i of word j.
inline void TransposeBits(std::array<uint64_t, 64>* words) {
  uint64_t mask = 0x00000000ffffffff;
  for (uint64_t width = 32; width != 0; width /= 2, mask ^= mask << width) {
    for (uint64_t i = 0; i < 64; i = (i + width + 1) & ~width) {
      const uint64_t swapped = ((*words)[i] >> width ^ (*words)[i + width]) & mask;
      (*words)[i] ^= swapped << width;
      (*words)[i + width] ^= swapped;
    }
  }
}

}  // namespace halograph
#endif  // HALOGRAPH_STACKED_SUMS_ONCE

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kAhead = 24;  // edges whose counters are on their way from memory

#if HWY_TARGET == HWY_SCALAR
// Raises the counters that `mask` names; a bit for each that wrapped.
uint64_t Raise(uint64_t mask, uint8_t* counters) {
  uint64_t wrapped = 0;
  for (uint64_t left = mask; left != 0; left &= left - 1) {
    const int f = std::countr_zero(left);
    wrapped |= uint64_t{++counters[f] == 0} << f;
  }
  return wrapped;
}

uint64_t FindCounted(const uint8_t* counters) {
  uint64_t found = 0;
  for (int f = 0; f < 64; ++f) found |= uint64_t{counters[f] != 0} << f;
  return found;
}
#else
HWY_INLINE HWY_ATTR uint64_t Raise(uint64_t mask, uint8_t* counters) {
  const hn::CappedTag<uint8_t, 64> d;
  uint64_t wrapped = 0;
  for (size_t at = 0; at < 64; at += hn::Lanes(d)) {
    const uint64_t some = mask >> at;
    const auto lanes = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&some));
    const auto raised = hn::Sub(hn::Load(d, counters + at), hn::VecFromMask(d, lanes));
    hn::Store(raised, d, counters + at);
    const auto zero = hn::And(lanes, hn::Eq(raised, hn::Zero(d)));
    if (!hn::AllFalse(d, zero)) [[unlikely]] {
      uint64_t bits = 0;
      hn::StoreMaskBits(d, zero, reinterpret_cast<uint8_t*>(&bits));
      wrapped |= bits << at;
    }
  }
  return wrapped;
}

// A bit for each counter that is not 0.
HWY_INLINE HWY_ATTR uint64_t FindCounted(const uint8_t* counters) {
  const hn::CappedTag<uint8_t, 64> d;
  uint64_t found = 0;
  for (size_t at = 0; at < 64; at += hn::Lanes(d)) {
    uint64_t bits = 0;
    hn::StoreMaskBits(d, hn::Ne(hn::Load(d, counters + at), hn::Zero(d)),
                      reinterpret_cast<uint8_t*>(&bits));
    found |= bits << at;
  }
  return found;
}
#endif

template <typename IdT>
HWY_ATTR bool AddStack(const FrontierStack& stack, int64_t num_sources, StackCounters* counters) {
  uint8_t* const lower = counters->lower;
  const auto end = static_cast<uint64_t>(num_sources);
  for (size_t i = 0; i < stack.rows().size(); ++i) {
    const ColumnRow& row = stack.rows()[i];
    if (row.degree == 0) continue;
    const std::span<const IdT> ids = row.SourcesAs<IdT>();
    const uint64_t mask = stack.masks()[i];
    for (size_t e = 0; e < std::min(kAhead, ids.size()); ++e) {
      PrefetchToWrite(lower + 64 * static_cast<uint64_t>(ids[e]));
    }
    for (size_t e = 0; e < ids.size(); ++e) {
      if (e + kAhead < ids.size()) {
        PrefetchToWrite(lower + 64 * static_cast<uint64_t>(ids[e + kAhead]));
      }
      const auto source = static_cast<uint64_t>(ids[e]);
      if (source >= end) [[unlikely]]
        return false;
      const uint64_t wrapped = Raise(mask, lower + 64 * source);
      if (wrapped != 0) [[unlikely]]
        counters->Carry(static_cast<int64_t>(source), wrapped);
    }
  }
  return true;
}

// Appends what is counted for the 64 sources from `begin` on, or as many as there are.
HWY_ATTR void SweepBlock(const StackCounters& counters, int64_t begin, int64_t end,
                         std::span<StackedOut> out, std::span<ColumnSums* const> sums) {
  std::array<uint64_t, 64> counted{};  // by source; then by frontier
  uint64_t any = 0;
  for (int64_t source = begin; source < end; ++source) {
    uint64_t found = FindCounted(counters.lower + 64 * source);
    if (counters.carried) found |= FindCounted(counters.upper + 64 * source);
    counted[source - begin] = found;
    any |= found;
  }
  if (any == 0) return;
  TransposeBits(&counted);
  const uint8_t* const lower = counters.lower + 64 * begin;
  const uint8_t* const upper = counters.carried ? counters.upper + 64 * begin : nullptr;
  for (; any != 0; any &= any - 1) {
    const int f = std::countr_zero(any);
    StackedOut& to = out[f];
    size_t size = to.size;
    for (uint64_t left = counted[f]; left != 0; left &= left - 1) {
      const int at = std::countr_zero(left);
      to.sources[size] = begin + at;
      to.sums[size] = lower[64 * at + f] | (upper != nullptr ? upper[64 * at + f] << 8 : 0);
      ++size;
    }
    to.size = size;
    if (size >= StackedOut::kFull) to.Flush(sums[f]);
  }
  const auto bytes = static_cast<size_t>(64 * (end - begin));
  std::fill_n(counters.lower + 64 * begin, bytes, uint8_t{0});
  if (upper != nullptr) std::fill_n(counters.upper + 64 * begin, bytes, uint8_t{0});
}

HWY_ATTR bool AddNarrow(const FrontierStack& stack, int64_t num_sources, StackCounters* counters) {
  return AddStack<uint32_t>(stack, num_sources, counters);
}
HWY_ATTR bool AddWide(const FrontierStack& stack, int64_t num_sources, StackCounters* counters) {
  return AddStack<int64_t>(stack, num_sources, counters);
}

HWY_ATTR void SweepAll(const StackCounters& counters, int64_t num_sources,
                       std::span<StackedOut> out, std::span<ColumnSums* const> sums) {
  for (int64_t begin = 0; begin < num_sources; begin += 64) {
    SweepBlock(counters, begin, std::min(num_sources, begin + 64), out, sums);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(AddNarrow);
HWY_EXPORT(AddWide);
HWY_EXPORT(SweepAll);

namespace {

// 65,536 for each note; the counters of such a source may be 0.
void AddBeyond(const StackCounters& counters, std::span<ColumnSums* const> sums) {
  for (const auto& [source, f] : counters.beyond) {
    std::vector<int64_t>& sources = sums[f]->sources;
    const auto at = std::lower_bound(sources.begin(), sources.end(), source) - sources.begin();
    if (at == std::ssize(sources) || sources[at] != source) {
      sources.insert(sources.begin() + at, source);
      sums[f]->sums.insert(sums[f]->sums.begin() + at, 0);
    }
    sums[f]->sums[at] += uint64_t{1} << 16;
  }
}

}  // namespace

bool StackedSumsPay(const FrontierStack& stack, int64_t num_sources) {
  // To raise a line of counters takes 8 ns, for 2 to 3 ns of an entry in a table of one frontier's;
  // and all lines are swept, for 20 ns each.
  constexpr int64_t kAsLong = 4;
  constexpr int64_t kEdgesALine = 4;
  return stack.edges() > kAsLong * stack.distinct_edges() + kEdgesALine * num_sources;
}

bool SumStacked(const ColumnEdges& edges, const FrontierStack& stack, StackTables* tables,
                std::span<ColumnSums* const> sums) {
  const int64_t num_sources = edges.num_sources;
  absl::Cleanup clear = [tables] { tables->Clear(); };  // where it ends on the way
  StackCounters counters{.lower = tables->Lower(num_sources), .upper = tables->Upper(num_sources)};
  const bool known = edges.topology->HasWideIds()
                         ? HWY_DYNAMIC_DISPATCH(AddWide)(stack, num_sources, &counters)
                         : HWY_DYNAMIC_DISPATCH(AddNarrow)(stack, num_sources, &counters);
  if (!known) return false;
  for (ColumnSums* const of_frontier : sums) {
    of_frontier->sources.clear();
    of_frontier->sums.clear();
  }
  std::vector<StackedOut> out(sums.size());
  HWY_DYNAMIC_DISPATCH(SweepAll)(counters, num_sources, out, sums);
  for (size_t f = 0; f < sums.size(); ++f) out[f].Flush(sums[f]);
  std::move(clear).Cancel();
  AddBeyond(counters, sums);
  return true;
}

}  // namespace halograph
#endif  // HWY_ONCE
