#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/memory_plan.h"
#include "partitioner/stream/union_nodes.h"
#include "tests/support/memory_dataset.h"
#include "tests/unit/partitioner_readers/reader_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

// ---- real data ----------------------------------------------------------------------------
// The graphs of HALOGRAPH_DATA, counted as their README files say.

class RealDataTest : public ReaderFixture {
 protected:
  void SetUp() override {
    ReaderFixture::SetUp();
    if (RealData().empty()) GTEST_SKIP() << "HALOGRAPH_DATA does not name the folder of graphs";
  }

  Dataset Open(const std::string& name) {
    StatusOr<Dataset> dataset = OpenDataset(RealData() / name, options_);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? *std::move(dataset) : Dataset();
  }

  static int64_t CountEdges(const Dataset& dataset) {
    int64_t total = 0;
    for (const InputRelation& relation : dataset.relations) {
      const StatusOr<std::vector<Edge>> edges = ReadEdges(*relation.edges);
      EXPECT_TRUE(edges.ok()) << edges.status();
      if (edges.ok()) total += static_cast<int64_t>(edges->size());
    }
    return total;
  }

  static std::vector<int64_t> SetRows(const InputTask& task) {
    std::vector<int64_t> rows(3);
    for (const InputTaskSet& set : task.sets) {
      const int index = set.set == "train" ? 0 : set.set == "valid" ? 1 : 2;
      rows[index] += set.arrays.front().array->rows();
    }
    return rows;
  }
};

TEST_F(RealDataTest, Cora) {
  const Dataset dataset = Open("cora");
  ASSERT_EQ(dataset.node_types.size(), 1U);
  EXPECT_EQ(dataset.node_types[0].name, "node");
  EXPECT_EQ(dataset.node_types[0].count, 2708);
  ASSERT_EQ(dataset.node_types[0].features.size(), 1U);
  EXPECT_EQ(dataset.node_types[0].features[0].spec, (TensorSpec{"feat", DType::kUInt8, 2, 1433}));
  EXPECT_EQ(CountEdges(dataset), 10556);
  ASSERT_EQ(dataset.tasks.size(), 1U);
  EXPECT_EQ(dataset.tasks[0].metadata, (Json{{"num_classes", 7}}));
  EXPECT_THAT(SetRows(dataset.tasks[0]), testing::ElementsAre(140, 500, 1000));
}

TEST_F(RealDataTest, AmazonPhoto) {
  const Dataset dataset = Open("amazon-photo");
  EXPECT_EQ(dataset.node_types.at(0).count, 7650);
  EXPECT_EQ(CountEdges(dataset), 238162);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(4591, 1530, 1529));
}

TEST_F(RealDataTest, Citeseer) {
  const Dataset dataset = Open("citeseer");
  EXPECT_EQ(dataset.node_types.at(0).count, 3327);
  EXPECT_EQ(CountEdges(dataset), 9104);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(120, 500, 1000));
}

TEST_F(RealDataTest, AifbHas45Relations) {
  const Dataset dataset = Open("aifb");
  EXPECT_EQ(dataset.node_types.at(0).name, "entity");
  EXPECT_EQ(dataset.node_types.at(0).count, 8285);
  EXPECT_EQ(dataset.relations.size(), 45U);
  EXPECT_EQ(CountEdges(dataset), 29043);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(112, 28, 36));
}

TEST_F(RealDataTest, ImdbHeteroHas3NodeTypesInByteOrder) {
  const Dataset dataset = Open("imdb-hetero");
  ASSERT_EQ(dataset.node_types.size(), 3U);
  EXPECT_EQ(dataset.node_types[0].name, "actor");
  EXPECT_EQ(dataset.node_types[0].count, 5257);
  EXPECT_EQ(dataset.node_types[1].name, "director");
  EXPECT_EQ(dataset.node_types[1].count, 2081);
  EXPECT_EQ(dataset.node_types[2].name, "movie");
  EXPECT_EQ(dataset.node_types[2].count, 4278);
  EXPECT_EQ(dataset.node_types[2].features.at(0).spec.dim, 512);
  EXPECT_EQ(CountEdges(dataset), 34212);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(400, 400, 3478));
  EXPECT_EQ(dataset.tasks[0].sets.at(0).type, "movie");
}

