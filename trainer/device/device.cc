#include "trainer/device/device.h"

#include <utility>

#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include "common/base/log.h"
#include "trainer/options/device_name.h"

namespace halograph {
namespace {

// Devices that libtorch can use: none where it was built without CUDA, or there is no driver.
int CountDevices() {
  if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) return 0;
  return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).deviceCount();
}

std::string WhatThereIs() {
  if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) {
    return fmt::format(
        "this libtorch ({}) was built without CUDA; docs/gpu.md says how to build "
        "with one that has it",
        TorchVersion());
  }
  const int count = CountDevices();
  if (count > 0) return fmt::format("this process may use {}, cuda:0 to cuda:{}", count, count - 1);
  return "libtorch finds no CUDA device that this process may use: see `nvidia-smi`, and "
         "CUDA_VISIBLE_DEVICES";
}

}  // namespace

struct Mark::Point {
  explicit Point(c10::DeviceType type) : event(type) {}
  c10::Event event;
};

bool Mark::Passed() const { return point_ == nullptr || point_->event.query(); }

struct Queue::Stream {
  explicit Stream(c10::Stream of) : stream(of) {}
  c10::Stream stream;
};

struct Queue::Scope::Guard {
  explicit Guard(c10::Stream stream) : guard(stream) {}
  c10::StreamGuard guard;
};

Queue::Scope::Scope(const Queue& queue) {
  if (queue.stream_ != nullptr) guard_ = std::make_unique<Guard>(queue.stream_->stream);
}
Queue::Scope::~Scope() = default;

Mark Queue::Record() const {
  Mark mark;
  if (stream_ == nullptr) return mark;
  mark.point_ = std::make_shared<Mark::Point>(stream_->stream.device_type());
  mark.point_->event.record(stream_->stream);
  return mark;
}

void Queue::Await(const Mark& mark) const {
  if (stream_ != nullptr && mark.point_ != nullptr) mark.point_->event.block(stream_->stream);
}

void Queue::Finish(const Mark& mark) const {
  if (stream_ == nullptr || mark.Passed()) return;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
  mark.point_->event.synchronize();
#else
  // Events of older ones cannot be waited for: a look may do, else all that the queue has.
  constexpr int kLooks = 1000;
  for (int look = 0; look < kLooks; ++look) {
    if (mark.Passed()) return;
  }
  stream_->stream.synchronize();
#endif
}

Device::Device(torch::Device device, HostMemory host) : device_(device), host_(std::move(host)) {}

StatusOr<Device> Device::Open(std::string_view name, int local_rank) {
  HG_ASSIGN_OR_RETURN(const DeviceName asked, ParseDeviceName(name));
  const int count = asked.kind == DeviceName::kCpu ? 0 : CountDevices();
  if (asked.kind == DeviceName::kCpu || (asked.kind == DeviceName::kAuto && count == 0)) {
    return Device();
  }
  const int number = asked.number.value_or(count > 0 ? local_rank % count : 0);
  if (number >= count) return FailedPrecondition("--device {}: {}", name, WhatThereIs());
  try {
    Device device(torch::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(number)),
                  [](int64_t bytes) {
                    return torch::empty({bytes}, torch::dtype(torch::kUInt8).pinned_memory(true));
                  });
    // The driver fails here, or not at all.
    static_cast<void>(torch::zeros({1}, device.torch()).to(torch::kCPU));
    return device;
  } catch (const std::exception& error) {
    return FailedPrecondition("--device {}: {}", name, TorchMessage(error));
  }
}

Queue Device::Compute() const {
  Queue queue;
  if (is_cpu()) return queue;
  const c10::impl::VirtualGuardImpl guard(device_.type());
  queue.stream_ = std::make_shared<Queue::Stream>(guard.getDefaultStream(device_));
  return queue;
}

Queue Device::MakeQueue() const {
  Queue queue;
  if (is_cpu()) return queue;
  const c10::impl::VirtualGuardImpl guard(device_.type());
  queue.stream_ = std::make_shared<Queue::Stream>(guard.getStreamFromGlobalPool(device_));
  return queue;
}

torch::Tensor Device::HostBuffer(int64_t bytes) const {
  return host_ ? host_(bytes) : torch::empty({bytes}, torch::kUInt8);
}

torch::Tensor Device::HostTensor(torch::IntArrayRef sizes, torch::ScalarType type) const {
  const int64_t values = c10::multiply_integers(sizes);
  return HostBuffer(values * static_cast<int64_t>(torch::elementSize(type))).view(type).view(sizes);
}

torch::Tensor Device::Copy(const torch::Tensor& host) const {
  return is_cpu() ? host : host.to(device_, /*non_blocking=*/true);
}

torch::Tensor Device::BeginHome(const torch::Tensor& tensor) const {
  if (is_cpu()) return tensor;
  return HostTensor(tensor.sizes(), tensor.scalar_type())
      .copy_(tensor.contiguous(), /*non_blocking=*/true);
}

torch::Tensor Device::Home(const torch::Tensor& tensor) const {
  return is_cpu() || !tensor.defined() ? tensor : tensor.to(torch::kCPU);
}

std::vector<torch::Tensor> Device::Home(std::vector<torch::Tensor> tensors) const {
  for (torch::Tensor& tensor : tensors) tensor = Home(tensor);
  return tensors;
}

std::optional<DeviceMemory> Device::Memory() const {
  if (device_.type() != c10::DeviceType::CUDA) return std::nullopt;
  // libtorch loads CUDA's library, and has no call of its own for this.
  using Ask = int (*)(size_t*, size_t*);
  const auto ask = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"));
  if (ask == nullptr) return std::nullopt;
  const c10::DeviceGuard guard(device_);
  size_t free = 0, total = 0;
  if (ask(&free, &total) != 0) return std::nullopt;
  return DeviceMemory{static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

}  // namespace halograph
