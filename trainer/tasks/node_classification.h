// One class for a node. Loss: cross entropy; metric: the share of nodes classified correctly.
// Knows no libtorch.
#pragma once

#include <memory>
#include <string>

#include "client/kv_store.h"
#include "common/base/status.h"
#include "trainer/pipeline/seed_split.h"

namespace halograph {

class TrainingTask;

// Errors as ReadClassificationTask.
[[nodiscard]] StatusOr<std::unique_ptr<TrainingTask>> OpenNodeClassification(
    KVStore& kv, const std::string& name, RankOfWorld who);

}  // namespace halograph
