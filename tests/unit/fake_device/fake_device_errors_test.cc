// What the fake device refuses, keeps and throws; its memory, its streams and its events.
#include <cstdint>

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_device/bits.h"
#include "tests/support/fake_device/fake_device.h"
#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class FakeDeviceErrorsTest : public FakeDeviceTest {
 protected:
  torch::Tensor Ones(at::IntArrayRef sizes) const { return torch::ones(sizes, on_device_); }
  // An index out of range, which only the operator finds when it runs.
  torch::Tensor Wrong() const {
    return Ones({3, 2}).index_select(0, torch::full({1}, 7, on_device_.dtype(torch::kLong)));
  }
  template <typename Run>
  static std::string ErrorOf(const Run& run) {
    try {
      run();
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "";
  }

  const torch::TensorOptions on_device_ = torch::TensorOptions(FakeDevice::Get());
  const c10::impl::VirtualGuardImpl guard_{torch::kPrivateUse1};
  const c10::Stream compute_ = guard_.getDefaultStream(FakeDevice::Get());
  const c10::Stream side_ = guard_.getStreamFromGlobalPool(FakeDevice::Get());
};

TEST_F(FakeDeviceErrorsTest, ThereIsOneDeviceWithAPoolOfStreams) {
  EXPECT_TRUE(c10::impl::hasDeviceGuardImpl(torch::kPrivateUse1));
  EXPECT_EQ(guard_.deviceCount(), 1);
  EXPECT_NE(compute_, side_);
  EXPECT_NE(side_, guard_.getStreamFromGlobalPool(FakeDevice::Get()));
  {
    const c10::StreamGuard guard(side_);
    EXPECT_EQ(guard_.getStream(FakeDevice::Get()), side_);
  }
  EXPECT_EQ(guard_.getStream(FakeDevice::Get()), compute_);
}

TEST_F(FakeDeviceErrorsTest, AnErrorOfATaskIsThrownByTheNextWaitAndOnce) {
  const torch::Tensor wrong = Wrong();
  const torch::Tensor sum = wrong + 1;
  EXPECT_THAT(ErrorOf([&] { compute_.synchronize(); }), HasSubstr("out of range"));
  EXPECT_EQ(ErrorOf([&] { compute_.synchronize(); }), "");
}

TEST_F(FakeDeviceErrorsTest, ItemBlockingCopiesAndPollsThrowWhatATaskThrew) {
  EXPECT_NE(ErrorOf([&] { (void)Wrong().sum().item<float>(); }), "");
  EXPECT_NE(ErrorOf([&] { (void)Wrong().cpu(); }), "");
  const torch::Tensor wrong = Wrong();
  c10::Event event(torch::kPrivateUse1);
  event.record(compute_);
  EXPECT_NE(ErrorOf([&] {
              while (!event.query()) {
              }
            }),
            "");
}

TEST_F(FakeDeviceErrorsTest, ResetDropsAnError) {
  const torch::Tensor wrong = Wrong();
  FakeDevice::Reset();
  compute_.synchronize();
}

TEST_F(FakeDeviceErrorsTest, ArgumentsThatDoNotFitAreRefusedAtOnce) {
  const torch::Tensor a = Ones({2, 3});
  const torch::Tensor b = Ones({2, 3});
  EXPECT_THAT(ErrorOf([&] { (void)a.matmul(b); }), HasSubstr("mat1 and mat2"));
}

TEST_F(FakeDeviceErrorsTest, TensorsOfTheHostAreRefusedButNumbersAndIndices) {
  const torch::Tensor rows = Ones({3, 2});
  const torch::Tensor host = torch::ones({3, 2});
  EXPECT_THAT(ErrorOf([&] { (void)(rows + host); }), HasSubstr("same device"));
  EXPECT_THAT(ErrorOf([&] { (void)rows.index_select(0, torch::tensor({1})); }),
              HasSubstr("same device"));
  torch::Tensor number = torch::tensor(1.0F);
  EXPECT_THAT(ErrorOf([&] { number.add_(Ones({})); }), HasSubstr("same device"));
  EXPECT_EQ((rows * torch::tensor(2.0)).sum().item<float>(), 12);
  EXPECT_EQ(rows.index({torch::tensor({1, 2})}).sum().item<float>(), 4);
}

TEST_F(FakeDeviceErrorsTest, RandomNumbersAreRefused) {
  EXPECT_THAT(ErrorOf([&] { (void)torch::rand({3}, on_device_); }),
              HasSubstr("draw them on the CPU"));
  EXPECT_THAT(ErrorOf([&] { (void)torch::dropout(Ones({3}), 0.5, true); }),
              HasSubstr("draw them on the CPU"));
}