TEST_F(RealDataTest, Fb15k237HasPairsAsSeeds) {
  const Dataset dataset = Open("fb15k-237");
  EXPECT_EQ(dataset.node_types.at(0).count, 14541);
  EXPECT_EQ(dataset.relations.size(), 237U);
  EXPECT_EQ(CountEdges(dataset), 272115);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(272115, 17535, 20466));
  for (const InputTaskSet& set : dataset.tasks[0].sets) {
    EXPECT_TRUE(set.edges);
    EXPECT_EQ(set.arrays[0].spec.dim, 2);
  }
}

TEST_F(RealDataTest, SnapCaGrQc) {
  const Dataset dataset = Open("snap/ca-GrQc.txt");
  EXPECT_EQ(dataset.name, "ca-GrQc");
  EXPECT_EQ(dataset.node_types.at(0).count, 5242);
  EXPECT_NE(dataset.node_types[0].original_ids, nullptr);
  EXPECT_EQ(CountEdges(dataset), 28980);
  options_.self_loops = EdgePolicy::kDrop;
  EXPECT_EQ(CountEdges(Open("snap/ca-GrQc.txt")), 28980 - 12);
}

TEST_F(RealDataTest, SnapEmailEnronIsGzip) {
  const Dataset dataset = Open("snap/email-Enron.txt.gz");
  EXPECT_EQ(dataset.name, "email-Enron");
  EXPECT_EQ(dataset.node_types.at(0).count, 36692);
  EXPECT_EQ(dataset.node_types[0].original_ids, nullptr);  // 0 .. 36691 in the file
  EXPECT_EQ(CountEdges(dataset), 367662);
}

TEST_F(RealDataTest, SnapWikiVote) {
  const Dataset dataset = Open("snap/wiki-Vote.txt");
  EXPECT_EQ(dataset.node_types.at(0).count, 7115);
  EXPECT_EQ(CountEdges(dataset), 103689);
}

TEST_F(RealDataTest, CoraInOgbLayoutIsCoraWithReverseEdges) {
  options_.undirected = true;
  const Dataset dataset = Open("cora-ogb-raw");
  EXPECT_EQ(dataset.format, "ogb");
  EXPECT_EQ(dataset.node_types.at(0).count, 2708);
  EXPECT_EQ(dataset.node_types[0].features.at(0).spec,
            (TensorSpec{"feat", DType::kFloat32, 2, 1433}));
  EXPECT_EQ(CountEdges(dataset), 10556);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(140, 500, 1000));
  EXPECT_EQ(dataset.tasks[0].metadata["num_classes"], 7);

  // The labels are those of the GraphBolt folder, seed by seed.
  options_.undirected = false;
  const Dataset other = Open("cora");
  for (size_t set = 0; set < 3; ++set) {
    for (size_t array = 0; array < 2; ++array) {
      const auto a = dataset.tasks[0].sets.at(set).arrays.at(array).array->As<int64_t>();
      const auto b = other.tasks.at(0).sets.at(set).arrays.at(array).array->As<int64_t>();
      ASSERT_TRUE(a.ok() && b.ok());
      EXPECT_THAT(*a, testing::ElementsAreArray(*b));
    }
  }
}

TEST_F(RealDataTest, OgbnArxivPartialLacksItsEdges) {
  ExpectError(OpenDataset(RealData() / "ogbn-arxiv-partial", options_).status(),
              absl::StatusCode::kNotFound, {"raw/edge.csv.gz", "missing"});
}

// Its labels, years and split are real; with edges of our own the rest must read.
TEST_F(RealDataTest, OgbnArxivLabelsYearsAndSplitAtFullSize) {
  const std::filesystem::path copy = folder_ / "arxiv";
  std::filesystem::copy(RealData() / "ogbn-arxiv-partial", copy,
                        std::filesystem::copy_options::recursive);
  WriteText("arxiv/raw/edge.csv.gz", "0,169342\n");
  WriteText("arxiv/raw/num-edge-list.csv.gz", "1\n");
  const StatusOr<Dataset> dataset = OpenDataset(copy, options_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->node_types.at(0).count, 169343);
  EXPECT_EQ(dataset->node_types[0].features.at(0).spec.name, "year");
  EXPECT_EQ(dataset->tasks.at(0).metadata["num_classes"], 40);
  EXPECT_THAT(SetRows(dataset->tasks[0]), testing::ElementsAre(90941, 29799, 48603));
}

