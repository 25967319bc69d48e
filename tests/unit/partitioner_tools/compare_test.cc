#include "partitioner/compare/compare.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>

#include "common/storage/file.h"
#include "partitioner/compare/cache_forecast.h"
#include "partitioner/compare/method_run.h"
#include "partitioner/compare/plot.h"
#include "partitioner/inspect/quality.h"
#include "partitioner/methods/random_method.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/write/graph_writer.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/partition_program.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- quality ------------------------------------------------------------------------------

// Part 0 owns 0, 1, 2, part 1 owns 3; 0 -> 1 and 2 -> 1 stay, 3 -> 0 and 0 -> 3, 1 -> 3 cross.
class SmallGraph {
 public:
  SmallGraph() {
    builder_.Nodes("node", 4)
        .Edges("node", "edge", "node", {{0, 1}, {2, 1}, {3, 0}, {0, 3}, {1, 3}})
        .TaskSet("train", "node", false, {0, 3});
  }
  [[nodiscard]] const Dataset& dataset() const { return builder_.dataset(); }

 private:
  DatasetBuilder builder_;
};

TEST(QualityTest, CountsByHand) {
  const SmallGraph graph;
  const auto quality = QualityOf(graph.dataset(), {{{0, 0, 0, 1}}, {}}, 2);
  ASSERT_TRUE(quality.ok()) << quality.status();
  EXPECT_EQ(quality->nodes, 4);
  EXPECT_EQ(quality->edges, 5);
  EXPECT_EQ(quality->edge_cut, 3);
  EXPECT_DOUBLE_EQ(quality->replication_factor, (4.0 + 3) / 4);  // halo: 3; 0 and 1
  EXPECT_DOUBLE_EQ(quality->balance.at("nodes"), 1.5);
  EXPECT_DOUBLE_EQ(quality->balance.at("edges"), 3 / 2.5);
  EXPECT_DOUBLE_EQ(quality->balance.at("train"), 1);
  EXPECT_FALSE(quality->balance.contains("valid"));
  EXPECT_EQ(quality->parts[1].halo_nodes, 2);
}

class TypedGraph {
 public:
  TypedGraph() {
    EdgePairs loops = RandomEdges(40, 40, 150, 3);
    for (int64_t i = 0; i < 40; ++i) loops.emplace_back(i / 2, i / 2);  // self-loops, parallel ones
    builder_.Nodes("actor", 40)
        .Nodes("empty", 0)
        .Nodes("movie", 70)
        .Edges("actor", "in", "movie", RandomEdges(40, 50, 200, 4))
        .Edges("actor", "knows", "actor", loops)
        .Edges("movie", "no", "movie", {})
        .TaskSet("train", "movie", false, {1, 2, 3, 60, 61})
        .TaskSet("test", "actor:in:movie", true, {0, 1, 5, 7, 9, 11}, 2);
  }
  [[nodiscard]] const Dataset& dataset() const { return builder_.dataset(); }

 private:
  DatasetBuilder builder_;
};

// The same figures as `inspect` gives of the folder that is written.
TEST(QualityTest, AgreesWithInspectOfTheWrittenFolder) {
  const TypedGraph graph;
  for (const int parts : {1, 2, 3, 9}) {
    const MethodOptions options{.parts = parts, .seed = 7};
    const Assignment assignment = *RandomMethod().Assign(graph.dataset(), options);
    const auto quality = QualityOf(graph.dataset(), assignment, parts);
    ASSERT_TRUE(quality.ok()) << quality.status();

    const TestFolder folder;
    const auto numbering = Renumbering::Create(graph.dataset(), assignment, parts);
    ASSERT_TRUE(numbering.ok()) << numbering.status();
    const auto output = folder.path() / "graph";
    ASSERT_TRUE(MakeFolder(output).ok());
    const auto written = WriteGraph({graph.dataset(), *numbering, output, {}}, Json::object());
    ASSERT_TRUE(written.ok()) << written.status();
    const auto inspected = InspectGraph(output);
    ASSERT_TRUE(inspected.ok()) << inspected.status();

    Json expected = ToJson(*inspected);
    Json found = ToJson(*quality);
    for (Json* json : {&expected, &found}) {  // what only a folder has
      for (const char* key : {"identity", "build", "options", "schema"}) json->erase(key);
      for (Json& part : json->at("parts")) part.erase("bytes");
    }
    EXPECT_EQ(found, expected) << parts << " partitions";
  }
}

