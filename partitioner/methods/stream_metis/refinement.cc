#include "partitioner/methods/stream_metis/refinement.h"

#include <algorithm>
#include <utility>

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
                                  IdRange range) {
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

int64_t MoveCandidates(const RefinedOwners& state, const NeighbourCounts& counts, IdRange range) {
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

std::vector<IdRange> RefinedOwners::Ranges() const {
  const auto nodes = static_cast<int64_t>(owners.size());
  const int64_t per_pass = NodesPerPass();
  std::vector<IdRange> ranges;
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
  const std::vector<IdRange> ranges = state.Ranges();
  const size_t per_round = std::min<size_t>(ranges.size(), kMaxPassesPerRound);
  size_t next = 0;
  for (int round = 0; round < rounds; ++round) {
    RefinementRound result;
    const HashedHalf half = {SubKey(state.seed, static_cast<uint64_t>(round / 2)), round % 2 != 0};
    for (size_t i = 0; i < per_round; ++i) {
      const IdRange range = ranges[next];
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

namespace {

// One set of counts serves some rounds: they are off by what moved since, which is little.
constexpr int kRoundsPerPass = 30;
// A change of excess below this is rounding.
constexpr double kEpsilon = 1e-9;

struct Relief {
  uint32_t node = 0;
  uint16_t to = 0;
  float cost = 0;  // neighbours lost per unit of excess removed; negative: won
};

// The cheapest move of `node` that lowers the excess, if there is one.
bool FindRelief(const RefinedOwners& state, const NeighbourCounts& counts, int64_t node,
                const std::vector<int>& emptiest, Relief* best) {
  const int from = state.owners[static_cast<size_t>(node)];
  const int32_t* weights = state.loads->Row(node);
  const PartLoads& loads = state.loads->parts();
  if (!loads.Relieves(weights, from)) return false;
  const uint8_t* row = counts.Of(node);
  bool found = false;
  for (int to = 0; to < state.parts; ++to) {
    if (to == from || (row[to] == 0 && to != emptiest[static_cast<size_t>(from)])) continue;
    const double change = loads.ExcessChange(weights, from, to);
    if (change > -kEpsilon) continue;
    const double lost = (row[from] - row[to]) * counts.Scale(node);
    const auto cost = static_cast<float>(lost > 0 ? lost / -change : lost * -change);
    if (found && cost >= best->cost) continue;
    *best = {static_cast<uint32_t>(node), static_cast<uint16_t>(to), cost};
    found = true;
  }
  return found;
}

bool Cheaper(const Relief& a, const Relief& b) {
  return a.cost != b.cost ? a.cost < b.cost : a.node < b.node;
}

// The cheapest first.
std::vector<Relief> Reliefs(const RefinedOwners& state, const NeighbourCounts& counts,
                            IdRange range) {
  std::vector<int> emptiest;
  for (int part = 0; part < state.parts; ++part) {
    emptiest.push_back(state.loads->parts().Emptiest(part));
  }
  // A third of the nodes at once is the memory of refinement's candidates. Where there are more,
  // the cheapest half stays.
  const size_t most = static_cast<size_t>(range.size() / 3) + 64;
  std::vector<Relief> reliefs;
  reliefs.reserve(most);  // touched as far as it is used
  Relief relief;
  for (int64_t v = range.begin; v < range.end; ++v) {
    if (!FindRelief(state, counts, v, emptiest, &relief)) continue;
    if (reliefs.size() == most) {
      const auto half = reliefs.begin() + static_cast<std::ptrdiff_t>(most / 2);
      std::nth_element(reliefs.begin(), half, reliefs.end(), Cheaper);
      reliefs.erase(half, reliefs.end());
    }
    reliefs.push_back(relief);
  }
  std::sort(reliefs.begin(), reliefs.end(), Cheaper);
  return reliefs;
}

int64_t MoveReliefs(const RefinedOwners& state, const std::vector<Relief>& reliefs) {
  int64_t moves = 0;
  PartLoads& loads = state.loads->parts();
  for (const Relief& relief : reliefs) {
    uint16_t& owner = state.owners[relief.node];
    const int32_t* weights = state.loads->Row(relief.node);
    if (loads.ExcessChange(weights, owner, relief.to) > -kEpsilon) continue;
    loads.Move(weights, owner, relief.to);
    owner = relief.to;
    ++moves;
  }
  return moves;
}

}  // namespace

StatusOr<int64_t> BalanceOwners(const RefinedOwners& state) {
  int64_t moves = 0;
  if (state.loads->parts().Excess() <= 0) return moves;
  HG_ASSIGN_OR_RETURN(
      NeighbourCounts counts,
      NeighbourCounts::Make(*state.degrees, state.parts, state.NodesPerPass(), Mix(state.seed)));
  const std::vector<IdRange> ranges = state.Ranges();
  int64_t in_turn = 0;  // moves since all ranges were seen
  for (size_t pass = 0; pass < static_cast<size_t>(kMaxBalancePasses); ++pass) {
    const IdRange range = ranges[pass % ranges.size()];
    HG_ASSIGN_OR_RETURN([[maybe_unused]] const int64_t cut,
                        counts.Count(*state.dataset, state.owners, range, nullptr));
    for (int round = 0; round < kRoundsPerPass && state.loads->parts().Excess() > 0; ++round) {
      const int64_t moved = MoveReliefs(state, Reliefs(state, counts, range));
      if (moved == 0) break;
      in_turn += moved;
    }
    if (state.loads->parts().Excess() <= 0) return moves + in_turn;
    if ((pass + 1) % ranges.size() != 0) continue;
    if (in_turn == 0) break;
    moves += std::exchange(in_turn, 0);
  }
  return moves + in_turn;
}

}  // namespace halograph
