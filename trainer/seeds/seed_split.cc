#include "trainer/seeds/seed_split.h"

#include <algorithm>
#include <tuple>

namespace halograph {
namespace {

// How many positions both ranges have.
int64_t Overlap(IdRange a, IdRange b) {
  return std::max<int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

struct Match {
  int64_t overlap;
  int range;
  int rank;
  bool operator<(const Match& other) const {
    return std::tie(other.overlap, range, rank) < std::tie(overlap, other.range, other.rank);
  }
};

}  // namespace

int64_t SeedShards::Largest() const {
  int64_t largest = 0;
  for (const IdRange& shard : of_rank) largest = std::max(largest, shard.size());
  return largest;
}

int64_t SeedShards::Steps(int64_t batch_size) const {
  return (Largest() + batch_size - 1) / batch_size;
}

IdRange SeedShards::Batch(int rank, int64_t batch_size, int64_t step) const {
  const int64_t size = of_rank[rank].size();
  return {std::min(size, step * batch_size), std::min(size, (step + 1) * batch_size)};
}

int64_t SeedShards::SeedsInStep(int64_t batch_size, int64_t step) const {
  int64_t seeds = 0;
  for (size_t rank = 0; rank < of_rank.size(); ++rank) {
    seeds += Batch(static_cast<int>(rank), batch_size, step).size();
  }
  return seeds;
}

SeedShards SplitRows(std::span<const int64_t> part_rows, int world_size) {
  const int64_t count = part_rows.back();
  const int num_parts = static_cast<int>(part_rows.size()) - 1;
  std::vector<IdRange> ranges;
  for (int k = 0; k < world_size; ++k) {
    ranges.push_back({count * k / world_size, count * (k + 1) / world_size});
  }
  std::vector<Match> matches;
  for (int k = 0; k < world_size; ++k) {
    for (int rank = 0; rank < world_size; ++rank) {
      const int part = PartOfRank(rank, num_parts, world_size);
      matches.push_back({Overlap(ranges[k], {part_rows[part], part_rows[part + 1]}), k, rank});
    }
  }
  std::sort(matches.begin(), matches.end());
  SeedShards shards{std::vector<IdRange>(world_size)};
  std::vector<bool> range_taken(world_size), rank_served(world_size);
  for (const Match& match : matches) {
    if (range_taken[match.range] || rank_served[match.rank]) continue;
    range_taken[match.range] = rank_served[match.rank] = true;
    shards.of_rank[match.rank] = ranges[match.range];
  }
  return shards;
}

IdRange WholeParts(std::span<const int64_t> part_rows, IdRange rows) {
  if (rows.size() == 0) return {rows.begin, rows.begin};
  const int first = FindRange(part_rows, rows.begin);
  const int last = FindRange(part_rows, rows.end - 1);
  return {part_rows[first], part_rows[last + 1]};
}

}  // namespace halograph
