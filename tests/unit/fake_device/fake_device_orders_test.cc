// A training loop with a copying stream: the orders that it keeps matter on the fake device, and no
// others.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include "tests/support/fake_device/bits.h"
#include "tests/support/fake_device/fake_device.h"
#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

constexpr int64_t kSteps = 8;
constexpr int64_t kRows = 6;
constexpr int64_t kColumns = 5;
constexpr int64_t kClasses = 3;
constexpr size_t kLossBuffers = 4;

// What the loop waits for.
struct Waits {
  bool compute_for_copies = true;  // a step for the copies of its batch
  bool host_for_buffers = true;    // who fills a staging buffer for the copies of what it held
  bool memory_for_compute = true;  // a copy into an earlier batch's memory for that batch's step
  bool host_for_results = true;    // who reads a loss for its copy
};

// A net of two layers and its optimizer, with the same weights on any device.
class Net {
 public:
  explicit Net(torch::Device device) {
    torch::manual_seed(11);
    for (const auto& sizes : {std::array{kColumns, int64_t{7}}, std::array{int64_t{7}, kClasses}}) {
      weights_.push_back((torch::randn(sizes) * 0.5).to(device).requires_grad_());
    }
    adam_ = std::make_unique<torch::optim::Adam>(weights_, torch::optim::AdamOptions(0.05));
  }
  torch::Tensor Step(const torch::Tensor& features, const torch::Tensor& classes) {
    adam_->zero_grad();
    const auto scores = features.matmul(weights_[0]).relu().matmul(weights_[1]);
    const auto loss = torch::nn::functional::cross_entropy(scores, classes);
    loss.backward();
    adam_->step();
    return loss.detach();
  }
  [[nodiscard]] const Tensors& weights() const { return weights_; }

 private:
  Tensors weights_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

// The batches of the run, on the host.
struct Batch {
  torch::Tensor features = torch::randn({kRows, kColumns});
  torch::Tensor classes = torch::randint(kClasses, {kRows}, torch::kLong);
};

std::vector<Batch> Batches() {
  torch::manual_seed(12);
  return std::vector<Batch>(static_cast<size_t>(kSteps));
}

Tensors TrainOnHost() {
  Net net(torch::kCPU);
  std::vector<float> losses;
  for (const Batch& batch : Batches()) {
    losses.push_back(net.Step(batch.features, batch.classes).item<float>());
  }
  Tensors results = net.weights();
  results.push_back(torch::tensor(losses));
  return results;
}

// A pinned buffer, and the event behind the last copy from or to it.
struct Staged {
  explicit Staged(const torch::Tensor& tensor) : memory(tensor) {}
  torch::Tensor memory;
  c10::Event copied{torch::kPrivateUse1};

  void Await() const {
    while (!copied.query()) {
    }
  }
};

// Batches go through two staging buffers and a copying stream of their own. A loss is read so many
// steps later that this says nothing about the buffers any more.
class Loop {
 public:
  explicit Loop(const Waits& waits) : waits_(waits) {}

  Tensors Train() {
    const std::vector<Batch> batches = Batches();
    for (size_t step = 0; step < batches.size(); ++step) {
      Step(step, batches[step]);
      if (step + 1 >= kLossBuffers) ReadLoss(step + 1 - kLossBuffers);
    }
    for (size_t step = batches.size() + 1 - kLossBuffers; step < batches.size(); ++step)
      ReadLoss(step);
    Tensors results;
    for (const auto& weight : net_.weights()) results.push_back(weight.detach().to(torch::kCPU));
    results.push_back(torch::tensor(read_));
    return results;
  }

 private:
  void Step(size_t step, const Batch& batch) {
    Staged& features = features_.at(step % 2);
    Staged& classes = classes_.at(step % 2);
    if (waits_.host_for_buffers) {
      features.Await();
      classes.Await();
    }
    features.memory.copy_(batch.features);
    classes.memory.copy_(batch.classes);
    const torch::Tensor x = Copy(features);
    const torch::Tensor y = Copy(classes);
    if (waits_.compute_for_copies) {
      features.copied.block(compute_);
      classes.copied.block(compute_);
    }
    const torch::Tensor loss = net_.Step(x, y);
    Staged& staged = losses_.at(step % kLossBuffers);
    staged.memory.copy_(loss, /*non_blocking=*/true);
    staged.copied.record(compute_);
    if (waits_.memory_for_compute) {
      used_.record(compute_);
      used_.block(copying_);
    }
  }

