#include "partitioner/write/graph_writer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/base/build_info.h"
#include "common/base/progress.h"
#include "common/base/units.h"
#include "common/storage/disk_space.h"
#include "partitioner/write/cluster_writer.h"
#include "partitioner/write/edge_writer.h"
#include "partitioner/write/mapped_npy.h"
#include "partitioner/write/node_writer.h"
#include "partitioner/write/sampling_weights.h"
#include "partitioner/write/schema_builder.h"
#include "partitioner/write/task_writer.h"
#include "partitioner/write/writing_plan.h"

namespace halograph {
namespace {

// Of so many, the end of a run is worth a word: until then everything may be in the page cache.
constexpr int64_t kLargeEdges = 10'000'000;

// What is known of the parts while they are written.
struct Parts {
  std::vector<std::vector<int64_t>> edges;      // [relation][part]
  std::vector<std::vector<int64_t>> task_rows;  // [task set][part]
  std::vector<HaloCounts> halo;                 // [part]
  std::vector<int64_t> edges_within;            // clusters, [part]; empty: there are none
  std::vector<std::vector<FileEntry>> files;    // [part]
};

Status WriteArrays(const WriteContext& context, Parts* parts, WrittenGraph* graph) {
  const Dataset& dataset = context.dataset;
  HG_ASSIGN_OR_RETURN(WrittenEdges written, WriteEdges(context));
  parts->halo = std::move(written.halo);
  for (int relation = 0; relation < static_cast<int>(dataset.relations.size()); ++relation) {
    WrittenRelation& here = written.relations[static_cast<size_t>(relation)];
    graph->edges.Add(here.counts);
    parts->edges.push_back(std::move(here.edges));
    HG_RETURN_IF_ERROR(WriteEdgeFeatures(context, relation));
    HG_ASSIGN_OR_RETURN(const int64_t undrawable, WriteWeightTables(context, relation));
    graph->undrawable_nodes += undrawable;
  }
  for (int type = 0; type < static_cast<int>(dataset.node_types.size()); ++type) {
    HG_RETURN_IF_ERROR(WriteNodes(context, type));
  }
  HG_RETURN_IF_ERROR(WriteClusters(context));
  HG_ASSIGN_OR_RETURN(parts->edges_within, EdgesWithinClusters(context));
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      HG_ASSIGN_OR_RETURN(std::vector<int64_t> rows, WriteTaskSet(context, task, set));
      parts->task_rows.push_back(std::move(rows));
    }
  }
  return OkStatus();
}

// Every file below a part folder, by path.
StatusOr<std::vector<FileEntry>> ChecksumPart(const std::filesystem::path& folder,
                                              Progress* progress) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    if (!entry->is_regular_file(error)) continue;
    paths.push_back(entry->path().lexically_relative(folder).generic_string());
  }
  if (error) return ErrnoStatus(error.value(), "cannot list", folder.string());
  std::sort(paths.begin(), paths.end());
  std::vector<FileEntry> files;
  for (const std::string& path : paths) {
    HG_ASSIGN_OR_RETURN(FileEntry file, ChecksumFile(folder, path));
    progress->Advance(file.bytes);
    files.push_back(std::move(file));
  }
  return files;
}

StatusOr<PartitionBook> BuildBook(const WriteContext& context, const Schema& schema,
                                  const Parts& parts) {
  std::vector<std::vector<int64_t>> edge_boundaries;
  for (const std::vector<int64_t>& edges : parts.edges) {
    std::vector<int64_t> boundaries = {0};
    for (const int64_t count : edges) boundaries.push_back(boundaries.back() + count);
    edge_boundaries.push_back(std::move(boundaries));
  }
  return PartitionBook::Create(schema, context.numbering.boundaries(), std::move(edge_boundaries));
}

int64_t SumOf(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

// What `inspect` shows of one part.
Json PartStats(const WriteContext& context, const Parts& parts, int part) {
  const auto p = static_cast<size_t>(part);
  const Dataset& dataset = context.dataset;
  Json stats = {{"part", part}, {"cut_edges", parts.halo[p].cut_edges}};
  for (size_t type = 0; type < dataset.node_types.size(); ++type) {
    const std::string& name = dataset.node_types[type].name;
    stats["core_nodes"][name] = context.numbering.CoreNodes(static_cast<int>(type), part);
    stats["halo_nodes"][name] = parts.halo[p].halo_nodes[type];
  }
  for (size_t r = 0; r < dataset.relations.size(); ++r) {
    stats["edges"][dataset.relations[r].triple()] = parts.edges[r][p];
  }
  stats["task_rows"] = {{"train", 0}, {"valid", 0}, {"test", 0}};
  size_t set_index = 0;
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      Json& rows = stats["task_rows"][set.set];
      rows = rows.get<int64_t>() + parts.task_rows[set_index++][p];
    }
  }
  int64_t bytes = 0;
  for (const FileEntry& file : parts.files[p]) bytes += file.bytes;
  stats["bytes"] = bytes;
  if (!parts.edges_within.empty()) stats["edges_within_clusters"] = parts.edges_within[p];
  return stats;
}

