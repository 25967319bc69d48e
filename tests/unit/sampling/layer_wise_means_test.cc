// That means of layer-wise draws are unbiased, through whole minibatches: by many draws, and by all
// that can be drawn.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/base/sanitizers.h"
#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "tests/support/random_graph.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {
namespace {

// The mean of each destination's neighbours, of one number a node, as layers compute it.
std::vector<double> MeansOf(const Minibatch& minibatch, const std::vector<double>& values) {
  const Block& block = minibatch.layers[0].blocks[0];
  std::vector<double> means;
  for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
    double sum = 0;
    for (int64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
      const int64_t node = minibatch.nodes[0][static_cast<size_t>(block.indices[e])];
      const float factor = block.coefficients.empty() ? 1 : block.coefficients[e];
      sum += factor * values[static_cast<size_t>(node)];
    }
    const auto edges = static_cast<double>(block.indptr[i + 1] - block.indptr[i]);
    const double degree = block.degrees.empty() ? edges : block.degrees[i];
    means.push_back(degree > 0 ? sum / degree : 0);
  }
  return means;
}

// How many sigmas the mean, over many draws, of a projection of all means is off what all
// neighbours give. `damage`: done to each minibatch before.
double SigmasOff(const DrawRule& rule, int draws, const std::function<void(Block*)>& damage = {}) {
  if (kAddressSanitizer || kThreadSanitizer) draws = 2'000;
  const MemoryGraph graph(RandomGraph({.seed = 5, .parts = 2, .nodes = 120, .mean_degree = 9}),
                          IdWidth::k32);
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  BuilderWorkspaces workspaces(&graph.schema, 2);
  CounterRng rng(Mix(8));
  std::vector<double> values(120);
  for (double& value : values) value = rng.NextDouble();
  const std::vector<int64_t> seeds = RandomSeeds(40, 120, &rng);
  std::vector<double> vector(40);
  for (double& entry : vector) entry = rng.NextDouble() - .3;
  const auto project = [&](const DrawRule& by, uint64_t batch_seed, double* projection) {
    const SamplingSpec spec{.layers = {{{0, by}}}};
    Minibatch minibatch;
    const SampleRequest request{.seeds = {{.ids = seeds}}, .batch_seed = batch_seed, .spec = &spec};
    EXPECT_EQ(BuildMinibatches(graph.schema, {&request, 1}, source, &workspaces, {&minibatch, 1}),
              OkStatus());
    if (damage && by == rule) damage(&minibatch.layers[0].blocks[0]);
    const std::vector<double> means = MeansOf(minibatch, values);
    *projection = 0;
    for (size_t i = 0; i < means.size(); ++i) *projection += means[i] * vector[i];
  };
  double full = 0, sum = 0, squares = 0;
  project({.fanout = kFullNeighborhood}, 0, &full);
  for (int draw = 0; draw < draws; ++draw) {
    double found = 0;
    project(rule, static_cast<uint64_t>(draw), &found);
    sum += found - full;
    squares += (found - full) * (found - full);
  }
  const double bias = sum / draws;
  const double z = bias / std::sqrt((squares / draws - bias * bias) / draws);
  std::printf("  full %.6f, bias %.2e, %.2f sigma\n", full, bias, z);
  return z;
}

