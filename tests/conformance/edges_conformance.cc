// What minibatches have besides nodes and blocks: several seed types, ids and weights of edges, and
// edges left out. The reference is the oracle of the sampling contract, which knows no store.
#include <algorithm>
#include <deque>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/conformance_fixture.h"
#include "tests/support/golden.h"
#include "tests/support/one_call.h"

namespace halograph {
namespace {

// The golden graph: two parts own all of it, the last two nothing.
struct GoldenFolder {
  explicit GoldenFolder(GoldenSampling read)
      : golden(std::move(read)), folder([this] {
          golden.spec.parts = 4;
          return golden.spec;
        }()) {}
  GoldenSampling golden;
  ConformanceFolder folder;
};

const GoldenFolder* GoldenEdges() {
  static const std::unique_ptr<const GoldenFolder> graph = [] {
    auto golden = LoadGoldenSampling("golden_edges_v1.json");
    EXPECT_TRUE(golden.ok()) << ToString(golden.status());
    return golden.ok() ? std::make_unique<const GoldenFolder>(*std::move(golden)) : nullptr;
  }();
  return graph.get();
}

void MinibatchesAreTheOracles(const StoreKind& kind) {
  const GoldenFolder* const graph = GoldenEdges();
  ASSERT_NE(graph, nullptr);
  ConformanceGraphUnderTest subject(graph->folder, kind);
  ASSERT_TRUE(subject.ok());
  for (const GoldenMinibatch& expected : graph->golden.minibatches) {
    const auto found = SampleOne(*subject.stores.graph, expected.request());
    ASSERT_TRUE(found.ok()) << expected.name << ": " << ToString(found.status());
    EXPECT_EQ(found->nodes, expected.expected.nodes) << expected.name;
    EXPECT_TRUE(*found == expected.expected) << expected.name;
  }
}

bool DrawsByWeight(const std::vector<RelationRule>& layer) {
  return std::any_of(layer.begin(), layer.end(),
                     [](const RelationRule& drawn) { return drawn.rule.weight >= 0; });
}

// What edges are weighed by may be pulled by their ids: the same as they were drawn by, whatever
// was left out.
void RowsOfEdgeIdsAreTheWeightsDrawnBy(const StoreKind& kind) {
  const GoldenFolder* const graph = GoldenEdges();
  ASSERT_NE(graph, nullptr);
  ConformanceGraphUnderTest subject(graph->folder, kind);
  ASSERT_TRUE(subject.ok());
  const Schema& schema = subject.stores.graph->info().schema;
  size_t edges = 0;
  for (const GoldenMinibatch& drawn : graph->golden.minibatches) {
    SampleRequest request = drawn.request();
    const auto& layers = request.spec->layers;
    if (std::none_of(layers.begin(), layers.end(), DrawsByWeight)) continue;
    request.edge_ids = request.weights = true;
    const auto found = SampleOne(*subject.stores.graph, request);
    ASSERT_TRUE(found.ok()) << drawn.name << ": " << ToString(found.status());
    std::vector<RowRequest> requests;  // of all blocks, in one call
    std::deque<std::vector<double>> rows;
    std::vector<float> wanted;
    for (const SampledLayer& layer : found->layers) {
      for (const Block& block : layer.blocks) {
        if (block.edge_ids.empty()) continue;
        rows.emplace_back(block.edge_ids.size());
        requests.push_back({.tensor = {true, schema.relations[block.relation].triple(), "w"},
                            .ids = block.edge_ids,
                            .out = std::as_writable_bytes(std::span(rows.back()))});
        wanted.insert(wanted.end(), block.weights.begin(), block.weights.end());
      }
    }
    CallContext context;
    const Status pulled = subject.stores.rows->Pull(requests, context);
    ASSERT_TRUE(pulled.ok()) << drawn.name << ": " << ToString(pulled);
    std::vector<float> weights;
    for (const std::vector<double>& some : rows)
      weights.insert(weights.end(), some.begin(), some.end());
    EXPECT_EQ(weights, wanted) << drawn.name;
    edges += wanted.size();
  }
  EXPECT_GT(edges, 20U);
}

// Several requests of different wants share a call.
void OneCallMayAskForDifferentThings(const StoreKind& kind) {
  const GoldenFolder* const graph = GoldenEdges();
  ASSERT_NE(graph, nullptr);
  ConformanceGraphUnderTest subject(graph->folder, kind);
  ASSERT_TRUE(subject.ok());
  std::vector<SampleRequest> requests;
  for (const GoldenMinibatch& expected : graph->golden.minibatches) {
    requests.push_back(expected.request());
  }
  std::vector<Minibatch> minibatches(requests.size());
  CallContext context;
  for (int round = 0; round < 2; ++round) {  // the second time in used memory
    const Status status = subject.stores.graph->Sample(requests, context, minibatches);
    ASSERT_TRUE(status.ok()) << ToString(status);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_TRUE(minibatches[i] == graph->golden.minibatches[i].expected)
          << graph->golden.minibatches[i].name;
    }
    std::reverse(minibatches.begin(), minibatches.end());
  }
}

// Ten hubs of 12,000 bytes of sources and edge ids each: one fits a small message, all do not. Then
// a source of each is left out.
void EdgesBeyondOneMessage(const StoreKind& kind) {
  ConformanceGraphUnderTest subject(HubConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const Schema& schema = subject.stores.graph->info().schema;
  const SamplingSpec spec = SamplingSpec::Uniform(schema, std::vector<int32_t>{1000, 2});
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < 20; ++i) seeds.push_back(i % 4 * 500 + i / 4);
  SampleRequest request{
      .seeds = {{.ids = seeds}}, .batch_seed = 6, .spec = &spec, .exclude = {}, .edge_ids = true};
  const auto whole = SampleOne(*subject.stores.graph, request);
  ASSERT_TRUE(whole.ok()) << ToString(whole.status());
  const Block& block = whole->layers[0].blocks[0];
  ASSERT_EQ(block.edge_ids.size(), block.indices.size());
  std::vector<int64_t> sorted = block.edge_ids;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  // A source of every destination that has one, with all its parallel edges.
  std::vector<int64_t> sources;
  std::vector<int64_t> destinations;
  int64_t removed = 0;
  for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
    const auto begin = block.indices.begin() + block.indptr[i];
    const auto end = block.indices.begin() + block.indptr[i + 1];
    if (begin == end) continue;
    sources.push_back(whole->nodes[0][static_cast<size_t>(*begin)]);
    destinations.push_back(whole->nodes[0][i]);
    removed += std::count(begin, end, *begin);
  }
  EXPECT_GE(removed, 10);
  request.exclude = {{.relation = 0, .sources = sources, .destinations = destinations}};
  const auto rest = SampleOne(*subject.stores.graph, request);
  ASSERT_TRUE(rest.ok()) << ToString(rest.status());
  EXPECT_EQ(std::ssize(rest->layers[0].blocks[0].indices), std::ssize(block.indices) - removed);
  EXPECT_EQ(rest->layers[0].blocks[0].edge_ids.size(), rest->layers[0].blocks[0].indices.size());
}

