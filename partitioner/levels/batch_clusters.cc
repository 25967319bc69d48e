#include "partitioner/levels/batch_clusters.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

#include <fmt/ranges.h>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "partitioner/levels/part_graphs.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/metis_call.h"
#include "partitioner/methods/metis/metis_method.h"
#include "partitioner/methods/metis/vertex_weights.h"

namespace halograph {
namespace {

// Keys of clusters below the seed's: beside those of sub-parts.
constexpr uint64_t kClusterKeys = (uint64_t{1} << 40) + 1;
constexpr int64_t kBytesOfCluster = sizeof(uint16_t);
// METIS' own: parts promise tighter bounds, clusters none, and cut fewer edges so.
constexpr MetisImbalance kImbalance = {.nodes = 1.03F};

// Owners, sub-parts, clusters and order keys of all nodes.
HeldMemory HeldBesideClusters(int64_t nodes, bool divided, NodeOrder order) {
  return {"owners, clusters and keys",
          nodes * ((divided ? 3 : 2) * kBytesOfCluster + (order == NodeOrder::kCluster ? 4 : 0))};
}

// Even numbers of nodes; what else a method balances would cut more edges.
MethodOptions OptionsOfCluster(const MethodOptions& options) {
  MethodOptions own = options;
  own.balance = {.nodes = true, .edges = false, .train = false, .valid = false, .test = false};
  return own;
}

// The nodes of one part or sub-part.
struct Clustered {
  std::vector<uint16_t> of_node;
  int clusters = 0;
};

// Numbers the clusters that have nodes from 0, in their order.
Clustered WithoutEmptyOnes(const std::vector<int32_t>& owners, int clusters) {
  std::vector<int> number(static_cast<size_t>(clusters), 0);
  for (const int32_t owner : owners) number[static_cast<size_t>(owner)] = 1;
  const int used = std::accumulate(number.begin(), number.end(), 0);
  std::exclusive_scan(number.begin(), number.end(), number.begin(), 0);
  Clustered result{.of_node = {}, .clusters = used};
  result.of_node.reserve(owners.size());
  for (const int32_t owner : owners) {
    result.of_node.push_back(static_cast<uint16_t>(number[static_cast<size_t>(owner)]));
  }
  return result;
}

StatusOr<std::vector<int32_t>> OwnersByMetis(const Dataset& graph, const MethodOptions& own,
                                             int clusters, uint64_t seed) {
  HG_ASSIGN_OR_RETURN(FoldedGraph folded, BuildFoldedGraph(graph, own.drop_duplicates));
  HG_ASSIGN_OR_RETURN(const VertexWeights weights, BuildVertexWeights(graph, folded, own.balance));
  folded.in_degrees = {};
  const int64_t nodes = folded.num_nodes();
  if (clusters > 1 && folded.num_arcs() > 0) {
    const int64_t taken =
        kProgramBytes + InputBytes(folded, weights) + int64_t{sizeof(int32_t)} * nodes;
    return CallMetis(folded, weights, clusters, seed, kImbalance, MemoryLeft(own.memory, taken));
  }
  std::vector<int32_t> owners(static_cast<size_t>(nodes));
  for (int64_t v = 0; v < nodes; ++v) {
    owners[static_cast<size_t>(v)] = static_cast<int32_t>(v * clusters / nodes);
  }
  return owners;
}

// Divides one part after the other, and keeps what came of it.
class Clustering {
 public:
  // `assignment` gives up its sub-parts.
  Clustering(const Dataset& dataset, const MethodOptions& options, int clusters,
             Assignment* assignment)
      : options_(OptionsOfCluster(options)),
        memory_(options.memory),
        held_(HeldBesideClusters(dataset.node_types.front().count, !assignment->sub_parts.empty(),
                                 options.order)),
        clusters_(clusters),
        sub_parts_(assignment->num_sub_parts),
        sub_part_of_(static_cast<size_t>(options.parts)) {
    options_.memory = MemoryLeft(memory_, held_.bytes);
    if (assignment->sub_parts.empty()) return;
    const std::vector<uint16_t>& owners = assignment->owners.front();
    for (size_t id = 0; id < owners.size(); ++id) {
      sub_part_of_[owners[id]].push_back(assignment->sub_parts.front()[id]);
    }
    assignment->sub_parts = {};
    assignment->num_sub_parts = 1;
  }

