// The interface of a partition method: it gives every node an owner, and a cluster too if it finds
// clusters and --order asks for them; and it says beforehand what that takes. What follows
// (renumbering, halo nodes, splitting, writing) is the same for all methods. To add a method, write
// a class in a folder here and add a line to registry/registry.cc. The conformance suite then runs
// over it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/graph_counts.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

inline constexpr int kMaxParts = 4096;
inline constexpr int kMaxTrainersPerPart = 256;

// What may be balanced over the partitions. Nodes are balanced per node type.
struct BalanceOptions {
  bool nodes = true, edges = true, train = true, valid = true, test = true;

  // "nodes,edges,train"; InvalidArgument for another word.
  [[nodiscard]] static StatusOr<BalanceOptions> Parse(std::string_view list);
  [[nodiscard]] std::string ToString() const;
};

// How an edge partitioner's replicas become one owner a node.
enum class OwnerRule {
  kRandom,    // any of the node's replicas, as CATGNN
  kMajority,  // the replica with the most of the node's edges that has room
};

// As options and reports have them, in the order of the rules.
inline constexpr std::array<std::string_view, 2> kOwnerRuleWords = {"random", "majority"};
[[nodiscard]] std::string_view ToString(OwnerRule rule);
// nullopt for another word.
[[nodiscard]] std::optional<OwnerRule> OwnerRuleOf(std::string_view word);

// Of the edge partitioners: spring, dbh, greedy, hdrf, 2ps-l.
struct EdgePartitionOptions {
  OwnerRule owner = OwnerRule::kMajority;
  double hdrf_lambda = 1.1;      // weight of balance in HDRF's score; > 0
  double volume_factor = 1.0;    // spring, 2ps-l: a cluster's volume at most this, times the
                                 // edges' even share of a partition; > 0
  double edge_imbalance = 1.05;  // a partition takes at most this of its even share of edges; >= 1
};

struct StreamMetisOptions {
  int64_t clusters = 0;       // of the coarse graph, about; 0: chosen from the nodes and the memory
  int refinement_rounds = 3;  // over the edges, after METIS; 0 to 16
};

struct LpMetisOptions {
  int64_t cluster_nodes = 0;  // that a cluster has at most; 0: chosen from the nodes and the parts
};

// How the nodes of one part are numbered.
enum class NodeOrder {
  kInput,    // by input id
  kCluster,  // by (cluster, input id): nodes with many edges between them get near ids
};

// As options and manifests have them, in the order of the values.
inline constexpr std::array<std::string_view, 2> kNodeOrderWords = {"input", "cluster"};
[[nodiscard]] std::string_view ToString(NodeOrder order);
// nullopt for another word.
[[nodiscard]] std::optional<NodeOrder> NodeOrderOf(std::string_view word);

struct MethodOptions {
  int parts = 2;
  uint64_t seed = 0;
  BalanceOptions balance = {};  // what the data does not have is ignored
  bool drop_duplicates = false;
  // kCluster: Assign fills Assignment::order_keys. Only for methods that find clusters.
  NodeOrder order = NodeOrder::kInput;
  // What the whole run may hold, in bytes: a method that can trade quality for memory plans with
  // it. Whether a plan fits is checked by whoever runs the method (CheckMemory).
  int64_t memory = kAnyMemory;
  // For methods that need files of their own; exists, is emptied.
  std::filesystem::path scratch = {};
  EdgePartitionOptions edge = {};
  StreamMetisOptions stream_metis = {};
  LpMetisOptions lp_metis = {};
};

// The key of a node in no cluster.
inline constexpr uint32_t kNoOrderKey = 4294967295;

struct Assignment {
  std::vector<std::vector<uint16_t>> owners;  // [type][input id]: the part
  // [type][input id]: the cluster of the node, in one numbering for all types and parts. A key is
  // below the number of nodes of all types, or kNoOrderKey. Renumbering numbers the nodes of a part
  // by (key, input id), those without a key last. Empty: by input id.
  std::vector<std::vector<uint32_t>> order_keys;
  // [type][input id]: the sub-part of the node within its part, below num_sub_parts. The nodes of a
  // part are numbered sub-part by sub-part, and within one as without. No method fills it:
  // AddSubParts (partitioner/levels/sub_parts.h) does. Empty: parts are whole.
  std::vector<std::vector<uint16_t>> sub_parts = {};
  int num_sub_parts = 1;
  // [type][input id]: the cluster of the node within its part, below num_clusters[part]; none is
  // without nodes. The nodes of a part are numbered cluster by cluster, and within one as without.
  // No method fills it: AddBatchClusters (partitioner/levels/batch_clusters.h) does, in place of
  // sub_parts: the clusters of a sub-part follow one another. Empty: there are none.
  std::vector<std::vector<uint16_t>> clusters = {};
  std::vector<int> num_clusters = {};  // by part
  // What the method wants kept: objective, attempts, ... Goes into GRAPH/manifest.json, so nothing
  // that differs from run to run (seconds).
  Json report = Json::object();
};

// What a method says of itself beside its memory, for whoever plans a run. Plain value.
struct MethodProfile {
  bool folds_edges = false;   // holds two nodes' edges, in whatever direction and number, as one
  int64_t metis_edges = 0;    // that METIS itself gets, about; 0: it is not called
  int64_t scratch_bytes = 0;  // of files in options.scratch
  double accesses = 2;        // to what it holds of nodes, an edge and pass: of both ends, mostly
};

class PartitionMethod {
 public:
  virtual ~PartitionMethod() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Whether Assign can give order keys. A method that cannot ignores options.order: whoever runs it
  // asks CheckOrder (registry/registry.h) first.
  [[nodiscard]] virtual bool FindsClusters() const { return false; }
  // What Assign will hold at most on a graph of these counts, its result included (2 bytes a node,
  // and 4 for order keys), one kEdgePassBytes too. Reads nothing. Within 20 % of what a run takes
  // on graphs of a million nodes and more.
  [[nodiscard]] virtual MemoryPlan PlanMemory(const GraphCounts& counts,
                                              const MethodOptions& options) const = 0;
  // Reads nothing either. What is true of most methods: nothing of all that.
  [[nodiscard]] virtual MethodProfile Profile(const GraphCounts& /*counts*/,
                                              const MethodOptions& /*options*/) const {
    return {};
  }
  // Options under which a graph of `nodes` nodes goes the way that one of `counts` would go under
  // these, so that a small one can tell what a large one takes: with clusters as large.
  [[nodiscard]] virtual MethodOptions ForTrial(const GraphCounts& /*counts*/, int64_t /*nodes*/,
                                               const MethodOptions& options) const {
    return options;
  }
  // Deterministic for given data, options and build. InvalidArgument: parts out of range or more
  // than nodes; ResourceExhausted: the graph is too large for the method (numbers and advice).
  [[nodiscard]] virtual StatusOr<Assignment> Assign(const Dataset& dataset,
                                                    const MethodOptions& options) const = 0;
};

// InvalidArgument unless 1 <= parts <= kMaxParts and parts <= nodes (of all types). For methods.
[[nodiscard]] Status CheckParts(const Dataset& dataset, int parts);
// What every method gives for one partition.
[[nodiscard]] Assignment AllInOnePart(const Dataset& dataset);

}  // namespace halograph
