#include "partitioner/run/partition_graph.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/progress.h"
#include "common/graph/partition.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/write/graph_writer.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/partition_program.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// ---- partition graph ----------------------------------------------------------------------
// The whole way from an input folder to a partition folder, and what is left when it breaks off.

class PartitionGraphTest : public testing::Test {
 protected:
  PartitionGraphTest() { Progress::Enable(false); }

  static fs::path Cora() { return fs::path(std::getenv("HALOGRAPH_TEST_DATA")) / "cora"; }

  PartitionRun RunOf(const fs::path& input, int parts = 2) {
    PartitionRun run;
    run.input = input;
    run.output = folder_.path() / "out" / "graph";
    run.options.parts = parts;
    fs::create_directories(run.output.parent_path());
    return run;
  }

  // Names beside and below the place of the output.
  std::vector<std::string> Left() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "out")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  static bool LooksWhole(const fs::path& folder) {
    return PartitionSet::Open(folder, {}, VerifyLevel::kHeaders).ok() &&
           ReadGraphManifest(folder).ok();
  }

  TestFolder folder_;
};

TEST_F(PartitionGraphTest, CoraInAnyNumberOfPartsOpensWithEveryCheck) {
  for (const int parts : {1, 2, 3, 4, 8}) {
    PartitionRun run = RunOf(Cora(), parts);
    run.replace = true;
    const auto summary = PartitionGraph(run);
    ASSERT_TRUE(summary.ok()) << summary.status();
    const auto set = PartitionSet::Open(run.output, {}, VerifyLevel::kContents);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ((*set)->book().num_parts(), parts);
    EXPECT_EQ((*set)->schema().relations[0].count, 10556);
    EXPECT_THAT(Left(), testing::ElementsAre("graph"));
    EXPECT_FALSE(fs::exists(run.output / "scratch"));
  }
}

TEST_F(PartitionGraphTest, TypedGraphsOpenWithEveryCheck) {
  const char* data = std::getenv("HALOGRAPH_DATA");
  if (data == nullptr) GTEST_SKIP() << "HALOGRAPH_DATA is not set, so typed graphs are not there";
  for (const char* name : {"aifb", "imdb-hetero", "fb15k-237"}) {
    PartitionRun run = RunOf(fs::path(data) / name, 2);
    run.replace = true;
    const auto summary = PartitionGraph(run);
    ASSERT_TRUE(summary.ok()) << name << ": " << summary.status();
    const auto set = PartitionSet::Open(run.output, {}, VerifyLevel::kContents);
    ASSERT_TRUE(set.ok()) << name << ": " << set.status();
  }
}

TEST_F(PartitionGraphTest, SameRunSameIdentityWhereverItGoes) {
  PartitionRun run = RunOf(Cora());
  const auto first = PartitionGraph(run);
  run.output = folder_.path() / "out" / "other" / "";  // a slash at the end names the same folder
  const auto second = PartitionGraph(run);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->graph.manifest.identity, second->graph.manifest.identity);
  EXPECT_TRUE(LooksWhole(folder_.path() / "out" / "other"));
}

TEST_F(PartitionGraphTest, OrderOfMethodWithoutClustersIsRefusedBeforeAnythingIsWritten) {
  PartitionRun run = RunOf(Cora());
  run.options.order = NodeOrder::kCluster;
  for (const char* method : {"metis", "random", "spring"}) {
    run.method = method;
    const auto refused = PartitionGraph(run);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
    EXPECT_THAT(Message(refused.status()),
                AllOf(HasSubstr(method), HasSubstr("--method lp-metis or stream-metis")));
    EXPECT_THAT(Left(), testing::IsEmpty());
  }
}

