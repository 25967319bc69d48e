// The edges of a link prediction task, as the partition folder or its servers have them: sets of
// pairs of nodes, keyed by relation (DESIGN: "Partition folder", tasks).
//
// `labels` say what a row is: 1, or none, an edge; 0, in the valid and test sets, a negative that
// is given: a pair that an evaluator scores and that is no edge.
//
// Rows of a set of all relations are numbered by part (that of the edge's destination), then
// relation, then as stored: so a rank knows which rows are its own before it has read any.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "client/stores.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/seeds/seed_split.h"

namespace halograph {

// Whether all sets of `task` are pairs of a relation, as far as the schema tells. InvalidArgument
// saying what they are instead; FailedPrecondition: no train set.
[[nodiscard]] Status CheckEdgeTask(const Schema& schema, const Task& task);

// The relations that a task has edges of, in any set: indices, ascending. Requires CheckEdgeTask.
[[nodiscard]] std::vector<int> RelationsOf(const Schema& schema, const Task& task);

// parts + 1 boundaries of the rows of all relations together; empty where the task has no such set.
[[nodiscard]] std::vector<int64_t> EdgePartRows(const GraphInfo& info, const Task& task,
                                                std::string_view set);

// The rows of a rank. Pair i is row first_row + i: sources[i] -> destinations[i], global ids.
struct EdgeRows {
  std::vector<int64_t> sources, destinations;
  std::vector<int32_t> relations;
  std::vector<bool> given_negative = {};  // of each row; empty: all are edges
  std::vector<int64_t> part_rows;         // as EdgePartRows
  int64_t first_row = 0;

  [[nodiscard]] bool is_edge(size_t i) const {
    return given_negative.empty() || !given_negative[i];
  }
};

// Reads the rank's rows of a set (SplitRows). Requires CheckEdgeTask.
//   OutOfRange  a row with a label other than 1 and, but in the train set, 0: the place is named
//   else        what the store returned
[[nodiscard]] StatusOr<EdgeRows> ReadEdgeRows(const Stores& stores, const Task& task,
                                              std::string_view set, RankOfWorld who);

// Rows of one relation, as they come. `given_negative`: of each; empty: all are edges.
using UseRows = std::function<void(int relation, std::span<const int64_t> pairs,
                                   const std::vector<bool>& given_negative)>;
// Rows `rows` of all relations together, in order, at most kEdgesAtOnce in a call. Errors as
// ReadEdgeRows.
[[nodiscard]] Status ForEachRow(const Stores& stores, const Task& task, std::string_view set,
                                IdRange rows, const UseRows& use);

// Edges of one relation, as they come: `pairs` of source and destination.
using UseEdges = std::function<void(int relation, std::span<const int64_t> pairs)>;
// Every edge of a set, of all ranks, at most kEdgesAtOnce in a call, in the order of rows.
// Negatives that are given are left out. Errors as ReadEdgeRows.
inline constexpr int64_t kEdgesAtOnce = int64_t{1} << 20;
[[nodiscard]] Status ForEachEdge(const Stores& stores, const Task& task, std::string_view set,
                                 const UseEdges& use);

// What the rows of a set are, of all ranks.
struct RowKinds {
  int64_t edges = 0;
  int64_t given_negatives = 0;
};
// Counts them; reads no further, kEdgesAtOnce rows at a time, than to an edge and `enough`
// negatives, and nothing of a set without labels. Errors as ReadEdgeRows.
[[nodiscard]] StatusOr<RowKinds> CountRowKinds(const Stores& stores, const Task& task,
                                               std::string_view set, int64_t enough);

}  // namespace halograph