  Status Divide(int part, const Dataset& graph) {
    const uint64_t seed = SubKey(SubKey(options_.seed, kClusterKeys), static_cast<uint64_t>(part));
    if (sub_parts_ == 1) {
      const int64_t nodes = graph.node_types.front().count;
      HG_ASSIGN_OR_RETURN(Clustered whole,
                          Cluster(graph, ShareClusters({&nodes, 1}, clusters_).front(), seed,
                                  fmt::format("clusters of part {}", part)));
      of_part_.push_back(std::move(whole));
      return OkStatus();
    }
    return DivideSubParts(part, graph, seed);
  }

  // One pass over the nodes. Every part was divided, in order.
  void Join(Assignment* assignment) {
    const std::vector<uint16_t>& owners = assignment->owners.front();
    std::vector<size_t> next(of_part_.size(), 0);
    std::vector<std::vector<int64_t>> sizes;
    for (const Clustered& part : of_part_) {
      sizes.emplace_back(static_cast<size_t>(part.clusters), 0);
      assignment->num_clusters.push_back(part.clusters);
    }
    std::vector<uint16_t>& joined = assignment->clusters.emplace_back(owners.size());
    for (size_t id = 0; id < owners.size(); ++id) {
      const size_t part = owners[id];
      joined[id] = of_part_[part].of_node[next[part]++];
      ++sizes[part][joined[id]];
    }
    of_part_.clear();
    WarnOfFewer(assignment->num_clusters);
    assignment->report["clusters"] = Report(assignment->num_clusters, sizes);
  }

 private:
  StatusOr<Clustered> Cluster(const Dataset& graph, int clusters, uint64_t seed,
                              const std::string& what) const {
    if (clusters == 0) return Clustered();
    const MemoryPlan plan =
        PlanOfPart(MetisMethod().PlanMemory(GraphCounts::Of(graph), options_), held_);
    HG_RETURN_IF_ERROR(Annotate(CheckMemory(plan, memory_), fmt::format("{}, by METIS", what)));
    auto owners = OwnersByMetis(graph, options_, clusters, seed);
    if (!owners.ok()) return Annotate(owners.status(), what);
    return WithoutEmptyOnes(*owners, clusters);
  }

  Status DivideSubParts(int part, const Dataset& graph, uint64_t seed) {
    const std::vector<std::vector<uint16_t>> owners = {
        std::exchange(sub_part_of_[static_cast<size_t>(part)], {})};
    HG_ASSIGN_OR_RETURN(PartGraphs graphs, PartGraphs::Make(graph, owners, sub_parts_));
    const std::vector<int> shares = ShareClusters(graphs.Nodes(0), clusters_);
    std::vector<Clustered> of_sub_part;
    HG_RETURN_IF_ERROR(graphs.ForEach(
        options_.scratch / "sub-parts", [&](int sub_part, const Dataset& inside) -> Status {
          const auto s = static_cast<size_t>(sub_part);
          HG_ASSIGN_OR_RETURN(
              of_sub_part.emplace_back(),
              Cluster(inside, shares[s], SubKey(seed, static_cast<uint64_t>(sub_part)),
                      fmt::format("clusters of part {}, sub-part {}", part, sub_part)));
          return OkStatus();
        }));
    of_part_.push_back(JoinSubParts(owners.front(), of_sub_part));
    return OkStatus();
  }

  static Clustered JoinSubParts(const std::vector<uint16_t>& sub_part_of,
                                const std::vector<Clustered>& of_sub_part) {
    Clustered joined;
    std::vector<int> first;
    for (const Clustered& sub_part : of_sub_part) {
      first.push_back(joined.clusters);
      joined.clusters += sub_part.clusters;
    }
    std::vector<size_t> next(of_sub_part.size(), 0);
    joined.of_node.reserve(sub_part_of.size());
    for (const uint16_t s : sub_part_of) {
      const int cluster = first[s] + of_sub_part[s].of_node[next[s]++];
      joined.of_node.push_back(static_cast<uint16_t>(cluster));
    }
    return joined;
  }

  void WarnOfFewer(const std::vector<int>& made) const {
    const auto fewer =
        std::count_if(made.begin(), made.end(), [this](int count) { return count < clusters_; });
    if (fewer == 0) return;
    spdlog::warn(
        "--batch-clusters {}: {} of {} parts have fewer, the smallest {}: METIS needs {} nodes a "
        "cluster",
        clusters_, fewer, made.size(), *std::min_element(made.begin(), made.end()),
        kMetisNodesPerPart);
  }

