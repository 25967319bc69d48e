#include "tests/bench/partition/bench_graphs.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "common/base/rng.h"
#include "common/storage/npy.h"
#include "partitioner/generate/hierarchical.h"
#include "partitioner/generate/sbm.h"
#include "partitioner/readers/edge_array.h"
#include "partitioner/readers/reader.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

struct RealGraph {
  const char* name;
  const char* path;  // below HALOGRAPH_DATA
};
constexpr RealGraph kRealGraphs[] = {{"cora", "cora"},
                                     {"citeseer", "citeseer"},
                                     {"amazon-photo", "amazon-photo"},
                                     {"ca-GrQc", "snap/ca-GrQc.txt"},
                                     {"wiki-Vote", "snap/wiki-Vote.txt"},
                                     {"email-Enron", "snap/email-Enron.txt.gz"}};

StatusOr<fs::path> Generated(const std::string& name, int64_t nodes, const fs::path& work) {
  const fs::path folder = work / (name + "-" + std::to_string(nodes));
  if (fs::exists(folder)) return folder;
  const GenerateTarget target{.folder = folder, .replace = false};
  if (name == "planted") {
    SbmOptions options;
    options.nodes = nodes;
    options.classes = 64;
    options.average_degree = 16;
    options.homophily = 0.8;
    options.feature_dim = 0;
    HG_RETURN_IF_ERROR(GenerateSbm(options, target));
  } else {
    HierarchicalOptions options;
    options.nodes = nodes;
    options.feature_dim = 0;
    HG_RETURN_IF_ERROR(GenerateHierarchical(options, target));
  }
  return folder;
}

StatusOr<fs::path> PathOf(const std::string& name, int64_t nodes, const fs::path& work) {
  if (name == "planted" || name == "hierarchical") return Generated(name, nodes, work);
  const auto* const real = std::find_if(std::begin(kRealGraphs), std::end(kRealGraphs),
                                        [&](const RealGraph& graph) { return graph.name == name; });
  if (real == std::end(kRealGraphs)) return fs::path(name);
  const char* data = std::getenv("HALOGRAPH_DATA");
  if (data == nullptr || *data == '\0') {
    return FailedPrecondition(
        "{}: set HALOGRAPH_DATA to the folder of the real graphs, or choose others with --graphs",
        name);
  }
  return fs::path(data) / real->path;
}

// The relation's edges in a random order, as an array on disk.
Status Shuffle(uint64_t seed, const fs::path& path, const Dataset& dataset,
               InputRelation* relation) {
  std::vector<int64_t> sources, destinations;
  HG_RETURN_IF_ERROR(ForEachEdges(*relation, "reading edges", [&](const EdgeChunk& chunk) {
    sources.insert(sources.end(), chunk.sources.begin(), chunk.sources.end());
    destinations.insert(destinations.end(), chunk.destinations.begin(), chunk.destinations.end());
    return OkStatus();
  }));
  CounterRng rng(Mix(seed));
  for (size_t i = sources.size(); i > 1; --i) {
    const uint64_t j = rng.NextBounded(i);
    std::swap(sources[i - 1], sources[j]);
    std::swap(destinations[i - 1], destinations[j]);
  }
  const auto edges = static_cast<int64_t>(sources.size());
  HG_ASSIGN_OR_RETURN(NpyWriter writer, NpyWriter::Create(path, DType::kInt64, 2, edges, 2));
  HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(sources))));
  HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(destinations))));
  HG_RETURN_IF_ERROR(writer.Close());
  HG_ASSIGN_OR_RETURN(relation->edges, OpenEdgeArray(path, EdgeArrayForm::kRows,
                                                     EndsOf(dataset, *relation), nullptr));
  return OkStatus();
}

}  // namespace

std::vector<std::string> RealGraphNames() {
  std::vector<std::string> names;
  for (const RealGraph& graph : kRealGraphs) names.emplace_back(graph.name);
  return names;
}

StatusOr<Dataset> OpenBenchGraph(const BenchGraph& graph, int64_t nodes, uint64_t seed,
                                 const fs::path& work) {
  HG_ASSIGN_OR_RETURN(const fs::path path, PathOf(graph.name, nodes, work));
  ReadOptions read;
  read.scratch = work;
  HG_ASSIGN_OR_RETURN(Dataset dataset, OpenDataset(path, read));
  for (InputNodeType& type : dataset.node_types) type.features.clear();
  for (size_t r = 0; r < dataset.relations.size(); ++r) {
    dataset.relations[r].features.clear();
    if (!graph.shuffled) continue;
    const fs::path shuffled = work / ("shuffled-" + std::to_string(r) + ".npy");
    std::error_code ignored;
    fs::remove(shuffled, ignored);
    HG_RETURN_IF_ERROR(Shuffle(seed, shuffled, dataset, &dataset.relations[r]));
  }
  return dataset;
}

}  // namespace halograph
