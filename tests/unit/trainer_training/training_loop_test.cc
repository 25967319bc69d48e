#include "trainer/training/training_loop.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/learnable_run.h"
#include "tests/support/ranks.h"
#include "tests/support/run_stores.h"
#include "tests/support/test_folder.h"
#include "trainer/launch/resolve.h"
#include "trainer/models/sage.h"
#include "trainer/tasks/registry.h"
#include "trainer/training/batch_feed.h"
#include "trainer/training/evaluation.h"

namespace halograph {
namespace {

// A rank as run.cc sets it up, over a written graph.
class TrainingLoopTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }

  void SetUp() override {
    options_ = LearnableRun(folder_.path(), 240, /*batch_size=*/25, /*epochs=*/3);
    options_.sample_threads = 2;
    SetSage(0.5);
    Resolve(&options_);
    auto stop = StopSignal::Install();
    ASSERT_TRUE(stop.ok()) << stop.status();
    stop_ = std::move(*stop);
  }

  // Other weights on every rank, so that only the broadcast can make them equal. Ranks are threads
  // here, and torch's generator is one for the process: nobody else may draw in between.
  static std::shared_ptr<Model> SeededModel(const TrainOptions& options, const ModelShape& shape,
                                            uint64_t seed) {
    static std::mutex generator;
    const std::lock_guard lock(generator);
    torch::manual_seed(seed);
    return (*FindModelKind(options.model))->make(*options.model_options, shape);
  }
  void SetSage(double dropout) {
    auto sage = std::make_shared<SageOptions>();
    sage->hidden = 16;
    sage->dropout = dropout;
    options_.model = "sage";
    options_.model_options = std::move(sage);
  }

  std::unique_ptr<Session> MakeSession(TrainOptions options, std::unique_ptr<Communicator> ranks) {
    auto session = std::make_unique<Session>();
    session->options = options;
    session->stop = stop_.get();
    session->ranks = std::move(ranks);
    session->sampler.minibatches = options.sample_threads;
    session->stores = std::move(*OpenRunStores(options));
    session->task = std::move(*OpenTask(session->stores, options.tasks, ""));
    const Schema& schema = session->stores.graph->info().schema;
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, options.fanouts);
    recipe.inputs = *ChooseInputs(**FindModelKind("sage"), schema, {}, options.normalization);
    session->train_maker = std::make_unique<BatchMaker>(session->stores.graph.get(),
                                                        session->stores.rows.get(), recipe);
    session->eval_maker = std::make_unique<BatchMaker>(session->stores.graph.get(),
                                                       session->stores.rows.get(), recipe);
    const ModelShape shape{.schema = &schema,
                           .input_dims = {recipe.inputs[0].spec.dim},
                           .layers = options.layers,
                           .output_dim = session->task->output_dim()};
    session->model = SeededModel(options, shape, static_cast<uint64_t>(options.rank) + 1);
    EXPECT_TRUE(BroadcastParameters(session->Parameters(), *session->ranks).ok());
    return session;
  }
  static torch::Tensor Weights(const Session& session) {
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& parameter : session.model->parameters()) {
      flat.push_back(parameter.detach().clone().view(-1));
    }
    return torch::cat(flat);
  }
  static Status Ignore(const EpochStats&) { return OkStatus(); }
  static void IgnoreStep(int64_t) {}
  static std::unique_ptr<TrainingLoop> MakeLoop(Session& session, TrainingLoop::OnStep on_step,
                                                TrainingLoop::OnEpoch on_epoch = Ignore,
                                                TrainingStart start = {}) {
    return std::make_unique<TrainingLoop>(session, std::move(on_step), std::move(on_epoch), start);
  }

  TestFolder folder_;
  TrainOptions options_;
  std::unique_ptr<StopSignal> stop_;
};

TEST_F(TrainingLoopTest, AnEpochInPiecesIsTheEpoch) {
  const auto weights_after = [&](const std::vector<int64_t>& ends) {
    auto session = MakeSession(options_, std::move(*Communicator::Join({})));
    const auto loop = MakeLoop(*session, IgnoreStep);
    double steps = 0, rows = 0;
    int64_t begin = 0;
    for (const int64_t end : ends) {
      const auto stats = loop->RunEpoch(0, begin, end);
      EXPECT_TRUE(stats.ok()) << stats.status();
      EXPECT_EQ(stats->step, std::min<int64_t>(end, 5));
      steps += stats->figures[Figure::kSteps];
      rows += stats->figures[Figure::kTrainSeeds];
      begin = end;
    }
    EXPECT_EQ(steps, 5);
    EXPECT_EQ(rows, 120);
    return Weights(*session);
  };
  const torch::Tensor whole = weights_after({TrainingLoop::kToItsEnd});
  EXPECT_TRUE(torch::equal(weights_after({1, 3, 9}), whole));
  EXPECT_TRUE(torch::equal(weights_after({5}), whole));
}

