// Whole minibatches of layer-wise draws: what they hold, and what they ask.
#include <bit>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "tests/support/golden.h"
#include "tests/support/random_graph.h"
#include "tests/unit/sampling/memory_graph.h"
#include "tests/unit/sampling/random_request.h"
#include "tests/unit/sampling/slow_sampling.h"

namespace halograph {
namespace {

// A rule of nothing for one relation in four.
SamplingSpec RandomLayerWise(const Schema& schema, CounterRng* rng) {
  constexpr int32_t kNodes[] = {-1, 0, 1, 2, 5, 20, 1000};
  SamplingSpec spec = RandomSpec(schema, kNodes, 4, rng);
  const DrawKind kind = rng->NextBounded(2) == 0 ? DrawKind::kLadies : DrawKind::kFastGcn;
  for (auto& layer : spec.layers) {
    for (auto& [relation, rule] : layer) {
      rule.kind = kind;
      rule.replace = false;
      rule.probability = static_cast<LayerProbability>(rng->NextBounded(4));
      rule.estimate = static_cast<LayerEstimate>(rng->NextBounded(2));
    }
  }
  return spec;
}

TEST(LayerWiseMinibatchTest, AgreesWithTheSlowOracleOnRandomTypedGraphs) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    CounterRng rng(Mix(seed + 77));
    const MemoryGraph graph(RandomTypedGraph({.seed = seed,
                                              .parts = 1 + static_cast<int>(seed % 4),
                                              .nodes = 3 + static_cast<int64_t>(11 * seed % 120),
                                              .mean_degree = 1 + static_cast<double>(seed % 7)}),
                            seed % 2 == 0 ? IdWidth::k32 : IdWidth::k64);
    LocalSource source(&graph.schema, &graph.topology, nullptr);
    const SamplingSpec sampling = RandomLayerWise(graph.schema, &rng);
    const RandomSeedLists seeds(graph.schema, UINT32_MAX, &rng);
    const RandomExclusions exclude(graph, &rng);
    const SampleRequest request{.seeds = seeds.lists(),
                                .batch_seed = rng.Next(),
                                .spec = &sampling,
                                .exclude = exclude.edges(),
                                .edge_ids = rng.NextBounded(2) == 0,
                                .source_degrees = rng.NextBounded(2) == 0};
    BuilderWorkspaces workspaces(&graph.schema, 1 + static_cast<int>(seed % 4));
    Minibatch minibatch;
    const Status built =
        BuildMinibatches(graph.schema, {&request, 1}, source, &workspaces, {&minibatch, 1});
    ASSERT_EQ(built, OkStatus());
    EXPECT_TRUE(minibatch == SlowMinibatch(graph, request)) << "graph " << seed;
  }
}

TEST(LayerWiseMinibatchTest, TakesOneExchangeMoreThanLayers) {
  const MemoryGraph graph(RandomGraph({.parts = 2, .nodes = 300}), IdWidth::k32);
  SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{20, 20, 20});
  for (auto& layer : spec.layers) layer[0].rule.kind = DrawKind::kLadies;
  const std::vector<int64_t> seeds = {5, 50};
  const std::vector<SampleRequest> requests(3, {.seeds = {{.ids = seeds}}, .spec = &spec});
  BuilderWorkspaces workspaces(&graph.schema, 2);
  std::vector<Minibatch> minibatches(requests.size());
  MinibatchesInMaking making(graph.schema, requests, &workspaces, minibatches, {});
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  std::vector<std::pair<size_t, size_t>> asked;  // sums, edges
  for (auto asks = making.Next(); asks.ok() && *asks; asks = making.Next()) {
    asked.emplace_back(making.questions().sums.size(), making.questions().edges.size());
    ASSERT_EQ(source.Ask(making.questions(), making.answers()), OkStatus());
  }
  EXPECT_EQ(asked, (std::vector<std::pair<size_t, size_t>>{{3, 0}, {3, 3}, {3, 3}, {0, 3}}));
  EXPECT_TRUE(minibatches[2] == SlowMinibatch(graph, requests[2]));
}

TEST(LayerWiseMinibatchTest, MinibatchesThatShareScansAreThoseThatDoNot) {
  const MemoryGraph graph(RandomGraph({.parts = 2, .nodes = 300}), IdWidth::k32);
  for (const DrawKind kind : {DrawKind::kLadies, DrawKind::kFastGcn}) {
    SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{60, 90, 90});
    for (auto& layer : spec.layers) {
      layer[0].rule.kind = kind;
      layer[0].rule.probability = LayerProbability::kCount;
    }
    CounterRng rng(Mix(21));
    std::vector<std::vector<int64_t>> seeds;
    std::vector<SampleRequest> requests;
    for (int i = 0; i < 64; ++i) seeds.push_back({static_cast<int64_t>(rng.NextBounded(300))});
    for (size_t i = 0; i < seeds.size(); ++i) {
      requests.push_back({.seeds = {{.ids = seeds[i]}}, .batch_seed = i, .spec = &spec});
    }
    StackMemory stacks(StackTables::BytesOf(300, 300));
    LocalSource source(&graph.schema, &graph.topology, nullptr, nullptr, {}, &stacks);
    BuilderWorkspaces workspaces(&graph.schema, 2);
    std::vector<Minibatch> minibatches(requests.size());
    ASSERT_EQ(BuildMinibatches(graph.schema, requests, source, &workspaces, minibatches),
              OkStatus());
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_TRUE(minibatches[i] == SlowMinibatch(graph, requests[i])) << i;
    }
  }
}

