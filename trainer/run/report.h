// What a run reports of itself, in the log (trainer/output/LOG.md) and in the table.
#pragma once

#include <vector>

#include "common/storage/json.h"
#include "trainer/output/table.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/training/session.h"
#include "trainer/training/training_loop.h"

namespace halograph {

// The first line: {"config": ...}. `features` and `learnt`: what the model takes in.
[[nodiscard]] Json ConfigLine(const Session& session, const std::vector<NodeInput>& features,
                              const std::vector<LearntType>& learnt);

// What the run came to, without `most_frequent`, `unlike` and `total_seconds`. Requires a best
// epoch.
[[nodiscard]] RunSummary SummaryOf(const Session& session, const TrainResult& result);
// The last line. Requires a best epoch.
[[nodiscard]] Json FinalLine(const Session& session, const TrainResult& result,
                             const RunSummary& summary);

}  // namespace halograph