TEST_F(PartitionGraphTest, OrderChangesIdsButNoOwner) {
  for (const char* method : {"lp-metis", "stream-metis"}) {
    PartitionRun run = RunOf(Cora(), 3);
    run.replace = true;
    run.method = method;
    std::vector<std::vector<int64_t>> nodes[2];
    std::string identity[2];
    for (const NodeOrder order : {NodeOrder::kInput, NodeOrder::kCluster}) {
      const auto which = static_cast<size_t>(order);
      run.options.order = order;
      const auto summary = PartitionGraph(run);
      ASSERT_TRUE(summary.ok()) << summary.status();
      identity[which] = summary->graph.manifest.identity;
      EXPECT_EQ(summary->graph.manifest.options.contains("order"), order != NodeOrder::kInput);
      const auto set = PartitionSet::Open(run.output, {}, VerifyLevel::kHeaders);
      ASSERT_TRUE(set.ok()) << set.status();
      for (const auto& part : (*set)->parts()) {
        const auto ids = part->NodeOriginalIds(0);
        EXPECT_EQ(std::is_sorted(ids.begin(), ids.end()), order == NodeOrder::kInput);
        nodes[which].emplace_back(ids.begin(), ids.end());
        std::sort(nodes[which].back().begin(), nodes[which].back().end());
      }
    }
    EXPECT_EQ(nodes[0], nodes[1]) << method;
    EXPECT_NE(identity[0], identity[1]) << method;
    const auto again = PartitionGraph(run);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->graph.manifest.identity, identity[1]) << method;
  }
}

TEST_F(PartitionGraphTest, SubPartsChangeIdsButNoOwnerAndOneTrainerAPartChangesNoByte) {
  for (const char* method : {"auto", "stream-metis"}) {
    SCOPED_TRACE(method);
    PartitionRun run = RunOf(Cora(), 3);
    run.replace = true;
    run.method = method;
    const auto whole = PartitionGraph(run);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_FALSE(whole->graph.manifest.options.contains("trainers_per_part"));
    const auto manifest_of = [&](int trainers_per_part, NodeOrder order) {
      run.trainers_per_part = trainers_per_part;
      run.options.order = order;
      const auto summary = PartitionGraph(run);
      EXPECT_TRUE(summary.ok()) << summary.status();
      return summary.ok() ? summary->graph.manifest : GraphManifest();
    };
    const GraphManifest one = manifest_of(1, NodeOrder::kInput);
    EXPECT_EQ(one.identity, whole->graph.manifest.identity);
    EXPECT_EQ(one.options, whole->graph.manifest.options);

    const GraphManifest four = manifest_of(4, NodeOrder::kInput);
    EXPECT_NE(four.identity, one.identity);
    EXPECT_EQ(four.options.at("trainers_per_part"), 4);
    EXPECT_EQ(four.book, one.book) << "parts are as they were";
    EXPECT_EQ(manifest_of(4, NodeOrder::kInput).identity, four.identity);
    const auto set = PartitionSet::Open(run.output, {}, VerifyLevel::kContents);
    ASSERT_TRUE(set.ok()) << set.status();
    const Json& sizes = four.options.at("report").at("sub_parts").at("nodes").at("node");
    for (size_t part = 0; part < 3; ++part) {
      const auto ids = (*set)->parts()[part]->NodeOriginalIds(0);
      EXPECT_FALSE(std::is_sorted(ids.begin(), ids.end()));
      auto begin = ids.begin();
      for (const Json& size : sizes.at(part)) {
        const auto end = begin + size.get<int64_t>();
        EXPECT_TRUE(std::is_sorted(begin, end));
        begin = end;
      }
      EXPECT_EQ(begin, ids.end());
    }
    EXPECT_THAT(Left(), testing::ElementsAre("graph"));
  }
}

TEST_F(PartitionGraphTest, SubPartsOfRandomPartsAreRefusedBeforeAnythingIsWritten) {
  PartitionRun run = RunOf(Cora());
  run.method = "random";
  run.trainers_per_part = 2;
  const auto refused = PartitionGraph(run);
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  EXPECT_THAT(Message(refused.status()), HasSubstr("method random"));
  EXPECT_THAT(Left(), testing::IsEmpty());
}

