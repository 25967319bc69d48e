// halograph-train as its users start it, over small written graphs.
#include <cmath>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/integration/trainer/train_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/random_graph.h"

namespace halograph {
namespace {

using testing::HasSubstr;

TEST_F(TrainProgramTest, LogHasConfigurationEpochsAndFinalLine) {
  const std::string log = Path("log.jsonl");
  const Finished finished = Run(Options({"--log", log}, 4));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const std::vector<Json> lines = ReadLog(log);
  ASSERT_EQ(lines.size(), 6U);
  const Json& config = lines.front()["config"];
  EXPECT_EQ(config["hidden"], 16);
  EXPECT_EQ(config["fanouts"], Json({4, 3}));
  EXPECT_EQ(config["eval_fanouts"], Json({4, 3}));
  EXPECT_EQ(config["graph_identity"].get<std::string>().size(), 32U);
  for (int epoch = 0; epoch < 4; ++epoch) {
    const Json& line = lines[1 + epoch];
    for (const char* key :
         {"epoch", "loss", "train_acc", "valid_acc", "test_acc", "valid_loss", "test_loss", "lr",
          "time", "seconds", "sample_wait_s", "feature_wait_s", "compute_s", "sync_wait_s",
          "sampled_edges", "local_bytes", "remote_bytes", "train_seeds", "steps"}) {
      EXPECT_TRUE(line.contains(key) && line[key].is_number()) << key << " in " << line;
    }
    EXPECT_EQ(line["epoch"], epoch);
    EXPECT_EQ(line["train_seeds"], 120);
    EXPECT_EQ(line["steps"], 5);
  }
  const Json& last = lines.back();
  EXPECT_EQ(last["final"], true);
  EXPECT_EQ(last["epochs"], 4);
  EXPECT_EQ(last["test_acc"], lines[1 + last["best_epoch"].get<int>()]["test_acc"]);
  EXPECT_EQ(last["loss"], lines[1 + last["best_epoch"].get<int>()]["loss"]);
  EXPECT_EQ(last["stopped"], false);
  EXPECT_DOUBLE_EQ(last["most_frequent_class"], 1.0 / kLearnableClasses);
  EXPECT_GE(last["total_s"].get<double>(),
            last["seconds"].get<double>() + last["eval_s"].get<double>());
  EXPECT_THAT(finished.out, HasSubstr("sampled edges per second"));
}

TEST_F(TrainProgramTest, ThreadsThatPrepareChangeNoBitOfTheLosses) {
  const std::vector<double> wanted = Losses({"--sample-threads", "1", "--prefetch", "1"});
  ASSERT_EQ(wanted.size(), 3U);
  EXPECT_EQ(Losses({"--sample-threads", "4", "--prefetch", "9"}), wanted);
  EXPECT_EQ(Losses({"--sample-threads", "4", "--threads-per-minibatch", "2"}), wanted);
  EXPECT_EQ(Losses({"--sample-threads", "3", "--sampler-memory", "1"}), wanted);
  EXPECT_NE(Losses({"--replace"}), wanted);
}

TEST_F(TrainProgramTest, EvaluationIsDoneWhenDueAndAfterTheLastEpoch) {
  const std::string log = Path("log.jsonl");
  ASSERT_EQ(Run(Options({"--log", log, "--eval-every", "2"}, 5)).exit_code, 0);
  std::vector<bool> evaluated;
  for (const Json& line : ReadLog(log)) {
    if (line.contains("epoch")) evaluated.push_back(!line["valid_acc"].is_null());
  }
  EXPECT_EQ(evaluated, (std::vector<bool>{false, true, false, true, true}));
}

TEST_F(TrainProgramTest, PredictsEveryNodeOrTheTestNodesUnderOriginalIds) {
  const std::string all = Path("all.csv");
  ASSERT_EQ(Run(Options({"--predict", all}, 10)).exit_code, 0);
  const auto rows = ReadCsv(all);
  ASSERT_EQ(rows.size(), static_cast<size_t>(kNodes));
  int64_t right = 0;
  for (const auto& [id, label] : rows) right += label == id % kLearnableClasses;
  EXPECT_GT(right, kNodes * 3 / 4);

  const std::string test = Path("test.csv");
  ASSERT_EQ(Run(Options({"--predict", test, "--predict-nodes", "test"})).exit_code, 0);
  const auto test_rows = ReadCsv(test);
  EXPECT_EQ(test_rows.size(), static_cast<size_t>(kNodes / 4));
  for (const auto& [id, label] : test_rows) EXPECT_EQ(id % 4, 3);
}

TEST_F(TrainProgramTest, TwoRanksTrainOverLoopbackAndRankZeroWrites) {
  const std::string port = std::to_string(FreePort());
  const auto rank = [&](int r) {
    return Options({"--rank", std::to_string(r), "--world-size", "2", "--master-addr", "127.0.0.1",
                    "--master-port", port, "--log", Path("rank" + std::to_string(r)), "--predict",
                    Path("predicted.csv")},
                   10);
  };
  Trainer other(folder_.path().string(), rank(1));
  const Finished first = Run(rank(0));
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const Finished second = other.Wait();
  EXPECT_EQ(second.exit_code, 0) << second.err;
  const std::vector<Json> lines = ReadLog(Path("rank0"));
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[1]["train_seeds"], 120);
  EXPECT_EQ(lines[1]["steps"], 3);
  EXPECT_GT(lines.back()["test_acc"], 0.75);
  EXPECT_FALSE(std::filesystem::exists(Path("rank1")));
  EXPECT_EQ(ReadCsv(Path("predicted.csv")).size(), static_cast<size_t>(kNodes));
}

TEST_F(TrainProgramTest, RanksWithOtherOptionsAreRefused) {
  const std::string port = std::to_string(FreePort());
  const auto rank = [&](int r, const std::string& dropout) {
    return Options({"--rank", std::to_string(r), "--world-size", "2", "--master-addr", "127.0.0.1",
                    "--master-port", port, "--dropout", dropout});
  };
  Trainer other(folder_.path().string(), rank(1, "0.25"));
  const Finished first = Run(rank(0, "0.5"));
  const Finished second = other.Wait();
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("dropout is 0.25 on rank 1 but 0.5 on rank 0"));
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_THAT(first.err, HasSubstr("dropout is 0.25 on rank 1"));
}

