#include "trainer/pipeline/seed_split.h"

#include <algorithm>
#include <tuple>

namespace halograph {
namespace {

// How many of the sorted seeds at positions [range) lie in global ids [ids).
int64_t Overlap(std::span<const int64_t> sorted_seeds, IdRange range, IdRange ids) {
  const auto begin = sorted_seeds.begin() + range.begin;
  const auto end = sorted_seeds.begin() + range.end;
  return std::lower_bound(begin, end, ids.end) - std::lower_bound(begin, end, ids.begin);
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

int PartOfRank(int rank, int num_parts, int world_size) {
  return static_cast<int>(static_cast<int64_t>(rank) * num_parts / world_size);
}

int64_t SeedShards::Steps(int64_t batch_size) const {
  int64_t largest = 0;
  for (const IdRange& shard : of_rank) largest = std::max(largest, shard.size());
  return (largest + batch_size - 1) / batch_size;
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

SeedShards SplitSeeds(std::span<const int64_t> sorted_seeds,
                      std::span<const int64_t> node_boundaries, int world_size) {
  const auto count = static_cast<int64_t>(sorted_seeds.size());
  const int num_parts = static_cast<int>(node_boundaries.size()) - 1;
  std::vector<IdRange> ranges;
  for (int k = 0; k < world_size; ++k) {
    ranges.push_back({count * k / world_size, count * (k + 1) / world_size});
  }
  std::vector<Match> matches;
  for (int k = 0; k < world_size; ++k) {
    for (int rank = 0; rank < world_size; ++rank) {
      const int part = PartOfRank(rank, num_parts, world_size);
      const IdRange ids{node_boundaries[part], node_boundaries[part + 1]};
      matches.push_back({Overlap(sorted_seeds, ranges[k], ids), k, rank});
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

}  // namespace halograph
