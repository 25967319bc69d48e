#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>

#include "common/base/sanitizers.h"
#include "common/storage/file.h"
#include "common/storage/json.h"
#include "partitioner/compare/method_run.h"
#include "partitioner/generate/hierarchical.h"
#include "partitioner/generate/sbm.h"
#include "partitioner/methods/method.h"
#include "partitioner/methods/registry/auto_method.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/plan/parts_choice.h"
#include "partitioner/plan/run_plan.h"
#include "partitioner/plan/time_model.h"
#include "partitioner/plan/trial.h"
#include "partitioner/readers/reader.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/partition_program.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// ---- parts choice -------------------------------------------------------------------------

TEST(NeedsOfPartTest, OnePartNeedsTheWholeGraphAndNoHalo) {
  const PartNeeds needs = NeedsOfPart(GraphSizes::Of(1000, 16000, 400), 1);
  EXPECT_EQ(needs.core_features, 400'000);
  // An offset and an original id a node, a uint32 source and an original id an edge.
  EXPECT_EQ(needs.topology, 1000 * 16 + 16000 * 12);
  EXPECT_EQ(needs.halo, 0);
}

TEST(NeedsOfPartTest, PartsShareWithWhatBalanceAllowsOnTop) {
  const PartNeeds needs = NeedsOfPart(GraphSizes::Of(1000, 16000, 400), 4);
  EXPECT_EQ(needs.core_features, 263 * 400);  // 1000 / 4 * 1.05
  EXPECT_EQ(needs.halo_nodes, 131);           // 0.25 * log2(4) * 1000 / 4 * 1.05
  EXPECT_EQ(needs.halo, 131 * 408);
}

TEST(NeedsOfPartTest, HaloIsAtMostTheInEdges) {
  EXPECT_EQ(NeedsOfPart(GraphSizes::Of(1000, 20, 0), 2).halo_nodes, 12);  // 20 / 2 * 1.12
}

TEST(NeedsOfPartTest, TypesAndRelationsAddUp) {
  GraphSizes sizes;
  sizes.counts.nodes = {100, int64_t{1} << 33};
  sizes.counts.relations = {{.source_type = 1, .destination_type = 0, .edges = 1000}};
  sizes.node_row_bytes = {8, 0};
  sizes.edge_row_bytes = {4};
  const PartNeeds needs = NeedsOfPart(sizes, 1);
  EXPECT_EQ(needs.core_features, 100 * 8 + 1000 * 4);
  // Sources of more than 32 bits.
  EXPECT_EQ(needs.topology, (100 + (int64_t{1} << 33)) * 8 + 1000 * 16 + 100 * 8);
}

TEST(ChoosePartsTest, TakesTheLeastThatFits) {
  const GraphSizes sizes = GraphSizes::Of(1'000'000, 16'000'000, 512);
  for (const int wanted : {1, 2, 3, 8, 17}) {
    const int64_t memory = NeedsOfPart(sizes, wanted).bytes();
    const auto choice = ChooseParts(sizes, memory);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->parts, wanted);
    EXPECT_EQ(ChooseParts(sizes, memory - 1)->parts, wanted + 1);
    EXPECT_THAT(choice->why, AllOf(HasSubstr(fmt::format("{} partition", wanted)),
                                   HasSubstr("features"), HasSubstr("halo")));
  }
}

TEST(ChoosePartsTest, TooLittleForAnyNumberSaysWhatItNeeds) {
  const GraphSizes sizes = GraphSizes::Of(1'000'000'000, 16'000'000'000, 512);
  const auto choice = ChooseParts(sizes, 1 << 20);
  EXPECT_TRUE(absl::IsResourceExhausted(choice.status())) << choice.status();
  EXPECT_THAT(Message(choice.status()), AllOf(HasSubstr("1.0 MiB"), HasSubstr("4096")));
}

TEST(ChoosePartsTest, NeverMorePartsThanNodes) {
  EXPECT_THAT(Message(ChooseParts(GraphSizes::Of(3, 1'000'000, 0), 1000).status()),
              HasSubstr("one of 3 partitions"));
}