TEST_F(TrainProgramTest, SigtermStopsCleanlyAndTheLogStaysValid) {
  const std::string log = Path("log.fifo");
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  RunningTrainer running(folder_.path().string(), log, Options({"--log", log}, 1000000));
  running.AwaitLines(3);
  running.trainer.Signal(SIGTERM);
  const std::vector<std::string> rest = running.Rest();
  const Finished finished = running.trainer.Wait();
  EXPECT_EQ(finished.exit_code, 1) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("stopped by signal"));
  ASSERT_FALSE(rest.empty());
  auto last = ParseJson(rest.back(), "log");
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT((*last)["error"], HasSubstr("stopped by signal"));
}

TEST_F(TrainProgramTest, SigtermLeavesTableAndPredictionsOfTheBestWeights) {
  const std::string log = Path("log.fifo");
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  for (const int world_size : {1, 2}) {
    const std::string predicted = Path(std::to_string(world_size) + ".csv");
    const std::string port = std::to_string(FreePort());
    const auto rank = [&](int r) {
      return Options(
          {"--rank", std::to_string(r), "--world-size", std::to_string(world_size), "--master-addr",
           "127.0.0.1", "--master-port", port, "--predict", predicted, "--log", log},
          1000000);
    };
    std::unique_ptr<Trainer> other;
    if (world_size == 2) other = std::make_unique<Trainer>(folder_.path().string(), rank(1));
    RunningTrainer first(folder_.path().string(), log, rank(0));
    first.AwaitLines(20);
    (other != nullptr ? *other : first.trainer).Signal(SIGTERM);
    const std::vector<std::string> rest = first.Rest();
    const Finished finished = first.trainer.Wait();
    EXPECT_EQ(finished.exit_code, 1) << "it did not do what it was asked for";
    EXPECT_THAT(finished.out, HasSubstr("of 1000000: stopped by a signal"));
    EXPECT_THAT(finished.err, HasSubstr("stopped by signal"));
    ASSERT_GE(rest.size(), 2U);
    auto final_line = ParseJson(rest[rest.size() - 2], "log");
    ASSERT_TRUE(final_line.ok()) << final_line.status();
    EXPECT_EQ((*final_line)["stopped"], true);
    EXPECT_GT((*final_line)["test_acc"], 0.5);
    int64_t right = 0;
    const auto rows = ReadCsv(predicted);
    EXPECT_EQ(rows.size(), static_cast<size_t>(kNodes));
    for (const auto& [id, label] : rows) right += label == id % kLearnableClasses;
    EXPECT_GT(right, kNodes / 2);
  }
}

