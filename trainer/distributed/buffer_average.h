// What a model keeps beside its parameters (running means and variances of batches), brought
// together over ranks. Not thread-safe.
#pragma once

#include "common/base/status.h"
#include "trainer/distributed/communicator.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Gives all ranks the mean over ranks of the buffers of `model`: each rank's weigh as many rows as
// its module has seen since the last call (kRowsSeen), module by module. So a rank that has had no
// row of a node type says nothing about it, and where no rank has had one, the buffers stay. All
// rows seen are 0 afterwards. One collective; one rank alone keeps every bit.
// Requires float32 buffers, of the same shapes on every rank and the same values after the last
// call; throws c10::Error if a module with buffers has none named kRowsSeen. Errors as
// Communicator::AllReduceSum.
[[nodiscard]] Status AverageBuffers(const torch::nn::Module& model, Communicator& communicator);

}  // namespace halograph