TEST_F(TrainingLoopTest, LearnsASmallGraph) {
  options_.epochs = 20;
  SetSage(0);
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  std::vector<EpochStats> epochs;
  const auto loop = MakeLoop(*session, IgnoreStep, [&](const EpochStats& stats) {
    epochs.push_back(stats);
    return OkStatus();
  });
  auto result = loop->Run();
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(epochs.size(), 20U);
  const EpochFigures& first = epochs.front().figures;
  EXPECT_LT(epochs.back().figures[Figure::kLoss], 0.5 * first[Figure::kLoss]);
  EXPECT_GT(result->best->test->metric, 0.85);
  EXPECT_LT(result->best->test->loss, epochs.front().test->loss);
  EXPECT_GT(epochs.back().train_metric, epochs.front().train_metric);
  EXPECT_LE(epochs.back().train_metric, 1);
  EXPECT_EQ(result->epochs, 20);
  double earlier = 0;
  for (size_t i = 0; i < 15; ++i) earlier = std::max(earlier, epochs[i].valid->metric);
  EXPECT_EQ(result->earlier, earlier);
  EXPECT_FALSE(result->stopped);
  EXPECT_GT(result->eval_seconds, 0);
  EXPECT_EQ(first[Figure::kLearningRate], options_.learning_rate);
  EXPECT_GT(first[Figure::kTime], 1.6e9) << "after 2020";
  EXPECT_EQ(first[Figure::kTrainSeeds], 120);
  EXPECT_EQ(first[Figure::kSteps], 5);
  EXPECT_GT(first[Figure::kLocalBytes], 0);
  EXPECT_EQ(first[Figure::kRemoteBytes], 0);
  EXPECT_EQ(first[Figure::kRemoteSampleBytes], 0);
  EXPECT_EQ(first[Figure::kRounds], 0);
}

// Early stopping and a checkpoint abandon a feed, and evaluate afterwards.
TEST_F(TrainingLoopTest, AnAbandonedFeedLeavesTheStoresToOthers) {
  options_.prefetch = 8;
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  FeedWaits waits;
  {
    BatchFeed feed(*session, BatchPurpose::kTrain, *session->task->source(BatchPurpose::kTrain));
    ASSERT_TRUE(feed.Next(&waits).ok());
  }
  const auto evaluation = Evaluate(*session, BatchPurpose::kValid);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_TRUE(evaluation->figures.has_value());
}

TEST_F(TrainingLoopTest, TheRunsTokenEndsItsFeeds) {
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  session->cancel.Cancel();
  BatchFeed feed(*session, BatchPurpose::kTrain, *session->task->source(BatchPurpose::kTrain));
  FeedWaits waits;
  EXPECT_EQ(feed.Next(&waits).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(TrainingLoopTest, WeightsAreEqualOnAllRanksAfterEveryStep) {
  for (int world_size : {2, 3}) {
    std::mutex mutex;
    std::vector<std::vector<torch::Tensor>> weights(world_size);
    RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
      TrainOptions options = options_;
      options.rank = ranks->rank();
      options.world_size = world_size;
      auto session = MakeSession(options, std::move(ranks));
      auto& own = weights[options.rank];
      own.push_back(Weights(*session));
      const auto loop = MakeLoop(*session, [&](int64_t) { own.push_back(Weights(*session)); });
      auto result = loop->Run();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_TRUE(result->best->test.has_value());
    });
    ASSERT_GT(weights[0].size(), 3U);
    EXPECT_FALSE(torch::equal(weights[0][0], weights[0].back()));
    for (int rank = 1; rank < world_size; ++rank) {
      ASSERT_EQ(weights[rank].size(), weights[0].size());
      for (size_t step = 0; step < weights[0].size(); ++step) {
        EXPECT_TRUE(torch::equal(weights[rank][step], weights[0][step]))
            << "rank " << rank << ", step " << step;
      }
    }
  }
}

