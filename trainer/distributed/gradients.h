// The gradients of a model as one flat buffer, summed over ranks in one collective.
// Not thread-safe.
#pragma once

#include <vector>

#include "common/base/status.h"
#include "trainer/distributed/communicator.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// What a rank may ask of all ranks in a step. Whatever one rank decides by itself, by a signal or
// by its clock, goes along with the gradients: so all take the decision in the same step. A new ask
// is a field here and a line in gradients.cc.
struct StepAsks {
  bool stop = false;        // end training: this step's update is not made
  bool checkpoint = false;  // keep the moment after this step
  bool time_up = false;     // end training with this step

  bool operator==(const StepAsks&) const = default;
};

class GradientBuffer {
 public:
  // Makes every parameter's gradient a view of one buffer, which backward then adds to. Parameters
  // must be float32. Do not let an optimizer set gradients to undefined: call Zero instead.
  explicit GradientBuffer(const std::vector<torch::Tensor>& parameters);

  void Zero();
  // Sums over ranks. `asks`, if not null, goes along: before, what this rank asks; after it, what
  // any rank does. Errors as Communicator::AllReduceSum.
  [[nodiscard]] Status AllReduce(Communicator& communicator, StepAsks* asks = nullptr);

  [[nodiscard]] const torch::Tensor& flat() const { return flat_; }

 private:
  torch::Tensor sent_;  // the gradients, and how many ranks ask for each thing
  torch::Tensor flat_;  // a view of the gradients
};

// Gives all ranks rank 0's parameters.
[[nodiscard]] Status BroadcastParameters(const std::vector<torch::Tensor>& parameters,
                                         Communicator& communicator);

}  // namespace halograph
