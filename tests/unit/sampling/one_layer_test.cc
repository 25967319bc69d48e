#include "common/sampling/kernel/one_layer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/request.h"
#include "tests/support/chi_square.h"
#include "tests/unit/sampling/memory_graph.h"
#include "tests/unit/sampling/slow_sampling.h"

namespace halograph {
namespace {

LayerDraws Draws(const MemoryRelation& relation, int32_t fanout, bool replace,
                 uint64_t layer_key = 0) {
  return MakeLayerDraws(relation.topology(), {.fanout = fanout, .replace = replace}, layer_key)
      .value();
}

NeighborPicks Sample(const MemoryRelation& relation, const std::vector<int64_t>& destinations,
                     int32_t fanout, bool replace, uint64_t layer_key, ThreadPool* pool = nullptr) {
  NeighborPicks picks;
  EXPECT_TRUE(
      SampleNeighbors(Draws(relation, fanout, replace, layer_key), destinations, pool, &picks)
          .done());
  return picks;
}

std::vector<int64_t> PicksOf(const NeighborPicks& picks, size_t i) {
  return {picks.sources.begin() + picks.offsets[i], picks.sources.begin() + picks.offsets[i + 1]};
}

// Node v has v % 71 in-edges (times 20 for every 50th): none, one, around and far over any fanout.
// Sources are their own positions in the list, so that a pick shows which edge it is.
InEdges EveryDegree(int64_t nodes) {
  InEdges in_edges(nodes);
  for (int64_t v = 0; v < nodes; ++v) {
    in_edges[v].resize(v % 50 == 49 ? 20 * (v % 71) : v % 71);
    std::iota(in_edges[v].begin(), in_edges[v].end(), 0);
  }
  return in_edges;
}

std::vector<int64_t> Shuffled(int64_t nodes, uint64_t seed) {
  std::vector<int64_t> ids(nodes);
  std::iota(ids.begin(), ids.end(), 0);
  CounterRng rng(seed);
  for (int64_t i = nodes - 1; i > 0; --i) std::swap(ids[i], ids[rng.NextBounded(i + 1)]);
  return ids;
}

TEST(SampleNeighborsTest, DegreesAreThoseOfTheGraphWhateverIsDrawn) {
  const InEdges in_edges = EveryDegree(9000);
  const MemoryRelation relation(in_edges, {0, 2500, 2500, 9000}, IdWidth::k32);
  const std::vector<int64_t> destinations = Shuffled(9000, 6);
  ThreadPool pool("test", 3, 64);
  NeighborPicks picks;  // its memory is reused: what is not asked for is empty again
  for (const int32_t fanout : {0, 3, -1}) {
    for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      LayerDraws draws = Draws(relation, fanout, false);
      draws.degrees = true;
      ASSERT_TRUE(SampleNeighbors(draws, destinations, threads, &picks).done());
      ASSERT_EQ(picks.degrees.size(), destinations.size());
      for (size_t i = 0; i < destinations.size(); ++i) {
        ASSERT_EQ(picks.degrees[i], std::ssize(in_edges[destinations[i]]));
      }
      ASSERT_TRUE(SampleNeighborRange(draws, 49, 0, 0, &picks).done());
      EXPECT_EQ(picks.degrees, std::vector<int64_t>{std::ssize(in_edges[49])});
      draws.degrees = false;
      ASSERT_TRUE(SampleNeighbors(draws, destinations, threads, &picks).done());
      EXPECT_TRUE(picks.degrees.empty());
    }
  }
}

TEST(SampleNeighborsTest, AgreesWithTheSlowOracleAtEveryDegreeAndFanout) {
  const MemoryRelation narrow(EveryDegree(600), {0, 0, 250, 251, 600, 600}, IdWidth::k32);
  const MemoryRelation wide(EveryDegree(600), {0, 600}, IdWidth::k64);
  const std::vector<int64_t> destinations = Shuffled(600, 5);
  for (const bool replace : {false, true}) {
    for (const int32_t fanout : {-1, 0, 1, 2, 5, 15, 47, 48, 49, 50, 300, kMaxFanout / 512}) {
      const uint64_t key = LayerKey(9, 1, 2, 1);
      const NeighborPicks picks = Sample(narrow, destinations, fanout, replace, key);
      for (size_t i = 0; i < destinations.size(); ++i) {
        const auto degree = static_cast<int64_t>(narrow.in_edges()[destinations[i]].size());
        ASSERT_EQ(PicksOf(picks, i), SlowPositions(degree, fanout, replace, key, destinations[i]))
            << "degree " << degree << " fanout " << fanout << " replace " << replace;
      }
      EXPECT_EQ(Sample(wide, destinations, fanout, replace, key).sources, picks.sources);
    }
  }
}

TEST(SampleNeighborsTest, WithoutReplacementTakesMinOfFanoutAndDegreeEdgesEachOnce) {
  const MemoryRelation relation(EveryDegree(400), {0, 100, 400}, IdWidth::k32);
  const std::vector<int64_t> destinations = Shuffled(400, 6);
  for (const int32_t fanout : {1, 3, 10, 60, 1000}) {
    const NeighborPicks picks = Sample(relation, destinations, fanout, false, 77);
    for (size_t i = 0; i < destinations.size(); ++i) {
      const auto degree = static_cast<int64_t>(relation.in_edges()[destinations[i]].size());
      const std::vector<int64_t> drawn = PicksOf(picks, i);
      EXPECT_EQ(static_cast<int64_t>(drawn.size()), std::min<int64_t>(fanout, degree));
      EXPECT_EQ(std::set<int64_t>(drawn.begin(), drawn.end()).size(), drawn.size());
      for (const int64_t position : drawn) EXPECT_LT(position, degree);
      EXPECT_EQ(CountPicks(Draws(relation, fanout, false), destinations[i]),
                static_cast<int64_t>(drawn.size()));
    }
  }
}

TEST(SampleNeighborsTest, WithReplacementTakesFanoutEdgesOfAnyNodeThatHasOne) {
  const MemoryRelation relation(EveryDegree(200), {0, 200}, IdWidth::k32);
  const std::vector<int64_t> destinations = Shuffled(200, 7);
  const NeighborPicks picks = Sample(relation, destinations, 12, true, 78);
  for (size_t i = 0; i < destinations.size(); ++i) {
    const auto degree = static_cast<int64_t>(relation.in_edges()[destinations[i]].size());
    const std::vector<int64_t> drawn = PicksOf(picks, i);
    EXPECT_EQ(drawn.size(), degree == 0 ? 0U : 12U);
    for (const int64_t position : drawn) EXPECT_LT(position, degree);
    EXPECT_EQ(CountPicks(Draws(relation, 12, true), destinations[i]),
              static_cast<int64_t>(drawn.size()));
  }
}

TEST(SampleNeighborsTest, FullNeighbourhoodKeepsFileOrderAndParallelEdges) {
  const MemoryRelation relation({{5, 5, 2, 0, 2}, {}, {1}}, {0, 1, 3}, IdWidth::k32);
  for (const bool replace : {false, true}) {
    const NeighborPicks picks = Sample(relation, {2, 0, 1}, -1, replace, 1);
    EXPECT_EQ(picks.sources, (std::vector<int64_t>{1, 5, 5, 2, 0, 2}));
    EXPECT_EQ(picks.offsets, (std::vector<int64_t>{0, 1, 6, 6}));
  }
}

TEST(SampleNeighborsTest, ARangeOfADestinationsPicksIsThatOfAllOfThem) {
  const MemoryRelation narrow(EveryDegree(600), {0, 0, 250, 251, 600, 600}, IdWidth::k32);
  const MemoryRelation wide(EveryDegree(600), {0, 600}, IdWidth::k64);
  for (const MemoryRelation* relation : {&narrow, &wide}) {
    for (const bool replace : {false, true}) {
      for (const int32_t fanout : {-1, 0, 1, 15, 48, 49, 300, kMaxFanout / 512}) {
        LayerDraws draws = Draws(*relation, fanout, replace, LayerKey(9, 1, 2, 1));
        draws.edge_ids = true;
        for (const int64_t v : {0, 1, 5, 99, 300, 349, 599}) {
          NeighborPicks whole;
          ASSERT_TRUE(SampleNeighbors(draws, {&v, 1}, nullptr, &whole).done());
          NeighborPicks joined;
          NeighborPicks range;
          for (int64_t first = 0; first < whole.size(); first += 37) {
            const int64_t count = std::min<int64_t>(37, whole.size() - first);
            ASSERT_TRUE(SampleNeighborRange(draws, v, first, count, &range).done());
            EXPECT_EQ(range.offsets, (std::vector<int64_t>{0, count}));
            joined.sources.insert(joined.sources.end(), range.sources.begin(), range.sources.end());
            joined.edge_ids.insert(joined.edge_ids.end(), range.edge_ids.begin(),
                                   range.edge_ids.end());
          }
          ASSERT_EQ(joined.sources, whole.sources) << v << " fanout " << fanout << " " << replace;
          ASSERT_EQ(joined.edge_ids, whole.edge_ids) << v << " fanout " << fanout << " " << replace;
        }
      }
    }
  }
}

TEST(SampleNeighborsTest, NoDestinationsAndFanoutZeroGiveEmptyPicks) {
  const MemoryRelation relation(EveryDegree(10), {0, 10}, IdWidth::k64);
  EXPECT_EQ(Sample(relation, {}, 3, false, 1).offsets, (std::vector<int64_t>{0}));
  const NeighborPicks none = Sample(relation, {1, 2}, 0, true, 1);
  EXPECT_EQ(none.offsets, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_TRUE(none.sources.empty());
}

TEST(SampleNeighborsTest, PicksDoNotDependOnThreadsCompanyOrReusedMemory) {
  const MemoryRelation relation(EveryDegree(5000), {0, 1000, 5000}, IdWidth::k32);
  const std::vector<int64_t> destinations = Shuffled(5000, 8);
  ThreadPool pool("test", 4, 64);
  NeighborPicks reused;
  for (const bool replace : {false, true}) {
    const NeighborPicks alone = Sample(relation, destinations, 10, replace, 3);
    EXPECT_TRUE(
        SampleNeighbors(Draws(relation, 10, replace, 3), destinations, &pool, &reused).done());
    EXPECT_EQ(reused.sources, alone.sources);
    EXPECT_EQ(reused.offsets, alone.offsets);
    for (const size_t i : {0U, 17U, 4999U}) {
      EXPECT_EQ(Sample(relation, {destinations[i]}, 10, replace, 3).sources, PicksOf(alone, i));
    }
  }
}

// The global id of an edge is its number among all edges, by destination, then by position; the
// source of each is its position.
TEST(SampleNeighborsTest, EdgeIdsAreThoseOfTheEdgesPickedOnAnyNumberOfThreads) {
  const InEdges in_edges = EveryDegree(3000);
  std::vector<int64_t> first_edges = {0};
  for (const auto& list : in_edges) first_edges.push_back(first_edges.back() + std::ssize(list));
  const std::vector<int64_t> destinations = Shuffled(3000, 4);
  ThreadPool pool("test", 2, 64);
  NeighborPicks picks;
  for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
    const MemoryRelation relation(in_edges, {0, 0, 1, 1700, 1701, 3000, 3000}, width);
    for (const int32_t fanout : {-1, 0, 1, 8, 15, 16, 40, 100}) {
      LayerDraws draws = Draws(relation, fanout, fanout == 15, 6);
      draws.edge_ids = true;
      for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
        ASSERT_TRUE(SampleNeighbors(draws, destinations, threads, &picks).done());
        std::vector<int64_t> expected;
        for (size_t i = 0; i < destinations.size(); ++i) {
          for (const int64_t p : PicksOf(picks, i)) {
            expected.push_back(first_edges[destinations[i]] + p);
          }
        }
        EXPECT_EQ(picks.edge_ids, expected) << "fanout " << fanout;
        EXPECT_TRUE(picks.weights.empty());
      }
      draws.edge_ids = false;
      ASSERT_TRUE(SampleNeighbors(draws, destinations, nullptr, &picks).done());
      EXPECT_TRUE(picks.edge_ids.empty());
    }
  }
}