// Running means of batches are no parameters: each rank's own until an evaluation.
TEST_F(TrainingLoopTest, RanksShareTheBuffersAndTheBestEpochsAreKept) {
  auto sage = std::make_shared<SageOptions>();
  sage->hidden = 16;
  sage->norm = Normalization::kBatch;
  options_.model = "sage";
  options_.model_options = std::move(sage);
  options_.epochs = 6;
  const auto buffers_of = [](const Session& session) {
    const auto buffers = session.model->buffers();
    EXPECT_EQ(buffers.size(), 3U);
    return torch::cat({buffers[0], buffers[1]}).clone();
  };
  std::vector<std::vector<torch::Tensor>> evaluated(2);
  std::vector<torch::Tensor> kept(2);
  std::vector<int64_t> best(2);
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.rank = ranks->rank();
    options.world_size = 2;
    auto session = MakeSession(options, std::move(ranks));
    auto& own = evaluated[static_cast<size_t>(options.rank)];
    const auto result = MakeLoop(*session, IgnoreStep, [&](const EpochStats&) {
                          own.push_back(buffers_of(*session));
                          return OkStatus();
                        })->Run();
    ASSERT_TRUE(result.ok()) << result.status();
    kept[static_cast<size_t>(options.rank)] = buffers_of(*session);
    best[static_cast<size_t>(options.rank)] = result->best->epoch;
  });
  ASSERT_EQ(evaluated[0].size(), 6U);
  for (size_t epoch = 0; epoch < 6; ++epoch) {
    EXPECT_TRUE(torch::equal(evaluated[0][epoch], evaluated[1][epoch])) << epoch;
  }
  EXPECT_FALSE(torch::equal(evaluated[0][0], evaluated[0][5]));
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(torch::equal(kept[rank], evaluated[rank][static_cast<size_t>(best[rank])]));
  }
}

// Full neighbourhoods and one batch an epoch: all ranks together see what one rank sees.
TEST_F(TrainingLoopTest, RanksTakeTheStepsThatOneRankWould) {
  options_.fanouts = {-1, -1};
  SetSage(0);
  options_.epochs = 4;
  options_.batch_size = 120;
  torch::Tensor alone;
  {
    auto session = MakeSession(options_, std::move(*Communicator::Join({})));
    ASSERT_TRUE(MakeLoop(*session, IgnoreStep)->Run().ok());
    alone = Weights(*session);
  }
  for (int world_size : {2, 7}) {  // 120 seeds over 7 ranks: uneven
    RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
      TrainOptions options = options_;
      options.rank = ranks->rank();
      options.world_size = world_size;
      auto session = MakeSession(options, std::move(ranks));
      ASSERT_TRUE(MakeLoop(*session, IgnoreStep)->Run().ok());
      EXPECT_TRUE(torch::allclose(Weights(*session), alone, 1e-3, 1e-4));
    });
  }
}

// The same with weights of classes: what a step is divided by is known only to all ranks together.
TEST_F(TrainingLoopTest, RanksWeighRowsAsOneRankWould) {
  options_.fanouts = options_.eval_fanouts = {-1, -1};
  SetSage(0);
  options_.epochs = 3;
  options_.tasks.node.class_weights = *ParseClassWeights("1,8,0.25");
  options_.tasks.node.metrics = {"macro-f1", "accuracy"};
  options_.optimizer = OptimizerKind::kSgd;  // unlike Adam it goes by the size of gradients
  options_.learning_rate = 0.3;
  struct Run {
    torch::Tensor weights;
    std::vector<double> figures;
  };
  const auto run = [&](std::unique_ptr<Communicator> ranks, int64_t batch_size) {
    TrainOptions options = options_;
    options.rank = ranks->rank();
    options.world_size = ranks->world_size();
    options.batch_size = batch_size;
    auto session = MakeSession(options, std::move(ranks));
    Run done;
    const auto loop = MakeLoop(*session, IgnoreStep, [&](const EpochStats& stats) {
      done.figures.insert(done.figures.end(),
                          {stats.figures[Figure::kLoss], stats.train_metric, stats.valid->loss,
                           stats.valid->metric, stats.valid->more.at(0).value});
      return OkStatus();
    });
    EXPECT_TRUE(loop->Run().ok());
    done.weights = Weights(*session);
    return done;
  };
  const Run alone = run(std::move(*Communicator::Join({})), 120);
  for (int world_size : {2, 7}) {
    RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
      const Run own = run(std::move(ranks), 120);
      EXPECT_TRUE(torch::allclose(own.weights, alone.weights, 1e-3, 1e-4));
      EXPECT_THAT(own.figures, testing::Pointwise(testing::DoubleNear(2e-3), alone.figures));
    });
  }
}

TEST_F(TrainingLoopTest, TheLoggedLossIsDividedByTheWeightOfItsRows) {
  options_.fanouts = {-1, -1};
  SetSage(0);
  options_.epochs = 1;
  options_.batch_size = 120;
  const auto losses = [&](const char* weights) {
    options_.tasks.node.class_weights = *ParseClassWeights(weights);
    auto session = MakeSession(options_, std::move(*Communicator::Join({})));
    double of_epoch = 0, of_valid = 0;
    const auto loop = MakeLoop(*session, IgnoreStep, [&](const EpochStats& stats) {
      of_epoch = stats.figures[Figure::kLoss];
      of_valid = stats.valid->loss;
      return OkStatus();
    });
    EXPECT_TRUE(loop->Run().ok());
    return std::pair(of_epoch, of_valid);
  };
  const auto [train, valid] = losses("none");
  const auto [train_of_3, valid_of_3] = losses("3,3,3");
  EXPECT_NEAR(train_of_3, train, 1e-5) << "equal weights change nothing";
  EXPECT_NEAR(valid_of_3, valid, 1e-4);
  EXPECT_GT(std::abs(losses("1,100,1").first - train), 1e-3);
}

