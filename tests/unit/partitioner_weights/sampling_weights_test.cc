// --sampling-weights from an input folder to mapped alias tables; what is refused, and damage.
#include "partitioner/write/sampling_weights.h"

#include <bit>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/progress.h"
#include "common/base/rng.h"
#include "common/graph/partition.h"
#include "common/sampling/weighted_table.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/verify/verify.h"
#include "partitioner/write/partition_graph.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kTable[] = "edges/node%3Aedge%3Anode/sampling/w/entries.npy";
constexpr char kDrawable[] = "edges/node%3Aedge%3Anode/sampling/w/drawable.npy";

// 40 nodes, 400 edges into half of them; edge features "w" (float32), "pair" (two columns).
class SamplingWeightsTest : public testing::Test {
 protected:
  static constexpr int64_t kNodes = 40;
  static constexpr int64_t kEdges = 400;

  SamplingWeightsTest() {
    Progress::Enable(false);
    CounterRng rng(Mix(8));
    for (int64_t e = 0; e < kEdges; ++e) {
      sources_.push_back(static_cast<int64_t>(rng.NextBounded(kNodes)));
      destinations_.push_back(static_cast<int64_t>(rng.NextBounded(kNodes / 2)));
      weights_.push_back(rng.NextBounded(5) == 0 ? 0.0f : static_cast<float>(rng.NextDouble()));
    }
    run_.input = folder_.path() / "input";
    run_.output = folder_.path() / "graph";
    run_.method = "random";
    run_.options.parts = 3;
    run_.sampling_weights = {"w"};
  }

  void WriteInput() {
    const fs::path input = run_.input;
    fs::remove_all(input);
    std::vector<int64_t> ends = sources_;
    ends.insert(ends.end(), destinations_.begin(), destinations_.end());
    ASSERT_EQ(WriteNpy<int64_t>(input / "edges.npy", ends, kEdges), OkStatus());
    ASSERT_EQ(WriteNpy<float>(input / "w.npy", weights_), OkStatus());
    ASSERT_EQ(WriteNpy<float>(input / "pair.npy", std::vector<float>(2 * kEdges), 2), OkStatus());
    std::ofstream(input / "metadata.yaml") << R"(dataset_name: weighted
graph:
  nodes:
    - num: 40
  edges:
    - {format: numpy, path: edges.npy}
feature_data:
  - {domain: edge, name: w, format: numpy, path: w.npy}
  - {domain: edge, name: pair, format: numpy, path: pair.npy}
tasks: []
)";
  }

  [[nodiscard]] StatusOr<PartitionSummary> Run() {
    WriteInput();
    return PartitionGraph(run_);
  }

  // The error of partitioning with this weight on edge 123.
  [[nodiscard]] Status ErrorOf(float weight) {
    weights_[123] = weight;
    return Run().status();
  }

  [[nodiscard]] StatusOr<std::unique_ptr<PartitionSet>> Open(VerifyLevel level) const {
    return PartitionSet::Open(run_.output, {}, level);
  }

  // Changes elements of a part's array and makes its manifest fit again, as a faulty partitioner
  // would have written it.
  template <typename T>
  void Damage(const std::string& file, const std::function<void(std::span<T>)>& change) {
    const fs::path part = run_.output / "part-0001";
    std::vector<T> values;
    int64_t cols = 0;
    {
      const auto array = NpyArray::Open(part / file);
      ASSERT_TRUE(array.ok()) << array.status();
      const auto found = array->As<T>();
      ASSERT_TRUE(found.ok()) << found.status();
      values.assign(found->begin(), found->end());
      cols = array->shape().size() == 2 ? array->cols() : 0;
    }
    change(values);
    fs::remove(part / file);
    ASSERT_EQ(WriteNpy<T>(part / file, values, cols), OkStatus());
    auto graph = ReadGraphManifest(run_.output);
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<PartManifest> parts;
    for (int p = 0; p < run_.options.parts; ++p) {
      const fs::path folder = run_.output / PartFolderName(p);
      parts.push_back(*ReadPartManifest(folder));
      for (FileEntry& entry : parts[p].files) entry = *ChecksumFile(folder, entry.path);
      graph->part_digests[p] = FilesDigest(parts[p].files);
    }
    graph->identity = GraphIdentity(graph->schema, graph->book, graph->part_digests);
    for (int p = 0; p < run_.options.parts; ++p) {
      parts[p].identity = graph->identity;
      ASSERT_EQ(WritePartManifest(run_.output / PartFolderName(p), parts[p]), OkStatus());
    }
    ASSERT_EQ(WriteGraphManifest(run_.output, *graph), OkStatus());
  }

  void ExpectDataLoss(const std::string& text) {
    const Status status = Open(VerifyLevel::kContents).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(Message(status), HasSubstr(text));
  }

  // Row of part 1 that the first node with at least two in-edges begins with.
  [[nodiscard]] int64_t RowOfAPair() const {
    const auto set = Open(VerifyLevel::kHeaders);
    const CscSegment& csc = (*set)->parts()[1]->Edges(0);
    int64_t v = 0;
    while (csc.indptr[v + 1] - csc.indptr[v] < 2) ++v;
    return csc.indptr[v];
  }

  TestFolder folder_;
  PartitionRun run_;
  std::vector<int64_t> sources_, destinations_;
  std::vector<float> weights_;
};

