#include "partitioner/write/sampling_weights.h"

#include <bit>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/progress.h"
#include "common/base/rng.h"
#include "common/graph/partition.h"
#include "common/sampling/weighted_table.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/run/partition_graph.h"
#include "partitioner/verify/verify.h"
#include "tests/support/test_folder.h"

// --sampling-weights from an input folder to mapped tables; what is refused, and damage.

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kEntries[] = "edges/node%3Aedge%3Anode/sampling/w/entries.npy";
constexpr char kWeights[] = "edges/node%3Aedge%3Anode/sampling/w/weights.npy";
constexpr char kHeavy[] = "edges/node%3Aedge%3Anode/sampling/w/heavy.npy";
constexpr char kDrawable[] = "edges/node%3Aedge%3Anode/sampling/w/drawable.npy";

// 40 nodes, 600 edges into half of them, most into three; edge features "w" (float32, over eight
// decades), "pair" (two columns).
class SamplingWeightsTest : public testing::Test {
 protected:
  static constexpr int64_t kNodes = 40;
  static constexpr int64_t kEdges = 600;

  SamplingWeightsTest() {
    Progress::Enable(false);
    CounterRng rng(Mix(8));
    for (int64_t e = 0; e < kEdges; ++e) {
      sources_.push_back(static_cast<int64_t>(rng.NextBounded(kNodes)));
      destinations_.push_back(static_cast<int64_t>(rng.NextBounded(e % 3 == 0 ? kNodes / 2 : 3)));
      const auto u = static_cast<float>(rng.NextDouble() + 1e-4);
      weights_.push_back(rng.NextBounded(5) == 0 ? 0.0f : 1 / (u * u));
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
    const fs::path part = run_.output / PartFolderName(DamagedPart());
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

  // Damages the record of a top-heavy node.
  void DamageHeavy(const std::function<void(std::span<uint64_t>)>& change) {
    constexpr size_t kWords = sizeof(HeavyEdges) / sizeof(uint64_t);
    Damage<uint64_t>(kHeavy, [&](std::span<uint64_t> words) {
      for (size_t at = 0; at < words.size(); at += kWords) {
        if (words[at + 1] != 0) return change(words.subspan(at, kWords));
      }
      ADD_FAILURE() << "no record to damage";
    });
  }

  void ExpectFoundByVerify() {
    const auto report = Verify(run_.input, run_.output, {});
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->differences.size(), 1U);
    EXPECT_THAT(report->differences[0],
                testing::AllOf(HasSubstr("`w`"), HasSubstr(fmt::format("part {}", DamagedPart()))));
  }

  // One that has a top-heavy node.
  [[nodiscard]] int DamagedPart() const {
    const auto set = Open(VerifyLevel::kHeaders);
    for (const auto& part : (*set)->parts()) {
      const CscSegment& csc = part->Edges(0);
      for (int64_t v = 0; v < csc.nodes.size(); ++v) {
        const int64_t degree = csc.indptr[v + 1] - csc.indptr[v];
        if (csc.weights[1].Heavy(v, csc.indptr[v], degree) != nullptr) return part->part();
      }
    }
    ADD_FAILURE() << "no node is top-heavy";
    return 0;
  }

  // Row of that part which its first node with at least two in-edges begins with.
  [[nodiscard]] int64_t RowOfAPair() const {
    const auto set = Open(VerifyLevel::kHeaders);
    const CscSegment& csc = (*set)->parts()[DamagedPart()]->Edges(0);
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
  int64_t edges = 0;
  int64_t apart = 0;
  for (const auto& part : (*set)->parts()) {
    const CscSegment& csc = part->Edges(0);
    ASSERT_FALSE(csc.weights[0].present());
    const WeightTable& table = csc.weights[1];
    for (int64_t v = 0; v < csc.nodes.size(); ++v) {
      const int64_t begin = csc.indptr[v];
      const int64_t degree = csc.indptr[v + 1] - begin;
      std::vector<double> weights;
      for (int64_t i = begin; i < begin + degree; ++i) {
        weights.push_back(weights_[part->EdgeOriginalIds(0)[i]]);
      }
      WeightTableMemory expected(1, degree);
      WeightTableBuilder().Build(weights, 0, 0, expected.room());
      EXPECT_EQ(table.drawable[v], expected.drawable()[0]);
      EXPECT_EQ(std::vector(table.weights + begin, table.weights + begin + degree), weights);
      EXPECT_EQ(std::vector(table.entries + begin, table.entries + begin + degree),
                expected.entries());
      if (const HeavyEdges* const heavy = table.Heavy(v, begin, degree); heavy != nullptr) {
        EXPECT_EQ(*heavy, expected.heavy()[0]);
        ++apart;
      }
      edges += degree;
    }
  }
  EXPECT_EQ(apart, 3);
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
  const Status refused = ErrorOf(nan);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  // No advice that would be refused in its turn.
  EXPECT_THAT(Message(refused), testing::AllOf(HasSubstr("--sampling-weights"),
                                               testing::Not(HasSubstr("--allow-nan"))));
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
  const fs::path file = run_.output / "part-0001" / kEntries;
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(-3, std::ios::end);
  const auto byte = static_cast<char>(stream.get() + 1);
  stream.seekp(-3, std::ios::end);
  stream.put(byte);
  stream.close();
  EXPECT_TRUE(Open(VerifyLevel::kHeaders).ok());
  ExpectDataLoss(kEntries);
}

TEST_F(SamplingWeightsTest, MissingTableIsNotFoundNamingTheFile) {
  ASSERT_TRUE(Run().ok());
  fs::remove(run_.output / "part-0001" / kDrawable);
  const Status status = Open(VerifyLevel::kHeaders).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(Message(status), HasSubstr(kDrawable));
}

TEST_F(SamplingWeightsTest, TablesOfAnotherLayoutAreFailedPreconditionSayingWhatToDo) {
  ASSERT_TRUE(Run().ok());
  Json schema = ToJson((*Open(VerifyLevel::kHeaders))->schema());
  Json& sampling = schema["relations"][0]["features"][1]["sampling"];
  EXPECT_EQ(sampling, kWeightTableLayout);
  for (const Json& other : {Json(true), Json(1), Json(kWeightTableLayout + 1), Json("yes")}) {
    sampling = other;
    const Status status = SchemaFromJson(schema, "manifest.json").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(Message(status),
                testing::AllOf(HasSubstr("manifest.json"), HasSubstr("'w'"),
                               HasSubstr(other.dump()), HasSubstr("partition the graph again")));
  }
}

TEST_F(SamplingWeightsTest, AliasBeyondTheNodesListIsFoundInContents) {
  ASSERT_TRUE(Run().ok());
  const int64_t row = RowOfAPair();
  Damage<uint32_t>(kEntries, [&](std::span<uint32_t> table) { table[2 * row + 1] = 1000; });
  EXPECT_TRUE(Open(VerifyLevel::kHeaders).ok());
  ExpectDataLoss("alias 1000");
}

TEST_F(SamplingWeightsTest, EdgeOfWeightZeroThatCouldBeDrawnIsFoundInContents) {
  ASSERT_TRUE(Run().ok());
  int64_t zero = 0;
  Damage<double>(kWeights, [&](std::span<double> weights) {
    zero = std::find(weights.begin(), weights.end(), 0.0) - weights.begin();
  });
  Damage<uint32_t>(kEntries, [&](std::span<uint32_t> table) { table[2 * zero] = 5; });
  ExpectDataLoss("weight 0");
}

TEST_F(SamplingWeightsTest, WrongNumberOfDrawableEdgesIsFoundInContents) {
  ASSERT_TRUE(Run().ok());
  Damage<uint32_t>(kDrawable, [](std::span<uint32_t> counts) { ++counts[0]; });
  ExpectDataLoss("weights above 0");
}

TEST_F(SamplingWeightsTest, NegativeWeightInATableIsFoundInContents) {
  ASSERT_TRUE(Run().ok());
  const int64_t row = RowOfAPair();
  Damage<double>(kWeights, [&](std::span<double> weights) { weights[row] = -1.0; });
  ExpectDataLoss("weights.npy");
}

TEST_F(SamplingWeightsTest, WrongEdgeSetApartIsFoundInContents) {
  ASSERT_TRUE(Run().ok());
  DamageHeavy([](std::span<uint64_t> record) { record[11] ^= 1; });  // the first position
  EXPECT_TRUE(Open(VerifyLevel::kHeaders).ok());
  ExpectDataLoss("heavy.npy");
}

TEST_F(SamplingWeightsTest, TableOfOtherWeightsIsFoundByVerify) {
  ASSERT_TRUE(Run().ok());
  Damage<uint32_t>(kEntries, [](std::span<uint32_t> table) {
    for (size_t i = 0; i < table.size(); i += 2) {  // thresholds, all but one kept
      if (table[i] > 1 && table[i] + 1 != 0) {
        --table[i];
        return;
      }
    }
    ADD_FAILURE() << "no threshold to damage";
  });
  ExpectFoundByVerify();
}

TEST_F(SamplingWeightsTest, WrongRestOfATopHeavyNodeIsFoundByVerify) {
  ASSERT_TRUE(Run().ok());
  DamageHeavy([](std::span<uint64_t> record) {
    record[0] = std::bit_cast<uint64_t>(std::bit_cast<double>(record[0]) * 1.5);
  });
  ExpectFoundByVerify();
}

}  // namespace
}  // namespace halograph