TEST(QualityTest, RangesOfPartitionsGiveTheSame) {
  const TypedGraph graph;
  const MethodOptions options{.parts = 9, .seed = 7};
  const Assignment assignment = *RandomMethod().Assign(graph.dataset(), options);
  const auto whole = QualityOf(graph.dataset(), assignment, 9);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const int64_t memory : {0, 14, 28, 60}) {  // 110 nodes: 14 bytes a partition
    const auto ranges = QualityOf(graph.dataset(), assignment, 9, memory);
    ASSERT_TRUE(ranges.ok()) << ranges.status();
    EXPECT_EQ(ToJson(*ranges), ToJson(*whole)) << memory << " bytes";
  }
}

TEST(QualityTest, GraphWithoutEdges) {
  DatasetBuilder builder;
  builder.Nodes("node", 3);
  const auto quality = QualityOf(builder.dataset(), {{{0, 1, 1}}, {}}, 2);
  ASSERT_TRUE(quality.ok()) << quality.status();
  EXPECT_EQ(quality->edge_cut, 0);
  EXPECT_DOUBLE_EQ(quality->replication_factor, 1);
  EXPECT_FALSE(quality->balance.contains("edges"));
}

TEST(QualityTest, AssignmentThatDoesNotFitIsInternal) {
  const SmallGraph graph;
  for (const Assignment& wrong : std::vector<Assignment>{
           {{}, {}}, {{{0, 0, 0}}, {}}, {{{0, 0, 0, 2}}, {}}, {{{0, 0, 0, 1}, {0}}, {}}}) {
    const auto quality = QualityOf(graph.dataset(), wrong, 2);
    EXPECT_TRUE(absl::IsInternal(quality.status())) << quality.status();
  }
  EXPECT_THAT(Message(QualityOf(graph.dataset(), {{{0, 0, 0, 2}}, {}}, 2).status()),
              AllOf(HasSubstr("node 3"), HasSubstr("owner 2")));
}

// ---- compare ------------------------------------------------------------------------------

TEST(ParseMethodWordTest, NameAndRule) {
  MethodOptions options;
  EXPECT_EQ(*ParseMethodWord("metis", &options), "metis");
  EXPECT_EQ(options.edge.owner, OwnerRule::kMajority);
  for (const std::string& method : MethodsThatTake("owner")) {
    EXPECT_EQ(*ParseMethodWord(method + ":random", &options), method);
    EXPECT_EQ(options.edge.owner, OwnerRule::kRandom);
    EXPECT_EQ(*ParseMethodWord(method + ":majority", &options), method);
    EXPECT_EQ(options.edge.owner, OwnerRule::kMajority);
  }
  for (const char* wrong : {"magic", "", "hdrf:first", "metis:random", ":random"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseMethodWord(wrong, &options).status())) << wrong;
  }
}

class CompareTest : public testing::Test {
 protected:
  void SetUp() override {
    builder_.Nodes("node", 400)
        .NodeFeature("feat", std::vector<float>(1200, 1), 3)
        .Edges("node", "edge", "node", RingsOfNodes(4, 100));
    ASSERT_TRUE(MakeFolder(Scratch()).ok());
  }
  [[nodiscard]] const Dataset& dataset() const { return builder_.dataset(); }
  std::filesystem::path Scratch() { return folder_.path() / "scratch"; }
  bool ScratchIsEmpty() { return std::filesystem::is_empty(Scratch()); }