TEST(GraphSizesTest, OfADataSetCountsFeaturesAndTasks) {
  DatasetBuilder builder;
  builder.Nodes("node", 4)
      .NodeFeature("feat", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, 2)
      .Edges("node", "edge", "node", {{0, 1}, {2, 1}, {3, 0}})
      .EdgeFeature("weight", std::vector<double>{1, 2, 3}, 1)
      .TaskSet("train", "node", false, {0, 3});
  const GraphSizes sizes = GraphSizes::Of(builder.dataset());
  EXPECT_EQ(sizes.node_feature_bytes(), 32);
  EXPECT_EQ(sizes.edge_feature_bytes(), 24);
  EXPECT_EQ(sizes.task_bytes, 16);
  EXPECT_EQ(sizes.counts.num_edges(), 3);
}

// ---- method choice ------------------------------------------------------------------------

GraphCounts Counts(int64_t nodes, int64_t edges) {
  GraphCounts counts;
  counts.nodes = {nodes};
  counts.relations = {{.source_type = 0, .destination_type = 0, .edges = edges}};
  return counts;
}

TEST(ChooseMethodTest, GraphThatFitsIsForMetis) {
  const MethodChoice choice = ChooseMethod(Counts(1000, 10000), {});
  EXPECT_EQ(choice.method, "metis");
  EXPECT_THAT(choice.why, HasSubstr("fits"));
}

TEST(ChooseMethodTest, MoreNodesThanThirtyTwoBitsAreStreamed) {
  EXPECT_EQ(ChooseMethod(Counts(2147483647, 10), {}).method, "metis");
  const MethodChoice choice = ChooseMethod(Counts(2147483648, 10), {});
  EXPECT_EQ(choice.method, "stream-metis");
  EXPECT_THAT(choice.why, HasSubstr("2,147,483,648 nodes"));
}

TEST(ChooseMethodTest, MoreNeighboursThanThirtyTwoBitsAreStreamed) {
  EXPECT_EQ(ChooseMethod(Counts(1000, 1073741823), {}).method, "metis");
  const MethodChoice choice = ChooseMethod(Counts(1000, 1073741824), {});
  EXPECT_EQ(choice.method, "stream-metis");
  EXPECT_THAT(choice.why, HasSubstr("1,073,741,824 edges"));
}

TEST(ChooseMethodTest, MoreMemoryThanMayBeHeldIsStreamed) {
  MethodOptions options;
  const GraphCounts counts = Counts(1'000'000, 16'000'000);
  options.memory = kProgramBytes + (*MakeMethod("metis"))->PlanMemory(counts, options).peak_bytes();
  EXPECT_EQ(ChooseMethod(counts, options).method, "metis");
  --options.memory;
  const MethodChoice choice = ChooseMethod(counts, options);
  EXPECT_EQ(choice.method, "stream-metis");
  EXPECT_THAT(choice.why, HasSubstr("METIS would need"));
}

TEST(AutoMethodTest, IsTheChosenMethodAndSaysSo) {
  DatasetBuilder builder;
  builder.Nodes("node", 400).Edges("node", "edge", "node", RingsOfNodes(4, 100));
  const MethodOptions options{.parts = 4, .seed = 3};
  const auto automatic = (*MakeMethod("auto"))->Assign(builder.dataset(), options);
  ASSERT_TRUE(automatic.ok()) << automatic.status();
  EXPECT_EQ(automatic->owners, (*MakeMethod("metis"))->Assign(builder.dataset(), options)->owners);
  EXPECT_EQ(automatic->report.at("method"), "metis");
  EXPECT_THAT(automatic->report.at("why").get<std::string>(), HasSubstr("fits"));
  EXPECT_TRUE(automatic->report.contains("objective"));
}

TEST(AutoMethodTest, PlansWhatTheChosenMethodPlans) {
  const GraphCounts counts = Counts(5000, 50000);
  EXPECT_EQ((*MakeMethod("auto"))->PlanMemory(counts, {}).ToText(),
            (*MakeMethod("metis"))->PlanMemory(counts, {}).ToText());
}

TEST(AutoMethodTest, IsNoMethodOfItsOwn) {
  EXPECT_THAT(MethodNames(), testing::Not(Contains("auto")));
}

