#include "trainer/distributed/gradients.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <future>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/ranks.h"

namespace halograph {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr int64_t kMostOfBucket = kBucketBytes / 4;  // floats

std::vector<torch::Tensor> ParametersOf(const std::vector<int64_t>& sizes) {
  std::vector<torch::Tensor> parameters;
  for (const int64_t size : sizes) parameters.push_back(torch::zeros({size}).requires_grad_(true));
  return parameters;
}

// The same on every machine and in every run; other values for each parameter and rank.
torch::Tensor ValuesOf(int64_t size, int parameter, int rank) {
  const torch::Tensor at = torch::arange(size, torch::kFloat64) + 1;
  return (torch::sin(at * (parameter + 2) * (rank + 3)) * std::pow(10, rank % 3))
      .to(torch::kFloat32);
}

// A loss whose gradient of parameter i is ValuesOf it; of those that are `used`.
torch::Tensor LossOf(
    const std::vector<torch::Tensor>& parameters, int rank,
    const std::function<bool(int)>& used = [](int) { return true; }) {
  torch::Tensor loss = torch::zeros({1});
  for (int i = 0; i < std::ssize(parameters); ++i) {
    if (used(i)) loss = loss + (parameters[i] * ValuesOf(parameters[i].numel(), i, rank)).sum();
  }
  return loss;
}

TEST(BucketsOfTest, LastParametersComeFirstAndALargeOneIsAlone) {
  using Bucket = GradientBucket;
  const int64_t half = kMostOfBucket / 2;
  EXPECT_EQ(BucketsOf(ParametersOf({})), (std::vector<Bucket>{{0, 0, 0}}));
  EXPECT_EQ(BucketsOf(ParametersOf({3, 4})), (std::vector<Bucket>{{0, 7, 2}}));
  EXPECT_EQ(BucketsOf(ParametersOf({half, half})), (std::vector<Bucket>{{0, 2 * half, 2}}));
  EXPECT_EQ(BucketsOf(ParametersOf({half, half + 1})),
            (std::vector<Bucket>{{half, half + 1, 1}, {0, half, 1}}));
  EXPECT_EQ(BucketsOf(ParametersOf({5, kMostOfBucket + 1, 2, 3})),
            (std::vector<Bucket>{{kMostOfBucket + 6, 5, 2}, {5, kMostOfBucket + 1, 1}, {0, 5, 1}}));
}

class GradientWatchTest : public testing::Test {
 protected:
  // Each in a bucket of its own.
  std::vector<torch::Tensor> parameters_ = ParametersOf({kMostOfBucket, kMostOfBucket, 5});
  std::vector<GradientBucket> buckets_ = BucketsOf(parameters_);
  std::vector<int> told_;
};

TEST_F(GradientWatchTest, TellsInOrderWhileBackwardRuns) {
  GradientWatch watch(parameters_, buckets_, [&](int count) {
    told_.push_back(count);
    const auto& newest = parameters_[parameters_.size() - static_cast<size_t>(count)];
    EXPECT_TRUE(newest.grad().defined()) << "it is final";
  });
  const auto backward = [&](int first, int second, int third) {
    told_.clear();
    torch::Tensor x = torch::ones({1}).requires_grad_(true);
    for (const int i : {first, second, third}) x = x + parameters_[i].sum();
    x.backward();
    return told_;
  };
  EXPECT_TRUE(backward(0, 1, 2).empty()) << "not begun";
  watch.Begin();
  EXPECT_EQ(backward(0, 1, 2).back(), 3);
  EXPECT_TRUE(backward(0, 1, 2).empty()) << "one backward a step";
  watch.Begin();
  parameters_[2].sum().backward();
  EXPECT_EQ(told_, std::vector<int>{1});
  parameters_[0].sum().backward();
  EXPECT_EQ(told_, std::vector<int>{1}) << "bucket 1 is open";
  parameters_[1].sum().backward();
  EXPECT_EQ(told_, (std::vector<int>{1, 3}));
  watch.Begin();
  watch.End();
  EXPECT_TRUE(backward(0, 1, 2).empty());
}

TEST_F(GradientWatchTest, WhatItsCallThrowsDoesNotEndBackward) {
  GradientWatch watch(parameters_, buckets_, [&](int) { throw std::runtime_error("no"); });
  watch.Begin();
  EXPECT_NO_THROW(LossOf(parameters_, 0).backward());
  EXPECT_TRUE(parameters_[0].grad().defined());
}

TEST_F(GradientWatchTest, HooksKeepNothingAndCallNothingAfterItsEnd) {
  torch::Tensor loss = LossOf(parameters_, 0);  // its graph has the hooks
  {
    GradientWatch watch(parameters_, buckets_, [&](int count) { told_.push_back(count); });
    watch.Begin();
  }
  loss.backward();
  EXPECT_TRUE(told_.empty());
  const c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> parameter(
      parameters_[0].getIntrusivePtr());
  loss.reset();
  parameters_.clear();
  EXPECT_TRUE(parameter.expired());
}

TEST(BucketThreadTest, SendsInOrderWhatIsAllowedAndNoMore) {
  std::vector<int> sent;
  std::promise<void> two_sent;
  BucketThread thread(4, [&](int bucket) {
    sent.push_back(bucket);
    if (sent.size() == 2) two_sent.set_value();
    return OkStatus();
  });
  thread.Begin();
  thread.Allow(2);
  thread.Allow(1);
  two_sent.get_future().wait();
  thread.Allow(4);
  EXPECT_EQ(thread.Wait(), OkStatus());
  thread.Begin();
  thread.Allow(4);
  EXPECT_EQ(thread.Wait(), OkStatus());
  EXPECT_EQ(sent, (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(BucketThreadTest, AnErrorEndsAllSending) {
  for (const bool throws : {false, true}) {
    int calls = 0;
    BucketThread thread(3, [&](int bucket) -> Status {
      ++calls;
      if (bucket == 0) return OkStatus();
      if (throws) throw std::runtime_error("the reason");
      return Unavailable("the reason");
    });
    for (int step = 0; step < 2; ++step) {
      thread.Begin();
      thread.Allow(3);
      const Status status = thread.Wait();
      EXPECT_EQ(status.code(),
                throws ? absl::StatusCode::kInternal : absl::StatusCode::kUnavailable);
      EXPECT_THAT(Message(status), HasSubstr("the reason"));
    }
    EXPECT_EQ(calls, 2);
  }
}

TEST(BucketThreadTest, EndsWithBucketsThatWereNeverSent) {
  BucketThread thread(2, [](int) { return OkStatus(); });
  thread.Begin();
}

TEST(GradientBufferTest, BackwardAddsToTheBufferAndZeroClears) {
  torch::nn::Linear linear(2, 3);
  GradientBuffer gradients(linear->parameters());
  EXPECT_EQ(gradients.flat().numel(), 9);
  linear(torch::ones({4, 2})).sum().backward();
  EXPECT_TRUE(torch::equal(gradients.flat(), torch::full({9}, 4.0F)));
  gradients.Zero();
  EXPECT_EQ(linear->weight.grad().abs().sum().item<float>(), 0);
  linear(torch::ones({1, 2})).sum().backward();
  EXPECT_TRUE(torch::equal(gradients.flat(), torch::ones({9})));
}

TEST(GradientBufferTest, AllReduceReachesTheParameters) {
  RunRanks(3, [](std::unique_ptr<Communicator> ranks) {
    torch::Tensor weight = torch::zeros({2}).requires_grad_(true);
    GradientBuffer gradients({weight});
    (weight * static_cast<float>(ranks->rank() + 1)).sum().backward();
    ASSERT_TRUE(gradients.AllReduce(*ranks).ok());
    EXPECT_EQ(weight.grad()[1].item<float>(), 6);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(GradientBufferTest, OneRankHasNoHookAndKeepsWhatItAsks) {
  auto ranks = Communicator::Join({});
  ASSERT_TRUE(ranks.ok());
  const std::vector<torch::Tensor> parameters = ParametersOf({3});
  for (const CarriedAs carried : {CarriedAs::kThemselves, CarriedAs::kBfloat16}) {
    GradientBuffer gradients(parameters, carried);
    const torch::Tensor loss = LossOf(parameters, 0);
    ASSERT_EQ(gradients.Begin(**ranks), OkStatus());
    EXPECT_TRUE(torch::autograd::impl::grad_accumulator(parameters[0])->post_hooks().empty());
    loss.backward();
    StepAsks asks{.checkpoint = true};
    ASSERT_EQ(gradients.AllReduce(**ranks, &asks), OkStatus());
    EXPECT_EQ(asks, StepAsks{.checkpoint = true});
    EXPECT_TRUE(torch::equal(gradients.flat(), ValuesOf(3, 0, 0))) << "nothing is rounded";
  }
}

TEST(GradientBufferTest, AllRanksLearnWhatOneAsksFor) {
  RunRanks(3, [](std::unique_ptr<Communicator> ranks) {
    torch::Tensor weight = torch::zeros({2}).requires_grad_(true);
    GradientBuffer gradients({weight});
    for (const int who : {3, 1, 3}) {
      StepAsks stop{.stop = ranks->rank() == who};
      ASSERT_TRUE(gradients.AllReduce(*ranks, &stop).ok());
      EXPECT_EQ(stop, StepAsks{.stop = who < 3});
      StepAsks both{.stop = ranks->rank() == who, .checkpoint = ranks->rank() == 0};
      ASSERT_TRUE(gradients.AllReduce(*ranks, &both).ok());
      EXPECT_EQ(both, (StepAsks{.stop = who < 3, .checkpoint = true}));
      StepAsks time{.time_up = ranks->rank() == 2};
      ASSERT_TRUE(gradients.AllReduce(*ranks, &time).ok());
      EXPECT_EQ(time, StepAsks{.time_up = true});
      StepAsks waits{.waited = static_cast<float>(ranks->rank()) + 0.5F};
      ASSERT_TRUE(gradients.AllReduce(*ranks, &waits).ok());
      EXPECT_EQ(waits, StepAsks{.waited = 4.5F}) << "the sum, and nothing is asked by it";
    }
    EXPECT_EQ(gradients.flat().numel(), 2);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

// Four ranks in so many processes, with gradients of four buckets, and of one that is gathered.
class TravellingGradientsTest : public testing::TestWithParam<int> {
 protected:
  static constexpr int kRanks = 4;
  const std::vector<int64_t> large_ = {5, kMostOfBucket + 3, 1000, kMostOfBucket - 400};
  const std::vector<int64_t> small_ = {7, 4};

  static void Run(const std::function<void(std::unique_ptr<Communicator>)>& body) {
    RunHostedRanks(GetParam(), kRanks / GetParam(), body);
  }
  // Of parameter i's gradients on the ranks that use it, one after the other.
  static torch::Tensor SumOf(const std::vector<int64_t>& sizes, CarriedAs carried,
                             const std::function<bool(int rank, int parameter)>& used) {
    std::vector<torch::Tensor> sums;
    const auto as_carried = [&](const torch::Tensor& values) {
      return carried == CarriedAs::kThemselves ? values
                                               : values.to(torch::kBFloat16).to(torch::kFloat32);
    };
    for (int i = 0; i < std::ssize(sizes); ++i) {
      torch::Tensor sum;
      for (int rank = 0; rank < kRanks; ++rank) {
        const torch::Tensor own =
            as_carried(used(rank, i) ? ValuesOf(sizes[i], i, rank) : torch::zeros({sizes[i]}));
        sum = rank == 0 ? own.clone() : sum.add_(own);
      }
      sums.push_back(as_carried(sum));
    }
    return torch::cat(sums);
  }
  static bool All(int, int) { return true; }
};

TEST_P(TravellingGradientsTest, SumsHaveTheBitsOfAddingInOrderOfRank) {
  for (const CarriedAs carried : {CarriedAs::kThemselves, CarriedAs::kBfloat16}) {
    for (const std::vector<int64_t>& sizes : {large_, small_}) {
      const torch::Tensor wanted = SumOf(sizes, carried, All);
      Run([&](std::unique_ptr<Communicator> ranks) {
        const std::vector<torch::Tensor> parameters = ParametersOf(sizes);
        GradientBuffer gradients(parameters, carried);
        for (int step = 0; step < 3; ++step) {
          ASSERT_EQ(gradients.Begin(*ranks), OkStatus());
          LossOf(parameters, ranks->rank()).backward();
          StepAsks asks{.checkpoint = ranks->rank() == step};
          ASSERT_EQ(gradients.AllReduce(*ranks, &asks), OkStatus());
          EXPECT_EQ(asks, StepAsks{.checkpoint = true});
          EXPECT_TRUE(torch::equal(gradients.flat(), wanted)) << "step " << step;
        }
        ASSERT_EQ(ranks->Barrier("end"), OkStatus());
      });
    }
  }
}

TEST_P(TravellingGradientsTest, WhatBackwardDoesNotComeToIsZero) {
  // Rank 1 has an empty batch; rank 2 does not use the last parameters, nobody the second.
  const auto used = [](int rank, int parameter) {
    return rank != 1 && parameter != 1 && (rank != 2 || parameter == 0);
  };
  const torch::Tensor wanted = SumOf(large_, CarriedAs::kThemselves, used);
  Run([&](std::unique_ptr<Communicator> ranks) {
    const int rank = ranks->rank();
    const std::vector<torch::Tensor> parameters = ParametersOf(large_);
    GradientBuffer gradients(parameters);
    for (int step = 0; step < 2; ++step) {
      ASSERT_EQ(gradients.Begin(*ranks), OkStatus());
      if (rank != 1) LossOf(parameters, rank, [&](int i) { return used(rank, i); }).backward();
      ASSERT_EQ(gradients.AllReduce(*ranks), OkStatus());
      EXPECT_TRUE(torch::equal(gradients.flat(), wanted));
    }
    ASSERT_EQ(ranks->Barrier("end"), OkStatus());
  });
}

TEST_P(TravellingGradientsTest, ARankStopsWhileTheOthersAreInBackward) {
  std::latch computed(kRanks - 1);
  Run([&](std::unique_ptr<Communicator> ranks) {
    const std::vector<torch::Tensor> parameters = ParametersOf(large_);
    GradientBuffer gradients(parameters);
    ASSERT_EQ(gradients.Begin(*ranks), OkStatus());
    StepAsks asks{.stop = ranks->rank() == 2};
    if (asks.stop) {
      computed.wait();
    } else {
      LossOf(parameters, ranks->rank()).backward();
      computed.count_down();
    }
    ASSERT_EQ(gradients.AllReduce(*ranks, &asks), OkStatus());
    EXPECT_EQ(asks, StepAsks{.stop = true});
    ASSERT_EQ(ranks->Barrier("end"), OkStatus());
  });
}

// Ends in the middle of backward: its last bucket is on its way, the others are not.
TEST_P(TravellingGradientsTest, ARankThatEndsInBackwardIsNamedWithItsReason) {
  for (const int leaver : {0, kRanks - 1}) {
    Run([&](std::unique_ptr<Communicator> ranks) {
      const std::vector<torch::Tensor> parameters = ParametersOf(large_);
      auto gradients = std::make_unique<GradientBuffer>(parameters);
      ASSERT_EQ(gradients->Begin(*ranks), OkStatus());
      if (ranks->rank() == leaver) {
        const auto last = [](int i) { return i == 3; };
        LossOf(parameters, leaver, last).backward();
        gradients.reset();
        return ranks->Leave("out of memory");
      }
      LossOf(parameters, ranks->rank()).backward();
      const Status status = gradients->AllReduce(*ranks);
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_THAT(Message(status), HasSubstr("all-reduce of gradients"));
      EXPECT_THAT(Message(status), HasSubstr("stopped: out of memory"));
      EXPECT_EQ(gradients->AllReduce(*ranks).code(), absl::StatusCode::kUnavailable);
      gradients.reset();
      ranks->Leave(Message(status));
    });
  }
}

TEST_P(TravellingGradientsTest, ARankThatEndsBeforeItsFirstStepIsNamed) {
  Run([&](std::unique_ptr<Communicator> ranks) {
    if (ranks->rank() == 1) return ranks->Leave("no row");
    GradientBuffer gradients(ParametersOf(small_));
    const Status status = gradients.Begin(*ranks);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(Message(status), HasSubstr("connecting ranks for gradients"));
    EXPECT_THAT(Message(status), HasSubstr("stopped: no row"));
    ranks->Leave(Message(status));
  });
}

TEST_P(TravellingGradientsTest, CollectivesGoOnBesideThem) {
  Run([&](std::unique_ptr<Communicator> ranks) {
    const std::vector<torch::Tensor> parameters = ParametersOf(large_);
    GradientBuffer gradients(parameters);
    ASSERT_EQ(gradients.Begin(*ranks), OkStatus());
    LossOf(parameters, ranks->rank()).backward();
    torch::Tensor one = torch::ones({1});
    ASSERT_EQ(ranks->AllReduceSum(one, "weights"), OkStatus());
    EXPECT_EQ(one.item<float>(), kRanks);
    ASSERT_EQ(gradients.AllReduce(*ranks), OkStatus());
    EXPECT_TRUE(torch::equal(gradients.flat(), SumOf(large_, CarriedAs::kThemselves, All)));
    ASSERT_EQ(ranks->Barrier("end"), OkStatus());
  });
}

INSTANTIATE_TEST_SUITE_P(Processes, TravellingGradientsTest, testing::Values(1, 2, 4));

// A killed process says nothing: its connections are closed, and it counts no more.
TEST(GradientBufferTest, AProcessThatIsGoneInBackwardIsNamed) {
  const int port = FreePort();
  std::latch begun(2);
  std::vector<std::thread> threads;
  for (const int rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      const std::vector<torch::Tensor> parameters = ParametersOf({kMostOfBucket, 9});
      auto joined = Communicator::Join(LoopbackGroup(rank, 2, port));
      EXPECT_TRUE(joined.ok()) << joined.status();
      const std::unique_ptr<Communicator> ranks = joined.ok() ? *std::move(joined) : nullptr;
      auto gradients = std::make_unique<GradientBuffer>(parameters);
      const bool ready = ranks != nullptr && gradients->Begin(*ranks).ok();
      EXPECT_TRUE(ready);
      begun.arrive_and_wait();
      if (!ready) return;
      if (rank == 1) return parameters[1].sum().backward();
      LossOf(parameters, rank).backward();
      const Status status = gradients->AllReduce(*ranks);
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_THAT(Message(status), HasSubstr("rank 1 (host"));
      // Whether its last sign of life came before its connections ended.
      EXPECT_THAT(Message(status), AnyOf(HasSubstr("does not answer"), HasSubstr("did not come")));
      gradients.reset();
      ranks->Leave(Message(status));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(BroadcastParametersTest, AllRanksHaveRankZerosWeights) {
  RunRanks(2, [](std::unique_ptr<Communicator> ranks) {
    torch::Tensor weight = torch::full({2, 2}, ranks->rank() + 5.0F).requires_grad_(true);
    ASSERT_TRUE(BroadcastParameters({weight}, *ranks).ok());
    EXPECT_EQ(weight[1][1].item<float>(), 5);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

}  // namespace
}  // namespace halograph