  torch::Tensor Copy(Staged& staged) {
    const c10::StreamGuard guard(copying_);
    torch::Tensor copy = torch::empty_like(staged.memory, staged.memory.options().device(device_));
    copy.copy_(staged.memory, /*non_blocking=*/true);
    staged.copied.record(copying_);
    return copy;
  }

  void ReadLoss(size_t step) {
    const Staged& staged = losses_.at(step % kLossBuffers);
    if (waits_.host_for_results) staged.Await();
    read_.push_back(staged.memory.item<float>());
  }

  static std::vector<Staged> Buffers(size_t count, at::IntArrayRef sizes, at::ScalarType type) {
    std::vector<Staged> buffers;
    for (size_t i = 0; i < count; ++i) buffers.emplace_back(FakeDevice::PinnedMemory(sizes, type));
    return buffers;
  }

  const Waits waits_;
  const torch::Device device_ = FakeDevice::Get();
  const c10::impl::VirtualGuardImpl streams_{torch::kPrivateUse1};
  const c10::Stream compute_ = streams_.getDefaultStream(device_);
  const c10::Stream copying_ = streams_.getStreamFromGlobalPool(device_);
  std::vector<Staged> features_ = Buffers(2, {kRows, kColumns}, torch::kFloat);
  std::vector<Staged> classes_ = Buffers(2, {kRows}, torch::kLong);
  std::vector<Staged> losses_ = Buffers(kLossBuffers, {}, torch::kFloat);
  c10::Event used_{torch::kPrivateUse1};
  Net net_{device_};
  std::vector<float> read_;
};

using TrainingLoopOrdersTest = FakeOrdersTest;
INSTANTIATE_TEST_SUITE_P(Orders, TrainingLoopOrdersTest, testing::ValuesIn(FakeOrder::All()),
                         NameOfOrder);

TEST_P(TrainingLoopOrdersTest, AllWaitsGiveTheBitsOfTheCpu) {
  EXPECT_TRUE(HaveSameBits(Loop(Waits()).Train(), TrainOnHost()));
}

// The orders under which a loop with these waits gives other bits than the CPU.
std::vector<std::string> OrdersThatShow(const Waits& waits) {
  const Tensors expected = TrainOnHost();
  std::vector<std::string> names;
  for (const FakeOrder& order : FakeOrder::All()) {
    FakeDevice::Reset();
    FakeDevice::SetOrder(order);
    bool is_right = false;
    try {
      is_right = HaveSameBits(Loop(waits).Train(), expected);
    } catch (const c10::Error&) {  // a class out of range is a wrong value too
    }
    if (!is_right) names.push_back(order.Name());
  }
  return names;
}

// "All at once" hides each: it is what the others are held against.
auto ShowAtLeast(const std::vector<std::string>& orders) {
  return testing::AllOf(testing::IsSupersetOf(orders), testing::Not(testing::Contains("AtOnce")));
}

using MissingWaitTest = FakeDeviceTest;

TEST_F(MissingWaitTest, OfComputeForCopiesShows) {
  EXPECT_THAT(OrdersThatShow({.compute_for_copies = false}),
              ShowAtLeast({"WhenAsked", "DefaultEarly"}));
}
TEST_F(MissingWaitTest, OfTheHostForItsBuffersShows) {
  EXPECT_THAT(OrdersThatShow({.host_for_buffers = false}), ShowAtLeast({"WhenAsked"}));
}
TEST_F(MissingWaitTest, OfCopiesForMemoryThatComputeReadsShows) {
  EXPECT_THAT(OrdersThatShow({.memory_for_compute = false}),
              ShowAtLeast({"WhenAsked", "SideEarly"}));
}
TEST_F(MissingWaitTest, OfTheHostForResultsShows) {
  EXPECT_THAT(OrdersThatShow({.host_for_results = false}), ShowAtLeast({"WhenAsked"}));
}

}  // namespace
}  // namespace halograph