TEST(CheckOptionTakenTest, OptionThatWouldBeIgnoredNamesTheMethodsThatTakeIt) {
  const Status status = CheckOptionTaken("hdrf-lambda", {"metis", "random"});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr("--hdrf-lambda"), HasSubstr("metis, random")));
  for (const std::string& method : MethodsThatTake("hdrf-lambda")) {
    EXPECT_THAT(Message(status), HasSubstr(method));
    EXPECT_TRUE(CheckOptionTaken("hdrf-lambda", {"metis", method}).ok());
  }
}

// ---- plan ---------------------------------------------------------------------------------

TEST(SampleEdgesTest, CountsWhatIsThereInBothDirections) {
  DatasetBuilder both;
  both.Nodes("node", 100).Edges("node", "edge", "node", RingsOfNodes(1, 100));
  const auto sample = SampleEdges(both.dataset());
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->edges, 600);
  EXPECT_DOUBLE_EQ(sample->reciprocity, 1);
  EXPECT_GT(sample->read_ns, 0);

  DatasetBuilder one;  // a path, with one edge back and a self-loop
  one.Nodes("node", 5).Edges("node", "edge", "node", {{0, 1}, {1, 2}, {2, 3}, {3, 2}, {4, 4}});
  EXPECT_DOUBLE_EQ(SampleEdges(one.dataset())->reciprocity, 0.5);
}

TEST(SampleEdgesTest, ReadsNoMoreThanItMay) {
  DatasetBuilder builder;
  builder.Nodes("node", 100).Edges("node", "edge", "node", RingsOfNodes(1, 100));
  EXPECT_EQ(SampleEdges(builder.dataset(), 70)->edges, 70);
}

TEST(SampleEdgesTest, GraphWithoutEdges) {
  DatasetBuilder builder;
  builder.Nodes("node", 3);
  const auto sample = SampleEdges(builder.dataset());
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->edges, 0);
  EXPECT_DOUBLE_EQ(sample->reciprocity, 0);
}

