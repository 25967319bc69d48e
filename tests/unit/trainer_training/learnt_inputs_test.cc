#include "trainer/embeddings/learnt_inputs.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/open/open_stores.h"
#include "common/program/stop_signal.h"
#include "tests/support/learnable_graph.h"
#include "tests/support/ranks.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::HasSubstr;

constexpr double kLearningRate = 0.5;

// One node type without servers: its tensors are in a state folder, and rank threads share the
// store.
class LearntInputsTest : public testing::Test {
 protected:
  void SetUp() override {
    // RocksDB's threads live as long as the process: begun now, they leave signals alone, which
    // other tests of the process wait for.
    auto stop = StopSignal::Install();
    ASSERT_TRUE(stop.ok()) << stop.status();
    stop_ = std::move(*stop);
    auto graph = WriteTestGraph(LearnableGraph(60, 2), folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    graph_ = graph->string();
    options_.optimizer = RowOptimizer::Kind::kSgd;
    options_.learning_rate = kLearningRate;
    minibatch_.nodes = {{7, 40, 3}};
    OpenStore(true);
  }

  void OpenStore(bool with_state) {
    stores_ = {};
    StoreOptions options{.graph = graph_};
    if (with_state) options.state.folder = folder_.path() / "state";
    auto stores = OpenStores(options);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = std::move(*stores);
  }

  StatusOr<std::unique_ptr<LearntInputs>> Open(Communicator& ranks) {
    return LearntInputs::Open(stores_, options_, {{.node_type = 0, .dim = 4}}, 11, &ranks, nullptr);
  }
  std::unique_ptr<LearntInputs> OpenAlone() {
    auto inputs = Open(*alone_);
    EXPECT_TRUE(inputs.ok()) << inputs.status();
    return std::move(*inputs);
  }

  // The rows of `minibatch` as they are now.
  static torch::Tensor RowsOf(LearntInputs& inputs, const Minibatch& minibatch) {
    auto rows = inputs.Pull(minibatch);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows->by_type.front().detach().clone();
  }
  // A step whose loss is `weight` times the sum of the rows.
  static void Step(LearntInputs& inputs, const Minibatch& minibatch, double weight) {
    auto rows = inputs.Pull(minibatch);
    ASSERT_TRUE(rows.ok()) << rows.status();
    ModelInput input{.minibatch = &minibatch, .nodes = {torch::Tensor()}, .draws = {}};
    inputs.Give(*rows, true, &input);
    if (input.nodes[0].defined()) (input.nodes[0].sum() * weight).backward();
    const Status pushed = inputs.Push(minibatch, nullptr);
    ASSERT_TRUE(pushed.ok()) << pushed;
  }

  std::unique_ptr<StopSignal> stop_;
  TestFolder folder_;
  std::string graph_;
  EmbeddingOptions options_;
  Minibatch minibatch_;
  Stores stores_;
  std::unique_ptr<Communicator> alone_ = std::move(*Communicator::Join({}));
};

TEST_F(LearntInputsTest, AStepMovesTheRowsOfItsNodesAlone) {
  const auto inputs = OpenAlone();
  Minibatch others;
  others.nodes = {{4, 59}};
  const torch::Tensor before = RowsOf(*inputs, minibatch_);
  const torch::Tensor others_before = RowsOf(*inputs, others);
  EXPECT_GT(before.abs().min().item<float>(), 0);
  Step(*inputs, minibatch_, 2);
  EXPECT_TRUE(torch::allclose(RowsOf(*inputs, minibatch_), before - 2 * kLearningRate));
  EXPECT_TRUE(torch::equal(RowsOf(*inputs, others), others_before));
}

TEST_F(LearntInputsTest, WeightDecayActsOnTheRowsThatAStepReads) {
  options_.weight_decay = 0.25;
  const auto inputs = OpenAlone();
  Minibatch others;
  others.nodes = {{4, 59}};
  const torch::Tensor before = RowsOf(*inputs, minibatch_);
  const torch::Tensor others_before = RowsOf(*inputs, others);
  Step(*inputs, minibatch_, 2);
  EXPECT_TRUE(
      torch::allclose(RowsOf(*inputs, minibatch_), before - kLearningRate * (2 + 0.25 * before)));
  EXPECT_TRUE(torch::equal(RowsOf(*inputs, others), others_before));
}

TEST_F(LearntInputsTest, RowsOfAnotherWeightDecayAreNotGoneOnWith) {
  options_.weight_decay = 0.25;
  const torch::Tensor untouched = RowsOf(*OpenAlone(), minibatch_);
  Step(*OpenAlone(), minibatch_, 1);
  options_.begin = EmbedBegin::kContinue;
  options_.weight_decay = 0;
  const Status other = Open(*alone_).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(other),
              HasSubstr("node node / embedding has --embed-weight-decay 0.25, and this run 0"));
  EXPECT_THAT(Message(other), HasSubstr("--embed-begin fresh"));
  options_.begin = EmbedBegin::kFresh;
  EXPECT_TRUE(torch::equal(RowsOf(*OpenAlone(), minibatch_), untouched));
}

