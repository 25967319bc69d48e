// Means and deviations of features in a run: where they come from, who computes them, and whether a
// run without them should have had them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "trainer/output/table.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/training/session.h"

namespace halograph {

// Nodes that stand for a type that nothing is trained on.
inline constexpr int64_t kMostDrawnNodes = 100'000;

// With --normalize-features standard gives session.feature_scales of all `inputs`, on all ranks the
// same; else nothing. Rank 0 has them of the newest checkpoint of the folder `checkpoint`, or,
// where that is empty, of the graph: over the nodes of a type that the task is trained on (of all
// ranks, by global id, each once), or if it has none over kMostDrawnNodes of its nodes, drawn by
// the run's seed. Ranks meet.
//   FailedPrecondition  a column has no finite mean or deviation; the checkpoint has none of an
//                       input, or of another width: named
//   else                as ReadTrainedAs, stores and Communicator
[[nodiscard]] Status FindFeatureScales(Session& session, const std::vector<NodeInput>& inputs,
                                       const std::string& checkpoint);

// Hands each input what makes its rows; nothing where there are no scales.
void TakeFeatureScales(const FeatureScales& scales, std::vector<NodeInput>* inputs);

// Of the node type where they differ most, the two columns of its inputs whose deviations differ
// most, by a thousand of this rank's training rows; columns that do not change are left out. None
// with kStandard, without two such columns, and where features cannot be read: then the run has
// other troubles than this.
[[nodiscard]] std::optional<UnlikeColumns> FindUnlikeColumns(Session& session,
                                                             const std::vector<NodeInput>& inputs);

}  // namespace halograph
