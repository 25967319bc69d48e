#include "partitioner/methods/stream_metis/refinement.h"

#include <algorithm>

#include "common/base/rng.h"

namespace halograph {
namespace {

struct Candidate {
  uint32_t node = 0;
  int32_t gain = 0;  // edges won, about
};

// The partition other than `from` with most neighbours that has room; -1 if none has more of them
// than `from`.
int BestTarget(const RefinedOwners& state, const NeighbourCounts& counts, int64_t node) {
  const int from = state.owners[static_cast<size_t>(node)];
  const uint8_t* row = counts.Of(node);
  const int32_t* weights = state.loads->Row(node);
  int best = -1;
  int most = row[from];
  for (int part = 0; part < state.parts; ++part) {
    if (row[part] <= most || part == from) continue;
    if (state.loads->parts().ExcessChange(weights, from, part) > 0) continue;
    most = row[part];
    best = part;
  }
  return best;
}

// By descending gain, room not yet asked for.
std::vector<Candidate> Candidates(const RefinedOwners& state, const NeighbourCounts& counts,
                                  NodeRange range) {
  const auto gain = [&](int64_t node) {
    const uint8_t* row = counts.Of(node);
    const int most = *std::max_element(row, row + state.parts);
    return most - row[state.owners[static_cast<size_t>(node)]];
  };
  size_t count = 0;
  for (int64_t v = range.begin; v < range.end; ++v) count += gain(v) > 0 ? 1 : 0;
  std::vector<Candidate> candidates;
  candidates.reserve(count);  // exactly: growing would take more than was planned
  for (int64_t v = range.begin; v < range.end; ++v) {
    const int won = gain(v);
    if (won > 0) candidates.push_back({static_cast<uint32_t>(v), won * counts.Scale(v)});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.gain != b.gain ? a.gain > b.gain : a.node < b.node;
  });
  return candidates;
}

int64_t MoveCandidates(const RefinedOwners& state, const NeighbourCounts& counts, NodeRange range) {
  int64_t moves = 0;
  for (const Candidate& candidate : Candidates(state, counts, range)) {
    const int to = BestTarget(state, counts, candidate.node);
    if (to < 0) continue;
    uint16_t& owner = state.owners[candidate.node];
    state.loads->parts().Move(state.loads->Row(candidate.node), owner, to);
    owner = static_cast<uint16_t>(to);
    ++moves;
  }
  return moves;
}

}  // namespace

int64_t RefinedOwners::NodesPerPass() const {
  const auto nodes = static_cast<int64_t>(owners.size());
  return std::clamp<int64_t>(counter_bytes / parts, 1, std::max<int64_t>(nodes, 1));
}

std::vector<NodeRange> RefinedOwners::Ranges() const {
  const auto nodes = static_cast<int64_t>(owners.size());
  const int64_t per_pass = NodesPerPass();
  std::vector<NodeRange> ranges;
  for (int64_t begin = 0; begin < nodes; begin += per_pass) {
    ranges.push_back({begin, std::min(begin + per_pass, nodes)});
  }
  return ranges;
}

StatusOr<std::vector<RefinementRound>> Refine(const RefinedOwners& state, int rounds) {
  std::vector<RefinementRound> done;
  if (rounds == 0) return done;
  HG_ASSIGN_OR_RETURN(
      NeighbourCounts counts,
      NeighbourCounts::Make(*state.degrees, state.parts, state.NodesPerPass(), Mix(state.seed)));
  const std::vector<NodeRange> ranges = state.Ranges();
  const size_t per_round = std::min<size_t>(ranges.size(), kMaxPassesPerRound);
  size_t next = 0;
  for (int round = 0; round < rounds; ++round) {
    RefinementRound result;
    const HashedHalf half = {SubKey(state.seed, static_cast<uint64_t>(round / 2)), round % 2 != 0};
    for (size_t i = 0; i < per_round; ++i) {
      const NodeRange range = ranges[next];
      next = next + 1 == ranges.size() ? 0 : next + 1;
      HG_ASSIGN_OR_RETURN(const int64_t cut,
                          counts.Count(*state.dataset, state.owners, range, &half));
      if (i == 0) result.cut = cut;
      result.moves += MoveCandidates(state, counts, range);
    }
    done.push_back(result);
    if (result.moves == 0 && per_round == ranges.size() && round % 2 != 0) break;
  }
  return done;
}

}  // namespace halograph
