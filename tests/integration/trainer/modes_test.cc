// halograph-train in every mode, against servers in this process: the same training, and the
// communication that each mode is about.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "server/server.h"
#include "tests/integration/trainer/train_fixture.h"
#include "tests/support/free_port.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr PartContents kFeaturesOnly{.topology = false, .features = true};
using Arguments = std::vector<std::string>;

class ModesTest : public TrainProgramTest {
 protected:
  // Two servers, of one part each; the value of --servers.
  std::string Serve(const PartContents& contents = {}) {
    std::string addresses;
    for (const int part : {0, 1}) {
      server::ServerOptions options;
      options.graph = graph_;
      options.parts = {part};
      options.threads = 2;
      options.contents = contents;
      auto server = server::Server::Start(options);
      EXPECT_TRUE(server.ok()) << server.status();
      addresses += (part == 0 ? "" : ",") + (*server)->address();
      servers_.push_back(std::move(*server));
    }
    return addresses;
  }
  // A folder as the machine of one partition has it.
  std::string OnlyPart(int part) {
    const std::string name = "part-000" + std::to_string(part);
    const std::filesystem::path folder = Path("only" + std::to_string(part));
    std::filesystem::create_directory(folder);
    std::filesystem::create_directory_symlink(std::filesystem::path(graph_) / name, folder / name);
    return folder.string();
  }
  static Arguments With(Arguments mode, const std::string& fanouts, int epochs = 2) {
    mode.insert(mode.end(), {"--fanouts", fanouts, "--layers",
                             std::to_string(1 + std::count(fanouts.begin(), fanouts.end(), ','))});
    for (const std::string& option : OptionsOfAnyMode(epochs)) mode.push_back(option);
    return mode;
  }
  // The lines of the epochs of one rank's run.
  std::vector<Json> Epochs(const Arguments& mode, const std::string& fanouts) {
    Arguments options = With(mode, fanouts);
    options.insert(options.end(), {"--log", Path("log.jsonl")});
    const Finished finished = Run(options);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return EpochsOf("log.jsonl");
  }
  // Of two ranks, each beside its own part.
  std::vector<Json> EpochsOfTwoRanks(const Arguments& mode, const std::string& fanouts) {
    const std::string port = std::to_string(FreePort());
    std::vector<std::unique_ptr<Trainer>> ranks;
    for (const int rank : {0, 1}) {
      Arguments options = With(mode, fanouts);
      options.insert(options.end(), {"--local", OnlyPart(rank), "--rank", std::to_string(rank),
                                     "--world-size", "2", "--master-addr", "127.0.0.1",
                                     "--master-port", port, "--log", Path("log.jsonl")});
      ranks.push_back(std::make_unique<Trainer>(folder_.path().string(), options));
    }
    for (const auto& rank : ranks) {
      const Finished finished = rank->Wait();
      EXPECT_EQ(finished.exit_code, 0) << finished.err;
    }
    for (const int rank : {0, 1}) std::filesystem::remove_all(Path("only" + std::to_string(rank)));
    return EpochsOf("log.jsonl");
  }
  std::vector<Json> EpochsOf(const std::string& log) {
    std::vector<Json> epochs;
    for (const Json& line : ReadLog(Path(log))) {
      if (line.contains("epoch")) epochs.push_back(line);
    }
    EXPECT_EQ(epochs.size(), 2U);
    return epochs;
  }
  static std::vector<Json> Values(const std::vector<Json>& epochs, const std::string& key) {
    std::vector<Json> values;
    for (const Json& epoch : epochs) values.push_back(epoch[key]);
    return values;
  }
  void ExpectFailure(const Arguments& mode, const std::vector<std::string>& texts,
                     const std::string& fanouts = "4,3") {
    const Finished finished = Run(With(mode, fanouts));
    EXPECT_EQ(finished.exit_code, 1) << finished.err;
    for (const std::string& text : texts) EXPECT_THAT(finished.err, HasSubstr(text));
  }

  std::vector<std::unique_ptr<server::Server>> servers_;
};