// ---- edge pass ----------------------------------------------------------------------------
// Passes over edges: order, offsets, errors of the reading thread, and leaving early.

struct TwoTypes : DatasetBuilder {
  TwoTypes() {
    Nodes("actor", 10);
    Nodes("movie", 20);
    Edges("actor", "in", "movie", RandomEdges(10, 20, 100, 1));
    Edges("movie", "like", "movie", RandomEdges(20, 20, 30, 2));
  }
};

// Fails after some good chunks.
class BrokenEdges : public EdgeSource {
 public:
  explicit BrokenEdges(int good_chunks) : good_chunks_(good_chunks) {}
  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    return std::unique_ptr<EdgeCursor>(std::make_unique<Cursor>(good_chunks_));
  }
  int64_t max_edges() const override { return 1000; }

 private:
  class Cursor : public EdgeCursor {
   public:
    explicit Cursor(int left) : left_(left) {}
    StatusOr<bool> Next(EdgeChunk* chunk) override {
      if (left_-- == 0) return OutOfRange("edges.npy: edge 7: source 9 is beyond");
      chunk->sources = {0, 1};
      chunk->destinations = {1, 0};
      chunk->ids = {0, 1};
      return true;
    }

   private:
    int left_;
  };
  int good_chunks_;
};

Dataset Broken(int good_chunks) {
  Dataset dataset;
  dataset.node_types.push_back({.name = "node", .count = 2, .features = {}, .original_ids = {}});
  dataset.relations.push_back({.source = "node",
                               .name = "edge",
                               .destination = "node",
                               .edges = std::make_shared<BrokenEdges>(good_chunks),
                               .features = {}});
  return dataset;
}

