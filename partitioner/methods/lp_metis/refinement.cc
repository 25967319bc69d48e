#include "partitioner/methods/lp_metis/refinement.h"

#include <limits>

#include "common/base/prefetch.h"
#include "common/base/progress.h"
#include "common/base/rng.h"
#include "partitioner/methods/lp_metis/local_moves.h"

namespace halograph {
namespace {

constexpr double kEpsilon = 1e-12;
// A round that moves less than this share of the nodes is the last.
constexpr double kLeastRefined = 0.0005;
// Of repairing: each round allows twice the loss of the one before, the last any.
constexpr int kRepairRounds = 16;

class Refinement {
 public:
  Refinement(const DiskCsr& graph, const VertexWeights& weights, int parts,
             std::vector<int32_t>* owners, PartLoads* loads)
      : graph_(graph),
        weights_(weights),
        owners_(*owners),
        loads_(*loads),
        weight_to_(static_cast<size_t>(parts), 0) {}

  int64_t Round(uint64_t key) {
    return ForEachNode("refining", key, [this](int64_t node) { return MoveNode(node); });
  }

  // Moves nodes out of partitions that exceed a bound, unless more than `max_loss` edge weight is
  // cut by it.
  int64_t RepairRound(uint64_t key, int64_t max_loss) {
    return ForEachNode("balancing", key,
                       [this, max_loss](int64_t node) { return RelieveBy(node, max_loss); });
  }

 private:
  // Returns for how many nodes `move` was true.
  template <typename Move>
  int64_t ForEachNode(const char* phase, uint64_t key, Move move) {
    int64_t moves = 0;
    Progress progress(phase, graph_.num_nodes());
    ForEachBlock(graph_.num_nodes(), key, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) moves += move(v) ? 1 : 0;
      progress.Advance(end - begin);
    });
    return moves;
  }

  // Edge weight from `node` to each partition.
  void Count(int64_t node) {
    for (const int32_t part : touched_) weight_to_[static_cast<size_t>(part)] = 0;
    touched_.clear();
    const int64_t end = graph_.offsets()[static_cast<size_t>(node) + 1];
    for (int64_t i = graph_.offsets()[static_cast<size_t>(node)]; i < end; ++i) {
      if (i + kArcsAhead < graph_.num_arcs()) {
        PrefetchToRead(&owners_[graph_.neighbours()[i + kArcsAhead]]);
      }
      const int32_t part = owners_[graph_.neighbours()[i]];
      int64_t& weight = weight_to_[static_cast<size_t>(part)];
      if (weight == 0) touched_.push_back(part);
      weight += graph_.Weight(i);
    }
  }

  bool MoveNode(int64_t node) {
    Count(node);
    int32_t& owner = owners_[static_cast<size_t>(node)];
    const int32_t* row = weights_.Row(node);
    int64_t best_weight = weight_to_[static_cast<size_t>(owner)];
    int32_t best = owner;
    for (const int32_t part : touched_) {
      const int64_t weight = weight_to_[static_cast<size_t>(part)];
      if (weight <= best_weight || loads_.ExcessChange(row, owner, part) > kEpsilon) continue;
      best = part;
      best_weight = weight;
    }
    if (best == owner) return false;
    loads_.Move(row, owner, best);
    owner = best;
    return true;
  }

  bool RelieveBy(int64_t node, int64_t max_loss) {
    int32_t& owner = owners_[static_cast<size_t>(node)];
    const int32_t* row = weights_.Row(node);
    if (!loads_.Relieves(row, owner)) return false;
    Count(node);
    int32_t best = owner;
    int64_t best_weight = weight_to_[static_cast<size_t>(owner)] - max_loss;
    const auto consider = [&](int32_t part) {
      const int64_t weight = weight_to_[static_cast<size_t>(part)];
      if (part == owner || weight < best_weight || (weight == best_weight && best != owner)) return;
      if (loads_.ExcessChange(row, owner, part) > -kEpsilon) return;
      best = part;
      best_weight = weight;
    };
    for (const int32_t part : touched_) consider(part);
    consider(loads_.Emptiest(owner));
    if (best == owner) return false;
    loads_.Move(row, owner, best);
    owner = best;
    return true;
  }

  const DiskCsr& graph_;
  const VertexWeights& weights_;
  std::vector<int32_t>& owners_;
  PartLoads& loads_;
  std::vector<int64_t> weight_to_;
  std::vector<int32_t> touched_;
};

}  // namespace

int64_t Refine(const DiskCsr& graph, const VertexWeights& weights, const RefinementOptions& options,
               std::vector<int32_t>* owners, PartLoads* loads) {
  Refinement refinement(graph, weights, options.parts, owners, loads);
  int64_t moves = 0;
  for (int round = 0; round < options.rounds; ++round) {
    const int64_t moved = refinement.Round(SubKey(options.seed, static_cast<uint64_t>(round)));
    moves += moved;
    if (static_cast<double>(moved) <= kLeastRefined * static_cast<double>(owners->size())) break;
  }
  return moves;
}

int64_t Repair(const DiskCsr& graph, const VertexWeights& weights, const RefinementOptions& options,
               std::vector<int32_t>* owners, PartLoads* loads) {
  Refinement refinement(graph, weights, options.parts, owners, loads);
  int64_t moves = 0;
  for (int round = 0; round < kRepairRounds && loads->Excess() > 0; ++round) {
    const int64_t max_loss =
        round + 1 < kRepairRounds ? (int64_t{1} << round) - 1 : std::numeric_limits<int32_t>::max();
    const uint64_t key = SubKey(options.seed, static_cast<uint64_t>(round));
    moves += refinement.RepairRound(key, max_loss);
  }
  return moves;
}

int64_t CutWeight(const DiskCsr& graph, const std::vector<int32_t>& owners) {
  int64_t cut = 0;
  for (size_t v = 0; v < owners.size(); ++v) {
    for (int64_t i = graph.offsets()[v]; i < graph.offsets()[v + 1]; ++i) {
      if (owners[graph.neighbours()[i]] != owners[v]) cut += graph.Weight(i);
    }
  }
  return cut / 2;
}

}  // namespace halograph