// A drawer of another kind: every second edge, from the last, whatever the fanout.
class EverySecondEdge final : public PickDrawer {
 public:
  using PickDrawer::PickDrawer;
  void Draw(uint64_t, const PickRow& row, PickScratch* scratch) const override {
    scratch->positions.clear();
    for (int64_t p = row.degree - 1; p >= 0; p -= 2) scratch->positions.push_back(p);
  }
  int64_t Count(const PickRow& row) const override { return (row.degree + 1) / 2; }
};

TEST(SampleNeighborsTest, DrawerOfTheCallersGivesThePicksAndTheirNumber) {
  const auto drawer = std::make_shared<const EverySecondEdge>(DrawRule{.fanout = 4});
  for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
    const MemoryRelation relation(EveryDegree(600), {0, 0, 250, 251, 600}, width);
    const std::vector<int64_t> destinations = Shuffled(600, 5);
    LayerDraws draws = Draws(relation, 4, false);
    draws.drawer = drawer;
    NeighborPicks picks;
    EXPECT_TRUE(SampleNeighbors(draws, destinations, nullptr, &picks).done());
    for (size_t i = 0; i < destinations.size(); ++i) {
      std::vector<int64_t> expected;
      const auto degree = std::ssize(relation.in_edges()[destinations[i]]);
      for (int64_t p = degree - 1; p >= 0; p -= 2) expected.push_back(p);
      ASSERT_EQ(PicksOf(picks, i), expected) << "degree " << degree;
      EXPECT_EQ(CountPicks(draws, destinations[i]), std::ssize(expected));
    }
  }
}

