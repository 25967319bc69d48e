// Compiled without contraction: every machine draws the same.
#include "common/sampling/weighted_drawer.h"

#include <array>
#include <cassert>

#include "common/sampling/draws.h"
#include "common/sampling/weighted_heavy.h"

namespace halograph {
namespace {

constexpr size_t kBlock = 64;            // weights that share a sum
constexpr uint64_t kDrawsPerPick = 2;    // before the rest is drawn from sums,
constexpr uint64_t kDegreePerDraw = 16;  // and one draw more for so many in-edges: as dear as sums
// Alias draws whose reads are under way together: first as many as picks, then twice as many each
// time. Reading some in vain is cheaper than waiting for a few again and again.
constexpr uint64_t kFirstBatch = 16;
constexpr uint64_t kMaxBatch = 64;
// Of a top-heavy node, draws whose alias entries are asked for at the start.
constexpr size_t kExpectedDraws = 16;

// An alias draw before its entry is read.
struct Landing {
  uint64_t position;
  uint32_t fraction;
};

Landing Land(uint64_t node_key, uint64_t i, const WeightedRow& row) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(SubKey(node_key, i)) * static_cast<uint64_t>(row.degree);
  return {.position = static_cast<uint64_t>(product >> 64),
          .fraction = static_cast<uint32_t>(static_cast<uint64_t>(product) >> 32)};
}

int64_t Resolve(const Landing& landing, const WeightedRow& row) {
  const AliasEntry& entry = row.entries[landing.position];
  // An alias beyond the list is damage that opening with headers only does not see.
  const bool own =
      landing.fraction < entry.threshold || entry.alias >= static_cast<uint64_t>(row.degree);
  return own ? static_cast<int64_t>(landing.position) : int64_t{entry.alias};
}

int64_t HeavyPosition(const WeightedRow& row, int heavy) {
  return std::min<int64_t>(row.heavy->positions[static_cast<size_t>(heavy)], row.degree - 1);
}

// Asks for the alias entries that will be needed, most likely: the greater weights are picked
// first, and the less of them is left, the more draws fall on others.
void PrefetchOthers(uint64_t node_key, const WeightedRow& row, const HeavyDraws& heavy, size_t k) {
  const std::array<double, kHeavyEdges> tails = heavy.Tails();
  for (size_t t = 0; t < std::min(k, kExpectedDraws); ++t) {
    const bool needed = t >= tails.size() || heavy.FallsOnNone(SubKey(node_key, 2 * t), tails[t]);
    if (needed) __builtin_prefetch(row.entries + Land(node_key, 2 * t + 1, row).position);
  }
}

}  // namespace

void WeightedDrawer::Draw(uint64_t node_key, const WeightedRow& row, int32_t fanout, bool replace,
                          std::span<int64_t> positions) {
  assert(static_cast<int64_t>(positions.size()) == WeightedPicksOf(row.drawable, fanout, replace));
  if (WeightedTakesAll(row.drawable, fanout, replace)) {
    const bool none_is_zero = row.drawable == row.degree;
    std::fill(positions.begin(), positions.end(), 0);  // in a damaged table some would be missing
    size_t picked = 0;
    for (int64_t i = 0; i < row.degree && picked < positions.size(); ++i) {
      if (none_is_zero || row.weights[i] > 0) positions[picked++] = i;
    }
  } else if (replace) {
    DrawWithReplacement(node_key, row, positions);
  } else {
    DrawSuccessively(node_key, row, positions);
  }
}

void WeightedDrawer::DrawWithReplacement(uint64_t node_key, const WeightedRow& row,
                                         std::span<int64_t> positions) {
  if (row.heavy == nullptr) {
    for (size_t i = 0; i < positions.size(); ++i) {
      positions[i] = Resolve(Land(node_key, i, row), row);
    }
    return;
  }
  const HeavyDraws draws(*row.heavy);
  for (size_t i = 0; i < positions.size(); ++i) {
    const int heavy = draws.Locate(SubKey(node_key, 2 * i));
    positions[i] = heavy != HeavyDraws::kNone ? HeavyPosition(row, heavy)
                                              : Resolve(Land(node_key, 2 * i + 1, row), row);
  }
}

