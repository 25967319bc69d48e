// The device that computes: the CPU, or one that has queues of work (streams) and a memory of its
// own, as CUDA's. One class for both, and for the CPU it does nothing: whoever uses it asks nowhere
// which one it is.
//
// Works with any libtorch that has the device's backend, without that backend's headers. Functions
// that libtorch has throw c10::Error as it does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// A point in a queue. The default one has passed. Copyable, not thread-safe.
class Mark {
 public:
  // Whether the device has come past it. Does not wait.
  [[nodiscard]] bool Passed() const;

 private:
  friend class Queue;
  struct Point;
  std::shared_ptr<Point> point_;  // null: passed
};

// Work that a device does in order, beside that of its other queues. On the CPU work is done at
// once, and every function returns.
class Queue {
 public:
  // The calling thread's operations go to the queue for as long as this lives.
  class Scope {
   public:
    explicit Scope(const Queue& queue);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    struct Guard;
    std::unique_ptr<Guard> guard_;
  };

  [[nodiscard]] Mark Record() const;
  // What comes later waits for the mark. The host goes on.
  void Await(const Mark& mark) const;
  // The host waits until the device has come past the mark, which is of this queue.
  void Finish(const Mark& mark) const;

 private:
  friend class Device;
  friend class Scope;
  struct Stream;
  std::shared_ptr<const Stream> stream_;  // null: the CPU's
};

struct DeviceMemory {
  int64_t free = 0;
  int64_t total = 0;
};

// What makes and frees tensors of bytes in host memory from which the device copies by itself.
using HostMemory = std::function<torch::Tensor(int64_t bytes)>;

// Copyable; thread-safe.
class Device {
 public:
  // The CPU.
  Device() = default;
  // For tests: a device of another backend, and where its host memory comes from.
  Device(torch::Device device, HostMemory host);

  // The device of --device `name`, which without a number is number `local_rank`, counted around.
  //   InvalidArgument     no name of a device
  //   FailedPrecondition  there is none, or none of that number; what there is is named
  [[nodiscard]] static StatusOr<Device> Open(std::string_view name, int local_rank);

  [[nodiscard]] bool is_cpu() const { return device_.is_cpu(); }
  [[nodiscard]] const torch::Device& torch() const { return device_; }
  [[nodiscard]] std::string name() const { return device_.str(); }  // "cpu", "cuda:0"

  // That of this device's computations: its default one.
  [[nodiscard]] Queue Compute() const;
  // One beside it.
  [[nodiscard]] Queue MakeQueue() const;

  // Bytes of host memory from which the device copies by itself.
  [[nodiscard]] torch::Tensor HostBuffer(int64_t bytes) const;
  // A tensor in such memory.
  [[nodiscard]] torch::Tensor HostTensor(torch::IntArrayRef sizes, torch::ScalarType type) const;
  // `host` on the device: on the CPU itself. The copy goes to the queue of the calling thread, and
  // reads `host` until it is done if that is HostBuffer's.
  [[nodiscard]] torch::Tensor Copy(const torch::Tensor& host) const;
  // `tensor` in host memory of HostBuffer, which the calling thread's queue fills when its turn
  // comes: for HostCopies, which knows when that is. On the CPU itself.
  [[nodiscard]] torch::Tensor BeginHome(const torch::Tensor& tensor) const;
  // `tensor` in the host's memory, where the host can read it: waits for what makes it.
  // Differentiable. On the CPU itself.
  [[nodiscard]] torch::Tensor Home(const torch::Tensor& tensor) const;
  [[nodiscard]] std::vector<torch::Tensor> Home(std::vector<torch::Tensor> tensors) const;

  // nullopt: not known.
  [[nodiscard]] std::optional<DeviceMemory> Memory() const;

 private:
  torch::Device device_ = torch::kCPU;
  HostMemory host_;
};

}  // namespace halograph
