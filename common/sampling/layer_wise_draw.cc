// Compiled without contraction: every machine gives the same weights.
#include "common/sampling/layer_wise_draw.h"

#include <algorithm>

namespace halograph {
namespace {

constexpr size_t kBlock = 64;  // entries that share a sum: the bits of a word of taken_
// 64 weights below it have a sum of 64 bits.
constexpr uint64_t kSmallWeight = uint64_t{1} << 58;

// The upper 128 bits of a product: of `draw` in [0, 2^128), floor(draw * sum / 2^128).
WideSum Share(WideSum draw, WideSum sum) {
  const auto draw_low = static_cast<uint64_t>(draw), draw_high = static_cast<uint64_t>(draw >> 64);
  const auto low = static_cast<uint64_t>(sum), high = static_cast<uint64_t>(sum >> 64);
  const WideSum of_high = WideSum{draw_high} * low + ((WideSum{draw_low} * low) >> 64);
  const WideSum of_low = WideSum{draw_low} * high + static_cast<uint64_t>(of_high);
  return WideSum{draw_high} * high + (of_high >> 64) + (of_low >> 64);
}
uint64_t Share(WideSum draw, uint64_t sum) { return ShareOf(draw, sum); }

// The first of at most 64 entries with *rest below it, where *rest falls by each entry passed. One
// exists. One after the other: passing eight at a time took a fifth longer, for one more branch
// that is guessed wrong.
template <typename Sum, typename EntryAt>
size_t Locate(const EntryAt& entry_at, Sum* rest) {
  Sum left = *rest;
  size_t i = 0;
  for (Sum entry = entry_at(0); left >= entry; entry = entry_at(++i)) left -= entry;
  *rest = left;
  return i;
}

// Adds the coarser levels to `levels`, which has the finest.
template <typename Sum>
void AddLevels(SumLevels<Sum>* levels) {
  levels->begins.assign({0, levels->sums.size()});
  while (levels->sums.size() - levels->begins[levels->begins.size() - 2] > kBlock) {
    const size_t begin = levels->begins[levels->begins.size() - 2];
    const size_t end = levels->begins.back();
    for (size_t at = begin; at < end; at += kBlock) {
      Sum sum = 0;
      for (size_t i = at; i < std::min(at + kBlock, end); ++i) sum += levels->sums[i];
      levels->sums.push_back(sum);
    }
    levels->begins.push_back(levels->sums.size());
  }
}

template <typename Sum, typename Weight>
void SumBlocks(std::span<const Weight> weights, std::vector<Sum>* sums) {
  sums->clear();
  for (size_t at = 0; at < weights.size(); at += kBlock) {
    Sum sum = 0;
    for (const Weight weight : weights.subspan(at, std::min(kBlock, weights.size() - at))) {
      sum += weight;
    }
    sums->push_back(sum);
  }
}

// What does not change from pick to pick of the weights' formula.
struct PickWeights {
  double candidates;
  double nodes;
  double rest_of_them;  // candidates - nodes
  int64_t count;        // candidates

  // Of pick i: the sum of W over those not taken before it, and its W. The order of operations is
  // the contract's.
  [[nodiscard]] double Of(int64_t i, double sum, double weight) const {
    const auto left = static_cast<double>(count - i);
    const auto left_after = static_cast<double>(count - i - 1);
    const double factor = (candidates * rest_of_them) / (nodes * (left * left_after));
    const double certain = (static_cast<double>(i + 1) * rest_of_them) / (nodes * left_after);
    return (1.0 - certain) + factor * (sum / weight);
  }
};

void TakeAll(const CandidateSums& candidates, LayerWisePicks* picks) {
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates.weight(i) > 0) picks->positions.push_back(static_cast<int64_t>(i));
  }
  picks->weights.assign(picks->positions.size(), 1.0);
}

}  // namespace

template <typename Weight>
void CandidateSums::SumUp(std::span<const Weight> weights) {
  uint64_t all_bits = 0;
  int64_t candidates = 0;
  for (const Weight weight : weights) {
    all_bits |= weight;
    candidates += weight > 0 ? 1 : 0;
  }
  num_candidates_ = 0;  // until all is there
  total_ = 0;
  fits64_ = all_bits < kSmallWeight;
  if (fits64_) {
    SumBlocks(weights, &levels_.sums);
    for (const uint64_t sum : levels_.sums) total_ += sum;
    fits64_ = total_ >> 64 == 0;
    if (fits64_) {
      AddLevels(&levels_);
      num_candidates_ = candidates;
      return;
    }
  }
  SumBlocks(weights, &wide_levels_.sums);
  total_ = 0;
  for (const WideSum sum : wide_levels_.sums) total_ += sum;
  AddLevels(&wide_levels_);
  num_candidates_ = candidates;
}

