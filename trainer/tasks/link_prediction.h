// Link prediction (DistDGLv2 section 6): which pairs of nodes have an edge. A row is an edge of the
// train, valid or test set; negatives are drawn for it (EdgeSeeds), and it is scored with them by
// the rows that the model makes of their ends (LinkScorer).
//
// Loss, of an edge at each end that is corrupted, and the mean of both ends where both are:
//   cross-entropy  log(1 + exp(-score)) + mean over its negatives of log(1 + exp(score))
//   softmax        -log of exp(score) over the sum of exp of its own and its negatives' scores
// A negative that is the true end itself does not count; other known edges do, but where evaluation
// ranks among all nodes (link_ranking.h).
// Metrics: mean reciprocal rank, and the share of ranks up to 1, 3 and 10, over edges and the ends
// that are asked for; a rank is the mean of the optimistic and the pessimistic one, as in OGB's
// evaluator. Where the validation and test sets come with negatives, nothing is drawn for these
// sets: their metrics are hits at K against the given ones (link_hits.h), their loss is the binary
// cross entropy of all rows, and training has no metric.
// Predictions: the rows that edges are scored by, of the nodes at the destinations of the task's
// first relation. Knows no libtorch.
#pragma once

#include <memory>
#include <string>

#include "client/stores.h"
#include "common/base/status.h"
#include "trainer/options/task_options.h"
#include "trainer/seeds/seed_split.h"

namespace halograph {

class TrainingTask;

// Reads the rank's edges of every set; with --negative-sampling degree the train set of all ranks,
// with --eval-negatives 0 the edges of all sets and ranks; of sets with labels as much as
// HasGivenNegatives does. `stores` must outlive the task.
//   InvalidArgument  an end is corrupted whose node type has one node: there is no other
//   else             as CheckEdgeTask, HasGivenNegatives, ReadEdgeRows, DrawersByDegree
[[nodiscard]] StatusOr<std::unique_ptr<TrainingTask>> OpenLinkPrediction(const Stores& stores,
                                                                         const TaskOptions& options,
                                                                         const std::string& name,
                                                                         RankOfWorld who);

}  // namespace halograph