void WeightedDrawer::DrawSuccessively(uint64_t node_key, const WeightedRow& row,
                                      std::span<int64_t> positions) {
  const size_t k = positions.size();
  const uint64_t limit = kDrawsPerPick * k + static_cast<uint64_t>(row.degree) / kDegreePerDraw;
  if (k > static_cast<size_t>(kScanPicks)) {
    taken_.clear();
    taken_.reserve(k);
  }
  const bool top_heavy = row.heavy != nullptr;
  const size_t picked = top_heavy ? DrawTopHeavy(node_key, row, limit, positions)
                                  : DrawByAlias(node_key, row, limit, positions);
  if (picked < k) DrawRest(node_key, top_heavy ? 2 * limit : limit, row, picked, positions);
}

size_t WeightedDrawer::DrawByAlias(uint64_t node_key, const WeightedRow& row, uint64_t limit,
                                   std::span<int64_t> positions) {
  const size_t k = positions.size();
  std::array<Landing, kMaxBatch> landings;
  size_t picked = 0;
  uint64_t batch = std::min<uint64_t>(k, kFirstBatch);
  for (uint64_t begin = 0; begin < limit && picked < k;) {
    const uint64_t count = std::min(batch, limit - begin);
    for (uint64_t i = 0; i < count; ++i) {
      landings[i] = Land(node_key, begin + i, row);
      __builtin_prefetch(row.entries + landings[i].position);
    }
    for (uint64_t i = 0; i < count && picked < k; ++i) {
      picked += Take(Resolve(landings[i], row), picked, positions) ? 1 : 0;
    }
    begin += count;
    batch = std::min(std::max(2 * batch, kFirstBatch), kMaxBatch);
  }
  return picked;
}

size_t WeightedDrawer::DrawTopHeavy(uint64_t node_key, const WeightedRow& row, uint64_t limit,
                                    std::span<int64_t> positions) {
  const size_t k = positions.size();
  HeavyDraws draws(*row.heavy);
  PrefetchOthers(node_key, row, draws, k);
  size_t picked = 0;
  for (uint64_t i = 0; i < limit && picked < k; ++i) {
    if (i + kExpectedDraws < k) {
      const Landing ahead = Land(node_key, 2 * (i + kExpectedDraws) + 1, row);
      __builtin_prefetch(row.entries + ahead.position);
    }
    const int heavy = draws.Locate(SubKey(node_key, 2 * i));
    if (heavy != HeavyDraws::kNone) draws.Remove(heavy);
    const int64_t candidate = heavy != HeavyDraws::kNone
                                  ? HeavyPosition(row, heavy)
                                  : Resolve(Land(node_key, 2 * i + 1, row), row);
    picked += Take(candidate, picked, positions) ? 1 : 0;
  }
  return picked;
}

bool WeightedDrawer::Take(int64_t candidate, size_t picked, std::span<int64_t> positions) {
  if (positions.size() > static_cast<size_t>(kScanPicks)) {
    if (!taken_.insert(candidate).second) return false;
  } else {
    for (size_t before = 0; before < picked; ++before) {  // a repeat is most often of the first
      if (positions[before] == candidate) return false;
    }
  }
  positions[picked] = candidate;
  return true;
}

void WeightedDrawer::DrawRest(uint64_t node_key, uint64_t next_draw, const WeightedRow& row,
                              size_t picked, std::span<int64_t> positions) {
  left_.assign(row.weights, row.weights + row.degree);
  for (const int64_t position : positions.first(picked)) left_[position] = 0;
  SumBlocks();
  for (; picked < positions.size(); ++picked) {
    double total = LaneSum(block_sums_);
    if (total < kTinyWeightSum) {  // once at most: what is left is then at least 2^-174
      for (double& weight : left_) weight *= kWeightScale;
      SumBlocks();
      total = LaneSum(block_sums_);
    }
    double x = DrawnShare(SubKey(node_key, next_draw++)) * total;
    const size_t b = LocateWeight(block_sums_, &x);
    const size_t position = b * kBlock + LocateWeight(Block(b), &x);
    positions[picked] = static_cast<int64_t>(position);
    left_[position] = 0;
    block_sums_[b] = LaneSum(Block(b));
  }
  if (left_.capacity() > kKeptWeights) left_ = {};
}

std::span<const double> WeightedDrawer::Block(size_t b) const {
  return std::span(left_).subspan(b * kBlock, std::min(kBlock, left_.size() - b * kBlock));
}

void WeightedDrawer::SumBlocks() {
  block_sums_.resize((left_.size() + kBlock - 1) / kBlock);
  for (size_t b = 0; b < block_sums_.size(); ++b) block_sums_[b] = LaneSum(Block(b));
}

}  // namespace halograph