// ---- uniformity -----------------------------------------------------------------------------
// Keys are fixed, so a test passes always or never; at a level of 0.001 an even sampler fails it
// with that probability once, when the keys are chosen.

// Of counts that should all be equal. `cells` includes those never seen.
template <typename Key>
double ChiSquare(const std::map<Key, int64_t>& counts, double cells, double total) {
  const double expected = total / cells;
  double sum = (cells - static_cast<double>(counts.size())) * expected;
  for (const auto& [key, count] : counts) {
    const double difference = static_cast<double>(count) - expected;
    sum += difference * difference / expected;
  }
  return sum;
}

// Samples destination 0.. of equal degree, either many nodes in one layer or one node in many
// layers, and gives each draw's positions to `see`.
template <typename See>
void ManyDraws(int64_t degree, int32_t fanout, bool replace, int64_t draws, bool over_nodes,
               See see) {
  InEdges in_edges(over_nodes ? draws : 1, std::vector<int64_t>(degree));
  for (auto& list : in_edges) std::iota(list.begin(), list.end(), 0);
  const auto nodes = static_cast<int64_t>(in_edges.size());
  const MemoryRelation relation(std::move(in_edges), {0, nodes}, IdWidth::k32);
  for (int64_t layer = 0; layer < (over_nodes ? 1 : draws); ++layer) {
    const NeighborPicks picks = Sample(relation, Shuffled(nodes, 1), fanout, replace,
                                       LayerKey(12345, static_cast<int>(layer), 3, 1));
    for (int64_t i = 0; i < nodes; ++i) see(PicksOf(picks, i));
  }
}

class UniformityTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OverNodesAndLayers, UniformityTest, testing::Bool());

TEST_P(UniformityTest, FloydPicksEveryEdgeEquallyOften) {
  constexpr int64_t kDraws = 40000;
  for (const auto& [degree, fanout] : {std::pair<int64_t, int32_t>{20, 5}, {11, 10}, {90, 60}}) {
    std::map<int64_t, int64_t> counts;
    ManyDraws(degree, fanout, false, kDraws, GetParam(), [&](const std::vector<int64_t>& picks) {
      for (const int64_t position : picks) ++counts[position];
    });
    // A draw takes no edge twice: counts vary less than multinomial ones, by (d - k) / (d - 1).
    const auto d = static_cast<double>(degree);
    const double statistic =
        ChiSquare(counts, d, static_cast<double>(kDraws) * fanout) * (d - 1) / (d - fanout);
    EXPECT_LT(statistic, ChiSquareLimit(d - 1)) << degree << " choose " << fanout;
  }
}

TEST_P(UniformityTest, FloydPicksEverySubsetEquallyOften) {
  constexpr int64_t kDraws = 40000;
  std::map<std::set<int64_t>, int64_t> counts;
  ManyDraws(7, 3, false, kDraws, GetParam(), [&](const std::vector<int64_t>& picks) {
    ++counts[std::set<int64_t>(picks.begin(), picks.end())];
  });
  EXPECT_LT(ChiSquare(counts, 35, static_cast<double>(kDraws)), ChiSquareLimit(34));
}

TEST_P(UniformityTest, ReplacementPicksEverySequenceEquallyOften) {
  constexpr int64_t kDraws = 40000;
  std::map<std::vector<int64_t>, int64_t> counts;
  ManyDraws(5, 3, true, kDraws, GetParam(),
            [&](const std::vector<int64_t>& picks) { ++counts[picks]; });
  EXPECT_LT(ChiSquare(counts, 125, static_cast<double>(kDraws)), ChiSquareLimit(124));
}

TEST_P(UniformityTest, ReplacementPicksEveryEdgeEquallyOften) {
  constexpr int64_t kDraws = 20000;
  std::map<int64_t, int64_t> counts;
  ManyDraws(37, 4, true, kDraws, GetParam(), [&](const std::vector<int64_t>& picks) {
    for (const int64_t position : picks) ++counts[position];
  });
  EXPECT_LT(ChiSquare(counts, 37, 4.0 * kDraws), ChiSquareLimit(36));
}

TEST(ChiSquareTest, LimitFitsTheTableAndAnUnevenSamplerExceedsIt) {
  EXPECT_NEAR(ChiSquareLimit(19), 43.82, 0.2);
  EXPECT_NEAR(ChiSquareLimit(124), 178.6, 0.5);
  std::map<int64_t, int64_t> counts;
  for (int64_t i = 0; i < 20000; ++i) ++counts[(SubKey(4, i) >> 48) % 21 % 20];
  EXPECT_GT(ChiSquare(counts, 20, 20000), ChiSquareLimit(19));
}

}  // namespace
}  // namespace halograph
