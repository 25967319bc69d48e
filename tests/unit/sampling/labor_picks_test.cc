// LABOR's estimates of sums over all in-edges, over many draws.
#include "common/sampling/labor_picks.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/sampling/kernel/one_layer.h"
#include "tests/unit/sampling/memory_graph.h"
#include "tests/unit/sampling/random_request.h"

namespace halograph {
namespace {

constexpr int64_t kSquaresNodes = 60;
constexpr int64_t kSquares = 8;

// Destinations 0 .. 7 have 1, 4, 9 .. 64 in-edges, some parallel; the others have none.
MemoryGraph SquaresGraph() {
  TestGraphSpec spec{.parts = 1, .node_types = {{.owners = {}}}, .relations = {{.edges = {}}}};
  spec.node_types[0].owners.assign(kSquaresNodes, 0);
  for (int64_t v = 0; v < kSquares; ++v) {
    for (int64_t i = 0; i < (v + 1) * (v + 1); ++i) {
      spec.relations[0].edges.emplace_back((7 * i + v) % 53, v);
    }
  }
  return MemoryGraph(spec, IdWidth::k32);
}

// A value in [-1, 1), of number n.
double Value(uint64_t key, int64_t n) {
  return std::ldexp(static_cast<double>(SubKey(key, static_cast<uint64_t>(n)) >> 11), -52) - 1;
}

// The destinations' sums of source values, projected on a fixed vector.
struct Functional {
  uint64_t of_sources;
  uint64_t of_destinations;

  [[nodiscard]] double Full(const InEdges& in_edges, int64_t left_out_of_each) const {
    double result = 0;
    for (int64_t v = 0; v < kSquares; ++v) {
      for (const int64_t u : in_edges[v]) {
        if (u != left_out_of_each) result += Value(of_destinations, v) * Value(of_sources, u);
      }
    }
    return result;
  }
  [[nodiscard]] double Estimate(const Minibatch& minibatch, bool by_coefficients) const {
    const Block& block = minibatch.layers[0].blocks[0];
    double result = 0;
    for (int64_t v = 0; v < kSquares; ++v) {
      for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
        const double row = Value(of_sources, minibatch.nodes[0][block.indices[e]]);
        result += Value(of_destinations, v) * row * (by_coefficients ? block.coefficients[e] : 1);
      }
    }
    return result;
  }
};

// How far the mean of estimates is from the full value.
class Mean {
 public:
  explicit Mean(double full) : full_(full) {}
  void Add(double estimate) {
    ++draws_;
    sum_ += estimate - full_;
    squares_ += (estimate - full_) * (estimate - full_);
  }
  // In sigmas of the mean.
  [[nodiscard]] double Off() const {
    const double mean = sum_ / draws_;
    return mean / std::sqrt((squares_ / draws_ - mean * mean) / draws_);
  }

 private:
  const double full_;
  double draws_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

struct Means {
  Functional functional;
  Mean estimates;
  Mean without_coefficients;
};

// Of 10^5 draws. `left_out`: a source whose edges the minibatches lack, or -1.
std::vector<Means> MeansOf(const std::vector<Functional>& functionals, int64_t left_out) {
  const MemoryGraph graph = SquaresGraph();
  std::vector<Means> means;
  for (const Functional& functional : functionals) {
    const Mean mean(functional.Full(graph.relations[0]->in_edges(), left_out));
    means.push_back({functional, mean, mean});
  }
  SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{5});
  DrawByLabor(false, &spec);
  std::vector<int64_t> seeds(kSquares);
  for (int64_t v = 0; v < kSquares; ++v) seeds[v] = v;
  const std::vector<int64_t> sources(kSquares, left_out);
  SampleRequest request{.seeds = {{.ids = seeds}}, .spec = &spec};
  if (left_out >= 0) {
    request.exclude = {{.relation = 0, .sources = sources, .destinations = seeds}};
  }
  const FusedSampler sampler(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
  Minibatch minibatch;
  for (request.batch_seed = 0; request.batch_seed < 100'000; ++request.batch_seed) {
    EXPECT_TRUE(sampler.Sample(request, &workspace, &minibatch).ok());
    for (Means& of : means) {
      of.estimates.Add(of.functional.Estimate(minibatch, true));
      of.without_coefficients.Add(of.functional.Estimate(minibatch, false));
    }
  }
  return means;
}

TEST(LaborEstimateTest, SumsHaveTheFullSumsAsTheirMeanAndNotWithoutCoefficients) {
  for (const Means& means : MeansOf({{1, 2}, {3, 4}, {5, 6}}, -1)) {
    std::printf("the mean of 10^5 draws is %.2f sigma off, with coefficient 1 %.0f\n",
                means.estimates.Off(), means.without_coefficients.Off());
    EXPECT_LT(std::abs(means.estimates.Off()), 3);
    EXPECT_GT(std::abs(means.without_coefficients.Off()), 20) << "an error that was planted";
  }
}

TEST(LaborEstimateTest, SumsWithoutEdgesLeftOutHaveTheirMeanToo) {
  const Means means = MeansOf({{7, 8}}, 14).front();
  std::printf("the mean of 10^5 draws is %.2f sigma off\n", means.estimates.Off());
  EXPECT_LT(std::abs(means.estimates.Off()), 3);
}

// A server plans by counts: they are of what is drawn, of no other number of edges.
TEST(LaborPicksTest, CountsAndRangesAreThoseOfTheDraws) {
  const MemoryGraph graph = SquaresGraph();
  const RelationTopology& topology = graph.topology[0];
  int64_t more = 0;
  int64_t fewer = 0;
  for (uint64_t key = 0; key < 200; ++key) {
    const LayerDraws draws =
        MakeLayerDraws(topology, {.kind = DrawKind::kLabor, .fanout = 5}, key).value();
    for (int64_t v = 0; v < kSquares; ++v) {
      NeighborPicks picks;
      ASSERT_TRUE(SampleNeighbors(draws, {&v, 1}, nullptr, &picks).done());
      const int64_t count = CountPicks(draws, v);
      ASSERT_EQ(count, picks.size());
      more += count > 5 ? 1 : 0;
      fewer += count < 5 ? 1 : 0;
      NeighborPicks range;
      ASSERT_TRUE(SampleNeighborRange(draws, v, count / 2, count - count / 2, &range).done());
      EXPECT_TRUE(std::equal(range.sources.begin(), range.sources.end(),
                             picks.sources.begin() + count / 2, picks.sources.end()));
    }
  }
  EXPECT_GT(more, 100);
  EXPECT_GT(fewer, 100);
}

// Of two destinations of one degree each takes a common source, or none does.
TEST(LaborPicksTest, DestinationsShareSources) {
  InEdges in_edges(2);
  for (int64_t u = 0; u < 40; ++u) {
    in_edges[0].push_back(u);
    in_edges[1].push_back(39 - u);
  }
  const MemoryRelation relation(in_edges, {0, 2}, IdWidth::k64);
  const LayerDraws draws =
      MakeLayerDraws(relation.topology(), {.kind = DrawKind::kLabor, .fanout = 10}, 9).value();
  const std::vector<int64_t> both = {0, 1};
  NeighborPicks picks;
  ASSERT_TRUE(SampleNeighbors(draws, both, nullptr, &picks).done());
  const std::vector<int64_t> first(picks.sources.begin(), picks.sources.begin() + picks.offsets[1]);
  const std::vector<int64_t> second(picks.sources.rbegin(),
                                    picks.sources.rend() - picks.offsets[1]);
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace halograph
