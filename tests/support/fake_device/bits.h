// Results on the CPU and on the fake device, bit for bit.
#pragma once

#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fake_device/fake_device.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

using Tensors = std::vector<torch::Tensor>;

inline bool HaveSameBits(const torch::Tensor& one, const torch::Tensor& other) {
  if (one.scalar_type() != other.scalar_type() || one.sizes() != other.sizes()) return false;
  const torch::Tensor a = one.detach().to(torch::kCPU).contiguous();
  const torch::Tensor b = other.detach().to(torch::kCPU).contiguous();
  return a.nbytes() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

inline bool HaveSameBits(const Tensors& some, const Tensors& others) {
  if (some.size() != others.size()) return false;
  for (size_t i = 0; i < some.size(); ++i) {
    if (!HaveSameBits(some[i], others[i])) return false;
  }
  return true;
}

// Installs the device; each case begins and ends with all streams empty, and runs on one thread, as
// sums over several hang on how many.
class FakeDeviceTest : public testing::Test {
 protected:
  FakeDeviceTest() { FakeDevice::Install(); }
  void SetUp() override {
    FakeDevice::Reset();
    torch::set_num_threads(1);
    torch::manual_seed(3);
  }
  void TearDown() override { FakeDevice::Reset(); }
};

class FakeOrdersTest : public FakeDeviceTest, public testing::WithParamInterface<FakeOrder> {
 protected:
  void SetUp() override {
    FakeDeviceTest::SetUp();
    FakeDevice::SetOrder(GetParam());
  }

  // The results of `program(device)` are the CPU's bits; it draws no random number, and takes what
  // it needs from the CPU by `.to(device)`.
  static void ExpectBitsOfCpu(const std::function<Tensors(torch::Device)>& program) {
    const Tensors expected = program(torch::kCPU);
    const Tensors found = program(FakeDevice::Get());
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].device(), FakeDevice::Get()) << "result " << i;
      EXPECT_TRUE(HaveSameBits(found[i], expected[i])) << "result " << i << ":\n"
                                                       << found[i].to(torch::kCPU) << "\nexpected\n"
                                                       << expected[i];
    }
  }
};

inline void PrintTo(const FakeOrder& order, std::ostream* out) { *out << order.Name(); }

inline std::string NameOfOrder(const testing::TestParamInfo<FakeOrder>& info) {
  return info.param.Name();
}

}  // namespace halograph