TEST_F(SamplingWeightsTest, EveryNodeHasTheTableOfItsWeights) {
  ASSERT_TRUE(Run().ok());
  const auto set = Open(VerifyLevel::kContents);
  ASSERT_TRUE(set.ok()) << set.status();
  const auto& features = (*set)->schema().relations[0].features;
  ASSERT_EQ(features.size(), 2U);
  EXPECT_FALSE(features[0].sampling);
  EXPECT_TRUE(features[1].sampling);
  AliasTableBuilder builder;
  int64_t edges = 0;
  for (const auto& part : (*set)->parts()) {
    const CscSegment& csc = part->Edges(0);
    ASSERT_FALSE(csc.weights[0].present());
    const WeightTable& table = csc.weights[1];
    for (int64_t v = 0; v < csc.nodes.size(); ++v) {
      std::vector<double> weights;
      for (int64_t i = csc.indptr[v]; i < csc.indptr[v + 1]; ++i) {
        weights.push_back(weights_[part->EdgeOriginalIds(0)[i]]);
      }
      std::vector<AliasEntry> expected(weights.size());
      EXPECT_EQ(builder.Build(weights, expected.data()), table.drawable[v]);
      for (size_t i = 0; i < weights.size(); ++i) {
        EXPECT_EQ(table.entries[csc.indptr[v] + static_cast<int64_t>(i)], expected[i]);
      }
      edges += static_cast<int64_t>(weights.size());
    }
  }
  EXPECT_EQ(edges, kEdges);
}

TEST_F(SamplingWeightsTest, TablesAreOfTheIdentityAndGraphsWithoutKeepTheirs) {
  const auto with = Run();
  ASSERT_TRUE(with.ok()) << with.status();
  run_.replace = true;
  run_.sampling_weights.clear();
  const auto without = PartitionGraph(run_);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_NE(with->graph.manifest.identity, without->graph.manifest.identity);
  EXPECT_EQ(ToJson(without->graph.manifest.schema).dump().find("sampling"), std::string::npos);
}

TEST_F(SamplingWeightsTest, NodesWithNothingToDrawAreCounted) {
  for (int64_t e = 0; e < kEdges; ++e) {
    if (destinations_[e] == 3 || destinations_[e] == 7) weights_[e] = 0;
  }
  const auto summary = Run();
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->graph.undrawable_nodes, 2);
}

TEST_F(SamplingWeightsTest, BadWeightIsInvalidArgumentNamingFileRelationAndEdge) {
  for (const float weight :
       {-1.0f, -std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::infinity()}) {
    const Status status = ErrorOf(weight);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(Message(status), testing::AllOf(HasSubstr("w.npy"), HasSubstr("edge 123 "),
                                                HasSubstr("'node:edge:node'")));
    EXPECT_FALSE(fs::exists(run_.output));
  }
  EXPECT_TRUE(ErrorOf(-0.0f).ok());
}