void WeightsWithoutAFeatureAreInvalid(const StoreKind& kind) {
  ConformanceGraphUnderTest subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec spec =
      SamplingSpec::Uniform(subject.stores.graph->info().schema, std::vector<int32_t>{2});
  const std::vector<int64_t> seeds = {1};
  SampleRequest request{.seeds = {{.ids = seeds}}, .spec = &spec};
  request.weights = true;
  EXPECT_EQ(SampleOne(*subject.stores.graph, request).status().code(),
            absl::StatusCode::kInvalidArgument);
  request.weights = false;
  request.exclude = {{.relation = 0, .sources = seeds, .destinations = {}}};
  const Status uneven = SampleOne(*subject.stores.graph, request).status();
  EXPECT_EQ(uneven.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(uneven), testing::HasSubstr("1 sources and 0 destinations"));
}

}  // namespace

void RegisterEdgesConformance(const StoreKind& kind) {
  const auto add = [&](const char* name, const std::function<void(const StoreKind&)>& body) {
    RegisterCase("EdgesConformance", kind, name, body);
  };
  add("MinibatchesAreTheOracles", MinibatchesAreTheOracles);
  add("RowsOfEdgeIdsAreTheWeightsDrawnBy", RowsOfEdgeIdsAreTheWeightsDrawnBy);
  add("OneCallMayAskForDifferentThings", OneCallMayAskForDifferentThings);
  add("EdgesBeyondOneMessage", EdgesBeyondOneMessage);
  add("WeightsWithoutAFeatureAreInvalid", WeightsWithoutAFeatureAreInvalid);
}

}  // namespace halograph