TEST_F(ModesTest, LossesAreEqualBitForBit) {
  const std::string all = Serve();
  const std::string features = Serve(kFeaturesOnly);
  const std::string own = OnlyPart(0);
  const auto wanted = Epochs({"--graph", graph_}, "4,3");
  for (const Arguments& mode : std::vector<Arguments>{
           {"--servers", all},
           {"--servers", all, "--topology", "servers", "--local", own},
           {"--servers", features, "--topology", graph_},
           {"--servers", features, "--topology", graph_, "--local", own},
           {"--servers", all, "--topology", "local", "--cache-dir", Path("cache")}}) {
    SCOPED_TRACE(testing::PrintToString(mode));
    const auto found = Epochs(mode, "4,3");
    EXPECT_EQ(Values(found, "loss"), Values(wanted, "loss"));
    EXPECT_EQ(Values(found, "test_acc"), Values(wanted, "test_acc"));
    EXPECT_EQ(Values(found, "sampled_edges"), Values(wanted, "sampled_edges"));
  }
}

TEST_F(ModesTest, RoundsAreThoseOfTheMode) {
  const std::string servers = Serve();
  for (const auto& [fanouts, layers] : {std::pair{"4,3", 2}, {"4,3,2", 3}}) {
    SCOPED_TRACE(fanouts);
    EXPECT_THAT(Values(Epochs({"--graph", graph_}, fanouts), "rounds_per_minibatch"), Each(0));
    EXPECT_THAT(
        Values(Epochs({"--servers", servers, "--cache", "off"}, fanouts), "rounds_per_minibatch"),
        Each(2 * layers + 2));
    EXPECT_THAT(
        Values(Epochs({"--servers", servers, "--topology", graph_, "--cache", "off"}, fanouts),
               "rounds_per_minibatch"),
        Each(2));
    // Each rank's seeds are of its own part: 2 (L - 1) and 2.
    EXPECT_THAT(Values(EpochsOfTwoRanks({"--servers", servers, "--cache", "off"}, fanouts),
                       "rounds_per_minibatch"),
                Each(2 * (layers - 1) + 2));
  }
}

TEST_F(ModesTest, BytesAreThoseOfTheMode) {
  const std::string servers = Serve();
  const auto partitioned = Epochs({"--servers", servers, "--cache", "off"}, "4,3").front();
  EXPECT_EQ(partitioned["local_bytes"], 0);
  EXPECT_GT(partitioned["remote_bytes"], 0);
  EXPECT_GT(partitioned["remote_sample_bytes"], 0);
  const auto own =
      Epochs({"--servers", servers, "--local", OnlyPart(1), "--cache", "off"}, "4,3").front();
  EXPECT_GT(own["local_bytes"], 0);
  EXPECT_GT(own["remote_bytes"], 0);
  EXPECT_EQ(own["local_bytes"].get<int64_t>() + own["remote_bytes"].get<int64_t>(),
            partitioned["remote_bytes"]);
  EXPECT_LT(own["remote_sample_bytes"], partitioned["remote_sample_bytes"]);
  const auto hybrid =
      Epochs({"--servers", servers, "--topology", graph_, "--cache", "off"}, "4,3").front();
  EXPECT_EQ(hybrid["remote_bytes"], partitioned["remote_bytes"]);
  EXPECT_EQ(hybrid["remote_sample_bytes"], 0);
}

// The rows of both parts are remote, and all fit in the cache; or a few do.
TEST_F(ModesTest, ACacheChangesNothingButWhatServersAreAskedFor) {
  const std::string servers = Serve();
  for (const Arguments& mode : std::vector<Arguments>{
           {"--servers", servers},
           {"--servers", servers, "--topology", graph_, "--local", OnlyPart(0)}}) {
    const auto with = [&mode](const Arguments& options) {
      Arguments all = mode;
      all.insert(all.end(), options.begin(), options.end());
      return all;
    };
    const auto bytes = [](const Json& epoch) {
      return epoch["local_bytes"].get<int64_t>() + epoch["remote_bytes"].get<int64_t>();
    };
    const auto off = Epochs(with({"--cache", "off"}), "4,3");
    EXPECT_THAT(Values(off, "cache_hits"), Each(0));
    const bool hybrid = mode.size() > 2;
    for (const auto& [kind, memory] : std::vector<std::pair<std::string, std::string>>{
             {"look-ahead", "1MiB"}, {"look-ahead", "16KiB"}, {"static", "16KiB"}}) {
      SCOPED_TRACE(kind + " " + memory + (hybrid ? " hybrid" : ""));
      const auto found = Epochs(with({"--cache", kind, "--cache-memory", memory}), "4,3");
      EXPECT_EQ(Values(found, "loss"), Values(off, "loss"));
      EXPECT_EQ(Values(found, "test_acc"), Values(off, "test_acc"));
      EXPECT_LT(found[1]["remote_bytes"], off[1]["remote_bytes"]);
      EXPECT_GT(found[1]["cache_hits"], 0);
      EXPECT_EQ(bytes(found[1]), bytes(off[1]));
      const int64_t first =
          found[0]["cache_hits"].get<int64_t>() + found[0]["cache_misses"].get<int64_t>();
      EXPECT_EQ(found[1]["cache_forecast"], first) << "what the epoch before read";
      if (hybrid) {
        EXPECT_NEAR(found[0]["cache_forecast"].get<double>(), static_cast<double>(first),
                    0.15 * static_cast<double>(first));
      } else {
        EXPECT_EQ(found[0]["cache_forecast"], 0) << "the graph is not here";
      }
      if (kind == "static" && !hybrid) {
        EXPECT_EQ(found[0]["cache_hits"], 0) << "nothing ranks in the first epoch";
      }
    }
  }
  ExpectFailure({"--servers", servers, "--cache-memory", "10"},
                {"--cache-memory 10 B", "no room", "--cache off"});
}

