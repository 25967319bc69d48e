// Rounds of some steps of each part.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/trainer_averaging/averaged_fixture.h"

namespace halograph {
namespace {

// Opens parts as another source does, and counts.
class CountsOpenings final : public PartSource {
 public:
  CountsOpenings(const Session& run, PartSource* parts) : run_(run), parts_(*parts) {}

  const std::vector<int>& parts() const override { return parts_.parts(); }
  StatusOr<std::unique_ptr<OpenedPart>> Open(int part) override {
    ++openings[part];
    // Every part that is open has the run's model.
    open_before = std::max(open_before, run_.model.use_count() - 1);
    auto opened = parts_.Open(part);
    if (opened.ok()) {
      const Session& session = (*opened)->session;
      const SeedSource& rows = *session.task->source(BatchPurpose::kTrain);
      steps[part] = session.Shards(rows).Steps(session.options.batch_size);
    }
    return opened;
  }
  StatusOr<BothSets> Evaluate() override {
    open_before = std::max(open_before, run_.model.use_count() - 1);
    return parts_.Evaluate();
  }
  StatusOr<std::optional<double>> MostFrequent(BatchPurpose set) override {
    return parts_.MostFrequent(set);
  }

  std::map<int, int64_t> openings;
  std::map<int, int64_t> steps;  // of an epoch
  int64_t open_before = 0;       // when one was opened, or all evaluated

