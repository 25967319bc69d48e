#include "partitioner/readers/edge_filters.h"

#include <algorithm>

#include "tests/unit/partitioner_readers/reader_fixture.h"

namespace halograph {
namespace {

// `count` edges, edge i from i % 7 to i % 3.
class FakeEdges : public EdgeSource {
 public:
  explicit FakeEdges(int64_t count) : count_(count) {}
  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    return std::make_unique<Cursor>(count_);
  }
  int64_t max_edges() const override { return count_; }

 private:
  class Cursor : public EdgeCursor {
   public:
    explicit Cursor(int64_t count) : count_(count) {}
    StatusOr<bool> Next(EdgeChunk* chunk) override {
      chunk->clear();
      for (; next_ < count_ && chunk->size() < kEdgeChunk; ++next_) {
        chunk->sources.push_back(next_ % 7);
        chunk->destinations.push_back(next_ % 3);
        chunk->ids.push_back(next_);
      }
      return chunk->size() > 0;
    }

   private:
    int64_t count_, next_ = 0;
  };
  int64_t count_;
};

class EdgeFiltersTest : public testing::TestWithParam<int64_t> {
 protected:
  static std::vector<Edge> Given(int64_t count) {
    std::vector<Edge> edges;
    for (int64_t i = 0; i < count; ++i) edges.push_back({i, i % 7, i % 3});
    return edges;
  }
};

TEST_P(EdgeFiltersTest, WithReverseNumbersEdgesTwiceAndKeepsChunksBounded) {
  std::vector<Edge> expected;
  for (const Edge& edge : Given(GetParam())) {
    expected.push_back({2 * edge.id, edge.source, edge.destination});
    expected.push_back({2 * edge.id + 1, edge.destination, edge.source});
  }
  const auto edges = WithReverse(std::make_shared<FakeEdges>(GetParam()));
  EXPECT_EQ(*ReadEdges(*edges), expected);
  EXPECT_EQ(*ReadEdges(*edges), expected);  // a second pass
  EXPECT_EQ(edges->max_edges(), 2 * GetParam());
}

TEST_P(EdgeFiltersTest, ReversedSwapsEnds) {
  std::vector<Edge> expected = Given(GetParam());
  for (Edge& edge : expected) std::swap(edge.source, edge.destination);
  EXPECT_EQ(*ReadEdges(*Reversed(std::make_shared<FakeEdges>(GetParam()))), expected);
}

TEST_P(EdgeFiltersTest, WithoutSelfLoopsKeepsTheIdsOfTheRest) {
  std::vector<Edge> expected = Given(GetParam());
  std::erase_if(expected, [](const Edge& edge) { return edge.source == edge.destination; });
  EXPECT_EQ(*ReadEdges(*WithoutSelfLoops(std::make_shared<FakeEdges>(GetParam()))), expected);
}

// 2: nothing but loops; the others end in the middle of a chunk and at its border.
INSTANTIATE_TEST_SUITE_P(Counts, EdgeFiltersTest,
                         testing::Values(0, 1, 2, 3, 100, kEdgeChunk / 2, kEdgeChunk,
                                         kEdgeChunk + 1, 3 * kEdgeChunk - 5));

}  // namespace
}  // namespace halograph