TEST_F(LearntInputsTest, AMinibatchWithoutSeedsPushesNothing) {
  const auto inputs = OpenAlone();
  const torch::Tensor before = RowsOf(*inputs, minibatch_);
  Step(*inputs, Minibatch(), 1);
  EXPECT_TRUE(torch::equal(RowsOf(*inputs, minibatch_), before));
  Step(*inputs, minibatch_, 1);  // the step after it
  EXPECT_FALSE(torch::equal(RowsOf(*inputs, minibatch_), before));
}

TEST_F(LearntInputsTest, RanksSeeTheirStepAsOneSum) {
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    auto inputs = Open(*ranks);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const torch::Tensor before = RowsOf(**inputs, minibatch_);
    ASSERT_TRUE(ranks->Barrier("reading").ok());
    Step(**inputs, minibatch_, ranks->rank() + 1);
    EXPECT_TRUE(torch::allclose(RowsOf(**inputs, minibatch_), before - 3 * kLearningRate));
  });
}

TEST_F(LearntInputsTest, RowsShowThePushesBeforeThePullAndNoneBehindIt) {
  options_.staleness = 1;
  const auto inputs = OpenAlone();
  const torch::Tensor before = RowsOf(*inputs, minibatch_);
  // As a stage of its own pulls them.
  StatusOr<LearntRows> ahead = Internal("not pulled");
  std::thread([&] { ahead = inputs->Pull(minibatch_); }).join();
  Step(*inputs, minibatch_, 1);
  ASSERT_TRUE(ahead.ok()) << ahead.status();
  EXPECT_TRUE(torch::equal(ahead->by_type.front(), before));
  std::thread([&] { ahead = inputs->Pull(minibatch_); }).join();
  ASSERT_TRUE(ahead.ok()) << ahead.status();
  EXPECT_TRUE(torch::allclose(ahead->by_type.front(), before - kLearningRate));
}

TEST_F(LearntInputsTest, WhatAnEarlierRunLearntIsNotLostByChance) {
  torch::Tensor learnt;
  {
    const auto inputs = OpenAlone();
    Step(*inputs, minibatch_, 1);
    learnt = RowsOf(*inputs, minibatch_);
  }
  OpenStore(true);
  const Status again = Open(*alone_).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(again), HasSubstr("node node / embedding was trained before, up to step 0"));
  EXPECT_THAT(Message(again), HasSubstr("--embed-begin continue"));

  options_.begin = EmbedBegin::kContinue;
  auto inputs = OpenAlone();
  EXPECT_TRUE(torch::equal(RowsOf(*inputs, minibatch_), learnt));
  Step(*inputs, minibatch_, 1);
  EXPECT_TRUE(torch::allclose(RowsOf(*inputs, minibatch_), learnt - kLearningRate));

  options_.begin = EmbedBegin::kFresh;
  inputs = OpenAlone();
  EXPECT_TRUE(torch::allclose(RowsOf(*inputs, minibatch_), learnt + kLearningRate));
  Step(*inputs, minibatch_, 1);
  EXPECT_TRUE(torch::allclose(RowsOf(*inputs, minibatch_), learnt));
}

TEST_F(LearntInputsTest, AStoreWithoutStateSaysWhatToStartItWith) {
  OpenStore(false);
  const Status status = Open(*alone_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("node type 'node' are learnt (--embed)"));
  EXPECT_THAT(Message(status), HasSubstr("--state DIR"));
}

TEST(ChooseLearntTypesTest, TypesWithoutFeaturesUnlessSomeAreNamed) {
  Schema schema;
  schema.node_types = {{.name = "author", .count = 3, .features = {}},
                       {.name = "paper", .count = 5, .features = {{.name = "feat"}}}};
  const auto types = [&](std::vector<std::string> named) {
    return ChooseLearntTypes({.types = std::move(named)}, schema);
  };
  ASSERT_EQ(types({})->size(), 1U);
  EXPECT_EQ(types({})->front().node_type, 0);
  EXPECT_EQ(types({})->front().dim, kDefaultEmbeddingDim);
  const auto both = types({"paper:32", "author"});
  ASSERT_EQ(both->size(), 2U);
  EXPECT_EQ((*both)[1].dim, 32);
  EXPECT_THAT(Message(types({"venue"}).status()), HasSubstr("author"));
  EXPECT_THAT(Message(types({"paper:0"}).status()), HasSubstr("expected 1 to 65536"));
  EXPECT_THAT(Message(types({"paper:x"}).status()), HasSubstr("'x'"));
  EXPECT_THAT(Message(types({"paper", "paper:3"}).status()), HasSubstr("named twice"));
}

}  // namespace
}  // namespace halograph