TEST(LayerWiseMeansTest, MeansOfLadiesAreUnbiasedWhateverTheProbability) {
  for (const LayerProbability probability : {LayerProbability::kDegree, LayerProbability::kSqrt,
                                             LayerProbability::kCount, LayerProbability::kCount2}) {
    const DrawRule rule = {.kind = DrawKind::kLadies, .fanout = 30, .probability = probability};
    EXPECT_LT(std::abs(SigmasOff(rule, 100'000)), 3);
  }
}

TEST(LayerWiseMeansTest, BiasIsSeen) {
  const DrawRule rule = {.kind = DrawKind::kLadies, .fanout = 30};
  const auto far = [&](const std::function<void(Block*)>& damage) {
    EXPECT_GT(std::abs(SigmasOff(rule, 20'000, damage)), 5);
  };
  far([](Block* block) {  // no 1/p
    std::fill(block->coefficients.begin(), block->coefficients.end(), 1.0F);
  });
  far([](Block* block) { block->degrees.clear(); });  // divided by the block's edges
  far([](Block* block) {                              // one candidate left out
    for (size_t e = 0; e < block->indices.size(); ++e) {
      if (block->indices[e] == block->indices.front()) block->coefficients[e] = 0;
    }
  });
}

TEST(LayerWiseMeansTest, MeansOfFastGcnAreUnbiased) {
  EXPECT_LT(std::abs(SigmasOff({.kind = DrawKind::kFastGcn, .fanout = 30}, 100'000)), 3);
}

// ---- enumeration -------------------------------------------------------------------------------

// One relation of six nodes; the seeds are the first two.
struct SixNodes {
  SixNodes() {
    TestGraphSpec spec{.parts = 2, .node_types = {{}}, .relations = {{}}};
    spec.node_types[0].owners = {0, 0, 0, 1, 1, 1};
    spec.relations[0].edges = {{0, 0}, {1, 0}, {2, 0}, {2, 0}, {5, 0},
                               {3, 1}, {2, 1}, {4, 1}, {5, 1}, {5, 1}};
    graph.emplace(spec, IdWidth::k32);
    source.emplace(&graph->schema, &graph->topology, nullptr);
    workspaces.emplace(&graph->schema, 2);
  }
  [[nodiscard]] Minibatch Made(const DrawRule& rule, uint64_t batch_seed) {
    const SamplingSpec spec{.layers = {{{0, rule}}}};
    Minibatch minibatch;
    const SampleRequest request{.seeds = {{.ids = seeds}}, .batch_seed = batch_seed, .spec = &spec};
    EXPECT_EQ(
        BuildMinibatches(graph->schema, {&request, 1}, *source, &*workspaces, {&minibatch, 1}),
        OkStatus());
    return minibatch;
  }

  const std::vector<int64_t> seeds = {0, 1};
  std::optional<MemoryGraph> graph;
  std::optional<LocalSource> source;
  std::optional<BuilderWorkspaces> workspaces;
};

// Of a sequence of picks out of candidates with these weights.
double ChanceOf(const std::vector<uint64_t>& weights, const std::vector<int64_t>& positions) {
  auto rest = static_cast<double>(std::accumulate(weights.begin(), weights.end(), uint64_t{0}));
  double chance = 1;
  for (const int64_t position : positions) {
    const auto weight = static_cast<double>(weights[static_cast<size_t>(position)]);
    chance *= weight / rest;
    rest -= weight;
  }
  return chance;
}

// Minibatches of every sequence of picks that the layer can have, each by the first batch seed that
// draws it, times its chance: they add up to the means of all neighbours.
TEST(LayerWiseMeansTest, ExpectedMeansOfAllSequencesAreTheFullOnes) {
  SixNodes six;
  const std::vector<double> values = {.3, -1, 2, .7, 1.9, -.4};
  const std::vector<double> full = MeansOf(six.Made({.fanout = kFullNeighborhood}, 0), values);
  for (const LayerProbability probability : {LayerProbability::kDegree, LayerProbability::kSqrt,
                                             LayerProbability::kCount, LayerProbability::kCount2}) {
    std::vector<ColumnSums> sums;
    ASSERT_EQ(six.source->SumColumns(std::vector<ColumnGroup>{{.value = ColumnValueOf(probability),
                                                               .destinations = six.seeds}},
                                     &sums),
              OkStatus());
    std::vector<uint64_t>& weights = sums[0].sums;
    ASSERT_EQ(MakeWeights(probability, weights), OkStatus());
    ASSERT_EQ(weights.size(), 6U);
    CandidateSums candidates;
    candidates.Reset(std::span<const uint64_t>(weights));
    for (const int32_t nodes : {1, 2, 3}) {
      double all = 0;
      std::vector<double> means(full.size());
      std::set<std::vector<int64_t>> seen;
      LayerWisePicks picks;
      for (uint64_t seed = 0; all < 1 - 1e-12 && seed < 200'000; ++seed) {
        ASSERT_EQ(
            LayerWiseDrawer().Draw(candidates, nodes, ColumnKey(LayerKey(seed, 0, 1, 0)), &picks),
            OkStatus());
        if (!seen.insert(picks.positions).second) continue;
        const double chance = ChanceOf(weights, picks.positions);
        all += chance;
        const std::vector<double> of_seed = MeansOf(
            six.Made({.kind = DrawKind::kLadies, .fanout = nodes, .probability = probability},
                     seed),
            values);
        for (size_t v = 0; v < means.size(); ++v) means[v] += chance * of_seed[v];
      }
      ASSERT_NEAR(all, 1, 1e-9) << "a sequence is not among the seeds that were tried";
      for (size_t v = 0; v < means.size(); ++v) {
        EXPECT_NEAR(means[v], full[v], 1e-6 * std::abs(full[v]))
            << static_cast<int>(probability) << " " << nodes;
      }
    }
  }
}

}  // namespace
}  // namespace halograph
