// Compiled without contraction: every machine draws the same.
#include "common/sampling/weighted_drawer.h"

#include <array>
#include <cassert>

#include "common/sampling/draws.h"

namespace halograph {
namespace {

constexpr size_t kBlock = 64;            // weights that share a sum
constexpr uint64_t kDrawsPerPick = 2;    // before the rest is drawn from sums,
constexpr uint64_t kDegreePerDraw = 16;  // and one draw more for so many in-edges: as dear as sums
// Alias draws whose reads are under way together: first as many as picks, then twice as many each
// time. Reading some in vain is cheaper than waiting for a few again and again.
constexpr uint64_t kFirstBatch = 16;
constexpr uint64_t kMaxBatch = 64;
// Below, a share of the sum left would be rounded to a multiple of the smallest double.
constexpr double kTiny = 0x1p-900;
constexpr double kScale = 0x1p900;

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

// The contract's sum: four lanes.
double LaneSum(std::span<const double> values) {
  std::array<double, 4> lanes = {};
  size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) lanes[lane] += values[i + lane];
  }
  for (; i < values.size(); ++i) lanes[i % 4] += values[i];
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// Where `x` falls into the values laid end to end, and in `x` how far into that one. Requires a
// value above 0.
size_t Locate(std::span<const double> values, double* x) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (*x < values[i]) return i;
    *x -= values[i];
  }
  *x = 0;  // rounding left it beyond the end
  size_t last = values.size() - 1;
  while (last > 0 && !(values[last] > 0)) --last;
  return last;
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
      if (none_is_zero || row.entries[i].weight > 0) positions[picked++] = i;
    }
  } else if (replace) {
    for (size_t i = 0; i < positions.size(); ++i) {
      positions[i] = Resolve(Land(node_key, i, row), row);
    }
  } else {
    DrawSuccessively(node_key, row, positions);
  }
}

void WeightedDrawer::DrawSuccessively(uint64_t node_key, const WeightedRow& row,
                                      std::span<int64_t> positions) {
  const size_t k = positions.size();
  const uint64_t limit = kDrawsPerPick * k + static_cast<uint64_t>(row.degree) / kDegreePerDraw;
  const bool scan = k <= static_cast<size_t>(kScanPicks);
  if (!scan) {
    taken_.clear();
    taken_.reserve(k);
  }
  const auto is_taken = [&](int64_t candidate, size_t picked) {
    if (!scan) return !taken_.insert(candidate).second;
    for (size_t before = 0; before < picked; ++before) {  // a repeat is most often of the first
      if (positions[before] == candidate) return true;
    }
    return false;
  };
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
      const int64_t candidate = Resolve(landings[i], row);
      if (!is_taken(candidate, picked)) positions[picked++] = candidate;
    }
    begin += count;
    batch = std::min(std::max(2 * batch, kFirstBatch), kMaxBatch);
  }
  if (picked < k) DrawRest(node_key, limit, row, picked, positions);
}

void WeightedDrawer::DrawRest(uint64_t node_key, uint64_t next_draw, const WeightedRow& row,
                              size_t picked, std::span<int64_t> positions) {
  left_.resize(static_cast<size_t>(row.degree));
  for (size_t i = 0; i < left_.size(); ++i) left_[i] = row.entries[i].weight;
  for (const int64_t position : positions.first(picked)) left_[position] = 0;
  SumBlocks();
  for (; picked < positions.size(); ++picked) {
    double total = LaneSum(block_sums_);
    if (total < kTiny) {  // once at most: what is left is then at least 2^-174
      for (double& weight : left_) weight *= kScale;
      SumBlocks();
      total = LaneSum(block_sums_);
    }
    double x = static_cast<double>(SubKey(node_key, next_draw++) >> 11) * 0x1p-53 * total;
    const size_t b = Locate(block_sums_, &x);
    const size_t position = b * kBlock + Locate(Block(b), &x);
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
