#include "tests/support/random_graph.h"

#include <algorithm>

#include "common/base/rng.h"

namespace halograph {
namespace {

std::vector<int> RandomOwners(int64_t nodes, int parts, CounterRng* rng) {
  std::vector<int> owners(nodes);
  for (int& owner : owners) owner = static_cast<int>(rng->NextBounded(parts));
  return owners;
}

// Destinations and sources are skewed to small ids (a product of two uniforms), the last tenth of
// the destinations gets none, and a twentieth of the edges is repeated.
std::vector<std::pair<int64_t, int64_t>> RandomEdges(int64_t sources, int64_t destinations,
                                                     double mean_degree, CounterRng* rng) {
  std::vector<std::pair<int64_t, int64_t>> edges;
  const auto count = static_cast<int64_t>(mean_degree * static_cast<double>(destinations));
  const auto reached = static_cast<double>(std::max<int64_t>(1, destinations - destinations / 10));
  while (static_cast<int64_t>(edges.size()) < count && sources > 0 && destinations > 0) {
    if (!edges.empty() && rng->NextBounded(20) == 0) {
      edges.push_back(edges[rng->NextBounded(edges.size())]);
      continue;
    }
    const double u = rng->NextDouble() * rng->NextDouble();
    const double v = rng->NextDouble() * rng->NextDouble();
    edges.emplace_back(static_cast<int64_t>(u * static_cast<double>(sources)),
                       static_cast<int64_t>(v * reached));
  }
  return edges;
}

TestTensor RowFeature(const std::string& name, int64_t rows, int64_t dim) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = 0; c < dim; ++c) {
      values.push_back(static_cast<float>(i) + 0.25F * static_cast<float>(c));
    }
  }
  return MakeTensor(name, values, dim);
}

// Train: every node with i % 4 in {0, 1}; valid: 2; test: 3. In descending order, so that input
// order differs from id order.
TestTask NodeTask(const std::string& type, int64_t nodes, int classes) {
  TestTask task{.name = "node_classification", .metadata = {{"num_classes", classes}}, .sets = {}};
  const std::vector<std::pair<std::string, std::vector<int64_t>>> sets = {
      {"train", {0, 1}}, {"valid", {2}}, {"test", {3}}};
  for (const auto& [set, remainders] : sets) {
    std::vector<int64_t> seeds;
    std::vector<int64_t> labels;
    for (int64_t i = nodes - 1; i >= 0; --i) {
      if (std::find(remainders.begin(), remainders.end(), i % 4) == remainders.end()) continue;
      seeds.push_back(i);
      labels.push_back(i % classes);
    }
    task.sets.push_back({.set = set,
                         .type = type,
                         .edges = false,
                         .arrays = {MakeTensor("seeds", seeds), MakeTensor("labels", labels)}});
  }
  return task;
}

TestTask LinkTask(const TestRelation& relation) {
  TestTask task{.name = "link_prediction", .metadata = Json::object(), .sets = {}};
  for (const std::string set : {"train", "valid", "test"}) {
    std::vector<int64_t> seeds;
    std::vector<int64_t> indexes;
    for (size_t e = set.size() % 3; e < relation.edges.size(); e += 3) {
      seeds.push_back(relation.edges[e].first);
      seeds.push_back(relation.edges[e].second);
      indexes.push_back(static_cast<int64_t>(e));
    }
    task.sets.push_back(
        {.set = set,
         .type = relation.triple(),
         .edges = true,
         .arrays = {MakeTensor("seeds", seeds, 2), MakeTensor("indexes", indexes)}});
  }
  return task;
}

}  // namespace

TestGraphSpec RandomGraph(const RandomGraphOptions& options) {
  CounterRng rng(Mix(options.seed));
  TestGraphSpec spec{.name = "random", .parts = options.parts};
  TestNodeType node{.owners = RandomOwners(options.nodes, options.parts, &rng)};
  if (options.feature_dim > 0) {
    node.features.push_back(RowFeature("feat", options.nodes, options.feature_dim));
  }
  spec.node_types.push_back(std::move(node));
  spec.relations.push_back(
      {.edges = RandomEdges(options.nodes, options.nodes, options.mean_degree, &rng)});
  spec.tasks.push_back(NodeTask("node", options.nodes, options.num_classes));
  return spec;
}

TestGraphSpec RandomTypedGraph(const RandomGraphOptions& options) {
  CounterRng rng(Mix(options.seed + 1));
  TestGraphSpec spec{.name = "random-typed", .parts = options.parts};
  const int64_t papers = options.nodes;
  const int64_t authors = std::max<int64_t>(1, papers / 2);
  const int64_t venues = std::max<int64_t>(1, papers / 20);
  for (const auto& [name, count] :
       {std::pair<std::string, int64_t>{"venue", venues}, {"paper", papers}, {"author", authors}}) {
    spec.node_types.push_back(
        {.name = name, .owners = RandomOwners(count, options.parts, &rng), .features = {}});
  }
  std::vector<int64_t> years(papers);
  for (int64_t i = 0; i < papers; ++i) years[i] = 1900 + i;
  const int64_t dim = std::max<int64_t>(1, options.feature_dim);
  spec.node_types[1].features = {MakeTensor("year", years), RowFeature("feat", papers, dim)};
  spec.node_types[2].features = {RowFeature("emb", authors, 2 * dim)};

  const auto relation = [&](const char* source, int64_t sources, const char* name,
                            const char* destination, int64_t destinations) {
    spec.relations.push_back(
        {.source = source,
         .name = name,
         .destination = destination,
         .edges = RandomEdges(sources, destinations, options.mean_degree, &rng),
         .features = {}});
  };
  relation("venue", venues, "publishes", "paper", papers);
  relation("paper", papers, "written-by", "author", authors);
  relation("paper", papers, "cites", "paper", papers);
  relation("author", authors, "writes", "paper", papers);

  TestRelation& cites = spec.relations[2];
  std::vector<float> weights(cites.edges.size());
  for (size_t e = 0; e < weights.size(); ++e) weights[e] = static_cast<float>(e);
  cites.features = {MakeTensor("weight", weights)};
  spec.tasks = {NodeTask("paper", papers, options.num_classes), LinkTask(cites)};
  return spec;
}

}  // namespace halograph
