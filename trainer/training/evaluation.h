// What the model makes of nodes it is not trained on: accuracy of a set, classes of nodes.
#pragma once

#include <optional>
#include <vector>

#include "common/base/status.h"
#include "trainer/output/prediction_file.h"
#include "trainer/training/session.h"

namespace halograph {

// The share of `set` that is classified right, over all ranks; the same on each. nullopt for an
// empty set. Sampling is seeded by `purpose` alone, so the same weights give the same answer.
// Errors as BatchFeed::Next and Communicator.
[[nodiscard]] StatusOr<std::optional<double>> Accuracy(Session& session, const LabeledSeeds& set,
                                                       BatchPurpose purpose);

// The class of every node that options.predict_nodes asks for, with original ids: all of them on
// rank 0 (16 bytes each), none on the others.
[[nodiscard]] StatusOr<std::vector<Prediction>> Predict(Session& session);

}  // namespace halograph