  static Json Report(const std::vector<int>& parts,
                     const std::vector<std::vector<int64_t>>& sizes) {
    std::vector<int64_t> nodes;
    for (const auto& of_part : sizes) nodes.insert(nodes.end(), of_part.begin(), of_part.end());
    std::sort(nodes.begin(), nodes.end());
    if (nodes.empty()) nodes = {0};
    return {
        {"parts", parts},
        {"nodes",
         {{"least", nodes.front()}, {"median", nodes[nodes.size() / 2]}, {"most", nodes.back()}}}};
  }

  MethodOptions options_;  // memory: without what is held
  const int64_t memory_;   // with it
  const HeldMemory held_;
  const int clusters_;
  const int sub_parts_;
  std::vector<std::vector<uint16_t>> sub_part_of_;  // [part][node of the part]; none if 1 each
  std::vector<Clustered> of_part_;
};

}  // namespace

Status CheckBatchClusters(int clusters, int trainers_per_part) {
  if (clusters > kMaxBatchClusters) {
    return OutOfRange("--batch-clusters {}, expected at most {}", clusters, kMaxBatchClusters);
  }
  if (clusters >= trainers_per_part) return OkStatus();
  return InvalidArgument(
      "--batch-clusters {} with --trainers-per-part {}: each sub-part has clusters of its own; "
      "give at least {} clusters",
      clusters, trainers_per_part, trainers_per_part);
}

Status CheckOneNodeType(const Dataset& dataset) {
  if (dataset.node_types.size() == 1) return OkStatus();
  std::vector<std::string_view> names;
  for (const InputNodeType& type : dataset.node_types) names.emplace_back(type.name);
  constexpr size_t kNamed = 3;
  const bool more = names.size() > kNamed;
  names.resize(std::min(names.size(), kNamed));
  return InvalidArgument(
      "--batch-clusters: clusters are ranges of the nodes of one type, and the graph has {} node "
      "types ({}{}); leave it out: samplers other than cluster need none",
      dataset.node_types.size(), fmt::join(names, ", "), more ? ", ..." : "");
}

std::vector<int> ShareClusters(std::span<const int64_t> nodes, int clusters) {
  std::vector<int> shares;
  int given = 0;
  // Nodes a cluster; of equals the first sub-part is on top.
  std::priority_queue<std::pair<double, int64_t>> waiting;
  const auto wait = [&](size_t s) {
    if (int64_t{shares[s] + 1} * kMetisNodesPerPart > nodes[s]) return;
    waiting.emplace(static_cast<double>(nodes[s]) / shares[s], -static_cast<int64_t>(s));
  };
  for (size_t s = 0; s < nodes.size(); ++s) {
    shares.push_back(nodes[s] > 0 ? 1 : 0);
    given += shares.back();
    if (shares.back() > 0) wait(s);
  }
  for (; given < clusters && !waiting.empty(); ++given) {
    const auto s = static_cast<size_t>(-waiting.top().second);
    waiting.pop();
    ++shares[s];
    wait(s);
  }
  return shares;
}

MemoryPlan PlanBatchClusters(const GraphCounts& counts, const MethodOptions& options,
                             int trainers_per_part) {
  const int64_t nodes = counts.num_nodes();
  const bool divided = trainers_per_part > 1;
  const HeldMemory held = HeldBesideClusters(nodes, divided, options.order);
  MemoryPlan plan = {{PlanPartGraphs("edges within parts", nodes, options.parts, held)}};
  GraphCounts part = CountsOfPart(counts, options.parts);
  if (divided) {
    plan.phases.push_back(
        PlanPartGraphs("edges within sub-parts", part.num_nodes(), trainers_per_part, held));
    part = CountsOfPart(part, trainers_per_part);
  }
  plan.Append(PlanOfPart(MetisMethod().PlanMemory(part, OptionsOfCluster(options)), held));
  return plan;
}

Status AddBatchClusters(const Dataset& dataset, const MethodOptions& options, int clusters,
                        Assignment* assignment) {
  HG_RETURN_IF_ERROR(CheckOneNodeType(dataset));
  HG_ASSIGN_OR_RETURN(PartGraphs graphs,
                      PartGraphs::Make(dataset, assignment->owners, options.parts));
  spdlog::info("making {} clusters in each part, by metis", clusters);
  Clustering clustering(dataset, options, clusters, assignment);
  HG_RETURN_IF_ERROR(graphs.ForEach(options.scratch / "parts", [&](int part, const Dataset& graph) {
    return clustering.Divide(part, graph);
  }));
  clustering.Join(assignment);
  return OkStatus();
}

}  // namespace halograph
