// What training has come to, as a manifest keeps it.
#pragma once

#include <string_view>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "trainer/tasks/task.h"

namespace halograph {

// The best epoch with its metrics and loss, sums over epochs, and what --tune chose; not what the
// place of the checkpoint tells (epochs done), and no other figures of the best epoch.
[[nodiscard]] Json ProgressToJson(const TrainResult& result);
// Read back, of `epochs` whole epochs. The keys of further metrics are the task's, which must
// outlive the result. DataLoss naming `where` and the field that is missing or wrong.
[[nodiscard]] StatusOr<TrainResult> ProgressFromJson(const Json& json, int64_t epochs,
                                                     const TrainingTask& task,
                                                     std::string_view where);

}  // namespace halograph
