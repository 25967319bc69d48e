// What the model makes of rows that it is not trained on: the task's metric of a set, and
// predictions for nodes.
#pragma once

#include <optional>
#include <vector>

#include "common/base/status.h"
#include "trainer/output/prediction_file.h"
#include "trainer/training/session.h"

namespace halograph {

// The task's metric of the set `purpose`, over all ranks; the same on each. nullopt where the task
// has no such set. Sampling is seeded by `purpose` alone, so the same weights give the same answer.
// Errors as BatchFeed::Next and Communicator.
[[nodiscard]] StatusOr<std::optional<double>> Evaluate(Session& session, BatchPurpose purpose);

// What the task predicts for every node that options.predict_nodes asks for, with original ids: all
// of them on rank 0 (16 bytes each), none on the others. Requires a task that can predict.
[[nodiscard]] StatusOr<std::vector<Prediction>> Predict(Session& session);

}  // namespace halograph