  TestFolder folder_;
  DatasetBuilder builder_;
};

TEST_F(CompareTest, RunInAChildGivesWhatTheMethodGives) {
  for (const std::string& name : MethodNames()) {
    const MethodOptions options{.parts = 4, .seed = 5};
    const auto run = RunMethodInChild(dataset(), name, options, Scratch());
    ASSERT_TRUE(run.ok()) << run.status();
    MethodOptions direct = options;
    direct.scratch = folder_.path() / "direct";
    ASSERT_TRUE(MakeFolder(direct.scratch).ok());
    const auto assignment = (*MakeMethod(name))->Assign(dataset(), direct);
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    EXPECT_EQ(run->assignment.owners, assignment->owners) << name;
    EXPECT_EQ(run->assignment.report, assignment->report) << name;
    EXPECT_TRUE(ScratchIsEmpty()) << name;
  }
}

TEST_F(CompareTest, FailureInAChildKeepsItsStatus) {
  const auto many = RunMethodInChild(dataset(), "metis", {.parts = 401}, Scratch());
  EXPECT_TRUE(absl::IsInvalidArgument(many.status())) << many.status();
  EXPECT_THAT(Message(many.status()), HasSubstr("401 partitions"));
  MethodOptions tight;
  tight.memory = 1 << 20;
  const auto large = RunMethodInChild(dataset(), "metis", tight, Scratch());
  EXPECT_TRUE(absl::IsResourceExhausted(large.status())) << large.status();
  EXPECT_TRUE(
      absl::IsInvalidArgument(RunMethodInChild(dataset(), "magic", {}, Scratch()).status()));
  EXPECT_TRUE(ScratchIsEmpty());
}

// One minibatch a partition of all its nodes, all in-edges of one layer: its remote nodes are the
// halo nodes, counted by other code.
TEST_F(CompareTest, RemoteNodesOfWholePartitionsAreTheirHaloNodes) {
  const auto topology = WholeTopology::Create(dataset(), Scratch(), kQualityBytes);
  ASSERT_TRUE(topology.ok()) << topology.status();
  for (const int parts : {1, 3, 4}) {
    const MethodOptions options{.parts = parts, .seed = 2};
    const Assignment assignment = *(*MakeMethod("random"))->Assign(dataset(), options);
    const SamplingPlan plan{.fanouts = {-1}, .batch_size = 400, .batches = 5};
    const auto cost = MeasureRemoteCost(*topology, dataset(), assignment, parts, plan);
    ASSERT_TRUE(cost.ok()) << cost.status();
    const auto quality = QualityOf(dataset(), assignment, parts);
    ASSERT_TRUE(quality.ok()) << quality.status();
    int64_t halo = 0, most = 0;
    for (const PartSummary& part : quality->parts) {
      halo += part.halo_nodes;
      most = std::max(most, part.halo_nodes);
    }
    EXPECT_EQ(cost->batches, parts);
    EXPECT_DOUBLE_EQ(cost->remote_nodes, static_cast<double>(halo) / parts);
    EXPECT_DOUBLE_EQ(cost->remote_bytes, 12.0 * static_cast<double>(halo) / parts);
    EXPECT_DOUBLE_EQ(cost->worst_remote_bytes, 12.0 * static_cast<double>(most));
    EXPECT_DOUBLE_EQ(cost->input_nodes, (400.0 + static_cast<double>(halo)) / parts);
  }
}

TEST_F(CompareTest, SeedsAreTheTrainingSetWhereThereIsOne) {
  builder_.TaskSet("train", "node", false, {0, 1, 2, 399});
  const auto topology = WholeTopology::Create(dataset(), Scratch(), kQualityBytes);
  ASSERT_TRUE(topology.ok()) << topology.status();
  Assignment halves;
  halves.owners.emplace_back(400, uint16_t{0});
  std::fill(halves.owners[0].begin() + 200, halves.owners[0].end(), uint16_t{1});
  const SamplingPlan plan{.fanouts = {0}, .batch_size = 2, .batches = 5};
  const auto cost = MeasureRemoteCost(*topology, dataset(), halves, 2, plan);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->batches, 3);  // 2 and 1 seeds of one partition, 1 of the other
  EXPECT_DOUBLE_EQ(cost->input_nodes, 4.0 / 3);
  EXPECT_DOUBLE_EQ(cost->remote_nodes, 0);
}

