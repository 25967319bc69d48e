// Tensors get their memory from the pool, and steps that repeat take nothing fresh.
#include "trainer/torch/tensor_pool.h"

#include <cstdint>
#include <string>
#include <thread>

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include "common/base/sanitizers.h"
#include "tests/support/random_block.h"
#include "trainer/kernels/sage_layer.h"

namespace halograph {
namespace {

class TensorPoolTest : public testing::Test {
 protected:
  // The other tests of this program compute from malloc.
  void SetUp() override { PoolTensors(); }
  void TearDown() override { c10::SetCPUAllocator(before_); }

 private:
  c10::Allocator* const before_ = c10::GetCPUAllocator();
};

TEST_F(TensorPoolTest, MemoryOfATensorComesFromThePoolAndGoesBack) {
  const int64_t before = GetTensorMemoryUsage().in_use_bytes;
  {
    const torch::Tensor tensor = torch::ones({1000, 1000});
    EXPECT_GE(GetTensorMemoryUsage().in_use_bytes - before, 4'000'000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data_ptr<float>()) % 64, 0U);
    EXPECT_EQ(tensor.sum().item<float>(), 1e6F);
  }
  EXPECT_EQ(GetTensorMemoryUsage().in_use_bytes, before);
  EXPECT_EQ(torch::empty({0}).numel(), 0);
}

TEST_F(TensorPoolTest, TensorsOfBeforeStayWhereTheyAre) {
  TearDown();
  torch::Tensor tensor = torch::ones({500, 500});
  PoolTensors();
  tensor.add_(1);
  EXPECT_EQ(tensor.sum().item<float>(), 5e5F);
}

TEST_F(TensorPoolTest, TheStepsOfATrainingTakeNothingFreshAfterTheThird) {
  torch::manual_seed(1);
  const SageWeights weights = {torch::randn({256, 100}).requires_grad_(),
                               torch::randn({256, 100}).requires_grad_(),
                               torch::randn({256}).requires_grad_()};
  const auto step = [&](uint64_t key) {
    const auto rows = static_cast<int64_t>(2000 + 13 * (key % 3));
    const Block block = RandomBlock(key, rows, 3 * rows);
    const torch::Tensor h = torch::randn({3 * rows, 100}).requires_grad_();
    SageLayer(h, block, weights, {true, Dropout::Of(0.5, key, 0)}).sum().backward();
  };
  for (uint64_t key = 0; key < 3; ++key) step(key);
  const int64_t fresh = GetTensorMemoryUsage().fresh_blocks;
  for (uint64_t key = 3; key < 12; ++key) step(key);
  EXPECT_EQ(GetTensorMemoryUsage().fresh_blocks, fresh);
}

TEST_F(TensorPoolTest, AnyThreadMayLetGo) {
  const int64_t before = GetTensorMemoryUsage().in_use_bytes;
  torch::Tensor tensor = torch::ones({1000, 1000});
  std::thread([moved = std::move(tensor)]() mutable { moved.reset(); }).join();
  EXPECT_EQ(GetTensorMemoryUsage().in_use_bytes, before);
}

TEST_F(TensorPoolTest, MemoryThatRunsOutIsAnErrorWithTheNameOfThePool) {
  if (kSanitizerAllocator) GTEST_SKIP() << "a sanitizer ends the process";
  const int64_t values = int64_t{1} << 55;
  try {
    static_cast<void>(torch::empty({values}));
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_EQ(TorchMessage(error),
              "the pool of tensors could not get " + std::to_string(4 * values) + " bytes");
    EXPECT_NE(dynamic_cast<const std::bad_alloc*>(&error), nullptr);
  }
}

}  // namespace
}  // namespace halograph
