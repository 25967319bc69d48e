#include "partitioner/methods/literature/edge_method.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "partitioner/methods/constraints.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/methods/literature/owner_choice.h"

namespace halograph {
namespace {

bool HoldsReplicas(const EdgePartitionerTraits& traits, const MethodOptions& options) {
  return traits.needs_replicas || options.edge.owner == OwnerRule::kRandom;
}

int64_t ReplicaBytes(const EdgePartitionerTraits& traits, int64_t nodes,
                     const MethodOptions& options) {
  return HoldsReplicas(traits, options) ? nodes * NodeReplicas::RowBytes(options.parts) : 0;
}

// All that is held while edges are placed but the counts per node and partition.
std::vector<HeldMemory> HeldWhilePlacing(const EdgePartitionerTraits& traits,
                                         const GraphCounts& counts, const MethodOptions& options) {
  const int64_t nodes = counts.num_nodes();
  const bool classes = BalancedSets(counts, options.balance) > 0;
  return {{"degrees", nodes * static_cast<int64_t>(sizeof(NodeDegree))},
          {std::string(traits.name), nodes * traits.held_bytes},
          {"replica sets", ReplicaBytes(traits, nodes, options)},
          {"owners", 2 * nodes},
          {"task sets of nodes", classes ? nodes : 0},
          {"edge chunks", kEdgePassBytes}};
}

// How many nodes are counted in one round.
int64_t CountedNodes(const EdgePartitionerTraits& traits, const GraphCounts& counts,
                     const MethodOptions& options) {
  const int64_t nodes = counts.num_nodes();
  if (options.edge.owner == OwnerRule::kRandom) return nodes;
  const MemoryPhase fixed{"", HeldWhilePlacing(traits, counts, options)};
  const int64_t left = std::max<int64_t>(0, options.memory - kProgramBytes - fixed.bytes());
  const int64_t least = (nodes + kMaxCountingRounds - 1) / kMaxCountingRounds;
  // Rounds of one size each.
  const int64_t fit =
      std::clamp(left / options.parts, std::max<int64_t>(least, 1), std::max<int64_t>(nodes, 1));
  const int64_t rounds = std::max<int64_t>(1, (nodes + fit - 1) / fit);
  return (nodes + rounds - 1) / rounds;
}

Status CheckOptions(const EdgePartitionOptions& options) {
  if (!(options.hdrf_lambda > 0)) {
    return InvalidArgument("hdrf lambda {} must be above 0", options.hdrf_lambda);
  }
  if (!(options.volume_factor > 0)) {
    return InvalidArgument("volume factor {} must be above 0", options.volume_factor);
  }
  if (!(options.edge_imbalance >= 1)) {
    return InvalidArgument("edge imbalance {} must be at least 1 (1.05: five percent)",
                           options.edge_imbalance);
  }
  return OkStatus();
}

// One run of the placing passes over all edges.
class Placing {
 public:
  Placing(const Dataset& dataset, EdgePartitioner* partitioner, int64_t num_edges, int parts)
      : dataset_(dataset),
        partitioner_(partitioner),
        num_edges_(num_edges),
        edges_of_part_(static_cast<size_t>(parts), 0),
        parts_(kEdgeChunk) {}

  // counts may be null. DataLoss if the passes saw other edges than the degree pass.
  [[nodiscard]] Status Run(NodeReplicas* replicas, PartCounts* counts) {
    std::fill(edges_of_part_.begin(), edges_of_part_.end(), 0);
    if (replicas != nullptr) replicas->Clear();
    partitioner_->Restart(replicas);
    for (int pass = 0; pass < partitioner_->placing_passes(); ++pass) {
      const auto place = [&](const UnionEdges& edges) {
        if (edges.sources.size() > parts_.size()) parts_.resize(edges.sources.size());
        partitioner_->PlaceChunk(pass, edges, {parts_.data(), edges.sources.size()});
        Count(edges, counts);
        return OkStatus();
      };
      HG_RETURN_IF_ERROR(RepeatUnionEdges(dataset_, "placing edges", num_edges_, place));
      ++passes_;
    }
    return OkStatus();
  }
  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] double Balance() const { return MaxOverMean(edges_of_part_); }

 private:
  void Count(const UnionEdges& edges, PartCounts* counts) {
    for (size_t i = 0; i < edges.sources.size(); ++i) {
      if (counts != nullptr) {
        AskForEnds(edges, i + kPrefetchEdges, [&](int64_t node) { counts->Prefetch(node); });
      }
      const uint16_t part = parts_[i];
      if (part == kPlacedElsewhere) continue;
      ++edges_of_part_[part];
      if (counts == nullptr) continue;
      counts->Add(edges.sources[i], part);
      counts->Add(edges.destinations[i], part);
    }
  }