TEST_F(TrainingLoopTest, TheSameSeedGivesTheSameBits) {
  std::vector<double> losses[2];
  for (auto& run : losses) {
    auto session = MakeSession(options_, std::move(*Communicator::Join({})));
    const auto loop = MakeLoop(*session, IgnoreStep, [&](const EpochStats& stats) {
      run.push_back(stats.figures[Figure::kLoss]);
      run.push_back(stats.valid->metric);
      run.push_back(stats.valid->loss);
      return OkStatus();
    });
    ASSERT_TRUE(loop->Run().ok());
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST_F(TrainingLoopTest, TheRateOfEveryStepIsThatOfTheScheduleAndTheLogHasTheLast) {
  options_.control.lr_schedule = LrSchedule::kCosine;
  options_.control.warmup_steps = 2;
  options_.optimizer = OptimizerKind::kSgd;
  // 3 epochs of 5 steps. As the loop does, with rates of this test's own.
  const auto rate_of = [](int64_t step) {
    const double pi = std::acos(-1.0);
    if (step < 2) return 0.01 * static_cast<double>(step + 1) / 3;
    return 0.005 * (1 + std::cos(pi * static_cast<double>(step - 2) / 12));
  };
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  std::vector<torch::Tensor> parameters = session->Parameters();
  std::vector<double> logged;
  int64_t step = 0;
  torch::Tensor before = Weights(*session);
  const auto loop = MakeLoop(
      *session,
      [&](int64_t) {
        std::vector<torch::Tensor> flat;
        for (const torch::Tensor& parameter : parameters) flat.push_back(parameter.grad().view(-1));
        const torch::Tensor wanted = before - rate_of(step) * torch::cat(flat);
        before = Weights(*session);
        EXPECT_TRUE(torch::allclose(before, wanted, 1e-6, 1e-7)) << step;
        ++step;
      },
      [&](const EpochStats& stats) {
        logged.push_back(stats.figures[Figure::kLearningRate]);
        return OkStatus();
      });
  ASSERT_TRUE(loop->Run().ok());
  EXPECT_EQ(step, 15);
  EXPECT_THAT(logged, testing::Pointwise(testing::DoubleNear(1e-12),
                                         {rate_of(4), rate_of(9), rate_of(14)}));
}

TEST_F(TrainingLoopTest, GradientsAreClippedAfterTheSumOverRanks) {
  constexpr double kNorm = 0.01;  // shorter than any of these
  options_.control.clip_norm = kNorm;
  for (int world_size : {1, 2}) {
    RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
      TrainOptions options = options_;
      options.rank = ranks->rank();
      options.world_size = world_size;
      auto session = MakeSession(options, std::move(ranks));
      std::vector<torch::Tensor> parameters = session->Parameters();
      const auto loop = MakeLoop(*session, [&](int64_t) {
        double squares = 0;
        for (const torch::Tensor& parameter : parameters) {
          squares += parameter.grad().square().sum().item<double>();
        }
        EXPECT_NEAR(std::sqrt(squares), kNorm, 1e-6);
      });
      ASSERT_TRUE(loop->Run().ok());
    });
  }
}

TEST_F(TrainingLoopTest, ALossThatIsNotFiniteStopsNamingTheStep) {
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  {
    const torch::NoGradGuard no_grad;
    session->model->parameters()[0].fill_(std::numeric_limits<float>::quiet_NaN());
  }
  const Status status = MakeLoop(*session, IgnoreStep)->Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), testing::HasSubstr("rank 0, epoch 0, step 0: the loss is nan"));
}

TEST_F(TrainingLoopTest, PredictionsCoverEveryNodeOnceUnderItsOriginalId) {
  options_.epochs = 10;
  options_.eval_batch_size = 50;
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.rank = ranks->rank();
    options.world_size = 2;
    auto session = MakeSession(options, std::move(ranks));
    ASSERT_TRUE(MakeLoop(*session, IgnoreStep)->Run().ok());
    auto predictions = Predict(*session);
    ASSERT_TRUE(predictions.ok()) << predictions.status();
    ASSERT_EQ(predictions->rows(), options.rank == 0 ? 240 : 0);
    ASSERT_EQ(std::ssize(predictions->classes), predictions->rows());
    std::vector<int> seen(240);
    int right = 0;
    for (size_t i = 0; i < predictions->classes.size(); ++i) {
      const int64_t id = predictions->original_ids[i];
      ++seen[id];
      right += predictions->classes[i] == id % kLearnableClasses;
    }
    if (options.rank == 0) {
      EXPECT_THAT(seen, testing::Each(1));
      EXPECT_GT(right, 180);
    }
  });
}