TEST_F(PartitionGraphTest, ClustersAreRunsOfAPartInEveryOrderAndKeepItsSubParts) {
  for (const NodeOrder order : {NodeOrder::kInput, NodeOrder::kCluster}) {
    for (const int trainers : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} trainers, order {}", trainers, ToString(order)));
      PartitionRun run = RunOf(Cora(), 3);
      run.replace = true;
      run.method = "stream-metis";
      run.trainers_per_part = trainers;
      run.options.order = order;
      const auto without = PartitionGraph(run);
      ASSERT_TRUE(without.ok()) << without.status();
      EXPECT_FALSE(without->graph.manifest.clusters);
      EXPECT_FALSE(without->graph.manifest.options.contains("batch_clusters"));
      run.batch_clusters = 7;
      const auto made = PartitionGraph(run);
      ASSERT_TRUE(made.ok()) << made.status();
      const GraphManifest& manifest = made->graph.manifest;
      EXPECT_TRUE(manifest.clusters);
      EXPECT_EQ(manifest.options.at("batch_clusters"), 7);
      EXPECT_NE(manifest.identity, without->graph.manifest.identity);
      EXPECT_EQ(manifest.book, without->graph.manifest.book) << "parts are as they were";
      const auto again = PartitionGraph(run);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->graph.manifest.identity, manifest.identity);

      const auto set = PartitionSet::Open(run.output, {}, VerifyLevel::kContents);
      ASSERT_TRUE(set.ok()) << set.status();
      int64_t within = 0, counted = 0;
      for (const auto& part : (*set)->parts()) {
        const auto bounds = part->ClusterBounds();
        ASSERT_EQ(bounds.size(), 8U);
        const auto ids = part->NodeOriginalIds(0);
        const int64_t first = bounds.front();
        bool ascending = true;
        for (size_t c = 0; c < 7; ++c) {
          ascending = ascending && std::is_sorted(ids.begin() + (bounds[c] - first),
                                                  ids.begin() + (bounds[c + 1] - first));
        }
        EXPECT_EQ(ascending, order == NodeOrder::kInput);
        const CscSegment& csc = part->Edges(0);
        for (int64_t v = 0; v < csc.nodes.size(); ++v) {
          const auto end = std::upper_bound(bounds.begin(), bounds.end(), first + v);
          for (int64_t e = csc.indptr[v]; e < csc.indptr[v + 1]; ++e) {
            within += csc.indices32[e] >= end[-1] && csc.indices32[e] < *end ? 1 : 0;
          }
        }
        counted += manifest.part_stats[static_cast<size_t>(part->part())]
                       .at("edges_within_clusters")
                       .get<int64_t>();
      }
      EXPECT_EQ(counted, within);
      EXPECT_GT(within, 10556 * 7 / 10) << "METIS keeps most edges";
      EXPECT_THAT(Left(), testing::ElementsAre("graph"));
    }
  }
}

TEST_F(PartitionGraphTest, ClustersThatTakeMoreMemoryThanThereIsAreRefusedWithTheSize) {
  PartitionRun run = RunOf(Cora());
  run.method = "random";
  run.batch_clusters = 4;
  ASSERT_TRUE(PartitionGraph(run).ok());
  run.replace = true;
  run.memory = kProgramBytes + (int64_t{5} << 20);
  const auto refused = PartitionGraph(run);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  EXPECT_THAT(Message(refused.status()), HasSubstr("owners, clusters and keys"));
}