TEST_F(TrainProgramTest, ADiskThatIsFullAtTheEndTakesNeitherTableNorLog) {
  const std::string log = Path("log.fifo");
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  const std::string folder = Path("gone");
  std::filesystem::create_directory(folder);
  RunningTrainer running(folder_.path().string(), log,
                         Options({"--log", log, "--predict", folder + "/p.csv"}, 500));
  running.AwaitLines(3);
  std::filesystem::remove_all(folder);
  const std::vector<std::string> rest = running.Rest();
  const Finished finished = running.trainer.Wait();
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("gone/p.csv"));
  EXPECT_THAT(finished.out, HasSubstr("test accuracy"));
  ASSERT_GE(rest.size(), 2U);
  EXPECT_THAT(rest[rest.size() - 2], HasSubstr("\"final\":true"));
}

TEST_F(TrainProgramTest, ARunNoBetterThanTheMostFrequentClassSaysWhatToTry) {
  TestGraphSpec spec = LearnableGraph(kNodes, 2);
  spec.tasks[0].sets[2].arrays[1] = MakeTensor("labels", std::vector<int64_t>(kNodes / 4, 1));
  graph_ = Write(spec, "one_class");
  const std::string log = Path("log.jsonl");
  const Finished finished = Run(Options({"--log", log}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("advice: the test accuracy is that of naming always"));
  const Json last = ReadLog(log).back();
  EXPECT_EQ(last["most_frequent_class"], 1);
  EXPECT_THAT(last["advice"][0], HasSubstr("--normalize-features row"));
}

TEST_F(TrainProgramTest, EpochsThatAreNotNamedMakeEnoughSteps) {
  const std::string log = Path("log.jsonl");
  const Finished finished = Run({"--graph", graph_, "--batch-size", "12", "--log", log});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const std::vector<Json> lines = ReadLog(log);
  EXPECT_EQ(lines.front()["config"]["epochs"], 20) << "10 steps each";
  EXPECT_EQ(lines.back()["epochs"], 20);
}

TEST_F(TrainProgramTest, ARankThatEndsIsNamedByTheOther) {
  const std::string log = Path("log.fifo");
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  for (const int signal : {SIGKILL, SIGTERM}) {
    const std::string port = std::to_string(FreePort());
    const auto rank = [&](int r) {
      return Options({"--rank", std::to_string(r), "--world-size", "2", "--master-addr",
                      "127.0.0.1", "--master-port", port, "--timeout", "20s", "--log", log},
                     1000000);
    };
    Trainer other(folder_.path().string(), rank(1));
    RunningTrainer first(folder_.path().string(), log, rank(0));
    first.AwaitLines(3);
    other.Signal(signal);
    (void)first.Rest();
    const Finished finished = first.trainer.Wait();
    EXPECT_EQ(finished.exit_code, 1) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("rank 1 (host"));
    EXPECT_THAT(finished.err,
                HasSubstr(signal == SIGKILL ? "does not answer" : "stopped by signal"));
  }
}

// Of models whose weights count as often as the edge would be there.
TEST_F(TrainProgramTest, AnEdgeOfWeightKIsAsKParallelEdges) {
  const TestGraphSpec plain = LearnableGraph(kNodes, 2);
  TestGraphSpec weighed = plain, parallel = plain;
  std::vector<uint8_t> weights;
  parallel.relations[0].edges.clear();
  for (size_t e = 0; e < plain.relations[0].edges.size(); ++e) {
    weights.push_back(static_cast<uint8_t>(1 + e % 3));
    parallel.relations[0].edges.insert(parallel.relations[0].edges.end(), weights.back(),
                                       plain.relations[0].edges[e]);
  }
  weighed.relations[0].features = {MakeTensor("times", weights)};
  const std::string weighed_graph = Write(weighed, "weighed");
  const std::string parallel_graph = Write(parallel, "parallel");
  for (const char* const model : {"gcn", "gat"}) {
    SCOPED_TRACE(model);
    const auto losses = [&](const std::string& graph, const std::vector<std::string>& more) {
      graph_ = graph;
      std::vector<std::string> options = {"--model", model, "--dropout", "0"};
      options.insert(options.end(), more.begin(), more.end());
      return Losses(options, "-1,-1");
    };
    const auto wanted = losses(parallel_graph, {});
    const auto found = losses(weighed_graph, {"--edge-weight", "times"});
    const auto without = losses(weighed_graph, {});
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t epoch = 0; epoch < wanted.size(); ++epoch) {
      EXPECT_NEAR(found[epoch], wanted[epoch], 1e-4);
      EXPECT_GT(std::abs(without[epoch] - wanted[epoch]), 1e-3);
    }
  }
}