TEST(ForEachUnionEdgesTest, GivesEveryEdgeInOrderWithTheTypesOffsets) {
  const TwoTypes builder;
  EdgePairs seen;
  std::vector<int> relations;
  const Status status = ForEachUnionEdges(builder.dataset(), "test", [&](const UnionEdges& edges) {
    for (size_t i = 0; i < edges.sources.size(); ++i) {
      seen.emplace_back(edges.sources[i], edges.destinations[i]);
    }
    relations.push_back(edges.relation);
    return OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  EdgePairs expected;
  for (const auto& [u, v] : RandomEdges(10, 20, 100, 1)) expected.emplace_back(u, v + 10);
  for (const auto& [u, v] : RandomEdges(20, 20, 30, 2)) expected.emplace_back(u + 10, v + 10);
  EXPECT_EQ(seen, expected);
  EXPECT_TRUE(std::is_sorted(relations.begin(), relations.end()));
}

TEST(ForEachUnionEdgesTest, NoRelationNoVisit) {
  DatasetBuilder builder;
  builder.Nodes("node", 3);
  EXPECT_TRUE(ForEachUnionEdges(builder.dataset(), "test", [](const UnionEdges&) {
                return Internal("visited");
              }).ok());
}

TEST(ForEachUnionEdgesTest, ErrorOfTheReaderComesAfterTheChunksBeforeIt) {
  for (const int good : {0, 1, 20}) {
    int visited = 0;
    const Status status = ForEachUnionEdges(Broken(good), "test", [&](const UnionEdges&) {
      ++visited;
      return OkStatus();
    });
    EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr("edge 7"));
    EXPECT_EQ(visited, good);
  }
}

TEST(ForEachUnionEdgesTest, ErrorOfTheVisitorEndsThePassWhileTheReaderIsAhead) {
  int visited = 0;
  const Status status = ForEachUnionEdges(Broken(1'000'000), "test", [&](const UnionEdges&) {
    return ++visited == 3 ? ResourceExhausted("disk full") : OkStatus();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(visited, 3);
}

TEST(RepeatUnionEdgesTest, OtherNumberThanBeforeIsDataLossAndNoneTooManyAreVisited) {
  const TwoTypes builder;  // 130 edges
  for (const int64_t before : {130, 131, 129, 100, 0}) {
    int64_t visited = 0;
    const Status status =
        RepeatUnionEdges(builder.dataset(), "test", before, [&](const UnionEdges& edges) {
          visited += static_cast<int64_t>(edges.sources.size());
          return OkStatus();
        });
    EXPECT_EQ(status.ok(), before == 130) << status;
    EXPECT_LE(visited, before);
    if (before == 130) continue;
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr("gave 130 edges"));
  }
}

TEST(ForEachEdgesTest, KeepsInputIdsAndEdgeIds) {
  const TwoTypes builder;
  EdgePairs seen;
  int64_t next_id = 0;
  const Status status =
      ForEachEdges(builder.dataset().relations[1], "test", [&](const EdgeChunk& chunk) {
        for (size_t i = 0; i < chunk.size(); ++i) {
          seen.emplace_back(chunk.sources[i], chunk.destinations[i]);
          EXPECT_EQ(chunk.ids[i], next_id++);
        }
        return OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen, RandomEdges(20, 20, 30, 2));
}

TEST(CheckSameEdgesTest, OtherCountIsDataLossWithBoth) {
  EXPECT_TRUE(CheckSameEdges("writing", 5, 5).ok());
  const Status status = CheckSameEdges("writing", 5000, 4999);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(Message(status), HasSubstr("4,999"));
  EXPECT_THAT(Message(status), HasSubstr("5,000"));
}

TEST(UnionNodesTest, TypesFollowOneAnotherAndEmptyOnesHoldNothing) {
  DatasetBuilder builder;
  builder.Nodes("a", 2).Nodes("b", 0).Nodes("c", 3);
  const UnionNodes nodes(builder.dataset());
  EXPECT_EQ(nodes.count(), 5);
  EXPECT_EQ(nodes.TypeOf(1), 0);
  EXPECT_EQ(nodes.TypeOf(2), 2);
  EXPECT_EQ(nodes.SplitByType({1, 2, 3, 4, 5}),
            (std::vector<std::vector<uint16_t>>{{1, 2}, {}, {3, 4, 5}}));
  EXPECT_EQ(nodes.SplitByType(std::vector<int32_t>{1, 2, 3, 4, 5}),
            nodes.SplitByType({1, 2, 3, 4, 5}));
}

// ---- memory plan --------------------------------------------------------------------------
// --memory: the largest phase counts, and a refusal names the limit that would do.

MemoryPlan TwoPhases() {
  return {{{"counting", {{"degrees", 1000}, {"owners", 500}}},
           {"clustering", {{"volumes", int64_t{64} << 20}, {"clusters", int64_t{128} << 20}}}}};
}

TEST(MemoryPlanTest, PeakIsTheLargestPhaseNotTheSum) {
  EXPECT_EQ(TwoPhases().peak_bytes(), int64_t{192} << 20);
  EXPECT_EQ(MemoryPlan{}.peak_bytes(), 0);
  MemoryPlan plan = TwoPhases();
  plan.Append({{{"writing", {{"buffers", int64_t{500} << 20}}}}});
  EXPECT_EQ(plan.peak_bytes(), int64_t{500} << 20);
  EXPECT_THAT(plan.ToText(), HasSubstr("* writing"));
}

TEST(CheckMemoryTest, LimitIsKeptToTheByte) {
  const int64_t needed = TwoPhases().peak_bytes() + kProgramBytes;
  EXPECT_TRUE(CheckMemory(TwoPhases(), needed).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(CheckMemory(TwoPhases(), needed - 1)));
}

TEST(CheckMemoryTest, RefusalNamesTheLeastThatWouldWorkAndWhatTakesMost) {
  const Status status = CheckMemory(TwoPhases(), int64_t{1} << 20);
  EXPECT_THAT(Message(status), HasSubstr("--memory 1.0 MiB"));
  EXPECT_THAT(Message(status), HasSubstr("at least --memory 224MiB"));
  EXPECT_THAT(Message(status), HasSubstr("clustering"));
  EXPECT_THAT(Message(status), HasSubstr("clusters 128.0 MiB, volumes"));
}

TEST(AvailableMemoryTest, IsSomethingOnThisMachine) {
  EXPECT_GT(AvailableMemory(), int64_t{1} << 20);
}

}  // namespace
}  // namespace halograph
