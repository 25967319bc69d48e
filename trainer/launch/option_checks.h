// Which options of a training run go together. Each alone is checked by its row (options.h).
#pragma once

#include "common/base/status.h"
#include "trainer/options/train_options.h"

namespace halograph {

// InvalidArgument naming the options that contradict each other, or one that another needs.
// Requires rows that are valid one by one.
[[nodiscard]] Status CheckTogether(const TrainOptions& options);

// InvalidArgument naming an option that was given though nothing reads it, as of another schedule,
// or though --tune chooses it.
[[nodiscard]] Status CheckUnused(const OptionTable& rows, const TrainOptions& options);

}  // namespace halograph