TEST_F(PartitionGraphTest, ExistingOutputStaysUnlessReplaced) {
  PartitionRun run = RunOf(Cora());
  ASSERT_TRUE(PartitionGraph(run).ok());
  run.options.parts = 3;
  const auto refused = PartitionGraph(run);
  EXPECT_TRUE(absl::IsAlreadyExists(refused.status())) << refused.status();
  EXPECT_THAT(Message(refused.status()), HasSubstr("--force"));
  EXPECT_EQ(ReadGraphManifest(run.output)->book.num_parts(), 2);
  run.replace = true;
  ASSERT_TRUE(PartitionGraph(run).ok());
  EXPECT_EQ(ReadGraphManifest(run.output)->book.num_parts(), 3);
  EXPECT_THAT(Left(), testing::ElementsAre("graph"));
}

TEST_F(PartitionGraphTest, ForeignFolderAndTheInputAreNotReplaced) {
  PartitionRun run = RunOf(Cora());
  run.replace = true;
  fs::create_directories(run.output / "thesis");
  EXPECT_TRUE(absl::IsAlreadyExists(PartitionGraph(run).status()));
  EXPECT_TRUE(fs::exists(run.output / "thesis"));
  const fs::path copy = folder_.path() / "out" / "home" / "cora";
  fs::create_directories(copy.parent_path());
  fs::copy(Cora(), copy, fs::copy_options::recursive);
  run.input = copy;
  for (const fs::path& output : {copy, copy.parent_path()}) {
    run.output = output;
    const Status status = PartitionGraph(run).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(fs::exists(copy / "metadata.yaml")) << output;
  }
}

TEST_F(PartitionGraphTest, FailedRunLeavesNothingAndKeepsTheOldOutput) {
  PartitionRun run = RunOf(Cora());
  ASSERT_TRUE(PartitionGraph(run).ok());
  run.replace = true;
  run.options.parts = 100000;
  EXPECT_TRUE(absl::IsInvalidArgument(PartitionGraph(run).status()));
  run.input = folder_.path() / "nowhere";
  EXPECT_FALSE(PartitionGraph(run).ok());
  EXPECT_THAT(Left(), testing::ElementsAre("graph"));
  EXPECT_TRUE(LooksWhole(run.output));
}

// Runs in a child, since limits and kills are of a whole process. Returns its wait status.
template <typename Body>
int InChild(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST_F(PartitionGraphTest, FullDiskIsResourceExhaustedAndLeavesNothing) {
  const PartitionRun run = RunOf(Cora());
  const fs::path message = folder_.path() / "message";
  const int status = InChild([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 1 << 20};  // the features of a part need more
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto summary = PartitionGraph(run);
    std::ofstream(message) << Message(summary.status());
    return absl::IsResourceExhausted(summary.status()) ? 0 : 1;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::ostringstream text;
  text << std::ifstream(message).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("feat.npy"));
  EXPECT_TRUE(Left().empty());
}

// Kills a run at the first moment at which `path` (within its folder) exists.
TEST_F(PartitionGraphTest, KilledRunLeavesNothingThatLooksWhole) {
  const PartitionRun run = RunOf(Cora());
  for (const char* path : {"part-0000/edges", "part-0001/nodes/node/halo_ids.npy",
                           "part-0000/manifest.json", "part-0001/manifest.json"}) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(PartitionGraph(run).ok() ? 0 : 1);
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      const auto left = Left();
      if (left.empty() || !fs::exists(folder_.path() / "out" / left.front() / path)) continue;
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    if (!fs::exists(run.output)) {
      EXPECT_FALSE(WIFEXITED(status)) << path;
      continue;
    }
    // It was done before it could be killed, though maybe not yet at its end.
    EXPECT_TRUE(LooksWhole(run.output)) << path;
    fs::remove_all(run.output);
  }
  // The next run clears what they left.
  ASSERT_TRUE(PartitionGraph(run).ok());
  EXPECT_THAT(Left(), testing::ElementsAre("graph"));
}

// ---- command line -------------------------------------------------------------------------

using CommandLineTest = ProgramFixture;

