// What comes back from a device while it goes on: the right values in every order of its queues.
#include "trainer/training/late_figures.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/fake_device/bits.h"
#include "tests/support/ranks.h"
#include "tests/unit/trainer_device/fake_one.h"
#include "trainer/device/host_image.h"
#include "trainer/distributed/gradients.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LateFiguresTest : public FakeOrdersTest {
 protected:
  LateFiguresTest() { session_.device = FakeOne(); }

  // Some operations on the device, so that it is not done at the first question.
  BatchLoss LossOf(double value) {
    torch::Tensor x = torch::full({4}, value / 4, session_.device.torch());
    for (int i = 0; i < 6; ++i) x = x + 0;
    return {.sum = x.sum(), .scores = {x * 2, x.to(torch::kInt64)}};
  }
  std::shared_ptr<const Step> StepOf(int64_t step) {
    auto made = std::make_shared<Step>();
    made->key.epoch = 3;
    made->key.step = step;
    return made;
  }
  LateFigures Figures() {
    return {
        session_, [this](const Step& step, double loss, const std::vector<torch::Tensor>& scores) {
          EXPECT_EQ(loss, 4.0 * static_cast<double>(step.key.step + 1));
          ASSERT_EQ(scores.size(), 2U);
          EXPECT_TRUE(torch::equal(scores[0], torch::full({4}, loss / 2)));
          EXPECT_TRUE(torch::equal(scores[1], torch::full({4}, step.key.step + 1, torch::kInt64)));
          taken_.push_back(step.key.step);
        }};
  }

  Session session_;
  std::vector<int64_t> taken_;
};

TEST_P(LateFiguresTest, AllAreTakenInOrderWithWhatTheDeviceMade) {
  LateFigures figures = Figures();
  for (int64_t step = 0; step < 3; ++step) {
    figures.Begin(StepOf(step), LossOf(4.0 * static_cast<double>(step + 1)));
  }
  ASSERT_TRUE(figures.TakeAllBut(0).ok());
  EXPECT_THAT(taken_, ElementsAre(0, 1, 2));
}

TEST_P(LateFiguresTest, ALossThatIsNoNumberIsToldWithItsStep) {
  LateFigures figures = Figures();
  figures.Begin(StepOf(0), LossOf(4));
  figures.Begin(StepOf(1), LossOf(std::numeric_limits<double>::quiet_NaN()));
  figures.Begin(StepOf(2), LossOf(12));
  const Status status = figures.TakeAllBut(0);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("rank 0, epoch 3, step 1: the loss is nan: lower --lr"));
  EXPECT_THAT(taken_, ElementsAre(0));
}

TEST_P(LateFiguresTest, OfTheCpuNoneIsLate) {
  session_.device = Device();
  LateFigures figures = Figures();
  figures.Begin(StepOf(0), LossOf(4));
  ASSERT_TRUE(figures.TakeAllBut(1).ok());
  EXPECT_THAT(taken_, ElementsAre(0));
}

// Only where nothing runs before somebody must have it can a wait be seen.
TEST_P(LateFiguresTest, TheStepThatIsNewIsNotWaitedFor) {
  if (GetParam().runs != FakeOrder::Runs::kWhenAsked) return;
  LateFigures figures = Figures();
  figures.Begin(StepOf(0), LossOf(4));
  ASSERT_TRUE(figures.TakeAllBut(1).ok());
  EXPECT_THAT(taken_, IsEmpty());
  figures.Begin(StepOf(1), LossOf(8));
  ASSERT_TRUE(figures.TakeAllBut(1).ok());
  EXPECT_THAT(taken_, ElementsAre(0));
}

TEST_P(LateFiguresTest, PiecesOfABufferGoHomeAndBackWhileTheDeviceGoesOn) {
  const Device device = FakeOne();
  HostImage image(device, 2, 5, {{3, 2}, {0, 3}});
  for (int64_t step = 1; step <= 3; ++step) {
    image.there().fill_(0);
    image.there().add_(torch::arange(5, device.torch()) * step);
    for (const size_t piece : {0, 1}) image.BeginHome(piece);
    for (const size_t piece : {0, 1}) {
      image.AwaitHome(piece);
      image.host().narrow(0, piece == 0 ? 5 : 2, piece == 0 ? 2 : 3).mul_(10);
      image.BeginBack(piece);
    }
    image.AwaitBack();
    const torch::Tensor wanted = torch::arange(5).to(torch::kFloat32) * step * 10;
    EXPECT_TRUE(torch::equal(image.host().narrow(0, 2, 5), wanted));
    EXPECT_TRUE(torch::equal(device.Home(image.there() + 0), wanted));
  }
  EXPECT_TRUE(torch::equal(image.host().narrow(0, 0, 2), torch::zeros({2}))) << "is the host's";
}

TEST_P(LateFiguresTest, GradientsOfADeviceTravelDuringBackwardAndHaveTheHostsBits) {
  constexpr int64_t kParameters[] = {kBucketBytes / 4, 7, kBucketBytes / 4 - 3};
  const auto train = [&](const Device& device, Communicator& ranks) {
    std::vector<torch::Tensor> parameters;
    for (const int64_t size : kParameters) {
      parameters.push_back(
          (torch::arange(size).remainder(13) / 8.0).to(device.torch()).requires_grad_());
    }
    GradientBuffer gradients(parameters, CarriedAs::kThemselves, device);
    Tensors found;
    for (int64_t step = 0; step < 2; ++step) {
      EXPECT_TRUE(gradients.Begin(ranks).ok());
      torch::Tensor loss = torch::zeros({}, device.torch());
      for (torch::Tensor& parameter : parameters) {
        loss = loss + (parameter * parameter).sum() * (ranks.rank() + step + 1);
      }
      // A rank whose minibatch is empty goes along.
      if (step == 0 || ranks.rank() == 0) loss.backward();
      StepAsks asks{.checkpoint = ranks.rank() == 1};
      EXPECT_TRUE(gradients.AllReduce(ranks, &asks).ok());
      EXPECT_TRUE(asks.checkpoint);
      const torch::NoGradGuard no_grad;
      for (torch::Tensor& parameter : parameters) parameter.sub_(parameter.grad() * 0.25);
    }
    for (const torch::Tensor& parameter : parameters) found.push_back(device.Home(parameter));
    return found;
  };
  const auto of_ranks = [&](const Device& device) {
    std::vector<Tensors> found(2);
    RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
      found[static_cast<size_t>(ranks->rank())] = train(device, *ranks);
    });
    EXPECT_TRUE(HaveSameBits(found[0], found[1]));
    return found[0];
  };
  EXPECT_TRUE(HaveSameBits(of_ranks(FakeOne()), of_ranks(Device())));
}

INSTANTIATE_TEST_SUITE_P(Orders, LateFiguresTest, testing::ValuesIn(FakeOrder::All()), NameOfOrder);

}  // namespace
}  // namespace halograph