 private:
  const Session& run_;
  PartSource& parts_;
};

class AveragedStepsTest : public AveragedTrainingTest {
 protected:
  void SetUp() override {
    Write(UnevenParts());
    options_.average_every = 1;
    options_.epochs = 3;
  }
  // On so many ranks; what rank 0 has of it.
  Ran OnRanks(int world_size) {
    Ran of_first;
    RunWithOptions(world_size, [&](TrainOptions options, std::unique_ptr<Communicator> ranks) {
      Ran ran = Train(options, std::move(ranks));
      if (options.rank == 0) of_first = std::move(ran);
    });
    return of_first;
  }
};

TEST_F(AveragedStepsTest, AsManyAsTheLongestEpochHasAreAnEpochBitForBit) {
  for (const int world_size : {1, 2, 6}) {
    options_.average_steps = 0;
    const Ran whole = OnRanks(world_size);
    for (const int64_t steps : {4, 1000}) {
      options_.average_steps = steps;
      const Ran ran = OnRanks(world_size);
      ASSERT_EQ(ran.epochs.size(), 3U);
      for (size_t i = 0; i < ran.epochs.size(); ++i) {
        EXPECT_EQ(ran.epochs[i].figures[Figure::kLoss], whole.epochs[i].figures[Figure::kLoss]);
        EXPECT_EQ(ran.epochs[i].valid->loss, whole.epochs[i].valid->loss);
      }
      ASSERT_EQ(ran.weights.size(), whole.weights.size());
      for (size_t i = 0; i < ran.weights.size(); ++i) {
        EXPECT_TRUE(torch::equal(ran.weights[i], whole.weights[i]));
      }
    }
  }
}

// Each part takes a step from the last mean; the next mean counts a part by the rows of its step.
TEST_F(AveragedStepsTest, OneStepOfPlainSgdIsTheWeightedMeanByHand) {
  options_.optimizer = OptimizerKind::kSgd;
  options_.learning_rate = 0.5;
  options_.epochs = 1;
  options_.average_steps = 1;
  const Ran ran = Train(options_);

  const auto run = MakeSession(options_, std::move(*Communicator::Join({})));
  const auto parts = MakePartSource(*run);
  ASSERT_TRUE(parts.ok()) << parts.status();
  const std::vector<torch::Tensor> weights = run->model->parameters();
  std::vector<torch::Tensor> mean;
  for (const torch::Tensor& weight : weights) mean.push_back(weight.detach().clone());
  std::vector<double> rows_of_rounds;
  for (int64_t step = 0; step < 4; ++step) {
    std::vector<torch::Tensor> sums;
    for (const torch::Tensor& weight : mean) {
      sums.push_back(torch::zeros(weight.sizes(), torch::kFloat64));
    }
    double rows = 0;
    for (const int part : (*parts)->parts()) {
      const auto opened = (*parts)->Open(part);
      ASSERT_TRUE(opened.ok()) << opened.status();
      Session& session = (*opened)->session;
      const SeedSource& source = *session.task->source(BatchPurpose::kTrain);
      if ((source.rows() + 9) / 10 <= step) continue;
      {
        const torch::NoGradGuard no_grad;
        for (size_t i = 0; i < weights.size(); ++i) torch::Tensor(weights[i]).copy_(mean[i]);
      }
      TrainingLoop loop(
          session, [](int64_t) {}, [](const EpochStats&) { return OkStatus(); },
          {.epoch = 0, .step = step});
      ASSERT_TRUE(loop.RunEpoch(0, step, step + 1).ok());
      const auto own = static_cast<double>(std::min<int64_t>(10, source.rows() - 10 * step));
      rows += own;
      for (size_t i = 0; i < weights.size(); ++i) sums[i] += weights[i].detach() * own;
    }
    for (size_t i = 0; i < mean.size(); ++i) mean[i] = (sums[i] / rows).to(torch::kFloat32);
    rows_of_rounds.push_back(rows);
  }
  EXPECT_EQ(rows_of_rounds[0] + rows_of_rounds[1] + rows_of_rounds[2] + rows_of_rounds[3], 120);
  EXPECT_LT(rows_of_rounds[3], 10) << "the last round is of one part alone";
  ASSERT_EQ(ran.weights.size(), mean.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    EXPECT_TRUE(torch::allclose(ran.weights[i], mean[i], 1e-5, 1e-6));
  }
}

TEST_F(AveragedStepsTest, TheNumberOfRanksChangesNothingButTheOrderOfSums) {
  options_.average_steps = 2;
  const Ran alone = OnRanks(1);
  ASSERT_EQ(alone.epochs.size(), 3U);
  for (const EpochStats& stats : alone.epochs) {
    EXPECT_EQ(stats.figures[Figure::kTrainSeeds], 120);
    EXPECT_EQ(stats.figures[Figure::kSteps], 1 + 1 + 2 + 3 + 3 + 4);
  }
  for (const int world_size : {2, 4, 6}) {
    const Ran ran = OnRanks(world_size);
    ASSERT_EQ(ran.epochs.size(), 3U);
    for (size_t i = 0; i < ran.epochs.size(); ++i) {
      const EpochFigures &figures = ran.epochs[i].figures, &wanted = alone.epochs[i].figures;
      EXPECT_NEAR(figures[Figure::kLoss], wanted[Figure::kLoss], 1e-4);
      EXPECT_EQ(figures[Figure::kSampledEdges], wanted[Figure::kSampledEdges]);
      EXPECT_EQ(figures[Figure::kTrainSeeds], 120);
      EXPECT_EQ(ran.epochs[i].step, alone.epochs[i].step);
    }
    for (size_t i = 0; i < ran.weights.size(); ++i) {
      EXPECT_TRUE(torch::allclose(ran.weights[i], alone.weights[i], 1e-3, 1e-4));
    }
  }
}

// A part is opened for its own rounds only, one at a time; the only one of a rank once an epoch.
TEST_F(AveragedStepsTest, PartsAreOpenedForTheirRoundsOneAtATime) {
  options_.average_steps = 1;
  for (const int world_size : {1, 6}) {
    RunWithOptions(world_size, [&](TrainOptions options, std::unique_ptr<Communicator> ranks) {
      const auto run = MakeSession(options, std::move(ranks));
      const auto parts = MakePartSource(*run);
      ASSERT_TRUE(parts.ok()) << parts.status();
      CountsOpenings counts(*run, parts->get());
      AveragedTraining training(
          *run, &counts, [](int64_t) {}, [](const EpochStats&) { return OkStatus(); });
      const auto result = training.Run();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(counts.open_before, 0);
      ASSERT_EQ(counts.openings.size(), 6U / static_cast<size_t>(world_size));
      for (const auto& [part, openings] : counts.openings) {
        EXPECT_EQ(openings, 3 * (world_size == 1 ? counts.steps[part] : 1)) << "part " << part;
      }
      ASSERT_TRUE(run->ranks->Barrier("end").ok());
    });
  }
}

TEST_F(AveragedStepsTest, TheClockEndsTrainingAtTheEndOfAnEpoch) {
  options_.average_steps = 1;
  options_.control.time_limit = std::chrono::nanoseconds(1);
  const Ran ran = OnRanks(2);
  EXPECT_EQ(ran.result.ended_by, EndedBy::kTimeLimit);
  ASSERT_EQ(ran.epochs.size(), 1U);
  EXPECT_EQ(ran.epochs[0].figures[Figure::kTrainSeeds], 120);
  EXPECT_TRUE(ran.epochs[0].valid.has_value());
}

}  // namespace
}  // namespace halograph