  const Dataset& dataset_;
  EdgePartitioner* partitioner_;
  int64_t num_edges_;
  std::vector<int64_t> edges_of_part_;
  std::vector<uint16_t> parts_;
  int passes_ = 0;
};

Json Report(const EdgePartitionerTraits& traits, const MethodOptions& options,
            const Placing& placing, const OwnerChoice& choice) {
  const auto nodes = static_cast<double>(std::max<int64_t>(1, choice.nodes_with_edges()));
  return {{"method", traits.name},
          {"owner", ToString(options.edge.owner)},
          {"placing_passes", placing.passes()},
          {"edge_partition",
           {{"replication", static_cast<double>(choice.replicas()) / nodes},
            {"edges_max_over_mean", placing.Balance()}}},
          {"owners",
           {{"nodes_max_over_mean", choice.room().NodeBalance()},
            {"edges_max_over_mean", choice.room().EdgeBalance()},
            {"nodes_without_room_at_a_replica", choice.turned_away()}}}};
}

}  // namespace

MemoryPlan PlanEdgeMethod(const EdgePartitionerTraits& traits, const GraphCounts& counts,
                          const MethodOptions& options) {
  const int64_t nodes = counts.num_nodes();
  if (options.parts == 1) return {{{"one partition", {{"owners", 2 * nodes}}}}};
  const int64_t degrees = nodes * static_cast<int64_t>(sizeof(NodeDegree));
  MemoryPlan plan;
  plan.phases.push_back({"degrees",
                         {{"degrees", degrees},
                          {"edge ends in queues", EndCounter::Bytes(nodes)},
                          {"edge chunks", kEdgePassBytes}}});
  if (traits.start_bytes > 0) {
    plan.phases.push_back({"clustering",
                           {{"degrees", degrees},
                            {std::string(traits.name), nodes * traits.start_bytes},
                            {"edge chunks", kEdgePassBytes}}});
  }
  if (traits.settle_bytes > 0) {
    plan.phases.push_back(
        {"clusters to partitions",
         {{"degrees", degrees}, {std::string(traits.name), nodes * traits.settle_bytes}}});
  }
  plan.phases.push_back({"placing edges", HeldWhilePlacing(traits, counts, options)});
  if (options.edge.owner == OwnerRule::kMajority) {
    plan.phases.back().held.push_back(
        {"counts per partition", CountedNodes(traits, counts, options) * options.parts});
  }
  return plan;
}

MethodProfile ProfileEdgeMethod(const EdgePartitionerTraits& traits, const MethodOptions& options) {
  constexpr double kState = 2, kReplicas = 2, kCounts = 2;
  const double placing = kState + (HoldsReplicas(traits, options) ? kReplicas : 0) +
                         (options.edge.owner == OwnerRule::kMajority ? kCounts : 0);
  MethodProfile profile;
  profile.accesses = placing / 2;  // the pass of degrees makes none, beside one that places
  return profile;
}

StatusOr<Assignment> RunEdgeMethod(const EdgePartitionerTraits& traits,
                                   EdgePartitioner* partitioner, const Dataset& dataset,
                                   const MethodOptions& options) {
  HG_RETURN_IF_ERROR(CheckParts(dataset, options.parts));
  HG_RETURN_IF_ERROR(CheckOptions(options.edge));
  if (options.parts == 1) return AllInOnePart(dataset);
  HG_ASSIGN_OR_RETURN(const Degrees degrees, CountDegrees(dataset, SelfLoops::kTwoEnds));
  HG_RETURN_IF_ERROR(
      partitioner->Start({&dataset, &degrees, options.parts, options.seed, options.edge}));
  HG_ASSIGN_OR_RETURN(const TaskClasses classes, TaskClasses::Of(dataset, options.balance));
  const int64_t nodes = UnionNodes(dataset).count();
  NodeReplicas replicas;
  if (HoldsReplicas(traits, options)) {
    HG_ASSIGN_OR_RETURN(replicas, NodeReplicas::Make(nodes, options.parts));
  }
  NodeReplicas* const held = HoldsReplicas(traits, options) ? &replicas : nullptr;
  OwnerChoice choice(dataset, degrees, classes, options.parts, options.balance);
  Placing placing(dataset, partitioner, degrees.edges, options.parts);
  if (options.edge.owner == OwnerRule::kRandom) {
    HG_RETURN_IF_ERROR(placing.Run(held, nullptr));
    choice.ByChance(replicas, SubKey(Mix(options.seed), 1));
  } else {
    const int64_t at_once = CountedNodes(traits, GraphCounts::Of(dataset), options);
    HG_ASSIGN_OR_RETURN(PartCounts counts, PartCounts::Make(at_once, options.parts));
    for (int64_t first = 0; first < nodes; first += at_once) {
      counts.Restart(first);
      HG_RETURN_IF_ERROR(placing.Run(held, &counts));
      choice.ByMajority(first, std::min(nodes, first + at_once), counts);
    }
  }
  choice.DealRest();
  Assignment assignment;
  assignment.report = Report(traits, options, placing, choice);
  assignment.owners = std::move(*choice.owners());
  return assignment;
}

}  // namespace halograph
