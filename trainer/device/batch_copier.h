// Copies of batches to the device, ahead of the step that computes with them, on a queue of their
// own. Four orders must hold, and all are kept here:
//   a step computes after the copies of its batch                      DeviceBatch::Use
//   the host writes into memory again after the copies from it         ~DeviceBatch
//   the device's memory is copied into again after the step that read  ~DeviceBatch
//   the host reads what came back after the copy                       HostCopies::Wait, and
//                                                                      Device::Home, which waits
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "trainer/device/device.h"

namespace halograph {

class BatchCopier;

// A batch on the device. The thread that computes uses it, and lets go of it once the whole step
// was handed to the device, after all else that holds its tensors. One that nobody used may go
// anywhere.
class DeviceBatch {
 public:
  ~DeviceBatch();
  DeviceBatch(const DeviceBatch&) = delete;
  DeviceBatch& operator=(const DeviceBatch&) = delete;

  // Those given to Copy, in that order, on the device, or what its `then` made of them.
  [[nodiscard]] const std::vector<torch::Tensor>& tensors() const { return tensors_; }
  // What is computed later waits until the copies are there.
  void Use() const;

 private:
  friend class BatchCopier;
  DeviceBatch(const BatchCopier& copier, std::vector<torch::Tensor> host,
              const std::function<void(std::vector<torch::Tensor>* there)>& then);

  const BatchCopier& copier_;
  std::vector<torch::Tensor> host_;
  std::vector<torch::Tensor> tensors_;
  Mark copied_;
};

// Thread-safe; outlives its batches.
class BatchCopier {
 public:
  explicit BatchCopier(Device device)
      : device_(std::move(device)), compute_(device_.Compute()), copying_(device_.MakeQueue()) {}

  [[nodiscard]] const Device& device() const { return device_; }

  // Begins to copy tensors of host memory, each contiguous; undefined ones stay so. They are kept
  // as long as the batch. Throws c10::Error as libtorch does, of memory too.
  // `then` may make other tensors of those on the device. It is called at once, and what it
  // computes comes behind the copies, on their queue: it may read what is on the device for good
  // and was made so, or before any batch that it is called for.
  using Then = std::function<void(std::vector<torch::Tensor>* there)>;
  [[nodiscard]] std::unique_ptr<DeviceBatch> Copy(std::vector<torch::Tensor> host,
                                                  const Then& then = {}) const;

 private:
  friend class DeviceBatch;
  const Device device_;
  const Queue compute_, copying_;
};

}  // namespace halograph