TEST_F(TrainingLoopTest, ProbabilitiesLogitsAndEmbeddingsAreOfTheSameNodes) {
  options_.eval_batch_size = 50;
  options_.eval_fanouts = options_.fanouts = {-1, -1};
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.rank = ranks->rank();
    options.world_size = 2;
    auto session = MakeSession(options, std::move(ranks));
    const auto predict = [&](PredictWhat what) {
      session->options.predict_what = what;
      auto predictions = Predict(*session);
      EXPECT_TRUE(predictions.ok()) << predictions.status();
      EXPECT_EQ(predictions->columns, PredictionColumns(*session));
      return std::move(*predictions);
    };
    const Predictions classes = predict(PredictWhat::kClass);
    const Predictions probabilities = predict(PredictWhat::kProbabilities);
    const Predictions logits = predict(PredictWhat::kLogits);
    const Predictions embeddings = predict(PredictWhat::kEmbeddings);
    EXPECT_EQ(embeddings.columns, 16) << "the hidden layer's";
    if (options.rank != 0) return;
    EXPECT_EQ(PredictionRows(*session), 240);
    const auto tensor = [](const Predictions& predictions) {
      return torch::tensor(predictions.values).view({240, predictions.columns});
    };
    EXPECT_EQ(logits.original_ids, classes.original_ids);
    EXPECT_TRUE(torch::equal(tensor(logits).argmax(1), torch::tensor(classes.classes)));
    EXPECT_TRUE(torch::allclose(tensor(logits).softmax(1), tensor(probabilities)));
    EXPECT_EQ(std::ssize(embeddings.values), 240 * 16);
    EXPECT_GE(tensor(embeddings).min().item<float>(), 0) << "after ReLU";
  });
}

TEST_F(TrainingLoopTest, TheMostFrequentClassIsThatOfAllRanks) {
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.rank = ranks->rank();
    options.world_size = 2;
    auto session = MakeSession(options, std::move(ranks));
    const auto share = MostFrequentShare(*session, BatchPurpose::kTest);
    ASSERT_TRUE(share.ok()) << share.status();
    EXPECT_DOUBLE_EQ(share->value(), 1.0 / 3) << "20 of 60, though each rank reads 30";
  });
}

TEST_F(TrainingLoopTest, ASignalEndsTrainingWithTheBestWeightsAndPredictionsGoOn) {
  options_.epochs = 1000000;
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  stop_->OnStop([&] { session->cancel.Cancel(); });
  std::vector<torch::Tensor> weights;
  std::vector<double> metrics;
  const auto loop = MakeLoop(*session, IgnoreStep, [&](const EpochStats& stats) {
    weights.push_back(Weights(*session));
    metrics.push_back(stats.valid->metric);
    if (stats.epoch == 3) {
      kill(getpid(), SIGTERM);
      (void)stop_->Wait();
    }
    return OkStatus();
  });
  auto result = loop->Run();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->stopped);
  EXPECT_EQ(result->epochs, 4);
  ASSERT_TRUE(result->best.has_value());
  const auto best = std::max_element(metrics.begin(), metrics.end()) - metrics.begin();
  EXPECT_EQ(result->best->epoch, best);
  EXPECT_TRUE(torch::equal(Weights(*session), weights[best]));
  const auto predictions = Predict(*session);
  ASSERT_TRUE(predictions.ok()) << predictions.status();
  EXPECT_EQ(predictions->rows(), 240);
  const auto evaluation = Evaluate(*session, BatchPurpose::kValid);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_TRUE(evaluation->stopped && !evaluation->figures.has_value());
  stop_->OnStop(nullptr);
}

TEST_F(TrainingLoopTest, ASignalBeforeTheFirstEvaluationLeavesNoBestEpoch) {
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  const auto loop = MakeLoop(*session, [&](int64_t) {
    if (stop_->requested()) return;
    kill(getpid(), SIGTERM);
    (void)stop_->Wait();
  });
  auto result = loop->Run();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->stopped);
  EXPECT_FALSE(result->best.has_value());
  EXPECT_EQ(result->epochs, 0);
}

// What the callback was told, and what the run came to. 5 steps make an epoch.
struct Course {
  std::vector<EpochStats> told;
  std::vector<int64_t> steps() const {
    std::vector<int64_t> all;
    for (const EpochStats& stats : told) all.push_back(stats.step);
    return all;
  }
  TrainResult result;
  torch::Tensor weights;
};

