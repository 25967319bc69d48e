#include "partitioner/methods/stream_metis/balance.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/rng.h"

namespace halograph {
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
                            NodeRange range) {
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
  const std::vector<NodeRange> ranges = state.Ranges();
  int64_t in_turn = 0;  // moves since all ranges were seen
  for (size_t pass = 0; pass < static_cast<size_t>(kMaxBalancePasses); ++pass) {
    const NodeRange range = ranges[pass % ranges.size()];
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
