#include "tests/conformance/conformance_fixture.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/rng.h"

namespace halograph {

ConformanceFolder::ConformanceFolder(const TestGraphSpec& written) : spec(written) {
  const auto graph = WriteTestGraph(spec, folder.path() / "graph");
  EXPECT_TRUE(graph.ok()) << ToString(graph.status());
  if (graph.ok()) path = *graph;
}

namespace {

struct SharedStores {
  std::string kind;
  std::map<std::filesystem::path, std::shared_ptr<OpenedStores>> by_graph;
};

SharedStores& Shared() {
  static SharedStores shared;
  return shared;
}

}  // namespace

std::shared_ptr<OpenedStores> OpenConformanceStores(const ConformanceFolder& graph,
                                                    const StoreKind& kind) {
  auto opened = kind.open(graph.path);
  EXPECT_TRUE(opened.ok()) << ToString(opened.status());
  return std::make_shared<OpenedStores>(opened.ok() ? std::move(*opened) : OpenedStores());
}

std::shared_ptr<OpenedStores> ShareConformanceStores(const ConformanceFolder& graph,
                                                     const StoreKind& kind) {
  if (Shared().kind != kind.name) CloseConformanceStores();
  Shared().kind = kind.name;
  std::shared_ptr<OpenedStores>& stores = Shared().by_graph[graph.path];
  if (stores == nullptr) stores = OpenConformanceStores(graph, kind);
  return stores;
}

void CloseConformanceStores() { Shared() = {}; }

const ConformanceFolder& ConformanceGraph() {
  static const ConformanceFolder graph([] {
    TestGraphSpec spec =
        RandomGraph({.seed = 11, .parts = 4, .nodes = 3000, .mean_degree = 12, .feature_dim = 5});
    // A cluster of one node, one of two, ...
    const std::vector<int>& owners = spec.node_types[0].owners;
    for (int part = 0; part < spec.parts; ++part) {
      std::vector<int64_t>& clusters = spec.cluster_nodes.emplace_back();
      int64_t left = std::count(owners.begin(), owners.end(), part);
      for (int64_t nodes = 1; left > 0; left -= clusters.back()) {
        clusters.push_back(std::min(left, nodes++));
      }
    }
    return spec;
  }());
  return graph;
}

const ConformanceFolder& HubConformanceGraph() {
  static const ConformanceFolder graph([] {
    constexpr int64_t kNodes = 2000;
    TestGraphSpec spec;
    spec.parts = 4;
    spec.node_types.resize(1);
    spec.relations.resize(1);
    for (int64_t i = 0; i < kNodes; ++i) {
      spec.node_types[0].owners.push_back(static_cast<int>(i % spec.parts));
    }
    for (int64_t hub = 0; hub < 10; ++hub) {
      for (int64_t i = 0; i < 3500; ++i) {
        spec.relations[0].edges.emplace_back((i * 7 + hub) % kNodes, hub);
      }
    }
    return spec;
  }());
  return graph;
}

const ConformanceFolder& SymmetricConformanceGraph() {
  static const ConformanceFolder graph([] {
    TestGraphSpec spec =
        RandomGraph({.seed = 15, .parts = 4, .nodes = 120, .mean_degree = 4, .feature_dim = 3});
    TestRelation& relation = spec.relations[0];
    relation.features.clear();
    for (const auto& [from, to] : std::vector(relation.edges)) {
      if (from != to) relation.edges.emplace_back(to, from);
    }
    relation.edges.insert(relation.edges.end(), {{1, 2}, {2, 1}, {1, 2}, {2, 1}, {3, 3}});
    return spec;
  }());
  return graph;
}

const ConformanceFolder& TypedConformanceGraph() {
  static const ConformanceFolder graph([] {
    TestGraphSpec spec = RandomTypedGraph(
        {.seed = 12, .parts = 4, .nodes = 600, .mean_degree = 6, .feature_dim = 3});
    for (TestNodeType& type : spec.node_types) {
      for (const TestTensor& tensor : std::vector(type.features)) {
        if (tensor.spec.dtype != DType::kFloat32) continue;
        type.features.push_back(Narrowed(tensor, tensor.spec.name + "-b", DType::kBFloat16));
        type.features.push_back(Narrowed(tensor, tensor.spec.name + "-i", DType::kScaledInt8));
      }
    }
    TestRelation& cites = spec.relations[2];
    cites.features.push_back(Narrowed(cites.features[0], "weight-i", DType::kScaledInt8));
    return spec;
  }());
  return graph;
}

const ConformanceFolder& WeightedConformanceGraph() {
  static const ConformanceFolder graph([] {
    TestGraphSpec spec = RandomTypedGraph(
        {.seed = 13, .parts = 4, .nodes = 600, .mean_degree = 12, .feature_dim = 3});
    CounterRng rng(Mix(14));
    for (TestRelation& relation : spec.relations) {
      std::vector<double> weights;
      for (size_t i = 0; i < relation.edges.size(); ++i) {
        const double share = rng.NextDouble();
        weights.push_back(rng.NextBounded(8) == 0 ? 0 : share * share / (1 - share));
        if (rng.NextBounded(50) == 0) weights.back() *= 1e20;  // dominates its node
      }
      relation.features.push_back(MakeTensor("w", weights));
      relation.features.back().spec.sampling = true;
    }
    return spec;
  }());
  return graph;
}

}  // namespace halograph
