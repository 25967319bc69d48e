// Tells what a partition folder holds and how good its partitioning is. Plain values. All
// functions are pure but InspectGraph, which reads manifests and headers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/graph/manifest.h"
#include "common/storage/json.h"

namespace halograph {

struct PartSummary {
  int64_t core_nodes = 0;  // of all types
  int64_t halo_nodes = 0;
  int64_t edges = 0;      // in-edges of core nodes
  int64_t cut_edges = 0;  // of them, those whose source is owned elsewhere
  int64_t bytes = 0;      // of all files but the manifest
  // Of the part's halo, by which it can be trained on alone; 0: it has none. Of InspectGraph.
  int halo_hops = 0;
  int64_t halo_bytes = 0;
  // Task rows per set (train, valid, test), over all tasks and types.
  std::map<std::string, int64_t> task_rows;
  std::map<std::string, int64_t> core_by_type;
};

// Of all clusters that parts are divided into.
struct ClusterSummary {
  int64_t count = 0;
  int64_t least_nodes = 0;  // of a cluster
  int64_t median_nodes = 0;
  int64_t most_nodes = 0;
  int64_t edges_within = 0;  // directed edges whose ends are in one cluster
};

struct GraphSummary {
  std::string name;
  std::string identity;
  std::string build;
  Json options;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t edge_cut = 0;  // directed edges between different owners
  // (core + halo) / nodes, over all partitions: 1 if no partition needs a node of another.
  double replication_factor = 1;
  // max / mean over partitions of nodes, nodes/<type> (if there are several), edges, train, valid
  // and test; what the graph does not have is left out.
  std::map<std::string, double> balance;
  std::vector<PartSummary> parts;
  std::optional<ClusterSummary> clusters;  // where there are some
  Schema schema;                           // of InspectGraph; else empty

  [[nodiscard]] double edge_cut_share() const {
    return edges == 0 ? 0 : static_cast<double>(edge_cut) / static_cast<double>(edges);
  }
};

// Fills what follows from `parts`, of which there is at least one: nodes, edges, edge_cut,
// replication_factor and balance. All parts have the same types and sets.
void Summarise(GraphSummary* summary);

// Opens every part (manifests, existence and sizes of files, headers; no checksum of contents).
// Errors as those of PartitionSet::Open, and
//   NotFound  no GRAPH/manifest.json
//   DataLoss  a statistic is missing or wrong in it
[[nodiscard]] StatusOr<GraphSummary> InspectGraph(const std::filesystem::path& graph);
// Of the manifest alone, which is that of `graph`; opens nothing. DataLoss as above.
[[nodiscard]] StatusOr<GraphSummary> SummaryOf(const GraphManifest& manifest,
                                               const std::filesystem::path& graph);

// "edge_cut", "edge_cut_share", "replication_factor", "balance", "nodes", "edges", "parts" (list)
// and what else GraphSummary has; "schema" (as in manifests) where it has one.
[[nodiscard]] Json ToJson(const GraphSummary& summary);

// What the graph consists of, a line each: node types and relations with their features (and those
// that sampling can go by), tasks with their sets. Of hundreds the first ones. Ends with a newline.
[[nodiscard]] std::string DescribeSchema(const Schema& schema);

// A table for people, with the schema where it has one, ending with a newline.
[[nodiscard]] std::string FormatTable(const GraphSummary& summary);

}  // namespace halograph
