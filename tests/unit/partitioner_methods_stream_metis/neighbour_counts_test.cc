#include "partitioner/methods/stream_metis/neighbour_counts.h"

#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

std::vector<uint16_t> SomeOwners(int64_t nodes, int parts) {
  std::vector<uint16_t> owners;
  for (int64_t v = 0; v < nodes; ++v) {
    owners.push_back(static_cast<uint16_t>(Bounded(Mix(static_cast<uint64_t>(v)), parts)));
  }
  return owners;
}

TEST(NeighbourCountsTest, CountsBothEndsInRangesAndHalves) {
  constexpr int64_t kNodes = 50;
  constexpr int kParts = 3;
  EdgePairs edges = RandomEdges(kNodes, kNodes, 400, 2);
  edges.emplace_back(4, 4);
  OneType builder(kNodes, edges);
  const Degrees degrees = DegreesOf(builder.dataset());
  const std::vector<uint16_t> owners = SomeOwners(kNodes, kParts);
  std::vector<std::vector<int>> slow(kNodes, std::vector<int>(kParts, 0));
  int64_t slow_cut = 0;
  for (const auto& [u, v] : edges) {
    if (u == v) continue;
    ++slow[u][owners[v]];
    ++slow[v][owners[u]];
    slow_cut += owners[u] != owners[v] ? 1 : 0;
  }
  auto counts = NeighbourCounts::Make(degrees, kParts, 20, 5);
  ASSERT_TRUE(counts.ok()) << counts.status();
  const HashedHalf half = {99, true};
  for (const NodeRange range : {NodeRange{0, 20}, NodeRange{20, 40}, NodeRange{40, 50}}) {
    for (const HashedHalf* chosen : {static_cast<const HashedHalf*>(nullptr), &half}) {
      const auto cut = counts->Count(builder.dataset(), owners, range, chosen);
      ASSERT_TRUE(cut.ok()) << cut.status();
      EXPECT_EQ(*cut, slow_cut);
      for (int64_t v = range.begin; v < range.end; ++v) {
        for (int part = 0; part < kParts; ++part) {
          const bool counted = chosen == nullptr || half.Has(v);
          EXPECT_EQ(counts->Of(v)[part], counted ? slow[v][part] : 0) << v;
        }
      }
    }
  }
}

TEST(NeighbourCountsTest, HalvesAreHalvesAndComplements) {
  int64_t in_half = 0;
  for (int64_t v = 0; v < 10000; ++v) {
    EXPECT_NE((HashedHalf{5, false}.Has(v)), (HashedHalf{5, true}.Has(v)));
    in_half += HashedHalf{5, true}.Has(v) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(in_half), 5000, 200);
}

TEST(NeighbourCountsTest, ParallelEdgesStopAt255) {
  OneType builder(3, EdgePairs(255, {0, 1}));
  const Degrees degrees = DegreesOf(builder.dataset());
  auto counts = NeighbourCounts::Make(degrees, 2, 3, 5);
  ASSERT_TRUE(counts->Count(builder.dataset(), SomeOwners(3, 1), {0, 3}, nullptr).ok());
  EXPECT_EQ(counts->Of(1)[0], 255);
  EXPECT_EQ(counts->Scale(1), 1);
}

TEST(NeighbourCountsTest, HubIsCountedByAShareOfItsNeighbours) {
  constexpr int64_t kNodes = 20001;
  OneType builder(kNodes, Star(kNodes));
  const Degrees degrees = DegreesOf(builder.dataset());
  std::vector<uint16_t> owners(kNodes, 0);
  for (int64_t v = 0; v < kNodes; v += 4) owners[v] = 1;  // a quarter
  auto counts = NeighbourCounts::Make(degrees, 2, kNodes, 5);
  ASSERT_TRUE(counts->Count(builder.dataset(), owners, {0, kNodes}, nullptr).ok());
  const uint8_t* hub = counts->Of(0);
  EXPECT_LT(hub[0], 255);
  const double scale = counts->Scale(0);
  EXPECT_NEAR(hub[0] * scale, 15000, 4000);
  EXPECT_NEAR(hub[1] * scale, 5000, 2500);
}

}  // namespace
}  // namespace halograph
