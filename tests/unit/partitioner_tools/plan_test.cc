#include <cstdlib>
#include <fstream>

#include "common/storage/file.h"
#include "partitioner/compare/method_run.h"
#include "partitioner/generate/hierarchical.h"
#include "partitioner/generate/sbm.h"
#include "partitioner/plan/run_plan.h"
#include "partitioner/plan/time_model.h"
#include "partitioner/plan/trial.h"
#include "partitioner/readers/reader.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"
#include "tests/unit/partitioner_tools/program_fixture.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer holds memory of its own";
#endif
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

}  // namespace
}  // namespace halograph