class TrainingLimitsTest : public TrainingLoopTest {
 protected:
  Course Train(std::unique_ptr<Communicator> ranks = std::move(*Communicator::Join({}))) {
    return Train(options_, std::move(ranks));
  }
  Course Train(TrainOptions options, std::unique_ptr<Communicator> ranks) {
    options.rank = ranks->rank();
    options.world_size = ranks->world_size();
    auto session = MakeSession(options, std::move(ranks));
    Course course;
    const auto result = MakeLoop(*session, IgnoreStep, [&](const EpochStats& stats) {
                          course.told.push_back(stats);
                          return OkStatus();
                        })->Run();
    EXPECT_TRUE(result.ok()) << result.status();
    course.result = *result;
    course.weights = Weights(*session);
    return course;
  }
};

TEST_F(TrainingLimitsTest, MostStepsEndAnEpochInItsMiddleWithFiguresOfTheStepsTaken) {
  options_.control.max_steps = 7;
  options_.epochs = 100;
  options_.eval_every = 0;
  const Course course = Train();
  EXPECT_THAT(course.steps(), testing::ElementsAre(5, 7));
  EXPECT_EQ(course.result.ended_by, EndedBy::kMaxSteps);
  EXPECT_EQ(course.result.steps, 7);
  EXPECT_EQ(course.result.epochs, 2);
  EXPECT_FALSE(course.result.stopped);
  const EpochStats& last = course.told.back();
  EXPECT_EQ(last.figures[Figure::kSteps], 2);
  EXPECT_EQ(last.figures[Figure::kTrainSeeds], 50) << "25 a step";
  EXPECT_TRUE(last.valid.has_value() && last.test.has_value()) << "what stands there is evaluated";
  EXPECT_EQ(course.result.best->step, 7);
}

TEST_F(TrainingLimitsTest, AsManyStepsAsTheEpochsHaveAreNoLimit) {
  options_.control.max_steps = 15;
  EXPECT_EQ(Train().result.ended_by, EndedBy::kEpochs);
  options_.control.max_steps = 0;
  EXPECT_EQ(Train().result.ended_by, EndedBy::kEpochs);
}

TEST_F(TrainingLimitsTest, EvaluationsWithinAnEpochCountForTheBestAndChangeNoStep) {
  auto sage = std::make_shared<SageOptions>();
  sage->hidden = 16;
  sage->norm = Normalization::kBatch;  // it computes otherwise in training than in evaluation
  options_.model = "sage";
  options_.model_options = std::move(sage);
  options_.eval_every = 0;
  const Course plain = Train();
  options_.control.eval_every_steps = 2;
  options_.control.max_steps = 14;
  Course course = Train();
  EXPECT_THAT(course.steps(), testing::ElementsAre(2, 4, 5, 6, 8, 10, 12, 14));
  const auto within = [&](size_t i) { return course.told[i].within; };
  EXPECT_TRUE(within(0) && within(1) && !within(2) && within(3) && within(4) && !within(5));
  EXPECT_FALSE(course.told[2].valid.has_value()) << "an epoch's end that no rule asks for";
  EXPECT_TRUE(course.told[5].valid.has_value()) << "10 steps: both the epoch's end and due";
  EXPECT_EQ(course.told[1].figures[Figure::kTrainSeeds], 100) << "of the epoch's steps so far";
  EXPECT_EQ(course.told[2].figures[Figure::kTrainSeeds], 120);
  EXPECT_EQ(course.told[2].figures[Figure::kLoss], plain.told[0].figures[Figure::kLoss]);
  const auto best = std::max_element(course.told.begin(), course.told.end(),
                                     [](const EpochStats& a, const EpochStats& b) {
                                       const auto metric = [](const EpochStats& stats) {
                                         return stats.valid.has_value() ? stats.valid->metric : -1;
                                       };
                                       return metric(a) < metric(b);
                                     });
  EXPECT_EQ(course.result.best->step, best->step);
  EXPECT_GT(course.result.best->step, 0);
  // The weights of that moment: as a run leaves them that ends there.
  options_.control.eval_every_steps = 0;
  options_.control.max_steps = best->step;
  EXPECT_TRUE(torch::equal(Train().weights, course.weights));
}

TEST_F(TrainingLimitsTest, PatienceEndsTrainingAtTheEvaluationThatUsesItUp) {
  options_.epochs = 1000;
  options_.eval_every = 0;
  options_.control.patience = 2;
  options_.control.eval_every_steps = 2;
  options_.control.min_delta = 10;  // nothing is better than the first
  const Course course = Train();
  EXPECT_EQ(course.result.ended_by, EndedBy::kPatience);
  EXPECT_EQ(course.result.steps, 6);
  // The last epoch's line is that of the step where it ended, which is evaluated once.
  EXPECT_THAT(course.steps(), testing::ElementsAre(2, 4, 5, 6, 6));
  EXPECT_FALSE(course.told.back().within);
  EXPECT_EQ(course.told.back().valid->metric, course.told[3].valid->metric);
  EXPECT_EQ(course.told.back().figures[Figure::kEvalSeconds], 0);
}

