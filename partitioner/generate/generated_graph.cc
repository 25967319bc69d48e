#include "partitioner/generate/generated_graph.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/base/progress.h"
#include "common/base/rng.h"
#include "common/storage/disk_space.h"
#include "common/storage/file.h"
#include "common/storage/npy.h"
#include "common/storage/replace_check.h"
#include "partitioner/generate/option_checks.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBlockEdges = int64_t{1} << 16;
constexpr int64_t kBlockRows = 1024;

Status WriteEdges(const GeneratedGraph& graph, const fs::path& path) {
  HG_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  HG_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  const std::vector<int64_t> shape = {2, graph.edges};
  HG_RETURN_IF_ERROR(writer.Append(EncodeNpyHeader(DType::kInt64, shape)));
  std::vector<int64_t> sources, destinations;
  Progress progress("writing edges", 2 * graph.edges);
  for (std::vector<int64_t>* row : {&sources, &destinations}) {
    for (int64_t begin = 0; begin < graph.edges; begin += kBlockEdges) {
      const int64_t count = std::min(kBlockEdges, graph.edges - begin);
      sources.resize(count);
      destinations.resize(count);
      graph.fill_edges(begin, sources, destinations);
      HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(*row))));
      progress.Advance(count);
    }
  }
  return writer.Close();
}

Status WriteFeatures(const GeneratedGraph& graph, const fs::path& path) {
  HG_ASSIGN_OR_RETURN(NpyWriter writer,
                      NpyWriter::Create(path, DType::kFloat32, graph.nodes, graph.feature_dim, 2));
  std::vector<float> block;
  Progress progress("writing features", graph.nodes);
  for (int64_t begin = 0; begin < graph.nodes; begin += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, graph.nodes - begin);
    block.resize(static_cast<size_t>(rows * graph.feature_dim));
    for (int64_t i = 0; i < rows; ++i) {
      graph.fill_features(begin + i,
                          std::span(block).subspan(i * graph.feature_dim, graph.feature_dim));
    }
    HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(block))));
    progress.Advance(rows);
  }
  return writer.Close();
}

struct NamedSet {
  std::string name;  // as in metadata.yaml, without _set
  double share = 0;
};

// Seeds: the next part of one random order of all nodes.
Status WriteTask(const GeneratedGraph& graph, const std::vector<NamedSet>& sets,
                 const fs::path& folder) {
  std::vector<int64_t> order(graph.nodes);
  std::iota(order.begin(), order.end(), 0);
  CounterRng rng(graph.split_key);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.NextBounded(i)]);
  size_t begin = 0;
  for (const NamedSet& set : sets) {
    const auto wanted = static_cast<size_t>(set.share * static_cast<double>(graph.nodes) + 0.5);
    const size_t size = std::min(wanted, order.size() - begin);
    const std::span<int64_t> seeds = std::span(order).subspan(begin, size);
    begin += size;
    std::sort(seeds.begin(), seeds.end());
    std::vector<int64_t> labels;
    labels.reserve(size);
    for (const int64_t seed : seeds) labels.push_back(graph.label(seed));
    HG_RETURN_IF_ERROR(WriteNpy<int64_t>(folder / (set.name + "_seeds.npy"), seeds));
    HG_RETURN_IF_ERROR(WriteNpy<int64_t>(folder / (set.name + "_labels.npy"), labels));
  }
  return OkStatus();
}

std::string DescribeTask(const GeneratedGraph& graph, const std::vector<NamedSet>& sets) {
  std::string yaml =
      fmt::format("tasks:\n  - name: node_classification\n    num_classes: {}\n", graph.classes);
  for (const NamedSet& set : sets) {
    yaml += fmt::format("    {}_set:\n      - data:\n", set.name);
    for (const char* array : {"seeds", "labels"}) {
      yaml += fmt::format("          - {{name: {1}, format: numpy, path: tasks/{0}_{1}.npy}}\n",
                          set.name, array);
    }
  }
  return yaml;
}

std::string Describe(const GeneratedGraph& graph) {
  std::string yaml = fmt::format(
      "dataset_name: {}\ngraph:\n  nodes:\n    - num: {}\n  edges:\n    - format: numpy\n"
      "      path: edges/edge.npy\n",
      graph.name, graph.nodes);
  if (graph.feature_dim > 0) {
    yaml +=
        "feature_data:\n  - domain: node\n    name: feat\n    format: numpy\n"
        "    in_memory: false\n    path: features/feat.npy\n";
  }
  return yaml;
}

}  // namespace

Status SetShares::Validate() const {
  for (const double share : {train, valid, test}) {
    HG_RETURN_IF_ERROR(CheckShare("a set's share of the nodes", share));
  }
  if (train + valid + test > 1 + 1e-9) {
    return InvalidArgument("the sets' shares of the nodes are {}, {} and {}: their sum is above 1",
                           train, valid, test);
  }
  return OkStatus();
}

Status WriteGeneratedGraph(const GeneratedGraph& graph, const GenerateTarget& target) {
  // "out/" and "out" name the same folder.
  fs::path output = target.folder.lexically_normal();
  if (!output.has_filename()) output = output.parent_path();
  if (target.replace) {
    HG_RETURN_IF_ERROR(
        CheckReplaceable(output, "metadata.yaml", "a data set in GraphBolt's layout"));
  }
  HG_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Create(output, target.replace));
  const int64_t bytes = 16 * graph.edges + 4 * graph.nodes * graph.feature_dim +
                        (graph.classes > 0 ? 16 : 0) * graph.nodes;
  HG_RETURN_IF_ERROR(CheckDiskSpace(folder.path(), bytes));
  HG_RETURN_IF_ERROR(WriteEdges(graph, folder.path() / "edges/edge.npy"));
  std::string yaml = Describe(graph);
  if (graph.feature_dim > 0) {
    HG_RETURN_IF_ERROR(WriteFeatures(graph, folder.path() / "features/feat.npy"));
  }
  if (graph.classes > 0) {
    const std::vector<NamedSet> sets = {{"train", graph.shares.train},
                                        {"validation", graph.shares.valid},
                                        {"test", graph.shares.test}};
    HG_RETURN_IF_ERROR(WriteTask(graph, sets, folder.path() / "tasks"));
    yaml += DescribeTask(graph, sets);
  }
  HG_RETURN_IF_ERROR(WriteFileAtomically(folder.path() / "metadata.yaml", yaml));
  return folder.Commit();
}

}  // namespace halograph