TEST_F(CommandLineTest, RunThenInspect) {
  ASSERT_EQ(Call({"run", "--input", Cora(), "--output", Path("g"), "--parts", "2"}), 0) << error_;
  EXPECT_THAT(
      out_, AllOf(HasSubstr("edge cut"), HasSubstr("edges read 10,556"), HasSubstr("peak memory")));
  ASSERT_EQ(Call({"inspect", "--graph", Path("g"), "--json"}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("\"edge_cut\""));
}

TEST_F(CommandLineTest, GeneratedGraphsPartitionAndVerify) {
  const std::vector<std::vector<std::string>> kinds = {
      {"sbm", "--nodes", "500", "--edges", "3000", "--features", "4", "--classes", "3"},
      {"rmat", "--log2-nodes", "9", "--edges", "3000", "--undirected"}};
  for (const auto& kind : kinds) {
    std::vector<std::string> generate = {"generate"};
    generate.insert(generate.end(), kind.begin(), kind.end());
    generate.insert(generate.end(), {"--seed", "1", "--force", "--output", Path("in")});
    ASSERT_EQ(Call(generate), 0) << error_;
    ASSERT_EQ(Call({"run", "--input", Path("in"), "--output", Path("g"), "--parts", "3", "--force",
                    "--duplicates", "drop", "--self-loops", "drop"}),
              0)
        << error_;
    EXPECT_EQ(Call({"verify", "--input", Path("in"), "--graph", Path("g")}), 0) << out_ << error_;
    EXPECT_THAT(out_, HasSubstr("complete"));
  }
}

TEST_F(CommandLineTest, InspectShowsWhatAnInputHoldsBeforeItIsPartitioned) {
  ASSERT_EQ(Call({"inspect", "--input", Cora()}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("node type node: 2,708 nodes; features feat"),
                          HasSubstr("task node_classification: 7 classes; 140 train, 500 valid"),
                          HasSubstr("train set: 140 of 140 seeds are labelled; 7 of 7 classes")));
  ASSERT_EQ(Call({"inspect", "--input", Cora(), "--json"}), 0) << error_;
  const auto json = ParseJson(out_, "stdout");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->at("schema").at("relations")[0].at("count"), 10556);
  EXPECT_EQ(json->at("labels").size(), 3U);
  EXPECT_EQ(json->at("warnings"), Json::array());
  EXPECT_EQ(Call({"inspect"}), 2);
  EXPECT_EQ(Call({"inspect", "--graph", "x", "--input", "y"}), 2);
  EXPECT_EQ(Call({"inspect", "--input", Path("nowhere")}), 1);
}

TEST_F(CommandLineTest, NamesThatAreNoTextAreJsonAllTheSame) {
  // A byte that is no UTF-8, a sign that turns the direction of writing, and DEL.
  const std::string input = Path("no\xff-text\xe2\x80\xae\x7f.txt");
  std::ofstream(input) << "0 1\n1 2\n";
  ASSERT_EQ(Call({"inspect", "--json", "--input", input}), 0) << error_;
  const auto json = ParseJson(out_, "stdout");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(out_, testing::Each(AllOf(testing::Ge('\n'), testing::Lt('\x7f'))));
}

