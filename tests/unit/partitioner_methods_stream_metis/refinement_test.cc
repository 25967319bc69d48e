#include "partitioner/methods/stream_metis/refinement.h"

#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

constexpr int kParts = 4;
constexpr int64_t kBlockNodes = 200;

int64_t Cut(const EdgePairs& edges, const std::vector<uint16_t>& owners) {
  int64_t cut = 0;
  for (const auto& [u, v] : edges) cut += owners[u] != owners[v] ? 1 : 0;
  return cut;
}

// Four blocks, each its own partition but for every eighth node, which is elsewhere.
class RefinementTest : public testing::Test {
 protected:
  RefinementTest()
      : edges_(PlantedEdges(kParts, kBlockNodes, 8000, 3)),
        builder_(kParts * kBlockNodes, edges_),
        degrees_(DegreesOf(builder_.dataset())),
        weights_(*NodeWeights::Build(builder_.dataset(), degrees_, {})) {
    for (int64_t v = 0; v < kParts * kBlockNodes; ++v) {
      owners_.push_back(static_cast<uint16_t>((v / kBlockNodes + (v % 8 == 0 ? 1 : 0)) % kParts));
    }
  }

  std::vector<RefinementRound> RefineRounds(int rounds, int64_t counter_bytes) {
    NodeLoads loads(weights_, owners_, kParts);
    auto done =
        Refine({&builder_.dataset(), &degrees_, kParts, counter_bytes, 1, owners_, &loads}, rounds);
    EXPECT_TRUE(done.ok()) << done.status();
    EXPECT_EQ(loads.parts().Excess(), 0);
    EXPECT_EQ(NodeLoads(weights_, owners_, kParts).parts().Balance(), loads.parts().Balance());
    return std::move(done).value();
  }

  EdgePairs edges_;
  OneType builder_;
  Degrees degrees_;
  NodeWeights weights_;
  std::vector<uint16_t> owners_;
};

TEST_F(RefinementTest, BringsStrayNodesHomeWithinTheBounds) {
  const int64_t before = Cut(edges_, owners_);
  const auto rounds = RefineRounds(4, kParts * kParts * kBlockNodes);
  EXPECT_EQ(rounds.front().cut, before);
  EXPECT_LT(rounds[1].cut, before);
  int64_t strays = 0;
  for (int64_t v = 0; v < kParts * kBlockNodes; ++v)
    strays += owners_[v] != v / kBlockNodes ? 1 : 0;
  EXPECT_LE(strays, 4);
}

TEST_F(RefinementTest, RangesOfNodesFindTheSame) {
  RefineRounds(4, 100 * kParts);  // 100 nodes a pass, 8 passes a round
  int64_t strays = 0;
  for (int64_t v = 0; v < kParts * kBlockNodes; ++v)
    strays += owners_[v] != v / kBlockNodes ? 1 : 0;
  EXPECT_LE(strays, 4);
}

TEST_F(RefinementTest, FewCountersTakeTurns) {
  const int64_t before = Cut(edges_, owners_);
  const auto rounds = RefineRounds(2, 20 * kParts);  // 40 ranges, 8 a round
  EXPECT_EQ(rounds.size(), 2);
  EXPECT_LT(Cut(edges_, owners_), before);
  // The ranges of later turns were not looked at.
  for (int64_t v = 16 * 20; v < kParts * kBlockNodes; v += 8)
    EXPECT_NE(owners_[v], v / kBlockNodes) << v;
}

TEST_F(RefinementTest, NoRoundsNoPass) {
  const std::vector<uint16_t> before = owners_;
  EXPECT_TRUE(RefineRounds(0, 1000).empty());
  EXPECT_EQ(owners_, before);
}

}  // namespace
}  // namespace halograph