TEST_F(SamplingWeightsTest, NanIsRefusedEvenWhereFeaturesMayHaveThem) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ErrorOf(nan).code(), absl::StatusCode::kInvalidArgument);
  run_.allow_nan = true;
  const Status status = ErrorOf(nan);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(Message(status), HasSubstr("edge 123 "));
}

TEST_F(SamplingWeightsTest, UnknownNameIsNotFoundNamingThoseThatExist) {
  run_.sampling_weights = {"w", "weight"};
  const Status status = Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(Message(status), testing::AllOf(HasSubstr("'weight'"), HasSubstr("pair, w")));
}

TEST_F(SamplingWeightsTest, TwoColumnsAreInvalidArgument) {
  run_.sampling_weights = {"pair"};
  const Status status = Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(Message(status), HasSubstr("2 columns"));
}

TEST_F(SamplingWeightsTest, VerifyAndInspectTakeTheGraphWithTables) {
  ASSERT_TRUE(Run().ok());
  const auto report = Verify(run_.input, run_.output, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->differences, testing::IsEmpty());
  EXPECT_TRUE(InspectGraph(run_.output).ok());
}

TEST_F(SamplingWeightsTest, FlippedByteOfATableIsDataLossNamingTheFile) {
  ASSERT_TRUE(Run().ok());
  const fs::path file = run_.output / "part-0001" / kTable;
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(-3, std::ios::end);
  const auto byte = static_cast<char>(stream.get() + 1);
  stream.seekp(-3, std::ios::end);
  stream.put(byte);
  stream.close();
  EXPECT_TRUE(Open(VerifyLevel::kHeaders).ok());
  ExpectDataLoss(kTable);
}

TEST_F(SamplingWeightsTest, MissingTableIsNotFoundNamingTheFile) {
  ASSERT_TRUE(Run().ok());
  fs::remove(run_.output / "part-0001" / kDrawable);
  const Status status = Open(VerifyLevel::kHeaders).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(Message(status), HasSubstr(kDrawable));
}

TEST_F(SamplingWeightsTest, AliasBeyondTheNodesListIsFoundInContents) {
  ASSERT_TRUE(Run().ok());
  const int64_t row = RowOfAPair();
  Damage<uint64_t>(kTable, [&](std::span<uint64_t> table) {
    table[2 * row] = (table[2 * row] & 0xffffffffU) | (uint64_t{1} << 40);
  });
  EXPECT_TRUE(Open(VerifyLevel::kHeaders).ok());
  ExpectDataLoss("alias 256");
}

TEST_F(SamplingWeightsTest, WrongNumberOfDrawableEdgesIsFoundInContents) {
  ASSERT_TRUE(Run().ok());
  Damage<uint32_t>(kDrawable, [](std::span<uint32_t> counts) { ++counts[0]; });
  ExpectDataLoss("weights above 0");
}

TEST_F(SamplingWeightsTest, NegativeWeightInATableIsFoundInContents) {
  ASSERT_TRUE(Run().ok());
  const int64_t row = RowOfAPair();
  Damage<uint64_t>(kTable, [&](std::span<uint64_t> table) {
    table[2 * row + 1] = std::bit_cast<uint64_t>(-1.0);
  });
  ExpectDataLoss("entries.npy");
}

TEST_F(SamplingWeightsTest, TableOfOtherWeightsIsFoundByVerify) {
  ASSERT_TRUE(Run().ok());
  const int64_t row = RowOfAPair();
  Damage<uint64_t>(kTable, [&](std::span<uint64_t> table) {
    if ((table[2 * row] & 0xffffffffU) > 1) --table[2 * row];  // one threshold, one too low
    table[2 * row + 1] = std::bit_cast<uint64_t>(std::bit_cast<double>(table[2 * row + 1]) * 2);
  });
  const auto report = Verify(run_.input, run_.output, {});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->differences.size(), 1U);
  EXPECT_THAT(report->differences[0], testing::AllOf(HasSubstr("`w`"), HasSubstr("part 1")));
}

}  // namespace
}  // namespace halograph
