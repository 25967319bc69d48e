// Ranks that train the parts of a small graph and average models.
#pragma once

#include <cmath>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "partitioner/halo/add_halo.h"
#include "tests/support/learnable_graph.h"
#include "tests/support/ranks.h"
#include "tests/support/test_folder.h"
#include "trainer/averaging/averaged_training.h"
#include "trainer/launch/resolve.h"
#include "trainer/run/own_state.h"
#include "trainer/run/part_sources.h"
#include "trainer/run/prepare.h"
#include "trainer/run/stores.h"

namespace halograph {

// A rank as run.cc sets it up, over a graph of four parts with halos of as many hops as layers.
class AveragedTrainingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetUpComputation();
    SetUpThread(Options());
  }

  static TrainOptions Options() {
    TrainOptions options;
    options.fanouts = {4, 3};
    options.batch_size = 10;
    options.epochs = 6;
    options.average_every = 2;
    options.learning_rate = 0.02;
    options.threads = 1;
    options.part_only = true;
    options.model = "sage";
    Resolve(&options);
    return options;
  }

  // Six parts of 3 to 37 training rows: one to four steps.
  static TestGraphSpec UnevenParts() {
    TestGraphSpec spec = LearnableGraph(240, 1);
    spec.parts = 6;
    for (size_t i = 0; i < 240; ++i) {
      spec.node_types[0].owners[i] = static_cast<int>(std::sqrt(static_cast<double>(i) * 36 / 240));
    }
    return spec;
  }
  // Four parts; a set has only nodes from `first` on.
  static TestGraphSpec SetFrom(std::string_view name, int64_t first) {
    TestGraphSpec spec = LearnableGraph(240, 4);
    for (TestTaskSet& set : spec.tasks[0].sets) {
      if (set.set != name) continue;
      std::vector<int64_t> seeds, labels;
      for (int64_t i = first; i < 240; i += 2) {
        seeds.push_back(i);
        labels.push_back(i % kLearnableClasses);
      }
      set.arrays = {MakeTensor("seeds", seeds), MakeTensor("labels", labels)};
    }
    return spec;
  }

  void Write(const TestGraphSpec& spec) {
    const auto graph = WriteTestGraph(spec, folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_TRUE(AddHalos(*graph, {.hops = 2}).ok());
    options_ = Options();
    options_.graph = graph->string();
    InstallStop();
  }
  void InstallStop() {
    stop_.reset();
    auto stop = StopSignal::Install();
    ASSERT_TRUE(stop.ok()) << stop.status();
    stop_ = std::move(*stop);
  }

  // torch's generator is one for the process, and ranks are threads here: each makes its model,
  // with the same weights, while no other draws.
  std::unique_ptr<Session> MakeSession(TrainOptions options, std::unique_ptr<Communicator> ranks) {
    static std::mutex generator;
    auto session = std::make_unique<Session>();
    session->options = std::move(options);
    session->stop = stop_.get();
    RunInputs inputs;
    auto stores =
        OpenStoresOf(session->options, ChooseStateOfTraining(session->options), &session->cancel);
    EXPECT_TRUE(stores.ok()) << stores.status();
    session->stores = std::move(*stores);
    session->ranks = std::move(*Communicator::Join({}));
    {
      const std::lock_guard lock(generator);
      EXPECT_EQ(PrepareMinibatches(*session, &inputs), OkStatus());
      EXPECT_EQ(MakeModel(*session, inputs), OkStatus());
    }
    session->ranks = std::move(ranks);
    EXPECT_EQ(session->ranks->Barrier("models are made"), OkStatus());
    return session;
  }

  struct Ran {
    std::vector<EpochStats> epochs;
    TrainResult result;
    std::vector<torch::Tensor> weights;
  };
  Ran Train(const TrainOptions& options, std::unique_ptr<Communicator> ranks) {
    Ran ran;
    const auto session = MakeSession(options, std::move(ranks));
    const auto parts = MakePartSource(*session);
    EXPECT_TRUE(parts.ok()) << parts.status();
    AveragedTraining training(
        *session, parts->get(), [](int64_t) {},
        [&](const EpochStats& stats) {
          ran.epochs.push_back(stats);
          return OkStatus();
        });
    auto result = training.Run();
    EXPECT_TRUE(result.ok()) << result.status();
    if (result.ok()) ran.result = *result;
    for (const torch::Tensor& parameter : session->model->parameters()) {
      ran.weights.push_back(parameter.detach().clone());
    }
    return ran;
  }
  Ran Train(const TrainOptions& options) {
    return Train(options, std::move(*Communicator::Join({})));
  }

  // Calls `body` on so many ranks at once, with the options of each.
  template <typename Body>
  void RunWithOptions(int world_size, const Body& body) {
    RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
      TrainOptions options = options_;
      options.rank = ranks->rank();
      options.world_size = world_size;
      body(std::move(options), std::move(ranks));
    });
  }

  TestFolder folder_;
  TrainOptions options_;
  std::unique_ptr<StopSignal> stop_;
};

}  // namespace halograph