void CandidateSums::Reset(std::span<const uint64_t> weights) {
  narrow_ = false;
  weights64_ = weights;
  SumUp(weights);
}

void CandidateSums::Reset(std::span<const uint32_t> weights) {
  narrow_ = true;
  weights32_ = weights;
  SumUp(weights);
}

template <typename Sum, typename Weight, typename DrawAt>
void LayerWiseDrawer::DrawSome(std::span<const Weight> weights, const SumLevels<Sum>& of_all,
                               const CandidateSums& candidates, std::vector<Sum>* sums,
                               const DrawAt& draw_at, LayerWisePicks* picks) {
  sums->assign(of_all.sums.begin(), of_all.sums.end());
  taken_.assign((weights.size() + kBlock - 1) / kBlock, 0);
  const std::span<const size_t> begins = of_all.begins;
  const auto nodes = std::ssize(picks->positions);
  const int64_t count = candidates.num_candidates();
  const PickWeights formula{.candidates = static_cast<double>(count),
                            .nodes = static_cast<double>(nodes),
                            .rest_of_them = static_cast<double>(count - nodes),
                            .count = count};
  auto left = static_cast<Sum>(candidates.total());
  for (int64_t i = 0; i < nodes; ++i) {
    Sum rest = Share(draw_at(i), left);
    size_t at = 0;  // of the level above
    for (size_t level = begins.size() - 1; level-- > 0;) {
      const Sum* const entries = sums->data() + begins[level] + at * kBlock;
      at = at * kBlock + Locate([&](size_t j) { return entries[j]; }, &rest);
    }
    const Weight* const entries = weights.data() + at * kBlock;
    const uint64_t taken = taken_[at];
    const size_t of_block = Locate(
        [&](size_t j) { return (taken >> j & 1) != 0 ? Sum{0} : static_cast<Sum>(entries[j]); },
        &rest);
    const Weight weight = entries[of_block];
    picks->positions[static_cast<size_t>(i)] = static_cast<int64_t>(at * kBlock + of_block);
    picks->weights[static_cast<size_t>(i)] =
        formula.Of(i, static_cast<double>(left), static_cast<double>(weight));
    left -= weight;
    taken_[at] |= uint64_t{1} << of_block;
    for (size_t level = 0; level + 1 < begins.size(); ++level) {
      (*sums)[begins[level] + at] -= weight;
      at /= kBlock;
    }
  }
}

template <typename DrawAt>
Status LayerWiseDrawer::DrawAny(const CandidateSums& candidates, int64_t nodes,
                                const DrawAt& draw_at, LayerWisePicks* picks) {
  if (nodes < 0) return OutOfRange("a layer cannot draw {} nodes; ask for 0 or more", nodes);
  picks->positions.clear();
  picks->weights.clear();
  if (nodes >= candidates.num_candidates()) {
    TakeAll(candidates, picks);
    return OkStatus();
  }
  picks->positions.resize(static_cast<size_t>(nodes));
  picks->weights.resize(static_cast<size_t>(nodes));
  const auto draw_from = [&](auto weights) {
    if (candidates.fits64_) {
      DrawSome(weights, candidates.levels_, candidates, &sums_, draw_at, picks);
    } else {
      DrawSome(weights, candidates.wide_levels_, candidates, &wide_sums_, draw_at, picks);
    }
  };
  if (candidates.narrow_) {
    draw_from(candidates.weights32_);
  } else {
    draw_from(candidates.weights64_);
  }
  return OkStatus();
}

Status LayerWiseDrawer::Draw(const CandidateSums& candidates, int64_t nodes, uint64_t column_key,
                             LayerWisePicks* picks) {
  return DrawAny(
      candidates, nodes,
      [&](int64_t i) { return ColumnDraw(column_key, static_cast<uint64_t>(i)); }, picks);
}

Status LayerWiseDrawer::DrawBy(const CandidateSums& candidates, int64_t nodes,
                               std::span<const WideSum> draws, LayerWisePicks* picks) {
  if (nodes < candidates.num_candidates() && nodes > std::ssize(draws)) {
    return InvalidArgument("{} draws were given for {} picks", draws.size(), nodes);
  }
  return DrawAny(
      candidates, nodes, [&](int64_t i) { return draws[static_cast<size_t>(i)]; }, picks);
}

}  // namespace halograph