TEST_F(FakeDeviceErrorsTest, MemoryRunsOutInForward) {
  const int64_t before = FakeDevice::MemoryInUse();
  FakeDevice::LimitMemory(before + 10'000);
  const torch::Tensor a = Ones({1000});
  EXPECT_EQ(FakeDevice::MemoryInUse() - before, 4000);
  EXPECT_THROW(a.repeat({10}), c10::OutOfMemoryError);
  EXPECT_THROW(torch::ones({10'000}).to(FakeDevice::Get()), c10::OutOfMemoryError);
  EXPECT_EQ((a + 1).sum().item<float>(), 2000);  // it goes on
}

TEST_F(FakeDeviceErrorsTest, MemoryRunsOutInBackward) {
  const torch::Tensor a = Ones({1000}).requires_grad_();
  const torch::Tensor loss = (a * a).sum();
  FakeDevice::LimitMemory(FakeDevice::MemoryInUse() + 1000);
  EXPECT_THROW(loss.backward(), c10::OutOfMemoryError);
}

TEST_F(FakeDeviceErrorsTest, MemoryThatAnotherStreamUsesIsTakenBackBeforeItRunsOut) {
  FakeDevice::LimitMemory(FakeDevice::MemoryInUse() + 5000);
  for (int turn = 0; turn < 3; ++turn) {
    const torch::Tensor a = Ones({1000});
    guard_.recordDataPtrOnStream(a.storage().data_ptr(), side_);
  }
}

TEST_F(FakeDeviceErrorsTest, AFreedBlockIsTakenAgainByItsOwnStreamAndIsPoisonThen) {
  const void* const first = Ones({100}).data_ptr();
  {
    const c10::StreamGuard guard(side_);
    EXPECT_NE(torch::empty({100}, on_device_).data_ptr(), first);
  }
  const torch::Tensor again = torch::empty({100}, on_device_);
  EXPECT_EQ(again.data_ptr(), first);
  EXPECT_TRUE(again.isnan().all().item<bool>());
}

TEST_F(FakeDeviceErrorsTest, ABlockNamedToAnotherStreamIsTakenAgainOnlyBehindIt) {
  torch::Tensor tensor = Ones({100});
  const void* const first = tensor.data_ptr();
  {
    const c10::StreamGuard guard(side_);
    const torch::Tensor sum = tensor + 1;
    tensor.record_stream(side_);
  }
  tensor = torch::Tensor();
  EXPECT_NE(torch::empty({100}, on_device_).data_ptr(), first);
  side_.synchronize();
  EXPECT_EQ(torch::empty({100}, on_device_).data_ptr(), first);
}

TEST_F(FakeDeviceErrorsTest, CopiesFromPinnedMemoryReadWhenTheirTurnComesAndOthersAtOnce) {
  torch::Tensor pinned = FakeDevice::PinnedMemory({4}, torch::kFloat);
  torch::Tensor plain = torch::full({4}, 1.0F);
  EXPECT_TRUE(pinned.isnan().all().item<bool>());
  pinned.fill_(1);
  const torch::Tensor of_pinned = pinned.to(FakeDevice::Get(), /*non_blocking=*/true);
  const torch::Tensor of_plain = plain.to(FakeDevice::Get(), /*non_blocking=*/true);
  const torch::Tensor waited = pinned.to(FakeDevice::Get());
  const torch::Tensor of_other_type =
      pinned.to(FakeDevice::Get(), torch::kDouble, /*non_blocking=*/true);
  const torch::Tensor later = pinned.to(FakeDevice::Get(), /*non_blocking=*/true);
  pinned.fill_(2);
  plain.fill_(2);
  EXPECT_EQ(of_pinned.sum().item<float>(), 4);  // the wait behind it ran it
  EXPECT_EQ(of_plain.sum().item<float>(), 4);
  EXPECT_EQ(waited.sum().item<float>(), 4);
  EXPECT_EQ(of_other_type.sum().item<double>(), 4);
  EXPECT_EQ(later.sum().item<float>(), 8);
}

TEST_F(FakeDeviceErrorsTest, ACopyToPinnedMemoryIsThereWhenItsEventHasPassed) {
  const torch::Tensor pinned = FakeDevice::PinnedMemory({4}, torch::kFloat);
  const torch::Tensor ones = Ones({4});
  pinned.copy_(ones, /*non_blocking=*/true);
  c10::Event copied(torch::kPrivateUse1);
  EXPECT_TRUE(copied.query());
  copied.record(compute_);
  EXPECT_TRUE(pinned.isnan().all().item<bool>());
  while (!copied.query()) {
  }
  EXPECT_EQ(pinned.sum().item<float>(), 4);
}

TEST_F(FakeDeviceErrorsTest, PinnedMemoryIsTakenAgainOnlyBehindItsCopies) {
  torch::Tensor pinned = FakeDevice::PinnedMemory({4}, torch::kFloat);
  const void* const first = pinned.data_ptr();
  const torch::Tensor copy = pinned.fill_(3).to(FakeDevice::Get(), /*non_blocking=*/true);
  pinned = torch::Tensor();
  EXPECT_NE(FakeDevice::PinnedMemory({4}, torch::kFloat).data_ptr(), first);
  EXPECT_EQ(copy.sum().item<float>(), 12);
  EXPECT_EQ(FakeDevice::PinnedMemory({4}, torch::kFloat).data_ptr(), first);
}

TEST_F(FakeDeviceErrorsTest, AStreamThatWaitsForAnEventRunsTheOtherUpToIt) {
  const torch::Tensor pinned = FakeDevice::PinnedMemory({2}, torch::kFloat);
  const torch::Tensor ones = Ones({});
  compute_.synchronize();
  c10::Event first(torch::kPrivateUse1);
  {
    const c10::StreamGuard guard(side_);
    pinned.select(0, 0).copy_(ones, /*non_blocking=*/true);
    first.record(side_);
    pinned.select(0, 1).copy_(ones, /*non_blocking=*/true);
  }
  first.block(compute_);
  EXPECT_FALSE(compute_.query());
  compute_.synchronize();
  EXPECT_EQ(pinned[0].item<float>(), 1);
  EXPECT_TRUE(pinned[1].isnan().item<bool>());
}

}  // namespace
}  // namespace halograph
