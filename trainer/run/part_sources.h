// The two places where averaged training gets its parts from (trainer/averaging).
#pragma once

#include <memory>

#include "common/base/status.h"
#include "trainer/averaging/part_source.h"
#include "trainer/run/prepare.h"

namespace halograph {

// Whether what Prepare found can be trained by averaging, if the options ask for it. On all ranks,
// before anything is learnt or made of it.
//   InvalidArgument     a task that is not about nodes; node types whose inputs are learnt: named
//   FailedPrecondition  part_only, and the labels of parts tell other numbers of outputs
//   else                as Communicator
[[nodiscard]] Status CheckAveraged(const Session& run, const RunInputs& inputs);

// As run.options say:
//   - with part_only each part is opened alone, with its halo (client/part_alone), one at a time,
//     and asks nobody. What is checked of it is checked when it is first opened. Evaluation goes
//     through the parts, too: a rank evaluates the rows of its parts.
//   - else parts are views of the run's stores, so neighbours are those of the whole graph, and
//     evaluation is that of any run.
// `run` is prepared and checked (CheckAveraged), has a model, and outlives the source.
//   InvalidArgument  fewer parts than ranks
[[nodiscard]] StatusOr<std::unique_ptr<PartSource>> MakePartSource(Session& run);

}  // namespace halograph
