// Each part of an assignment as a data set of its own: its nodes, numbered from 0 a type in the
// order of the input, its own edges (those with both ends in it), and the rows of task sets that
// it owns. So a partition method can divide a part as it divides a graph. Edges wait in files, in
// 8 bytes each: one pass over those of the graph writes them for many parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/graph_counts.h"
#include "partitioner/stream/memory_plan.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Not thread-safe. Holds 4 bytes a node until Forget. Keeps references to what it was made of.
class PartGraphs {
 public:
  // Parts whose files are written at once: each has one open file, and a buffer.
  static constexpr int kPartsAtOnce = 128;
  static constexpr int64_t kBufferBytes = int64_t{64} << 10;  // of each

  // `owners`: [type][input id], below `parts`.
  //   ResourceExhausted  no memory, or a part has more than 2^32 - 1 nodes of a type
  [[nodiscard]] static StatusOr<PartGraphs> Make(const Dataset& dataset,
                                                 const std::vector<std::vector<uint16_t>>& owners,
                                                 int parts);

  // Writes the files of parts [begin, end), at most kPartsAtOnce, below `folder`, which exists. One
  // pass over the edges, and over the rows of the task sets.
  //   ResourceExhausted  disk full
  //   InvalidArgument    a task set that makes no sense (ResolveTaskColumns)
  // and whatever the edge stream reports.
  [[nodiscard]] Status Write(IdRange parts, const std::filesystem::path& folder) const;
  // A part whose files were written below `folder`. Node types and relations as in the whole
  // graph, without features; of the tasks only which nodes own the rows of each set, as one task.
  // The data set needs the files for as long as it lives.
  [[nodiscard]] StatusOr<Dataset> Open(int part, const std::filesystem::path& folder) const;

  // Gives up what only Write needs.
  void Forget() { local_ids_.clear(); }

  // Writes and opens all parts, kPartsAtOnce at a time, and gives them to `visit` in order; forgets
  // when the last are written. `folder` is made, and is gone afterwards. Errors as those of Write
  // and Open, and those of `visit`.
  using Visit = std::function<Status(int part, const Dataset& graph)>;
  [[nodiscard]] Status ForEach(const std::filesystem::path& folder, const Visit& visit);

  // Of a type, by part.
  [[nodiscard]] std::span<const int64_t> Nodes(int type) const {
    return nodes_[static_cast<size_t>(type)];
  }
  // Of all types.
  [[nodiscard]] int64_t NodesOf(int part) const;

 private:
  PartGraphs(const Dataset& dataset, const std::vector<std::vector<uint16_t>>& owners, int parts)
      : dataset_(&dataset), owners_(&owners), parts_(parts) {}
  [[nodiscard]] Status WriteEdges(size_t relation, IdRange parts,
                                  const std::filesystem::path& folder) const;
  [[nodiscard]] Status WriteRows(size_t set, const InputTaskSet& rows, IdRange parts,
                                 const std::filesystem::path& folder) const;

  const Dataset* dataset_;
  const std::vector<std::vector<uint16_t>>* owners_;
  int parts_;
  std::vector<std::vector<int64_t>> nodes_;     // [type][part]
  std::vector<NodeArray<uint32_t>> local_ids_;  // [type][input id]: among those of the part
};

// Of a part of a graph of these counts that holds as much as balance allows.
[[nodiscard]] GraphCounts CountsOfPart(const GraphCounts& counts, int parts);
// What PartGraphs and its Write hold of a graph of so many nodes, beside `held`.
[[nodiscard]] MemoryPhase PlanPartGraphs(std::string name, int64_t nodes, int parts,
                                         const HeldMemory& held);
// The plan of what is done with one part, with what is held beside it.
[[nodiscard]] MemoryPlan PlanOfPart(MemoryPlan of_part, const HeldMemory& held);

}  // namespace halograph