// The likelier rows of node type 0 are kept first, 12 bytes each; type 1 has rows of 4, type 2
// none.
TEST(RemoteShareLeftTest, KeepsTheRowsThatAreMostLikelyRead) {
  const NodeChances chances = {{0.9F, 0.5F, 0.25F, 0}, {0.75F, 0.25F}, {1}};
  Assignment assignment;
  assignment.owners = {{0, 1, 1, 1}, {1, 1}, {1}};
  const std::vector<int64_t> row_bytes = {12, 4, 0};
  const auto left = [&](int part, int64_t memory) {
    return RemoteShareLeft(chances, assignment, part, row_bytes, memory);
  };
  const double all = 12 * 0.75 + 4 * 1.0;
  EXPECT_DOUBLE_EQ(left(0, 0), 1);
  EXPECT_DOUBLE_EQ(left(0, 4), 1 - 4 * 0.75 / all);
  EXPECT_DOUBLE_EQ(left(0, 16), 1 - (4 * 0.75 + 12 * 0.5) / all);
  EXPECT_DOUBLE_EQ(left(0, 1000), 0);
  EXPECT_DOUBLE_EQ(left(1, 0), 1);
  EXPECT_DOUBLE_EQ(left(1, 12), 0);  // it owns all but one row
}

TEST_F(CompareTest, AnEpochHasTheMinibatchesOfAllPartitionsAndACacheOfAllRowsSavesTheirBytes) {
  const auto topology = WholeTopology::Create(dataset(), Scratch(), kQualityBytes);
  ASSERT_TRUE(topology.ok()) << topology.status();
  const Assignment assignment = *(*MakeMethod("random"))->Assign(dataset(), {.parts = 2});
  double before = 0;
  for (const int64_t memory : {0, 12, 12 * 100, 12 * 400}) {
    const SamplingPlan plan{
        .fanouts = {4, 3}, .batch_size = 30, .batches = 2, .cache_memory = memory};
    const auto cost = MeasureRemoteCost(*topology, dataset(), assignment, 2, plan);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_EQ(cost->batches, 4);
    EXPECT_NEAR(static_cast<double>(cost->epoch_batches), 400.0 / 30, 2);
    EXPECT_GT(cost->epoch_remote_bytes, 0);
    if (memory == 0) {
      EXPECT_DOUBLE_EQ(cost->epoch_bytes_with_cache, cost->epoch_remote_bytes);
    } else {
      EXPECT_LT(cost->epoch_bytes_with_cache, before) << memory;
    }
    before = cost->epoch_bytes_with_cache;
  }
  EXPECT_DOUBLE_EQ(before, 0);
}

TEST_F(CompareTest, SamplingPlanThatMakesNoSenseIsRefused) {
  const auto topology = WholeTopology::Create(dataset(), Scratch(), kQualityBytes);
  ASSERT_TRUE(topology.ok()) << topology.status();
  const Assignment one = *(*MakeMethod("random"))->Assign(dataset(), {.parts = 1});
  for (const SamplingPlan& plan : std::vector<SamplingPlan>{
           {.fanouts = {}}, {.batch_size = 0}, {.batches = 0}, {.cache_memory = -1}}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(MeasureRemoteCost(*topology, dataset(), one, 1, plan).status()));
  }
  EXPECT_TRUE(absl::IsOutOfRange(
      MeasureRemoteCost(*topology, dataset(), one, 1, {.fanouts = {-2}}).status()));
}

