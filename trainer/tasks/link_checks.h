// What the rows of a link prediction task are probably not meant to be, counted over all ranks and
// told by rank 0 before training. All ranks call each of these, with the same sets.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "client/stores.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/distributed/communicator.h"
#include "trainer/seeds/edge_rows.h"
#include "trainer/seeds/known_edges.h"

namespace halograph {

// This rank's rows of the train, valid and test set; null where the task has none.
using RowsOfSets = std::array<const EdgeRows*, 3>;

// Pairs that stand twice in a set, in two sets, or as an edge and as a negative of one set. Ranks
// share out parts, and meet meanwhile (WorkTogether). Errors as PairSearch and WorkTogether.
[[nodiscard]] Status WarnOfPairs(const Stores& stores, const Task& task, Communicator& ranks,
                                 const CancelToken* cancel);

// Given negatives of the validation and test sets that the graph has as edges. Errors as
// FindHeldOut.
[[nodiscard]] Status WarnOfTrueNegatives(const Stores& stores, const Task& task,
                                         const RowsOfSets& rows, Communicator& ranks,
                                         const CancelToken* cancel);

// Answers that the validation and test sets ask for at `ends` whose rank among all nodes is the
// first whatever the model is, since each node makes a known edge. Errors as Communicator.
[[nodiscard]] Status WarnOfNoRivals(const Schema& schema, const Task& task, const RowsOfSets& rows,
                                    const KnownEdges& known, CorruptedEnds ends,
                                    Communicator& ranks);

// Nodes whose input rows are learnt and which edges of the validation and test sets have, and no
// edge of the train set. `learnt`: node types, the same on all ranks. Takes 2 bits for each of
// kNodesAtOnce nodes, on rank 0 for those of every rank, and goes through the rows as often as that
// takes. Errors as Communicator.
inline constexpr int64_t kNodesAtOnce = int64_t{1} << 23;
[[nodiscard]] Status WarnOfUntaughtNodes(const Schema& schema, const Task& task,
                                         const RowsOfSets& rows, std::span<const int> learnt,
                                         Communicator& ranks, int64_t at_once = kNodesAtOnce);

}  // namespace halograph
