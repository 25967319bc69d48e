// Tensors on their way from a device to the host's memory, which the host reads once they are
// there: the fourth order of batch_copier.h, without a wait.
#pragma once

#include <vector>

#include "trainer/device/device.h"

namespace halograph {

// Movable, not thread-safe. Throws as libtorch does.
class HostCopies {
 public:
  // Begins to copy, behind all that the calling thread has given to the device's Compute() queue.
  // On the CPU they are the tensors themselves, and there. Undefined ones stay so.
  HostCopies(const Device& device, const std::vector<torch::Tensor>& tensors);

  // Whether Wait would return at once.
  [[nodiscard]] bool There() const { return copied_.Passed(); }
  // In the order given. Waits for what makes and copies them.
  [[nodiscard]] const std::vector<torch::Tensor>& Wait() const;

 private:
  Queue compute_;
  std::vector<torch::Tensor> host_;
  Mark copied_;
};

}  // namespace halograph
