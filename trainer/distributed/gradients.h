// The gradients of a model as one flat buffer, summed over ranks bucket by bucket while backward
// goes on: each step is Begin, backward, AllReduce. With one rank there is no thread, no hook and
// nothing to wait for. Gradients of parameters on a device stand there; a bucket is copied to the
// host and back, beside what the device computes.
// Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "common/base/status.h"
#include "trainer/device/host_image.h"
#include "trainer/distributed/bucket_thread.h"
#include "trainer/distributed/communicator.h"
#include "trainer/distributed/gradient_buckets.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// What a rank may ask of all ranks in a step, and what it tells them. Whatever one rank decides by
// itself, by a signal or by its clock, goes along with the gradients: so all take the decision in
// the same step. A new ask is a field here and a line in gradients.cc.
struct StepAsks {
  bool stop = false;        // end training: this step's update is not made
  bool checkpoint = false;  // keep the moment after this step
  bool time_up = false;     // end training with this step
  // How long this rank stood still for the others in the step before, in seconds; of all ranks, the
  // sum. Nothing is asked by it: who stands still less than others is who they wait for.
  float waited = 0;

  bool operator==(const StepAsks&) const = default;
};

class GradientBuffer {
 public:
  // Makes every parameter's gradient a view of one buffer, which backward then adds to. Parameters
  // must be float32, all on `device`. Do not let an optimizer set gradients to undefined: call
  // Zero, or Begin instead.
  explicit GradientBuffer(const std::vector<torch::Tensor>& parameters,
                          CarriedAs carried = CarriedAs::kThemselves,
                          const Device& device = Device());
  // Waits for the bucket that is under way, at most as long as a collective may take; before the
  // communicator is left, which outlives this object.
  ~GradientBuffer();

  // Requires that no step is begun.
  void Zero();
  // Zero, and a step begins: each bucket starts as soon as its gradients are final, in backward,
  // and the one before it has started. Backward is called once in a step, or not at all. The first
  // call connects the ranks (Communicator::Beside), and every rank calls it, with the same
  // communicator for good. Its errors.
  [[nodiscard]] Status Begin(Communicator& communicator);
  // Ends the step: sends what has not started, of parameters that backward did not come to as they
  // are (zeros), and waits for all sums. Without Begin it sends what is there. `asks`, if not null,
  // goes along in the last bucket: before, what this rank asks; after it, what any rank does.
  // Errors as Communicator::AllReduceSum and Begin, also of buckets that failed in backward; the
  // buffer then holds anything, and every later call fails.
  [[nodiscard]] Status AllReduce(Communicator& communicator, StepAsks* asks = nullptr);

  // All of them, where the parameters are.
  [[nodiscard]] const torch::Tensor& flat() const { return image_.there(); }

 private:
  struct Travel;

  // Nothing may start yet.
  [[nodiscard]] Status BeginTravel(Communicator& communicator);
  [[nodiscard]] std::unique_ptr<Travel> MakeTravel(std::unique_ptr<Communicator> beside);
  // The first `count` buckets are final.
  void LetGo(int count);

  const std::vector<torch::Tensor> parameters_;
  const CarriedAs carried_;
  const std::vector<GradientBucket> buckets_;
  HostImage image_;                    // in front: how many ranks ask for each thing
  std::vector<torch::Tensor> pieces_;  // views of what each bucket sends
  int gone_ = 0;                       // buckets of the step that are on their way
  std::unique_ptr<Travel> travel_;     // null before the first step, and with one rank
  bool begun_ = false;
};

// Gives all ranks rank 0's parameters.
[[nodiscard]] Status BroadcastParameters(const std::vector<torch::Tensor>& parameters,
                                         Communicator& communicator);

}  // namespace halograph
