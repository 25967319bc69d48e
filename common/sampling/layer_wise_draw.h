// The draw of the layer-wise samplers (SAMPLING.md, "Layer-wise draws"): some of a relation's
// candidate sources, without replacement, each with a chance by its integer weight W, and for each
// the factor w that makes the sum of w times what the candidate stands for unbiased. All decisions
// are made in exact integers, so that the same candidates give the same picks everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/rng.h"
#include "common/base/status.h"

namespace halograph {

__extension__ using WideSum = unsigned __int128;

// The key of the draws of one relation in one layer: of no node.
[[nodiscard]] constexpr uint64_t ColumnKey(uint64_t layer_key) {
  return SubKey(layer_key, ~uint64_t{0});
}

// 128 bits that one pick is made of.
[[nodiscard]] constexpr WideSum ColumnDraw(uint64_t column_key, uint64_t i) {
  return (WideSum{SubKey(column_key, 2 * i)} << 64) | SubKey(column_key, 2 * i + 1);
}

// The share of `sum` that 128 bits stand for: floor(draw * sum / 2^128). No number below `sum` is
// more than sum / 2^128 off its share.
[[nodiscard]] constexpr uint64_t ShareOf(WideSum draw, uint64_t sum) {
  const auto low = static_cast<uint64_t>(draw), high = static_cast<uint64_t>(draw >> 64);
  return static_cast<uint64_t>((WideSum{high} * sum + ((WideSum{low} * sum) >> 64)) >> 64);
}

// Sums of 64, of 64 x 64, ... entries of a list, up to a level of 64 at most: where a number falls
// in the list is then found with some 32 steps a level.
template <typename Sum>
struct SumLevels {
  std::vector<Sum> sums;       // level after level, the finest first
  std::vector<size_t> begins;  // of each level in `sums`, and the end
};

// Candidates as they are drawn from: an entry of W = 0 is no candidate. Immutable between calls of
// Reset: several threads may draw from one. It takes .13 bytes an entry (.26 where the sum of all W
// has more than 64 bits) beside the weights, which are not owned and must stay as they are.
class CandidateSums {
 public:
  CandidateSums() = default;

  // Replaces what was there; memory is reused. A pass over the weights. The sum of all is below
  // 2^127, as the contract asks: it takes 2^63 weights of 64 bits to reach it.
  void Reset(std::span<const uint64_t> weights);
  // The same of weights of 4 bytes: of a whole node type, say.
  void Reset(std::span<const uint32_t> weights);

  [[nodiscard]] int64_t num_candidates() const { return num_candidates_; }  // entries with W > 0
  [[nodiscard]] WideSum total() const { return total_; }                    // the sum of all W
  [[nodiscard]] size_t size() const { return narrow_ ? weights32_.size() : weights64_.size(); }
  [[nodiscard]] uint64_t weight(size_t i) const {
    return narrow_ ? uint64_t{weights32_[i]} : weights64_[i];
  }

 private:
  friend class LayerWiseDrawer;
  template <typename Weight>
  void SumUp(std::span<const Weight> weights);

  bool narrow_ = false;
  std::span<const uint32_t> weights32_;  // narrow_
  std::span<const uint64_t> weights64_;  // else
  int64_t num_candidates_ = 0;
  WideSum total_ = 0;
  bool fits64_ = true;              // the sum of all W
  SumLevels<uint64_t> levels_;      // fits64_
  SumLevels<WideSum> wide_levels_;  // else
};

struct LayerWisePicks {
  std::vector<int64_t> positions;  // in the list of candidates, in the order picked
  std::vector<double> weights;     // the w of each: above 0
};

// Not thread-safe; its memory is reused: .25 bytes an entry of the list, .39 where the sum of all W
// has more than 64 bits.
class LayerWiseDrawer {
 public:
  // Draws `nodes` candidates. Where there are no more than that, it gives all, ascending, with
  // weights of 1, and draws nothing. `picks` is overwritten. Throws std::bad_alloc.
  //   OutOfRange  nodes < 0
  [[nodiscard]] Status Draw(const CandidateSums& candidates, int64_t nodes, uint64_t column_key,
                            LayerWisePicks* picks);

  // The same, by draws that are given instead of ColumnDraw(column_key, i): for tests, which go
  // through what can be drawn.
  //   OutOfRange       nodes < 0
  //   InvalidArgument  fewer draws than picks
  [[nodiscard]] Status DrawBy(const CandidateSums& candidates, int64_t nodes,
                              std::span<const WideSum> draws, LayerWisePicks* picks);

 private:
  template <typename DrawAt>
  [[nodiscard]] Status DrawAny(const CandidateSums& candidates, int64_t nodes,
                               const DrawAt& draw_at, LayerWisePicks* picks);
  template <typename Sum, typename Weight, typename DrawAt>
  void DrawSome(std::span<const Weight> weights, const SumLevels<Sum>& of_all,
                const CandidateSums& candidates, std::vector<Sum>* sums, const DrawAt& draw_at,
                LayerWisePicks* picks);

  std::vector<uint64_t> taken_;  // a bit an entry, a word for each 64 that share a sum
  std::vector<uint64_t> sums_;   // of those not taken, as SumLevels::sums
  std::vector<WideSum> wide_sums_;
};

}  // namespace halograph