// With weights of edges: "w", every fifth 0, and "one".
TestGraphSpec WeighedGraph() {
  TestGraphSpec spec = LearnableGraph(kNodes, 2);
  TestRelation& relation = spec.relations[0];
  std::vector<double> w(relation.edges.size());
  for (size_t e = 0; e < w.size(); ++e) w[e] = 0.3 * static_cast<double>((e * 7 + 1) % 5);
  relation.features = {MakeTensor("w", w),
                       MakeTensor("one", std::vector<uint8_t>(relation.edges.size(), 1))};
  return spec;
}

// Node tasks, links whose own edges are left out, several ranks.
TEST_F(ModesTest, WeightsOfEdgesGiveTheSameLossesInEveryMode) {
  graph_ = Write(WeighedGraph(), "weighed");
  const std::string all = Serve();
  const std::string features = Serve(kFeaturesOnly);
  const std::string own = OnlyPart(0);
  const auto losses = [&](Arguments mode, const Arguments& options) {
    mode.insert(mode.end(), options.begin(), options.end());
    return Values(Epochs(mode, "4,3"), "loss");
  };
  const Arguments embedded = {"--graph", graph_}, weigh = {"--edge-weight", "w"};
  const auto wanted = losses(embedded, weigh);
  EXPECT_NE(wanted, losses(embedded, {}));
  EXPECT_EQ(losses(embedded, {"--edge-weight", "one"}), losses(embedded, {}));
  for (const Arguments& mode : std::vector<Arguments>{
           {"--servers", all},
           {"--servers", all, "--cache", "off"},
           {"--servers", all, "--topology", "servers", "--local", own},
           {"--servers", features, "--topology", graph_},
           {"--servers", features, "--topology", graph_, "--local", own},
           {"--servers", all, "--topology", "local", "--cache-dir", Path("cache")}}) {
    SCOPED_TRACE(testing::PrintToString(mode));
    EXPECT_EQ(losses(mode, weigh), wanted);
  }
  // They come with the features: no round more, and 8 bytes an edge.
  const auto plain = Epochs({"--servers", all, "--cache", "off"}, "4,3");
  const auto weighed = Epochs({"--servers", all, "--cache", "off", "--edge-weight", "w"}, "4,3");
  EXPECT_EQ(Values(weighed, "rounds_per_minibatch"), Values(plain, "rounds_per_minibatch"));
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(weighed[epoch]["remote_bytes"].get<int64_t>(),
              plain[epoch]["remote_bytes"].get<int64_t>() +
                  8 * plain[epoch]["sampled_edges"].get<int64_t>());
  }
}

TEST_F(ModesTest, WeightsOfEdgesAreAlikeHoweverRanksAreSharedOut) {
  graph_ = Write(WeighedGraph(), "weighed");
  const std::string all = Serve();
  const auto wanted =
      Values(EpochsOfTwoRanks({"--servers", all, "--edge-weight", "w"}, "4,3"), "loss");
  EXPECT_EQ(Values(Epochs({"--graph", graph_, "--logical-ranks", "2", "--edge-weight", "w"}, "4,3"),
                   "loss"),
            wanted);
  EXPECT_NE(Values(EpochsOfTwoRanks({"--servers", all}, "4,3"), "loss"), wanted);
}