TEST(TrialSizeTest, KeepsTheDegree) {
  const TrialSize size = TrialSize::For(GraphSizes::Of(100'000'000, 1'600'000'000, 0).counts, 1);
  EXPECT_EQ(size.edges / size.nodes, 16);
  EXPECT_LE(size.edges, int64_t{1} << 19);
  EXPECT_TRUE(size.reciprocal);
  EXPECT_FALSE(TrialSize::For(GraphSizes::Of(1000, 1000, 0).counts, 0).reciprocal);
  EXPECT_GE(TrialSize::For(GraphSizes::Of(1, 0, 0).counts, 0).edges, 2);
}

TEST(TryMethodTest, CountsPasses) {
  const TestFolder folder;
  const TrialSize size{.nodes = 1024, .edges = 8192, .reciprocal = true};
  const auto metis = TryMethod("metis", {.parts = 4}, size, folder.path());
  ASSERT_TRUE(metis.ok()) << metis.status();
  EXPECT_EQ(metis->passes, 2);
  EXPECT_GT(metis->seconds, 0);
  EXPECT_EQ(TryMethod("random", {.parts = 4}, size, folder.path())->passes, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

MethodProfile Metis(int64_t edges) {
  MethodProfile profile;
  profile.metis_edges = edges;
  return profile;
}

constexpr AccessCost kSame = {.small_ns = 2, .large_ns = 2};
constexpr AccessCost kSlower = {.small_ns = 2, .large_ns = 102};
const MachineCost kSameCost = {.at_once = kSame, .asked_ahead = kSame};

TEST(PredictAssignTest, TimeGrowsWithEdgesAndWithSlowerAccess) {
  const MethodTrial trial{.size = {.nodes = 1000, .edges = 10'000}, .seconds = 0.5, .passes = 3};
  const GraphCounts counts = GraphSizes::Of(100'000, 1'000'000, 0).counts;
  EXPECT_DOUBLE_EQ(PredictAssign(trial, counts, MethodProfile{}, kSameCost), 50);
  const MachineCost slower{.at_once = kSame, .asked_ahead = kSlower};
  EXPECT_DOUBLE_EQ(PredictAssign(trial, counts, MethodProfile{}, slower),
                   50 + 3 * 2 * 1e6 * 100e-9);
  MethodProfile wanders;
  wanders.accesses = 5;
  EXPECT_DOUBLE_EQ(PredictAssign(trial, counts, wanders, slower), 50 + 3 * 5 * 1e6 * 100e-9);
}

TEST(PredictAssignTest, APassTakesNoLessThanReading) {
  const MethodTrial trial{.size = {.nodes = 1000, .edges = 10'000}, .seconds = 1e-6, .passes = 3};
  const MachineCost reading{.at_once = kSame, .asked_ahead = kSame, .read_ns = 1000};
  const GraphCounts counts = GraphSizes::Of(100'000, 1'000'000, 0).counts;
  EXPECT_DOUBLE_EQ(PredictAssign(trial, counts, MethodProfile{}, reading), 3);
}

TEST(PredictAssignTest, MetisIsCalledOnceOnALargeGraphAndHasMoreLevelsThere) {
  const MethodTrial trial{
      .size = {.nodes = 1000, .edges = 10'000}, .seconds = 1, .passes = 2, .attempts = 5};
  const GraphCounts large = GraphSizes::Of(1'000'000, 10'000'000, 0).counts;
  const double once = PredictAssign(trial, large, Metis(10'000'000), kSameCost);
  EXPECT_GT(once, 1000.0 / 5);
  EXPECT_LT(once, 4 * 1000.0 / 5);
  const GraphCounts small = GraphSizes::Of(100'000, 1'000'000, 0).counts;
  EXPECT_GT(PredictAssign(trial, small, Metis(1'000'000), kSameCost), 100);
}

TEST(PredictAssignTest, MetisIsSparedWhatACoarseGraphLeavesOut) {
  const MethodTrial trial{.size = {.nodes = 1000, .edges = 10'000}, .seconds = 1, .passes = 2};
  const GraphCounts counts = GraphSizes::Of(1'000'000, 10'000'000, 0).counts;
  const MachineCost slower{.at_once = kSlower, .asked_ahead = kSame};
  const double all = PredictAssign(trial, counts, Metis(10'000'000), slower);
  const double half = PredictAssign(trial, counts, Metis(5'000'000), slower);
  const double none = PredictAssign(trial, counts, MethodProfile{}, slower);
  EXPECT_DOUBLE_EQ(none, 1000);  // METIS alone does not ask ahead
  EXPECT_NEAR(half, (all + none) / 2, 1e-6);
  EXPECT_GT(all, none);
}

TEST(PredictWritingTest, FixedTimeThenTimeAnEdgeAndFeaturesAtTheDisksSpeed) {
  const WritingTrials trials{
      .small_seconds = 1, .large_seconds = 2, .small_edges = 100, .large_edges = 200};
  EXPECT_DOUBLE_EQ(PredictWriting(trials, 1000, 0, 1e9, kSameCost), 10);
  EXPECT_DOUBLE_EQ(PredictWriting(trials, 1000, 5'000'000'000, 1e9, kSameCost), 15);
  const MachineCost slower{.at_once = kSlower, .asked_ahead = kSame};
  EXPECT_DOUBLE_EQ(PredictWriting(trials, 1000, 0, 1e9, slower), 10 + 1000 * 2 * 100e-9);
  const WritingTrials fixed{
      .small_seconds = 1, .large_seconds = 1, .small_edges = 100, .large_edges = 200};
  EXPECT_DOUBLE_EQ(PredictWriting(fixed, 1000, 0, 1e9, kSameCost), 1);
}

TEST(PlanRunMemoryTest, EdgesInBothDirectionsFold) {
  const GraphCounts counts = GraphSizes::Of(1'000'000, 16'000'000, 0).counts;
  for (const char* method : {"metis", "stream-metis", "lp-metis"}) {
    const int64_t directed = PlanRunMemory(method, counts, 0, {})->peak_bytes();
    const int64_t both = PlanRunMemory(method, counts, 1, {})->peak_bytes();
    EXPECT_GT(both, directed / 3) << method;
    EXPECT_LT(both, directed * 2 / 3) << method;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(PlanRunMemory("magic", counts, 0, {}).status()));
}

class PlanMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitizerAllocator) GTEST_SKIP() << "a sanitizer holds memory of its own";
  }

  // What was planned is held, and not more than a fifth too much was planned.
  void ExpectPlanned(const std::filesystem::path& input) {
    ReadOptions read;
    read.scratch = folder_.path();
    const auto dataset = OpenDataset(input, read);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const auto sample = SampleEdges(*dataset);
    ASSERT_TRUE(sample.ok()) << sample.status();
    for (const char* method : {"metis", "stream-metis", "lp-metis"}) {
      ExpectPlanned(*dataset, sample->reciprocity, method);
    }
  }

 private:
  void ExpectPlanned(const Dataset& dataset, double reciprocity, const std::string& method) {
    SCOPED_TRACE(method);
    const MethodOptions options{.parts = 8};
    const auto plan = PlanRunMemory(method, GraphCounts::Of(dataset), reciprocity, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto run = RunMethodInChild(dataset, method, options, folder_.path());
    ASSERT_TRUE(run.ok()) << run.status();
    const auto taken = static_cast<double>(run->peak_anonymous_bytes);
    EXPECT_LE(taken, 1.05 * static_cast<double>(kProgramBytes + plan->peak_bytes()));
    EXPECT_LE(static_cast<double>(plan->peak_bytes()), 1.2 * taken);
    RecordProperty(method + "_planned_mib", std::to_string(plan->peak_bytes() >> 20));
    RecordProperty(method + "_taken_mib", std::to_string(run->peak_anonymous_bytes >> 20));
  }

 protected:
  TestFolder folder_;
};

TEST_F(PlanMemoryTest, PlannedPartition) {
  SbmOptions options;
  options.nodes = 100'000;
  options.classes = 64;
  options.average_degree = 16;
  options.feature_dim = 0;
  ASSERT_TRUE(GenerateSbm(options, {.folder = folder_.path() / "in"}).ok());
  ExpectPlanned(folder_.path() / "in");
}

TEST_F(PlanMemoryTest, HierarchicalGraph) {
  HierarchicalOptions options;
  options.nodes = 100'000;
  ASSERT_TRUE(GenerateHierarchical(options, {.folder = folder_.path() / "in"}).ok());
  ExpectPlanned(folder_.path() / "in");
}

TEST_F(PlanMemoryTest, SocialGraph) {
  const char* data = std::getenv("HALOGRAPH_DATA");
  if (data == nullptr || *data == '\0') {
    GTEST_SKIP() << "HALOGRAPH_DATA is not set, so email-Enron is not there";
  }
  ExpectPlanned(std::filesystem::path(data) / "snap" / "email-Enron.txt.gz");
}

class PlanCommandTest : public ProgramFixture {
 protected:
  int Plan(std::vector<std::string> more) {
    std::vector<std::string> words = {"plan", "--scratch", Path("")};
    words.insert(words.end(), more.begin(), more.end());
    return Call(words);
  }
};

TEST_F(PlanCommandTest, EveryMethodHasMemoryDiskAndTime) {
  ASSERT_EQ(Plan({"--input", Cora(), "--parts", "2"}), 0) << error_;
  EXPECT_THAT(out_, AllOf(HasSubstr("metis"), HasSubstr("assigning"), HasSubstr("--method auto")));
  EXPECT_EQ(error_, "") << "progress of the trials";
  ASSERT_EQ(Plan({"--input", Cora(), "--parts", "2", "--json", "--quiet"}), 0);
  EXPECT_EQ(error_, "");
  const auto json = ParseJson(out_, "stdout");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->at("edges"), 10556);
  EXPECT_EQ(json->at("sampled_edges"), 10556);
  EXPECT_GT(json->at("reciprocity").get<double>(), 0.9);
  for (const Json& method : json->at("methods")) {
    EXPECT_FALSE(method.contains("failure")) << method;
    EXPECT_GT(method.at("memory_bytes").get<int64_t>(), 0);
    EXPECT_GT(method.at("write_seconds").get<double>(), 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "temporary files stay";
}

TEST_F(PlanCommandTest, OutputIsAboutWhatIsWritten) {
  ASSERT_EQ(Plan({"--input", Cora(), "--parts", "2", "--methods", "random", "--json"}), 0);
  const auto planned = ParseJson(out_, "stdout")->at("output_bytes").get<double>();
  ASSERT_EQ(Call({"run", "--input", Cora(), "--output", Path("g"), "--parts", "2"}), 0);
  double written = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Path("g"))) {
    if (entry.is_regular_file()) written += static_cast<double>(entry.file_size());
  }
  EXPECT_NEAR(planned / written, 1, 0.1);
}

TEST_F(PlanCommandTest, FitsWhereARunStarts) {
  bool some = false, all = true;
  for (const char* memory : {"33MiB", "34MiB", "35MiB", "36MiB", "40MiB", "50MiB"}) {
    ASSERT_EQ(Plan({"--input", Cora(), "--parts", "2", "--methods", "metis", "--memory", memory,
                    "--json"}),
              0)
        << error_;
    const bool fits = ParseJson(out_, "stdout")->at("methods")[0].at("fits").get<bool>();
    EXPECT_EQ(Call({"run", "--input", Cora(), "--output", Path("g"), "--force", "--parts", "2",
                    "--method", "metis", "--memory", memory}),
              fits ? 0 : 1)
        << memory << error_;
    some = some || fits;
    all = all && fits;
  }
  EXPECT_TRUE(some);
  EXPECT_FALSE(all);
}

TEST_F(PlanCommandTest, TextNeedsRoomForItsCopy) {
  std::ofstream(Path("edges.txt")) << "0 1\n1 2\n2 0\n";
  ASSERT_EQ(Plan({"--input", Path("edges.txt"), "--parts", "2", "--methods", "random", "--json"}),
            0);
  const Json row = ParseJson(out_, "stdout")->at("methods")[0];
  EXPECT_GE(row.at("temporary_bytes").get<int64_t>(), 3 * 2 * 4);
}

TEST_F(PlanCommandTest, GraphToComeNeedsOnlyItsNumbers) {
  ASSERT_EQ(
      Plan({"--nodes", "111059956", "--edges", "1615685872", "--feature-bytes", "512", "--parts",
            "8", "--memory", "8GiB", "--methods", "metis,stream-metis,random", "--json"}),
      0)
      << error_;
  const auto json = ParseJson(out_, "stdout");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->at("auto").at("method"), "stream-metis");
  EXPECT_FALSE(json->at("methods")[0].at("fits").get<bool>());
  EXPECT_GT(json->at("output_bytes").get<int64_t>(), 111059956LL * 512);
  // 12 bytes an edge do not wait in 8 GiB.
  EXPECT_GE(json->at("methods")[1].at("temporary_bytes").get<int64_t>(), 12 * 1615685872LL);
}

TEST_F(PlanCommandTest, ClusterOrderIsPlannedForMethodsThatFindClusters) {
  ASSERT_EQ(Plan({"--nodes", "100000", "--edges", "400000", "--parts", "4", "--methods",
                  "metis,lp-metis", "--order", "cluster", "--json"}),
            0)
      << error_;
  const auto json = ParseJson(out_, "stdout");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(json->at("methods")[0].at("failure").get<std::string>(),
              HasSubstr("method metis finds no clusters"));
  EXPECT_FALSE(json->at("methods")[1].contains("failure"));
}

TEST_F(PlanCommandTest, WrongWordsAreWrongUsage) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"--parts", "2"},
      {"--input", "x"},
      {"--input", "x", "--parts", "0"},
      {"--input", "x", "--parts", "2", "--nodes", "5"},
      {"--nodes", "5", "--parts", "2"},
      {"--nodes", "0", "--edges", "5", "--parts", "2"},
      {"--nodes", "5", "--edges", "-1", "--parts", "2"},
      {"--nodes", "5", "--edges", "5", "--feature-bytes", "some", "--parts", "2"},
      {"--nodes", "5", "--edges", "5", "--parts", "2", "--methods", "magic"},
      {"--nodes", "5", "--edges", "5", "--parts", "2", "--methods", "metis", "--clusters", "3"},
  };
  for (const auto& words : wrong) {
    EXPECT_EQ(Plan(words), 2) << testing::PrintToString(words);
    EXPECT_EQ(std::count(error_.begin(), error_.end(), '\n'), 1) << error_;
  }
}

TEST_F(PlanCommandTest, BadInputFails) {
  EXPECT_EQ(Plan({"--input", Path("nowhere"), "--parts", "2"}), 1);
  EXPECT_THAT(error_, HasSubstr("nowhere"));
  EXPECT_EQ(Plan({"--input", Cora(), "--parts", "2709"}), 1);
  EXPECT_THAT(error_, HasSubstr("2709 partitions"));
}

// ---- run options --------------------------------------------------------------------------
// What `run` does with the options of methods, memory and parts.

class RunOptionsTest : public ProgramFixture {
 protected:
  int Run(std::vector<std::string> more) {
    std::vector<std::string> words = {"run", "--input", Cora(), "--output", Path("g"), "--force"};
    words.insert(words.end(), more.begin(), more.end());
    return Call(words);
  }
  Json Options() { return ReadManifest(folder_.path() / "g" / "manifest.json")->at("options"); }
};

TEST_F(RunOptionsTest, MethodIsChosenAndTheChoiceIsKept) {
  ASSERT_EQ(Run({"--parts", "2"}), 0) << error_;
  EXPECT_THAT(error_, HasSubstr("method metis: METIS fits in memory"));
  EXPECT_THAT(out_, HasSubstr("metis in"));
  EXPECT_EQ(Options().at("method"), "auto");
  EXPECT_EQ(Options().at("report").at("method"), "metis");
}

TEST_F(RunOptionsTest, PartsComeFromTheMemoryOfOnePart) {
  // 2,708 nodes of 1,433 bytes: 3.9 MB, and 10,556 edges.
  ASSERT_EQ(Run({"--parts", "auto", "--memory-per-part", "2MB"}), 0) << error_;
  EXPECT_THAT(error_, AllOf(HasSubstr("--parts auto: 3 partitions"), HasSubstr("2 would need")));
  EXPECT_EQ(Options().at("parts"), 3);
}

TEST_F(RunOptionsTest, PartsOfTooLittleMemoryFail) {
  EXPECT_EQ(Run({"--parts", "auto", "--memory-per-part", "1KiB"}), 1);
  EXPECT_THAT(error_, HasSubstr("--memory-per-part 1.0 KiB"));
}

TEST_F(RunOptionsTest, BudgetOfOneMebibyteIsRefusedWithWhatWouldDo) {
  EXPECT_EQ(Run({"--parts", "2", "--memory", "1MiB", "--method", "metis"}), 1);
  EXPECT_THAT(error_, AllOf(HasSubstr("--memory 1.0 MiB"), HasSubstr("give at least --memory")));
  EXPECT_FALSE(std::filesystem::exists(Path("g")));
}

TEST_F(RunOptionsTest, OwnersTakeThePlaceOfAMethod) {
  std::filesystem::create_directory(Path("owners"));
  std::ofstream file(Path("owners/node.txt"));
  for (int i = 0; i < 2708; ++i) file << i % 3 << '\n';
  file.close();
  ASSERT_EQ(Run({"--owners", Path("owners/node.txt")}), 0) << error_;
  EXPECT_THAT(out_, HasSubstr("owners in"));
  EXPECT_EQ(Options().at("parts"), 3);
  EXPECT_EQ(Options().at("method"), "owners");
  ASSERT_EQ(Run({"--owners", Path("owners"), "--parts", "4"}), 0) << error_;
  EXPECT_EQ(Options().at("parts"), 4);
  EXPECT_EQ(Run({"--owners", Path("owners"), "--parts", "2"}), 1);
  EXPECT_EQ(Run({"--owners", Path("nowhere")}), 1);
  EXPECT_THAT(error_, HasSubstr("nowhere"));
}

TEST_F(RunOptionsTest, OwnersAreReadOnceSoThatAWarningComesOnce) {
  std::ofstream file(Path("owners.txt"));
  for (int node = 0; node < 2708; ++node) file << (node % 2) * 2 << '\n';  // none in partition 1
  file.close();
  ASSERT_EQ(Run({"--owners", Path("owners.txt")}), 0) << error_;
  const size_t warning = error_.find("1 of 3 partitions have no node: 1");
  ASSERT_NE(warning, std::string::npos) << error_;
  EXPECT_EQ(error_.find("partitions have no node", warning + 10), std::string::npos) << error_;
  EXPECT_EQ(Options().at("parts"), 3);
}

TEST_F(RunOptionsTest, OptionsThatWouldBeIgnoredAreWrongUsage) {
  for (const char* option : {"--hdrf-lambda", "--volume-factor", "--edge-imbalance", "--clusters",
                             "--refinement-rounds"}) {
    EXPECT_EQ(Run({"--parts", "2", "--method", "random", option, "2"}), 2) << option;
    EXPECT_THAT(error_, AllOf(HasSubstr(option), HasSubstr("method random has no such option")));
    EXPECT_EQ(Run({"--parts", "2", option, "2"}), 2) << option << " with auto";
  }
  EXPECT_EQ(Run({"--parts", "2", "--method", "metis", "--owner", "random"}), 2);
}

TEST_F(RunOptionsTest, ClusterOrderIsOnlyForMethodsThatFindClusters) {
  for (const char* method : {"metis", "random", "hdrf"}) {
    EXPECT_EQ(Run({"--parts", "2", "--method", method, "--order", "cluster"}), 2) << method;
    EXPECT_THAT(error_, AllOf(HasSubstr("--order cluster"), HasSubstr(method),
                              HasSubstr("choose --method lp-metis or stream-metis")));
  }
  EXPECT_EQ(Run({"--owners", "x", "--order", "cluster"}), 2);
  EXPECT_THAT(error_, HasSubstr("method owners"));
  ASSERT_EQ(Run({"--parts", "2", "--order", "cluster"}), 0) << error_;
  EXPECT_THAT(error_, HasSubstr("method lp-metis: --order cluster needs clusters"));
  EXPECT_EQ(Options().at("order"), "cluster");
  EXPECT_GT(Options().at("report").at("order_clusters").get<int64_t>(), 20);
  ASSERT_EQ(Run({"--parts", "2", "--order", "input"}), 0) << error_;
  EXPECT_FALSE(Options().contains("order"));
}

TEST_F(RunOptionsTest, WrongWordsAreWrongUsageWithOneLine) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--parts", "some"},
      {"--parts", "0"},
      {"--parts", "4097"},
      {"--parts", "2.5"},
      {"--parts", "auto"},
      {"--parts", "2", "--memory-per-part", "1GiB"},
      {"--parts", "auto", "--memory-per-part", "much"},
      {"--parts", "2", "--memory", "lots"},
      {"--parts", "2", "--method", "magic"},
      {"--parts", "2", "--owner", "nobody"},
      {"--parts", "2", "--order", "shuffled"},
      {"--parts", "2", "--hdrf-lambda", "0"},
      {"--parts", "2", "--hdrf-lambda", "nan"},
      {"--parts", "2", "--volume-factor", "-1"},
      {"--parts", "2", "--edge-imbalance", "0.9"},
      {"--parts", "2", "--clusters", "-1"},
      {"--parts", "2", "--refinement-rounds", "17"},
      {"--owners", "x", "--method", "metis"},
      {"--owners", "x", "--parts", "auto", "--memory-per-part", "1GiB"},
      {},
  };
  for (const auto& words : wrong) {
    EXPECT_EQ(Run(words), 2) << testing::PrintToString(words);
    EXPECT_THAT(error_, testing::StartsWith("halograph-partition: "));
    EXPECT_EQ(std::count(error_.begin(), error_.end(), '\n'), 1) << error_;
  }
}

TEST_F(RunOptionsTest, HelpNamesThem) {
  ASSERT_EQ(Call({"run", "--help"}), 0);
  for (const char* word : {"--memory", "--memory-per-part", "--owners", "--owner", "--clusters",
                           "--hdrf-lambda", "auto", "stream-metis"}) {
    EXPECT_THAT(out_, HasSubstr(word));
  }
}

}  // namespace
}  // namespace halograph