TEST_F(TrainingLimitsTest, TheClockOfOneRankEndsTrainingOnAllAtOneStep) {
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.epochs = 1000000;
    if (ranks->rank() == 1) options.control.time_limit = std::chrono::nanoseconds(1);
    const Course course = Train(options, std::move(ranks));
    EXPECT_EQ(course.result.ended_by, EndedBy::kTimeLimit);
    EXPECT_EQ(course.result.steps, 1);
    EXPECT_THAT(course.steps(), testing::ElementsAre(1));
    EXPECT_TRUE(course.told.back().valid.has_value());
  });
}

TEST_F(TrainingLimitsTest, LimitsEndTwoRanksAtTheStepWhereTheyEndOne) {
  options_.control.max_steps = 4;
  options_.control.eval_every_steps = 3;
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    const Course course = Train(options_, std::move(ranks));
    EXPECT_THAT(course.steps(), testing::ElementsAre(3, 4)) << "3 steps make an epoch";
    EXPECT_EQ(course.result.ended_by, EndedBy::kMaxSteps);
  });
}

class TuneTest : public TrainingLoopTest {
 protected:
  void SetUp() override {
    TrainingLoopTest::SetUp();
    options_.tune = true;
    options_.threads = 2;
    options_.sample_threads = 2;
    options_.eval_every = 0;
  }
  void TearDown() override { at::set_num_threads(1); }

  struct Tuned {
    std::vector<ThreadChoice> told;
    std::vector<int> threads;         // that computed each step
    std::optional<ThreadSplit> kept;  // for a checkpoint at the end
    Status status;
  };
  Tuned Train(const TrainOptions& options, std::unique_ptr<Communicator> ranks,
              TrainingStart start = {}) {
    Tuned tuned;
    auto session = MakeSession(options, std::move(ranks));
    TrainingLoop loop(
        *session, [&](int64_t) { tuned.threads.push_back(at::get_num_threads()); }, Ignore,
        std::move(start), nullptr,
        [&](const ThreadChoice& choice) {
          tuned.told.push_back(choice);
          return OkStatus();
        });
    const auto result = loop.Run();
    tuned.status = result.status();
    if (result.ok()) tuned.kept = result->threads;
    return tuned;
  }
};

TEST_F(TuneTest, OneSplitIsChosenOnAllRanksWithinTheFewestProcessors) {
  options_.epochs = 110;  // of 3 steps: the search takes 290 at most
  std::vector<Tuned> tuned(2);
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.rank = ranks->rank();
    options.world_size = 2;
    if (options.rank == 1) options.threads = 5;
    Tuned& own = tuned[options.rank];
    own = Train(options, std::move(ranks));
  });
  for (const Tuned& own : tuned) {
    ASSERT_TRUE(own.status.ok()) << own.status;
    ASSERT_EQ(own.told.size(), 1U);
    const ThreadChoice& choice = own.told[0];
    EXPECT_EQ(choice.by, ThreadChoice::By::kMeasured);
    EXPECT_EQ(choice.split, tuned[0].told[0].split);
    EXPECT_EQ(choice.steps, tuned[0].told[0].steps);
    EXPECT_GE(choice.splits, 4);
    EXPECT_GT(*choice.step_seconds, 0);
    EXPECT_EQ(own.kept, choice.split);
    EXPECT_EQ(own.threads, tuned[0].threads);
    EXPECT_THAT(own.threads, testing::Contains(1));
    EXPECT_THAT(own.threads, testing::Contains(2));
    EXPECT_THAT(own.threads, testing::Each(testing::Le(2)));
    EXPECT_EQ(own.threads.back(), choice.split.compute);
  }
}

TEST_F(TuneTest, ARunThatEndsBeforeHasTheBestSoFarAndKeepsNone) {
  options_.epochs = 8;  // of 5 steps: a visit or two
  const Tuned tuned = Train(options_, std::move(*Communicator::Join({})));
  ASSERT_TRUE(tuned.status.ok()) << tuned.status;
  ASSERT_EQ(tuned.told.size(), 1U);
  EXPECT_EQ(tuned.told[0].by, ThreadChoice::By::kCutShort);
  EXPECT_EQ(tuned.told[0].steps, 40);
  EXPECT_EQ(at::get_num_threads(), tuned.told[0].split.compute);
  EXPECT_EQ(tuned.kept, std::nullopt);
  options_.epochs = 1;  // not even one
  EXPECT_THAT(Train(options_, std::move(*Communicator::Join({}))).told, testing::IsEmpty());
}

