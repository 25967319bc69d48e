// What makes new weights of old ones and gradients, behind one interface: its steps, and its state
// as bytes for whoever wants to go on later. A new kind is a value of OptimizerKind with its word
// on the command line, and a case in optimizer.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "trainer/options/train_options.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Not thread-safe.
class Optimizer {
 public:
  // Over `parameters`, whose tensors are changed in place. `weight_decay`: the L2 term.
  Optimizer(OptimizerKind kind, std::vector<torch::Tensor> parameters, double learning_rate,
            double weight_decay);

  // Of the steps to come. Without a call it is that of the constructor, or of the restored state.
  void SetLearningRate(double rate);
  // One step by the parameters' gradients. Throws as libtorch does.
  void Step() { optimizer_->step(); }

  // All that earlier steps left behind (moments, counts of steps), without the weights, as tensors
  // by name, "<parameter>.<what>", parameters by number: those themselves, which the next step
  // changes; counts of steps as copies. None of parameters that had no step yet.
  [[nodiscard]] std::map<std::string, torch::Tensor> StateTensors() const;
  // Takes copies of them. On an optimizer of the same kind over parameters of the same shapes in
  // the same order this gives one whose next steps are the same, bit for bit. FailedPrecondition
  // naming a tensor that is missing, too many, or of another shape or dtype; the state is then
  // anything.
  [[nodiscard]] Status RestoreTensors(const std::map<std::string, torch::Tensor>& state);

  // The same as float32 tensors of shapes that follow from the parameters alone, for whoever
  // computes with them: of Adam both moments of each parameter and how many steps it was given; of
  // SGD none. Zeros before the first step. Set requires tensors of these shapes; counts of steps
  // are rounded.
  [[nodiscard]] std::vector<torch::Tensor> Moments() const;
  void SetMoments(const std::vector<torch::Tensor>& moments);

 private:
  const OptimizerKind kind_;
  const std::vector<torch::Tensor> parameters_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

// Shortens `gradients`, all of a step as one flat float32 tensor, to the norm `limit`
// if it is longer: every element times limit / norm, as PyTorch's clip_grad_norm_ does. The norm
// that it had. It is summed in float64 over pieces of one size, in their order: no bit of it
// depends on the number of threads. Where the norm is not finite the gradients stay as they are.
double ClipToNorm(torch::Tensor gradients, double limit);

}  // namespace halograph
