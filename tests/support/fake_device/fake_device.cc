#include "tests/support/fake_device/fake_device.h"

#include <mutex>

#include <ATen/EmptyTensor.h>
#include <torch/library.h>

#include "tests/support/fake_device/fallback.h"
#include "tests/support/fake_device/guard.h"
#include "tests/support/fake_device/kernels.h"
#include "tests/support/fake_device/memory.h"
#include "tests/support/fake_device/streams.h"

namespace halograph {

std::string FakeOrder::Name() const {
  switch (runs) {
    case Runs::kWhenAsked:
      return "WhenAsked";
    case Runs::kSideEarly:
      return "SideEarly";
    case Runs::kDefaultEarly:
      return "DefaultEarly";
    case Runs::kRandom:
      return "Random" + std::to_string(seed);
    case Runs::kAtOnce:
      return "AtOnce";
  }
  return "";
}

std::vector<FakeOrder> FakeOrder::All() {
  std::vector<FakeOrder> orders = {
      {Runs::kWhenAsked}, {Runs::kSideEarly}, {Runs::kDefaultEarly}, {Runs::kAtOnce}};
  for (uint64_t seed = 1; seed <= 4; ++seed) orders.push_back({Runs::kRandom, seed});
  return orders;
}

void FakeDevice::Install() {
  static std::once_flag once;
  std::call_once(once, [] {
    constexpr auto kType = c10::DeviceType::PrivateUse1;
    static const c10::impl::DeviceGuardImplRegistrar guard(kType, fake_device::TheGuard());
    c10::SetAllocator(kType, fake_device::DeviceAllocator());
    const auto library = [](const char* operators, c10::DispatchKey key) -> torch::Library& {
      // Never destroyed: it would take its operators back.
      return *new torch::Library(torch::Library::IMPL, operators, key, __FILE__, __LINE__);
    };
    static auto& own = library("aten", c10::DispatchKey::PrivateUse1);
    fake_device::RegisterOwnKernels(own);
    static auto& above = library("aten", c10::DispatchKey::AutogradPrivateUse1);
    fake_device::RegisterAboveAutograd(above);
    static auto& others = library("_", c10::DispatchKey::PrivateUse1);
    others.fallback(torch::CppFunction::makeFromBoxedFunction<&fake_device::RunOnHost>());
  });
}

void FakeDevice::SetOrder(const FakeOrder& order) {
  const auto lock = fake_device::Lock();
  fake_device::Streams::The().SetOrder(order);
}

torch::Tensor FakeDevice::PinnedMemory(at::IntArrayRef sizes, at::ScalarType type) {
  const auto options = torch::TensorOptions(torch::kCPU).dtype(type);
  const size_t bytes = at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(type));
  if (bytes == 0) return torch::empty(sizes, options);
  c10::DataPtr memory = fake_device::TakePinned(bytes);
  void* const data = memory.get();
  const auto free = memory.get_deleter();
  return at::for_blob(data, sizes)
      .context(memory.release_context(), free)
      .options(options)
      .make_tensor();
}

void FakeDevice::LimitMemory(int64_t bytes) { fake_device::SetMemoryLimit(bytes); }

int64_t FakeDevice::MemoryInUse() { return fake_device::MemoryInUse(); }

int64_t FakeDevice::Waits() {
  const auto lock = fake_device::Lock();
  return fake_device::Streams::The().waits();
}

void FakeDevice::Reset() {
  const auto lock = fake_device::Lock();
  fake_device::Streams::The().SetOrder({});
  fake_device::Streams::The().DropKept();
  fake_device::RemoveMemoryLimit();
}

}  // namespace halograph