TEST_F(CompareTest, MethodThatFailsIsARowWithItsReason) {
  CompareOptions options;
  options.methods = {"metis", "random"};
  options.parts = {2, 3};
  options.method.memory = kProgramBytes + (1 << 20);  // METIS needs more
  options.sampling = {.fanouts = {5}, .batch_size = 10, .batches = 2};
  const auto rows = CompareMethods(dataset(), options, Scratch());
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_THAT((*rows)[0].failure, HasSubstr("give at least --memory"));
  EXPECT_EQ((*rows)[1].method, "random");
  EXPECT_THAT((*rows)[1].failure, IsEmpty());
  EXPECT_GT((*rows)[1].quality.replication_factor, 1);
  EXPECT_GT((*rows)[1].remote.remote_nodes, 0);
  EXPECT_EQ((*rows)[3].parts, 3);
  const Json json = ToJson(*rows, options);
  EXPECT_TRUE(json.at("runs")[0].contains("failure"));
  EXPECT_EQ(json.at("runs")[1].at("edge_cut"), (*rows)[1].quality.edge_cut);
  EXPECT_THAT(FormatTable(*rows, options),
              AllOf(HasSubstr("owner of its destination"), HasSubstr("give at least --memory")));
}

TEST_F(CompareTest, UnknownMethodIsRefusedBeforeTheFirstRun) {
  CompareOptions options;
  options.methods = {"random", "magic"};
  EXPECT_TRUE(absl::IsInvalidArgument(CompareMethods(dataset(), options, Scratch()).status()));
  EXPECT_TRUE(ScratchIsEmpty());
}

TEST_F(CompareTest, SamplingThatMakesNoSenseIsRefusedBeforeTheFirstRun) {
  CompareOptions options;
  options.methods = {"random"};
  options.sampling.fanouts = {};
  EXPECT_TRUE(absl::IsInvalidArgument(CompareMethods(dataset(), options, Scratch()).status()));
  options.sampling.fanouts = {-2};
  EXPECT_TRUE(absl::IsOutOfRange(CompareMethods(dataset(), options, Scratch()).status()));
  EXPECT_TRUE(ScratchIsEmpty());
}

CompareRow Row(const std::string& method, int parts, double replication) {
  CompareRow row;
  row.method = method;
  row.parts = parts;
  row.quality.replication_factor = replication;
  row.seconds = 1;
  return row;
}

TEST_F(CompareTest, PlotDrawsALineAMethodAndLeavesOutFailures) {
  CompareRow failed = Row("hdrf", 2, 0);
  failed.failure = "too large";
  const std::vector<CompareRow> rows = {Row("metis", 2, 1.25), Row("metis", 4, 1.5),
                                        Row("random", 2, 1.75), failed};
  const std::string script = PlotScript(rows, "it's cora: 2,708 nodes", "it's.svg");
  EXPECT_THAT(script, AllOf(HasSubstr("set output 'it''s.svg'"), HasSubstr("title 'metis'"),
                            HasSubstr("title 'it''s cora: 2,708 nodes'"),
                            HasSubstr("set title 'memory (MiB)'"), HasSubstr("set xtics (2, 4)"),
                            HasSubstr("2 1.25\n4 1.5\ne\n2 1.75\ne\n")));
  EXPECT_THAT(script, testing::Not(HasSubstr("hdrf")));
  if (!CheckPlot(folder_.path() / "x.svg").ok()) GTEST_SKIP() << "gnuplot is not installed";
  ASSERT_TRUE(Plot(rows, "cora", folder_.path() / "it's.svg").ok());
  std::ifstream file(folder_.path() / "it's.svg");
  const std::string svg{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg"), HasSubstr("cora"), HasSubstr("</svg>")));
  const size_t legend = svg.find(">metis<");
  EXPECT_NE(legend, std::string::npos);
  EXPECT_EQ(svg.find(">metis<", legend + 1), std::string::npos) << "a second legend";
  testing::internal::CaptureStderr();
  EXPECT_TRUE(absl::IsFailedPrecondition(Plot(rows, "", folder_.path() / "no" / "folder.svg")));
  testing::internal::GetCapturedStderr();
}

TEST_F(CompareTest, PlotWithoutGnuplotSaysWhatToInstall) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder_.path().c_str(), 1);
  const Status status = Plot({Row("metis", 2, 1)}, "", folder_.path() / "x.svg");
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("gnuplot-nox"));
}