TEST_F(CommandLineTest, NamesOfOthersCannotDriveTheTerminal) {
  const std::string input = Path("red\x1b[31m.txt");
  std::ofstream(input) << "0 1\n1 2\n";
  ASSERT_EQ(Call({"inspect", "--input", input}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("red\\x1b[31m"), Not(HasSubstr("\x1b"))));
  ASSERT_EQ(Call({"run", "--input", input, "--output", Path("g"), "--parts", "1"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("red\\x1b[31m"), Not(HasSubstr("\x1b"))));
  ASSERT_EQ(Call({"inspect", "--graph", Path("g")}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("red\\x1b[31m"), Not(HasSubstr("\x1b"))));
}

TEST_F(CommandLineTest, VerifyAgainstAnotherGraphIsOneAndNamesDifferences) {
  ASSERT_EQ(Call({"generate", "rmat", "--log2-nodes", "5", "--output", Path("a")}), 0) << error_;
  ASSERT_EQ(Call({"generate", "rmat", "--log2-nodes", "6", "--output", Path("b")}), 0) << error_;
  ASSERT_EQ(Call({"run", "--input", Path("a"), "--output", Path("g"), "--parts", "2"}), 0)
      << error_;
  EXPECT_EQ(Call({"verify", "--input", Path("b"), "--graph", Path("g")}), 1);
  EXPECT_THAT(out_, HasSubstr("64"));
  EXPECT_THAT(error_,
              AllOf(testing::StartsWith("halograph-partition: "), HasSubstr("differences")));
}

TEST_F(CommandLineTest, QuietRunPrintsNothing) {
  ASSERT_EQ(Call({"run", "--input", Cora(), "--output", Path("g"), "--parts", "2", "--quiet"}), 0);
  EXPECT_EQ(out_ + error_, "");
}

TEST_F(CommandLineTest, WrongUsageIsTwoWithOneLine) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"dance"},
      {"run"},
      {"run", "--input", "x", "--output", "y"},
      {"run", "--input", "x", "--output", "y", "--parts", "0"},
      {"run", "--input", "x", "--output", "y", "--parts", "two"},
      {"run", "--input", "x", "--output", "y", "--parts", "2", "--method", "magic"},
      {"run", "--input", "x", "--output", "y", "--parts", "2", "--balance", "halo"},
      {"run", "--input", "x", "--output", "y", "--parts", "2", "--self-loops", "maybe"},
      {"run", "--input", "x", "--output", "y", "--parts", "2", "--format", "parquet"},
      {"inspect"},
      {"generate"},
      {"generate", "sbm"},
      {"generate", "rmat", "--output", "x", "--edges", "many"},
      {"verify", "--input", "x"},
      {"inspect", "--graph", "x", "--log-level", "loud"},
  };
  for (const auto& words : wrong) {
    EXPECT_EQ(Call(words), 2) << testing::PrintToString(words);
    EXPECT_THAT(error_, testing::StartsWith("halograph-partition: "));
    EXPECT_EQ(std::count(error_.begin(), error_.end(), '\n'), 1) << error_;
  }
}

TEST_F(CommandLineTest, FailureIsOneWithOneLine) {
  EXPECT_EQ(Call({"run", "--input", Path("nowhere"), "--output", Path("g"), "--parts", "2"}), 1);
  EXPECT_THAT(error_, AllOf(testing::StartsWith("halograph-partition: "), HasSubstr("nowhere")));
  EXPECT_EQ(std::count(error_.begin(), error_.end(), '\n'), 1) << error_;
  EXPECT_EQ(Call({"inspect", "--graph", Path("nowhere")}), 1);
  EXPECT_THAT(error_, HasSubstr("nowhere"));
}