TEST_F(TuneTest, WhatWasChosenIsKeptAndOneProcessorIsNoChoice) {
  TrainingStart start;
  start.so_far.threads = ThreadSplit{3, 1, 2};
  const Tuned kept = Train(options_, std::move(*Communicator::Join({})), start);
  ASSERT_TRUE(kept.status.ok()) << kept.status;
  ASSERT_EQ(kept.told.size(), 1U);
  EXPECT_EQ(kept.told[0].by, ThreadChoice::By::kCheckpoint);
  EXPECT_THAT(kept.threads, testing::AllOf(testing::SizeIs(15), testing::Each(3)));
  EXPECT_EQ(kept.kept, (ThreadSplit{3, 1, 2}));

  options_.threads = 1;
  options_.sample_threads = 1;
  const Tuned alone = Train(options_, std::move(*Communicator::Join({})));
  ASSERT_EQ(alone.told.size(), 1U);
  EXPECT_EQ(alone.told[0].by, ThreadChoice::By::kMeasured);
  EXPECT_EQ(alone.told[0].steps, 0);
  EXPECT_THAT(alone.threads, testing::Each(1));
  EXPECT_EQ(alone.kept, (ThreadSplit{1, 1, 1}));
}

TEST_F(TuneTest, ThreadsThatPrepareChangeNoBit) {
  const auto weights = [&](const ThreadSplit& split, bool tune) {
    TrainOptions options = options_;
    options.tune = tune;
    TrainingStart start;
    if (tune) start.so_far.threads = split;
    auto session = MakeSession(options, std::move(*Communicator::Join({})));
    at::set_num_threads(1);
    EXPECT_TRUE(MakeLoop(*session, IgnoreStep, Ignore, start)->Run().ok());
    return Weights(*session);
  };
  const torch::Tensor plain = weights({}, false);
  EXPECT_TRUE(torch::equal(weights({1, 1, 2}, true), plain));
  EXPECT_TRUE(torch::equal(weights({1, 2, 1}, true), plain));
}

TEST_F(TrainingLoopTest, AnErrorOfTheCallbackEndsTraining) {
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  const auto loop = MakeLoop(*session, IgnoreStep,
                             [](const EpochStats&) { return ResourceExhausted("disk full"); });
  EXPECT_EQ(loop->Run().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(TrainingLoopTest, ALoopThatBeginsAtAStepGoesOnAsTheUndisturbedOneDid) {
  for (int world_size : {1, 2}) {
    // What rank r saw: the moment before each step, and at the end.
    struct Moment {
      torch::Tensor weights;
      std::map<std::string, torch::Tensor> optimizer;
    };
    struct Seen {
      std::vector<Moment> moments;
    };
    std::vector<Seen> whole(world_size);
    constexpr int64_t kEpochs = 3;
    const auto run = [&](TrainingStart start, std::vector<Seen>* seen) {
      RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
        TrainOptions options = options_;
        options.rank = ranks->rank();
        options.world_size = world_size;
        options.epochs = kEpochs;
        options.eval_every = 0;
        Seen& own = (*seen)[options.rank];
        auto session = MakeSession(options, std::move(ranks));
        TrainingLoop* running = nullptr;
        const auto remember = [&] {
          auto optimizer = running->optimizer().StateTensors();
          for (auto& [name, tensor] : optimizer) tensor = tensor.clone();
          own.moments.push_back({Weights(*session), std::move(optimizer)});
        };
        const auto loop = MakeLoop(
            *session, [&](int64_t) { remember(); }, Ignore, start);
        running = loop.get();
        if (!whole[options.rank].moments.empty()) {
          const auto steps = (std::ssize(whole[options.rank].moments) - 1) / kEpochs;
          const Moment& moment = whole[options.rank].moments[start.epoch * steps + start.step];
          int64_t offset = 0;
          const torch::NoGradGuard no_grad;
          for (torch::Tensor& parameter : session->Parameters()) {
            parameter.copy_(
                moment.weights.narrow(0, offset, parameter.numel()).view(parameter.sizes()));
            offset += parameter.numel();
          }
          ASSERT_TRUE(loop->optimizer().RestoreTensors(moment.optimizer).ok());
        }
        remember();
        ASSERT_TRUE(loop->Run().ok());
      });
    };
    std::vector<Seen> seen(world_size);
    run({}, &seen);
    whole = seen;
    const size_t steps = (whole[0].moments.size() - 1) / kEpochs;
    ASSERT_GT(steps, 2U);
    for (const TrainingStart& start : {TrainingStart{0, 1}, {1, 0}, {1, 2}}) {
      std::vector<Seen> rest(world_size);
      run(start, &rest);
      for (int rank = 0; rank < world_size; ++rank) {
        const size_t first = start.epoch * steps + start.step;
        ASSERT_EQ(rest[rank].moments.size(), whole[rank].moments.size() - first);
        for (size_t i = 0; i < rest[rank].moments.size(); ++i) {
          EXPECT_TRUE(
              torch::equal(rest[rank].moments[i].weights, whole[rank].moments[first + i].weights))
              << i << " steps from epoch " << start.epoch << ", step " << start.step << ", rank "
              << rank;
        }
      }
    }
  }
}

}  // namespace
}  // namespace halograph
