#include "partitioner/methods/stream_metis/refinement.h"
#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

struct Balanced {
  std::vector<uint16_t> owners;
  double excess = 0;
  int64_t moves = 0;
};

Balanced Balance(const Dataset& dataset, std::vector<uint16_t> owners, int parts,
                 int64_t counter_bytes) {
  const Degrees degrees = DegreesOf(dataset);
  const auto weights = NodeWeights::Build(dataset, degrees, {});
  NodeLoads loads(*weights, owners, parts);
  const auto moves = BalanceOwners({&dataset, &degrees, parts, counter_bytes, 1, owners, &loads});
  EXPECT_TRUE(moves.ok()) << moves.status();
  return {owners, loads.parts().Excess(), *moves};
}

TEST(BalanceTest, EverythingInOnePartitionIsSpread) {
  OneType builder(800, PlantedEdges(4, 200, 4000, 3));
  for (const int64_t counter_bytes : {4 * 800, 4 * 200}) {
    const Balanced balanced =
        Balance(builder.dataset(), std::vector<uint16_t>(800, 0), 4, counter_bytes);
    // From so far away single moves may end a node or a few edges above a bound.
    EXPECT_LE(balanced.excess, 0.01);
    EXPECT_GT(balanced.moves, 500);
  }
}

TEST(BalanceTest, WhatIsEvenStaysAsItIs) {
  OneType builder(800, PlantedEdges(4, 200, 4000, 3));
  std::vector<uint16_t> owners;
  for (int64_t v = 0; v < 800; ++v) owners.push_back(static_cast<uint16_t>(v / 200));
  const Balanced balanced = Balance(builder.dataset(), owners, 4, 4 * 800);
  EXPECT_EQ(balanced.owners, owners);
  EXPECT_EQ(balanced.moves, 0);
}

TEST(BalanceTest, StraysLeaveBeforeThoseAtHome) {
  // Block 0's partition has 40 nodes of block 1 beside its own: those are what it gives back.
  OneType builder(400, PlantedEdges(2, 200, 6000, 3));
  std::vector<uint16_t> owners;
  for (int64_t v = 0; v < 400; ++v) owners.push_back(v < 240 ? 0 : 1);
  const Balanced balanced = Balance(builder.dataset(), owners, 2, 2 * 400);
  EXPECT_EQ(balanced.excess, 0);
  int64_t home_left = 0;
  for (int64_t v = 0; v < 200; ++v) home_left += balanced.owners[v] != 0 ? 1 : 0;
  EXPECT_LE(home_left, 2);
}

TEST(BalanceTest, AHubThatIsTooHeavyForAnyPartitionEnds) {
  OneType builder(100, Star(100));
  const Balanced balanced = Balance(builder.dataset(), std::vector<uint16_t>(100, 0), 4, 400);
  EXPECT_GT(balanced.excess, 0);  // 99 in-edges on one node
  std::vector<int> nodes(4, 0);
  for (const uint16_t owner : balanced.owners) ++nodes[owner];
  for (const int count : nodes) EXPECT_LE(count, 26);
}

}  // namespace
}  // namespace halograph