Status WritePartManifests(const WriteContext& context, const GraphManifest& graph,
                          const Parts& parts) {
  for (int part = 0; part < context.num_parts(); ++part) {
    const auto p = static_cast<size_t>(part);
    PartManifest manifest{.identity = graph.identity,
                          .build = graph.build,
                          .part = part,
                          .schema = graph.schema,
                          .book = graph.book,
                          .halo_nodes = parts.halo[p].halo_nodes,
                          .task_rows = {},
                          .files = parts.files[p]};
    for (const std::vector<int64_t>& rows : parts.task_rows) manifest.task_rows.push_back(rows[p]);
    if (graph.clusters) {
      manifest.clusters = std::ssize(context.numbering.ClusterBounds(0, part)) - 1;
    }
    HG_RETURN_IF_ERROR(WritePartManifest(context.PartFolder(part), manifest));
  }
  return OkStatus();
}

int64_t TensorBytes(const std::vector<InputTensor>& tensors, int64_t rows) {
  int64_t bytes = 0;
  for (const InputTensor& tensor : tensors) {
    bytes += rows * static_cast<int64_t>(tensor.spec.row_bytes());
  }
  return bytes;
}

}  // namespace

int64_t NeededDiskBytes(const Dataset& dataset, int parts, int64_t memory) {
  const GraphCounts counts = GraphCounts::Of(dataset);
  return EstimateOutputBytes(dataset) +
         BucketFileBytes(counts, BudgetWriting(counts, memory, parts));
}

int64_t EstimateOutputBytes(const Dataset& dataset) {
  int64_t bytes = 0;
  for (const InputNodeType& type : dataset.node_types) {
    bytes += type.count * int64_t{sizeof(int64_t)} + TensorBytes(type.features, type.count);
  }
  for (const InputRelation& relation : dataset.relations) {
    const int64_t edges = relation.edges->max_edges();
    const auto destination = static_cast<size_t>(dataset.NodeTypeIndex(relation.destination));
    const int64_t nodes = dataset.node_types[destination].count;
    bytes += nodes * int64_t{sizeof(int64_t)} +
             edges * int64_t{sizeof(uint32_t) + sizeof(int64_t)} +
             TensorBytes(relation.features, edges) + WeightTableBytes(relation, edges, nodes);
  }
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      if (!set.arrays.empty()) {
        bytes += TensorBytes(set.arrays, set.arrays.front().array->rows());
      }
    }
  }
  return bytes;
}

StatusOr<WrittenGraph> WriteGraph(const WriteContext& context, Json graph_options) {
  HG_RETURN_IF_ERROR(CheckDiskSpace(
      context.folder,
      NeededDiskBytes(context.dataset, context.num_parts(), context.options.memory)));
  Parts parts;
  WrittenGraph written;
  HG_RETURN_IF_ERROR(WriteArrays(context, &parts, &written));

  GraphManifest& graph = written.manifest;
  {
    Progress progress("checksums (bytes)");
    for (int part = 0; part < context.num_parts(); ++part) {
      HG_ASSIGN_OR_RETURN(std::vector<FileEntry> files,
                          ChecksumPart(context.PartFolder(part), &progress));
      graph.part_digests.push_back(FilesDigest(files));
      parts.files.push_back(std::move(files));
    }
  }
  std::vector<int64_t> edge_counts;
  for (const std::vector<int64_t>& edges : parts.edges) edge_counts.push_back(SumOf(edges));
  graph.schema = BuildSchema(context.dataset, edge_counts);
  HG_RETURN_IF_ERROR(graph.schema.Validate());
  HG_ASSIGN_OR_RETURN(graph.book, BuildBook(context, graph.schema, parts));
  graph.identity = GraphIdentity(graph.schema, graph.book, graph.part_digests);
  graph.build = BuildVersion();
  graph.clusters = context.numbering.has_clusters();
  graph.options = std::move(graph_options);
  graph.options["edges"] = {{"read", written.edges.read},
                            {"self_loops", written.edges.self_loops},
                            {"self_loops_dropped", written.edges.self_loops_dropped},
                            {"duplicates", written.edges.duplicates},
                            {"duplicates_dropped", written.edges.duplicates_dropped}};
  for (int part = 0; part < context.num_parts(); ++part) {
    graph.part_stats.push_back(PartStats(context, parts, part));
  }
  spdlog::log(written.edges.read < kLargeEdges ? spdlog::level::debug : spdlog::level::info,
              "writing all of {} to the disk", context.folder.string());
  HG_RETURN_IF_ERROR(SyncFileSystem(context.folder));
  HG_RETURN_IF_ERROR(WritePartManifests(context, graph, parts));
  HG_RETURN_IF_ERROR(WriteGraphManifest(context.folder, graph));
  return written;
}

}  // namespace halograph