TEST(LayerWiseMinibatchTest, FastGcnAsksForOutDegreesOnceAndThenForAllLayersAtOnce) {
  const MemoryGraph graph(RandomGraph({.parts = 2, .nodes = 300}), IdWidth::k32);
  SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{20, 20, 20});
  for (auto& layer : spec.layers) layer[0].rule.kind = DrawKind::kFastGcn;
  const std::vector<int64_t> seeds = {5, 50};
  const std::vector<SampleRequest> requests(3, {.seeds = {{.ids = seeds}}, .spec = &spec});
  BuilderWorkspaces workspaces(&graph.schema, 2);
  for (const bool first : {true, false}) {
    std::vector<Minibatch> minibatches(requests.size());
    MinibatchesInMaking making(graph.schema, requests, &workspaces, minibatches, {});
    LocalSource source(&graph.schema, &graph.topology, nullptr);
    std::vector<std::pair<size_t, size_t>> asked;  // sums, edges
    for (auto asks = making.Next(); asks.ok() && *asks; asks = making.Next()) {
      asked.emplace_back(making.questions().sums.size(), making.questions().edges.size());
      ASSERT_EQ(source.Ask(making.questions(), making.answers()), OkStatus());
    }
    using Asked = std::vector<std::pair<size_t, size_t>>;
    EXPECT_EQ(asked, first ? (Asked{{1, 0}, {1, 0}, {0, 9}}) : (Asked{{0, 9}}));
    EXPECT_TRUE(minibatches[2] == SlowMinibatch(graph, requests[2]));
  }
}

std::vector<float> FloatsOf(const Json& bits) {
  std::vector<float> values;
  for (const Json& text : bits) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(FromHex(text))));
  }
  return values;
}

// A golden minibatch's request. Points into this object.
struct GoldenRequest {
  GoldenRequest(const Json& row, const Schema& schema) {
    constexpr std::pair<const char*, LayerProbability> kNames[] = {
        {"degree", LayerProbability::kDegree},
        {"sqrt", LayerProbability::kSqrt},
        {"count", LayerProbability::kCount},
        {"count2", LayerProbability::kCount2}};
    spec = SamplingSpec::Uniform(schema, row.at("nodes").get<std::vector<int32_t>>());
    for (auto& layer : spec.layers) {
      for (auto& [relation, rule] : layer) {
        rule.kind = row.at("kind") == "ladies" ? DrawKind::kLadies : DrawKind::kFastGcn;
        rule.estimate = row.at("estimate") == "unbiased" ? LayerEstimate::kUnbiased
                                                         : LayerEstimate::kNormalized;
        for (const auto& [name, probability] : kNames) {
          if (row.at("probability") == name) rule.probability = probability;
        }
      }
    }
    seeds = row.at("seeds").get<std::vector<std::vector<int64_t>>>();
    for (const Json& excluded : row.at("exclude")) {
      auto& [sources, destinations] = ends.emplace_back();
      for (const Json& pair : excluded.at("pairs")) {
        sources.push_back(pair[0].get<int64_t>());
        destinations.push_back(pair[1].get<int64_t>());
      }
      request.exclude.push_back({.relation = excluded.at("relation").get<int>(),
                                 .sources = sources,
                                 .destinations = destinations});
    }
    for (size_t type = 0; type < seeds.size(); ++type) {
      request.seeds.push_back({static_cast<int>(type), seeds[type]});
    }
    request.batch_seed = FromHex(row.at("batch_seed"));
    request.spec = &spec;
    request.edge_ids = true;
  }

  SamplingSpec spec;
  std::vector<std::vector<int64_t>> seeds;
  std::deque<std::pair<std::vector<int64_t>, std::vector<int64_t>>> ends;
  SampleRequest request;
};

TEST(LayerWiseMinibatchTest, AreThoseOfTheGoldenVectors) {
  const auto golden = LoadGoldenSampling("golden_layer_wise_v1.json");
  ASSERT_TRUE(golden.ok()) << golden.status();
  const MemoryGraph graph(golden->spec, IdWidth::k32);
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  BuilderWorkspaces workspaces(&graph.schema, golden->spec.parts);
  const Json& rows = golden->raw.at("layer_wise_minibatches");
  ASSERT_EQ(rows.size(), 6);
  for (const Json& row : rows) {
    const GoldenRequest wanted(row, graph.schema);
    Minibatch found;
    ASSERT_EQ(
        BuildMinibatches(graph.schema, {&wanted.request, 1}, source, &workspaces, {&found, 1}),
        OkStatus());
    const Json& expected = row.at("expected");
    EXPECT_EQ(found.nodes, expected.at("nodes").get<std::vector<std::vector<int64_t>>>());
    for (size_t l = 0; l < found.layers.size(); ++l) {
      for (size_t b = 0; b < found.layers[l].blocks.size(); ++b) {
        const Block& block = found.layers[l].blocks[b];
        const Json& of = expected.at("layers").at(l).at(b);
        EXPECT_EQ(block.indptr, of.at("indptr").get<std::vector<int64_t>>());
        EXPECT_EQ(block.indices, of.at("indices").get<std::vector<int32_t>>());
        EXPECT_EQ(block.edge_ids, of.at("edge_ids").get<std::vector<int64_t>>());
        EXPECT_EQ(block.coefficients, FloatsOf(of.at("coefficients")));
        EXPECT_EQ(block.degrees, of.at("degrees").get<std::vector<float>>());
      }
    }
  }
}

}  // namespace
}  // namespace halograph
