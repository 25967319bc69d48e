// The operators that the fake device has of its own, and what the others are made of: tensors over
// its memory as the CPU sees them, tasks, and reading what a stream has made.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace halograph::fake_device {

// Registers allocation, views, copies and `item` with a library of the device's key.
void RegisterOwnKernels(torch::Library& library);
// The same with one of the device's key of autograd, for what autograd does not know.
void RegisterAboveAutograd(torch::Library& library);

[[nodiscard]] inline bool IsOnDevice(const at::Tensor& tensor) {
  return tensor.device().type() == c10::DeviceType::PrivateUse1;
}

[[nodiscard]] at::Tensor EmptyOnDevice(at::IntArrayRef sizes, at::IntArrayRef strides,
                                       at::ScalarType type);

// The CPU's tensor of the same memory, which it does not keep alive.
[[nodiscard]] at::Tensor OnHost(const at::Tensor& tensor);

// Another tensor of the same memory.
[[nodiscard]] at::Tensor ViewOnDevice(const at::Tensor& tensor, at::IntArrayRef sizes,
                                      at::IntArrayRef strides, int64_t storage_offset);

// With more memory where it needs more; what it held stays.
void ResizeOnDevice(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides);

// On the thread's current stream, below autograd.
void QueueOnCurrent(std::function<void()> task);
// Runs all that is queued there. Throws the error that a task threw, if one did.
void FinishCurrent();

}  // namespace halograph::fake_device
