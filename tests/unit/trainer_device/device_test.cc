#include "trainer/device/device.h"

#include <gmock/gmock.h>

#include "tests/support/fake_device/bits.h"
#include "tests/unit/trainer_device/fake_one.h"
#include "trainer/device/host_memory.h"
#include "trainer/options/device_name.h"
#include "trainer/training/torch_error.h"

namespace halograph {
namespace {

using testing::HasSubstr;

TEST(DeviceNameTest, IsOneOfFourKinds) {
  EXPECT_EQ(ParseDeviceName("cpu")->kind, DeviceName::kCpu);
  EXPECT_EQ(ParseDeviceName("auto")->kind, DeviceName::kAuto);
  EXPECT_EQ(ParseDeviceName("cuda")->kind, DeviceName::kCuda);
  EXPECT_EQ(ParseDeviceName("cuda")->number, std::nullopt);
  EXPECT_EQ(ParseDeviceName("cuda:3")->number, 3);
  for (const char* const name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda:4096"}) {
    EXPECT_THAT(Message(ParseDeviceName(name).status()), HasSubstr("is none of cpu, cuda")) << name;
  }
}

TEST(DeviceTest, TheCpuHasNoQueuesAndCopiesNothing) {
  const Device cpu = *Device::Open("cpu", 0);
  EXPECT_TRUE(cpu.is_cpu());
  EXPECT_EQ(cpu.name(), "cpu");
  const torch::Tensor host = torch::ones({3});
  const Queue queue = cpu.MakeQueue();
  const Queue::Scope scope(queue);
  EXPECT_EQ(cpu.Copy(host).data_ptr(), host.data_ptr());
  EXPECT_EQ(cpu.Home(host).data_ptr(), host.data_ptr());
  const Mark mark = queue.Record();
  EXPECT_TRUE(mark.Passed());
  cpu.Compute().Await(mark);
  queue.Finish(mark);
  EXPECT_EQ(cpu.Memory(), std::nullopt);
}

TEST(DeviceTest, WithoutOneAutoIsTheCpuAndCudaSaysWhatThereIs) {
  if (c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) GTEST_SKIP() << "libtorch has CUDA";
  EXPECT_TRUE(Device::Open("auto", 0)->is_cpu());
  for (const char* const name : {"cuda", "cuda:1"}) {
    const Status status = Device::Open(name, 0).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), HasSubstr(std::string("--device ") + name + ": this libtorch"));
  }
}

TEST(HostBlocksTest, BlocksComeBackAndAreTakenAgain) {
  FakeDevice::Install();
  FakeDevice::Reset();
  HostBlocks blocks(FakeOne());
  EXPECT_EQ(blocks.Take(0), nullptr);
  blocks.Give(nullptr);
  void* const first = blocks.Take(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0U);
  EXPECT_NE(blocks.Take(1000), first);
  blocks.Give(first);
  EXPECT_EQ(blocks.Take(1000), first);
}

TEST(TorchErrorTest, ADeviceWithoutMemoryIsToldWithWhatLowersIt) {
  FakeDevice::Install();
  FakeDevice::Reset();
  FakeDevice::LimitMemory(1000);
  try {
    static_cast<void>(torch::zeros({1000}, FakeDevice::Get()));
    FAIL() << "there was memory";
  } catch (const std::exception& error) {
    const Status status = TorchError(2, "training", error);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(Message(status), HasSubstr("rank 2: training: out of memory; lower --batch-size"));
  }
  FakeDevice::Reset();
}

}  // namespace
}  // namespace halograph
