#include "tests/support/fake_device/guard.h"

#include <utility>

#include "tests/support/fake_device/memory.h"
#include "tests/support/fake_device/streams.h"

namespace halograph::fake_device {
namespace {

c10::Stream StreamOf(int stream) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::DeviceType::PrivateUse1, 0), stream);
}

int IndexOf(const c10::Stream& stream) { return static_cast<int>(stream.id()); }

// What libtorch's event points to: the point of the last record.
PointPtr& PointOf(void* event) { return *static_cast<PointPtr*>(event); }

// Some functions of the interface lost `noexcept` with a later libtorch. Here they keep it, which
// compiles with either.
class FakeGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::Device exchangeDevice(c10::Device /*device*/) const override { return getDevice(); }
  c10::Device getDevice() const override { return {c10::DeviceType::PrivateUse1, 0}; }
  void setDevice(c10::Device /*device*/) const override {}
  void uncheckedSetDevice(c10::Device /*device*/) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(c10::Device /*device*/) const noexcept override {
    return StreamOf(Streams::Current());
  }
  c10::Stream getDefaultStream(c10::Device /*device*/) const override {
    return StreamOf(Streams::kDefault);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device /*device*/, bool /*is_urgent*/) const override {
    const auto lock = Lock();
    return StreamOf(Streams::The().Next());
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return StreamOf(std::exchange(Streams::Current(), IndexOf(stream)));
  }
  bool queryStream(const c10::Stream& stream) const override {
    const auto lock = Lock();
    return Streams::The().PollStream(IndexOf(stream));
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    const auto lock = Lock();
    Streams::The().WaitFor(IndexOf(stream));
    Streams::The().ThrowKept();
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex /*device*/,
              c10::EventFlag /*flag*/) const override {
    const auto lock = Lock();
    if (*event == nullptr) *event = new PointPtr;
    PointOf(*event) = Streams::The().Record(IndexOf(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event == nullptr) return;
    const auto lock = Lock();
    Streams::The().Await(IndexOf(stream), PointOf(event));
  }
  bool queryEvent(void* event) const override {
    if (event == nullptr) return true;
    const auto lock = Lock();
    return Streams::The().Poll(*PointOf(event));
  }
  void destroyEvent(void* event, c10::DeviceIndex /*device*/) const noexcept override {
    delete static_cast<PointPtr*>(event);
  }

  void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
    UseOnStream(memory, IndexOf(stream));
  }
};

}  // namespace

const c10::impl::DeviceGuardImplInterface* TheGuard() {
  static const auto* const guard = new FakeGuard;
  return guard;
}

}  // namespace halograph::fake_device