class CompareCommandTest : public ProgramFixture {
 protected:
  int Compare(std::vector<std::string> more) {
    std::vector<std::string> words = {"compare", "--input", Cora(), "--scratch", Path("")};
    words.insert(words.end(), more.begin(), more.end());
    return Call(words);
  }
};

TEST_F(CompareCommandTest, TableAndJsonOfTheRunsThatWereAskedFor) {
  ASSERT_EQ(Compare({"--methods", "metis,random", "--parts", "2,3", "--batch-size", "50"}), 0)
      << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("metis"), HasSubstr("random"), HasSubstr("remote bytes")));
  ASSERT_EQ(Compare({"--methods", "metis,random", "--parts", "2,3", "--json", "--quiet"}), 0);
  EXPECT_EQ(error_, "");
  const auto json = ParseJson(out_, "stdout");
  ASSERT_TRUE(json.ok()) << json.status();
  std::vector<std::string> runs;
  for (const Json& run : json->at("runs")) {
    runs.push_back(
        fmt::format("{} {}", run.at("method").get<std::string>(), run.at("parts").get<int>()));
    EXPECT_TRUE(run.at("balance").contains("train"));
    EXPECT_GT(run.at("remote_bytes_per_minibatch").get<double>(), 0);
  }
  EXPECT_THAT(runs, ElementsAre("metis 2", "random 2", "metis 3", "random 3"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "temporary files stay";
}

TEST_F(CompareCommandTest, MissingFolderForTemporaryFilesIsAnErrorOnlyWhereItIsNeeded) {
  const char* variable = std::getenv("TMPDIR");
  const std::string before = variable == nullptr ? "" : variable;
  ::setenv("TMPDIR", Path("nowhere").c_str(), 1);
  EXPECT_EQ(Call({"--version"}), 0) << error_;
  EXPECT_EQ(Compare({"--methods", "random", "--parts", "2"}), 0) << error_;
  EXPECT_EQ(Call({"compare", "--input", Cora()}), 1);
  EXPECT_THAT(error_,
              AllOf(HasSubstr(Path("nowhere")), HasSubstr("TMPDIR"), HasSubstr("--scratch")));
  variable == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
}

TEST_F(CompareCommandTest, OneFailureIsARowAllAreAnError) {
  EXPECT_EQ(Compare({"--methods", "metis,random", "--parts", "2", "--memory", "33MiB"}), 0);
  EXPECT_THAT(out_, HasSubstr("give at least --memory"));
  EXPECT_EQ(Compare({"--methods", "metis", "--parts", "2", "--memory", "33MiB"}), 1);
  EXPECT_THAT(error_, HasSubstr("every method failed"));
  EXPECT_EQ(Compare({"--methods", "metis,random", "--parts", "2709"}), 1);
}

TEST_F(CompareCommandTest, WrongWordsAreWrongUsage) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--methods", "magic"},
      {"--methods", "metis:random"},
      {"--methods", "metis", "--hdrf-lambda", "2"},
      {"--parts", "0"},
      {"--parts", "two"},
      {"--fanouts", "-2"},
      {"--fanouts", "many"},
      {"--batch-size", "0"},
      {"--batches", "0"},
      {"--memory", "all"},
  };
  for (const auto& words : wrong) {
    EXPECT_EQ(Compare(words), 2) << testing::PrintToString(words);
    EXPECT_EQ(std::count(error_.begin(), error_.end(), '\n'), 1) << error_;
  }
  EXPECT_EQ(Call({"compare"}), 2);
}

}  // namespace
}  // namespace halograph