// What comes out is what nodes without edges give: no division by 0 anywhere.
TEST_F(TrainProgramTest, WeightsOfZeroLeaveTheNodeAlone) {
  TestGraphSpec spec = LearnableGraph(kNodes, 2);
  spec.relations[0].features = {
      MakeTensor("none", std::vector<float>(spec.relations[0].edges.size(), 0.0F))};
  const std::string weighed = Write(spec, "weighed");
  spec.relations[0] = {};
  const std::string alone = Write(spec, "alone");
  for (const char* const model : {"sage", "gcn", "gat", "rgcn"}) {
    SCOPED_TRACE(model);
    std::vector<std::string> options = {"--model", model, "--dropout", "0"};
    graph_ = alone;
    const auto wanted = Losses(options);
    graph_ = weighed;
    options.insert(options.end(), {"--edge-weight", "none"});
    const auto found = Losses(options);
    ASSERT_EQ(found.size(), 3U);
    for (size_t epoch = 0; epoch < wanted.size(); ++epoch) {
      EXPECT_NEAR(found[epoch], wanted[epoch], 1e-5);
    }
  }
}

TEST_F(TrainProgramTest, WrongUsageExitsWithTwo) {
  EXPECT_EQ(Run({}).exit_code, 2);
  EXPECT_EQ(Run({"--graph", graph_, "--rank", "1"}).exit_code, 2);
  EXPECT_EQ(Run({"--graph", graph_, "--layers", "3"}).exit_code, 2);
}

TEST_F(TrainProgramTest, AGraphThatIsNotThereIsNamed) {
  const Finished finished = Run({"--graph", Path("nowhere")});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr(Path("nowhere")));
}

TEST_F(TrainProgramTest, ALabelOutOfRangeNamesTheSeed) {
  TestGraphSpec spec = LearnableGraph(12, 1);
  spec.tasks[0].sets[0].arrays[1] = MakeTensor<int64_t>("labels", {0, 1, 1, 3, 0, 2});
  graph_ = Write(spec, "damaged");
  const Finished finished = Run(Options({}));
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("original id 5 is 3"));
}

TEST_F(TrainProgramTest, ALabelThatOneRankAloneReadsEndsAllRanksWithItsName) {
  TestGraphSpec spec = LearnableGraph(kNodes, 2);
  const size_t rows = spec.tasks[0].sets[0].arrays[0].data.size() / sizeof(int64_t);
  std::vector<int64_t> labels(rows, 1);
  labels.back() = 7;
  spec.tasks[0].sets[0].arrays[1] = MakeTensor<int64_t>("labels", labels);
  graph_ = Write(spec, "damaged");
  const std::string port = std::to_string(FreePort());
  const auto rank = [&](int r) {
    return Options({"--rank", std::to_string(r), "--world-size", "2", "--master-addr", "127.0.0.1",
                    "--master-port", port, "--timeout", "10m"});  // beyond the test's own
  };
  Trainer other(folder_.path().string(), rank(1));
  const Finished first = Run(rank(0));
  const Finished second = other.Wait();
  for (const Finished& finished : {first, second}) {
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.err,
                HasSubstr("is 7 (int64), expected a class: a whole number from 0 to 2"));
  }
}

TEST_F(TrainProgramTest, AModelOfOneRelationRefusesATypedGraphSayingWhatItIs) {
  graph_ = Write(RandomTypedGraph({}), "typed");
  const Finished finished = Run(Options({"--model", "sage"}));
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("3 node types and 4 relations"));
}

TEST_F(TrainProgramTest, AnOutputThatCannotBeWrittenIsFoundBeforeTraining) {
  const Finished log = Run(Options({"--log", Path("none/log.jsonl")}, 1000000));
  EXPECT_EQ(log.exit_code, 1);
  EXPECT_THAT(log.err, HasSubstr("none/log.jsonl"));
  const Finished predict = Run(Options({"--predict", Path("none/p.csv")}, 1000000));
  EXPECT_EQ(predict.exit_code, 1);
  EXPECT_THAT(predict.err, HasSubstr("none/p.csv"));
}

}  // namespace
}  // namespace halograph
