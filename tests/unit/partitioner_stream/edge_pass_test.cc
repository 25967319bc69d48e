// Passes over edges: order, offsets, errors of the reading thread, and leaving early.
#include "partitioner/stream/edge_pass.h"

#include <gmock/gmock.h>

#include "partitioner/stream/union_nodes.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace halograph
