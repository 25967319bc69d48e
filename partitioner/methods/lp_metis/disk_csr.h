// The graph as lists of neighbours on disk. It is the union of all node types, undirected,
// without self-loops. Each pair of neighbours is in both lists once, weighted by the number of
// directed edges between them. Memory holds 12 bytes per node (8 without in-degrees); the lists
// are mapped files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/lp_metis/mapped_array.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Entries that are scattered at once: what the page cache should hold (4 bytes each). Larger
// graphs are first dealt to windows of so many entries, then scattered window by window. A
// parameter of DiskCsr::Build so that tests have several windows.
inline constexpr int64_t kWindowArcs = int64_t{1} << 28;
// Arcs ahead whose nodes' state a pass over neighbours asks for.
inline constexpr int64_t kArcsAhead = 32;

// Immutable once built; then thread-safe. Nodes are union ids (UnionNodes).
class DiskCsr {
 public:
  struct Options {
    std::filesystem::path scratch;  // as ScratchMapping::Create
    bool drop_duplicates = false;   // as BuildFoldedGraph
    int64_t window_arcs = kWindowArcs;
  };
  // In the scratch folder while a graph of so many directed edges is built: two entries an edge,
  // and those dealt to windows where there are several.
  [[nodiscard]] static int64_t ScratchBytes(int64_t edges);
  // Two passes over the edges.
  //   ResourceExhausted  more than 2^31 - 1 nodes; no room on the disk
  //   DataLoss           the second pass gave other edges than the first
  // and what the edge stream reports.
  [[nodiscard]] static StatusOr<DiskCsr> Build(const Dataset& dataset, const Options& options);

  [[nodiscard]] int64_t num_nodes() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  [[nodiscard]] int64_t num_arcs() const { return offsets_.back(); }  // each pair counts twice
  // Nodes + 1; the list of node v is [offsets()[v], offsets()[v + 1]).
  [[nodiscard]] const std::vector<int64_t>& offsets() const { return offsets_; }
  // Ascending per node.
  [[nodiscard]] const uint32_t* neighbours() const { return neighbours_.data(); }
  // Of entry i of the lists: directed edges, at most 255; 1 where all weigh the same.
  [[nodiscard]] int32_t Weight(int64_t i) const {
    return weights_.empty() ? 1 : weights_.data()[i];
  }
  [[nodiscard]] int64_t degree(int64_t node) const {
    return offsets_[static_cast<size_t>(node) + 1] - offsets_[static_cast<size_t>(node)];
  }
  // Per node, self-loops included. Gives them away: empty afterwards.
  [[nodiscard]] std::vector<int32_t> TakeInDegrees() { return std::exchange(in_degrees_, {}); }
  [[nodiscard]] int64_t directed_edges() const { return directed_edges_; }

 private:
  friend class DiskCsrBuilder;

  std::vector<int64_t> offsets_ = {0};
  MappedArray<uint32_t> neighbours_;
  MappedArray<uint8_t> weights_;  // empty where all weigh the same
  std::vector<int32_t> in_degrees_;
  int64_t directed_edges_ = 0;
};

}  // namespace halograph