TEST_F(CommandLineTest, HelpAndVersionAreDone) {
  for (const char* word : {"--help", "--version"}) {
    EXPECT_EQ(Call({word}), 0);
    EXPECT_THAT(out_, HasSubstr("halograph-partition"));
  }
  EXPECT_EQ(Call({"run", "--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("--balance"));
}

// ---- inspect ------------------------------------------------------------------------------

class InspectGraphTest : public testing::Test {
 protected:
  // Part 0 owns 0, 1, 2, part 1 owns 3; 0 -> 1 and 2 -> 1 stay, 3 -> 0 and 0 -> 3, 1 -> 3 cross.
  void SetUp() override {
    DatasetBuilder builder;
    builder.Nodes("node", 4)
        .NodeFeature("feat", std::vector<float>{1, 2, 3, 4}, 0)
        .Edges("node", "edge", "node", {{0, 1}, {2, 1}, {3, 0}, {0, 3}, {1, 3}})
        .TaskSet("train", "node", false, {0, 3});
    auto numbering = Renumbering::Create(builder.dataset(), {{{0, 0, 0, 1}}, {}}, 2);
    ASSERT_TRUE(numbering.ok()) << numbering.status();
    graph_ = folder_.path() / "graph";
    ASSERT_TRUE(MakeFolder(graph_).ok());
    const auto written = WriteGraph({builder.dataset(), *numbering, graph_, {}}, Json::object());
    ASSERT_TRUE(written.ok()) << written.status();
  }
  TestFolder folder_;
  std::filesystem::path graph_;
};

TEST_F(InspectGraphTest, CountsByHand) {
  const auto summary = InspectGraph(graph_);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->nodes, 4);
  EXPECT_EQ(summary->edges, 5);
  EXPECT_EQ(summary->edge_cut, 3);
  EXPECT_DOUBLE_EQ(summary->edge_cut_share(), 0.6);
  EXPECT_DOUBLE_EQ(summary->replication_factor, (4.0 + 3) / 4);  // halo: 3; 0 and 1
  EXPECT_DOUBLE_EQ(summary->balance.at("nodes"), 1.5);
  EXPECT_DOUBLE_EQ(summary->balance.at("edges"), 3 / 2.5);
  EXPECT_DOUBLE_EQ(summary->balance.at("train"), 1);
  EXPECT_FALSE(summary->balance.contains("valid"));
  EXPECT_EQ(summary->parts[1].halo_nodes, 2);
  EXPECT_EQ(summary->parts[0].edges, 3);
}

TEST_F(InspectGraphTest, JsonHasTheCutAtTheTop) {
  const Json json = ToJson(*InspectGraph(graph_));
  EXPECT_EQ(json["edge_cut"], 3);
  EXPECT_EQ(json["parts"][0]["core_nodes"], 3);
  EXPECT_EQ(json["parts"][1]["task_rows"]["train"], 1);
  EXPECT_EQ(json["schema"]["node_types"][0]["name"], "node");
  EXPECT_EQ(json["schema"]["tasks"][0]["metadata"]["num_classes"], 3);
}

TEST_F(InspectGraphTest, TableNamesCutAndBalance) {
  const std::string table = FormatTable(*InspectGraph(graph_));
  EXPECT_THAT(table, HasSubstr("edge cut 3 of 5 edges (60.0 %)"));
  EXPECT_THAT(table, HasSubstr("nodes 1.500"));
}

TEST_F(InspectGraphTest, TableNamesTypesRelationsFeaturesAndTasks) {
  EXPECT_THAT(FormatTable(*InspectGraph(graph_)),
              AllOf(HasSubstr("node type node: 4 nodes; features feat float32[1]\n"),
                    HasSubstr("relation node:edge:node: 5 edges; no features\n"),
                    HasSubstr("task task: 3 classes; 2 train seeds of node; no labels\n")));
}

TEST(DescribeSchemaTest, TablesForSamplingLabelsAndOfManyRelationsTheFirst) {
  Schema schema;
  schema.node_types = {{.name = "a", .count = 1234, .features = {}}};
  for (int i = 0; i < 30; ++i) {
    schema.relations.push_back({"a", fmt::format("r{:02}", i), "a", i, {}});
  }
  schema.relations[0].features = {{.name = "w", .rank = 1, .sampling = true}};
  schema.tasks = {{.name = "t",
                   .sets = {{"train", "a", false, 5, {{.name = "seeds"}, {.name = "labels"}}},
                            {"train", "b", false, 6, {{.name = "seeds"}}},
                            {"test", "a", false, 7, {{.name = "seeds"}}}}}};
  const std::string text = DescribeSchema(schema);
  EXPECT_THAT(text, HasSubstr("node type a: 1,234 nodes; no features\n"));
  EXPECT_THAT(text, HasSubstr("r00:a: 0 edges; features w float32[1] (with tables for weighted"));
  EXPECT_THAT(text, HasSubstr("relation a:r23:a"));
  EXPECT_THAT(text, testing::Not(HasSubstr("relation a:r24:a")));
  EXPECT_THAT(text, HasSubstr("and 6 more relations"));
  EXPECT_THAT(text, HasSubstr("task t: 11 train, 7 test seeds of 2 types; labels float32\n"));
}

// Part 0 has clusters {0, 2} and {1}, part 1 has {3}.
TEST_F(InspectGraphTest, ToldOfClustersAreNumberSizesAndShareOfEdges) {
  EXPECT_FALSE(InspectGraph(graph_)->clusters.has_value());
  EXPECT_FALSE(ToJson(*InspectGraph(graph_)).contains("clusters"));
  DatasetBuilder builder;
  builder.Nodes("node", 4).Edges("node", "edge", "node",
                                 {{0, 2}, {2, 1}, {3, 0}, {0, 3}, {1, 1}, {2, 0}});
  Assignment assignment;
  assignment.owners = {{0, 0, 0, 1}};
  assignment.clusters = {{0, 1, 0, 0}};
  assignment.num_clusters = {2, 1};
  auto numbering = Renumbering::Create(builder.dataset(), std::move(assignment), 2);
  ASSERT_TRUE(numbering.ok()) << numbering.status();
  const std::filesystem::path graph = folder_.path() / "clusters";
  ASSERT_TRUE(MakeFolder(graph).ok());
  const Json report = {
      {"clusters", {{"parts", {2, 1}}, {"nodes", {{"least", 1}, {"median", 1}, {"most", 2}}}}}};
  const auto written =
      WriteGraph({builder.dataset(), *numbering, graph, {}}, Json{{"report", report}});
  ASSERT_TRUE(written.ok()) << written.status();
  const auto summary = InspectGraph(graph);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(ToJson(*summary)["clusters"],
            (Json{{"count", 3},
                  {"nodes", {{"least", 1}, {"median", 1}, {"most", 2}}},
                  {"edges_within", 3},  // 0 -> 2, 2 -> 0 and the loop
                  {"edges_within_share", 0.5}}));
  EXPECT_THAT(FormatTable(*summary),
              HasSubstr("clusters of minibatches: 3, of 1 to 2 nodes (median 1); 3 of 6 edges "
                        "(50.0 %) are within one\n"));
  GraphManifest without = written->manifest;
  without.options["report"].erase("clusters");
  EXPECT_TRUE(absl::IsDataLoss(SummaryOf(without, graph).status()));
}

TEST_F(InspectGraphTest, MissingPartIsNamed) {
  std::filesystem::remove_all(graph_ / "part-0001");
  const auto summary = InspectGraph(graph_);
  EXPECT_TRUE(absl::IsNotFound(summary.status())) << summary.status();
  EXPECT_THAT(Message(summary.status()),
              AllOf(HasSubstr("part 1 of 2 is missing"), HasSubstr("part-0001")));
}

TEST_F(InspectGraphTest, TruncatedFileIsNamed) {
  const auto path = graph_ / "part-0000" / "nodes" / "node" / "features" / "feat.npy";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const auto summary = InspectGraph(graph_);
  EXPECT_TRUE(absl::IsDataLoss(summary.status())) << summary.status();
  EXPECT_THAT(Message(summary.status()), HasSubstr("feat.npy"));
}

TEST(FormatTableTest, OfManyTypesSomeBalancesAreListed) {
  GraphSummary summary;
  for (int type = 0; type < 60; ++type) summary.balance[fmt::format("nodes/t{:02}", type)] = type;
  const std::string text = FormatTable(summary);
  EXPECT_THAT(text, testing::HasSubstr("balance (max / mean): nodes/t00 0.000, nodes/t01 1.000, "));
  EXPECT_THAT(text, testing::HasSubstr("nodes/t19 19.000 and 40 more\n"));
}

}  // namespace
}  // namespace halograph