// The edges of a step are left out of what it draws, so that others move up.
TEST_F(ModesTest, LinksAreWeighedByTheEdgesThatAreLeft) {
  TestGraphSpec spec = WeighedGraph();
  TestTask links{.name = "links"};
  for (const char* const set : {"train", "valid", "test"}) {
    std::vector<int64_t> pairs;
    for (size_t e = set[1]; e < spec.relations[0].edges.size(); e += 12) {
      pairs.insert(pairs.end(),
                   {spec.relations[0].edges[e].first, spec.relations[0].edges[e].second});
    }
    links.sets.push_back({.set = set,
                          .type = spec.relations[0].triple(),
                          .edges = true,
                          .arrays = {MakeTensor("seeds", pairs, 2)}});
  }
  spec.tasks = {links};
  graph_ = Write(spec, "links");
  const std::string all = Serve();
  const auto losses = [&](const Arguments& mode) {
    Arguments given = mode;
    given.insert(given.end(), {"--held-out", "keep"});
    return Values(Epochs(given, "6,6"), "loss");
  };
  const auto wanted = losses({"--graph", graph_, "--edge-weight", "w"});
  EXPECT_EQ(losses({"--servers", all, "--edge-weight", "w"}), wanted);
  EXPECT_EQ(losses({"--graph", graph_, "--edge-weight", "one"}), losses({"--graph", graph_}));
  EXPECT_NE(losses({"--graph", graph_}), wanted);
}

TEST_F(ModesTest, WhatIsNoWeightIsNamedInEveryMode) {
  TestGraphSpec spec = WeighedGraph();
  std::vector<float> wrong(spec.relations[0].edges.size(), 1);
  wrong[777] = -0.5;
  spec.relations[0].features = {MakeTensor("w", wrong),
                                MakeTensor("pair", std::vector<float>(2 * wrong.size(), 1), 2)};
  graph_ = Write(spec, "wrong");
  const std::string all = Serve();
  for (const Arguments& mode : std::vector<Arguments>{
           {"--graph", graph_}, {"--servers", all}, {"--servers", all, "--local", OnlyPart(1)}}) {
    SCOPED_TRACE(testing::PrintToString(mode));
    const auto refused = [&](const std::string& weight, const std::vector<std::string>& texts) {
      Arguments given = mode;
      given.insert(given.end(), {"--edge-weight", weight});
      ExpectFailure(given, texts, "-1,-1");
    };
    refused("w", {"--edge-weight w: edge 777 (original id) of relation 'node:edge:node' has -0.5",
                  "fix the feature in the input"});
    refused("x", {"--edge-weight x: relation 'node:edge:node' has no such edge feature",
                  "it has 'pair', 'w'"});
    refused("pair", {"has 2 columns; a weight has one"});
  }
}

TEST_F(ModesTest, ConfigurationSaysTheMode) {
  const std::string servers = Serve();
  (void)Epochs({"--servers", servers, "--topology", graph_}, "4,3");
  const Json config = ReadLog(Path("log.jsonl")).front()["config"];
  EXPECT_EQ(config["mode"], "hybrid");
  EXPECT_EQ(config["topology"], graph_);
  EXPECT_TRUE(config["local"].is_null());
}

TEST_F(ModesTest, FilesOfAnotherGraphAreRefusedNamingBoth) {
  const std::string servers = Serve();
  const std::string other = Write(LearnableGraph(kNodes + 12, 2), "other");
  const auto identity = [](const std::string& graph) {
    auto set = PartitionSet::Open(graph, {}, VerifyLevel::kHeaders);
    EXPECT_TRUE(set.ok()) << set.status();
    return (*set)->identity();
  };
  for (const std::string option : {"--topology", "--local"}) {
    ExpectFailure({"--servers", servers, option, other},
                  {option + " " + other, identity(other), identity(graph_)});
    ExpectFailure({"--servers", servers, option, Path("nowhere")},
                  {option + " " + Path("nowhere")});
  }
}

TEST_F(ModesTest, ServersOfFeaturesDoNotDoForPartitionedTraining) {
  const std::string servers = Serve(kFeaturesOnly);
  ExpectFailure({"--servers", servers}, {servers_.front()->address(), "topology"});
}

TEST_F(ModesTest, AServerThatDiesInHybridModeIsNamedWithTheCall) {
  const std::string servers = Serve(kFeaturesOnly);
  const std::string log = Path("log.fifo");
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  Arguments options = With({"--servers", servers, "--topology", graph_}, "4,3", 1000000);
  options.insert(options.end(), {"--log", log, "--timeout", "2s"});
  RunningTrainer running(folder_.path().string(), log, options);
  running.AwaitLines(3);
  const std::string address = servers_.back()->address();
  servers_.pop_back();
  (void)running.Rest();
  const Finished finished = running.trainer.Wait();
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr(address), HasSubstr("KVService/Pull")));
}

}  // namespace
}  // namespace halograph
