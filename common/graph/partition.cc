#include "common/graph/partition.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/graph/partition_check.h"

namespace halograph {

// Every mapped array, by its place in the schema.
struct Partition::Arrays {
  struct Node {
    NpyArray original_ids, halo_ids;
    std::vector<NpyArray> features;
  };
  struct Edge {
    NpyArray indptr, indices, original_ids;
    std::vector<NpyArray> features;
    std::vector<NpyArray> tables;  // what `weights` points into
    std::vector<WeightTable> weights;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::vector<std::vector<NpyArray>>> tasks;  // [task][set][array]
  std::optional<NpyArray> clusters;
};

namespace {

// What the .npy of an array must be by schema and book.
struct Expected {
  DType dtype = DType::kInt64;
  int rank = 1;
  int64_t rows = 0;
  int64_t dim = 1;

  static Expected Ids(int64_t rows) { return {.rows = rows}; }
  static Expected Of(const TensorSpec& spec, int64_t rows) {
    const StoredArray stored = StoredAs(spec.dtype, spec.rank, spec.dim);
    return {.dtype = stored.dtype, .rank = stored.rank, .rows = rows, .dim = stored.cols};
  }
  [[nodiscard]] std::vector<int64_t> shape() const {
    return rank == 1 ? std::vector{rows} : std::vector{rows, dim};
  }
};

// Maps the arrays of one folder, each only if the manifest lists it and it is what is expected.
class ArrayOpener {
 public:
  ArrayOpener(const std::filesystem::path& folder, const std::vector<FileEntry>& files)
      : folder_(folder), files_(files) {}

  [[nodiscard]] StatusOr<NpyArray> Open(const std::string& path, const Expected& expected) const {
    const auto listed = std::lower_bound(
        files_.begin(), files_.end(), path,
        [](const FileEntry& entry, const std::string& wanted) { return entry.path < wanted; });
    if (listed == files_.end() || listed->path != path) {
      return DataLoss("{}: the schema asks for file '{}', which 'files' does not list",
                      (folder_ / "manifest.json").string(), path);
    }
    HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(folder_ / path));
    if (array.dtype() != expected.dtype) {
      return DataLoss("{}: holds {}, expected {}", (folder_ / path).string(),
                      DTypeName(array.dtype()), DTypeName(expected.dtype));
    }
    if (array.shape() != expected.shape()) {
      return DataLoss("{}: has shape [{}], expected [{}]", (folder_ / path).string(),
                      fmt::join(array.shape(), ", "), fmt::join(expected.shape(), ", "));
    }
    if (array.fortran_order() && expected.rank == 2) {
      return DataLoss("{}: is in Fortran order, expected C order", (folder_ / path).string());
    }
    return array;
  }

  [[nodiscard]] StatusOr<std::vector<NpyArray>> OpenFeatures(
      const std::string& folder, const std::vector<TensorSpec>& features, int64_t rows) const {
    std::vector<NpyArray> arrays;
    for (const TensorSpec& spec : features) {
      HG_ASSIGN_OR_RETURN(NpyArray array,
                          Open(FeatureFile(folder, spec.name), Expected::Of(spec, rows)));
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

 private:
  const std::filesystem::path& folder_;
  const std::vector<FileEntry>& files_;
};

// Source ids are uint32 if every id of the type fits.
DType IndexDType(int64_t source_count) {
  return source_count <= int64_t{std::numeric_limits<uint32_t>::max()} + 1 ? DType::kUInt32
                                                                           : DType::kInt64;
}

template <typename T>
const T* Data(const NpyArray& array) {
  return reinterpret_cast<const T*>(array.data().data());
}

std::span<const int64_t> Ids(const NpyArray& array) {
  return {Data<int64_t>(array), static_cast<size_t>(array.rows())};
}

Status CheckIndptrEnds(const NpyArray& indptr, int64_t edges) {
  const std::span<const int64_t> offsets = Ids(indptr);
  if (offsets.front() == 0 && offsets.back() == edges) return OkStatus();
  return DataLoss("{}: starts at {} and ends at {}, expected 0 and the part's {} edges",
                  indptr.file().path().string(), offsets.front(), offsets.back(), edges);
}

Status CheckFiles(const std::filesystem::path& folder, const std::vector<FileEntry>& files,
                  VerifyLevel verify, const PartContents& contents) {
  const auto wanted = [&contents](const FileEntry& entry) {
    return IsTopologyFile(entry.path) ? contents.topology : contents.features;
  };
  // Sizes first, and of all files: a missing one is found before gigabytes are read.
  for (const FileEntry& entry : files) {
    if (wanted(entry)) HG_RETURN_IF_ERROR(CheckFileSize(folder, entry));
  }
  if (verify == VerifyLevel::kHeaders) return OkStatus();
  for (const FileEntry& entry : files) {
    if (wanted(entry)) HG_RETURN_IF_ERROR(VerifyFile(folder, entry));
  }
  return OkStatus();
}

}  // namespace

std::vector<std::pair<std::string_view, VerifyLevel>> VerifyLevelWords() {
  return {{"headers", VerifyLevel::kHeaders}, {"contents", VerifyLevel::kContents}};
}

StatusOr<std::unique_ptr<Partition>> Partition::Open(const std::filesystem::path& folder,
                                                     VerifyLevel verify,
                                                     const PartContents& contents) {
  auto partition = std::unique_ptr<Partition>(new Partition());
  partition->contents_ = contents;
  HG_ASSIGN_OR_RETURN(partition->manifest_, ReadPartManifest(folder));
  HG_RETURN_IF_ERROR(CheckFiles(folder, partition->manifest_.files, verify, contents));
  HG_RETURN_IF_ERROR(partition->Map(folder));
  if (verify == VerifyLevel::kContents) {
    HG_RETURN_IF_ERROR(CheckPartitionContents(*partition, folder));
  }
  return partition;
}

Status Partition::Map(const std::filesystem::path& folder) {
  auto arrays = std::make_shared<Arrays>();
  arrays_ = arrays;
  arrays->edges.resize(schema().relations.size());
  HG_RETURN_IF_ERROR(MapEdges(folder, arrays.get()));
  HG_RETURN_IF_ERROR(MapClusters(folder, arrays.get()));
  if (!contents_.features) return OkStatus();
  HG_RETURN_IF_ERROR(MapNodes(folder, arrays.get()));
  HG_RETURN_IF_ERROR(MapEdgeFeatures(folder, arrays.get()));
  return MapTasks(folder, arrays.get());
}

Status Partition::MapNodes(const std::filesystem::path& folder, Arrays* arrays) {
  const ArrayOpener opener(folder, manifest_.files);
  for (int t = 0; t < static_cast<int>(schema().node_types.size()); ++t) {
    const NodeType& type = schema().node_types[t];
    const int64_t core = book().NodeRange(t, part()).size();
    const std::string base = NodeFolder(type.name);
    Arrays::Node node;
    HG_ASSIGN_OR_RETURN(node.original_ids,
                        opener.Open(base + "/original_ids.npy", Expected::Ids(core)));
    HG_ASSIGN_OR_RETURN(
        node.halo_ids, opener.Open(base + "/halo_ids.npy", Expected::Ids(manifest_.halo_nodes[t])));
    HG_ASSIGN_OR_RETURN(node.features, opener.OpenFeatures(base, type.features, core));
    arrays->nodes.push_back(std::move(node));
  }
  return OkStatus();
}

Status Partition::MapEdges(const std::filesystem::path& folder, Arrays* arrays) {
  const ArrayOpener opener(folder, manifest_.files);
  for (int r = 0; r < static_cast<int>(schema().relations.size()); ++r) {
    const IdRange nodes = book().NodeRange(schema().DestinationType(r), part());
    const IdRange ids = book().EdgeRange(r, part());
    CscSegment& segment = edges_.emplace_back();
    segment.nodes = nodes;
    segment.first_edge = ids.begin;
    if (!contents_.topology) continue;
    const DType index = IndexDType(schema().node_types[schema().SourceType(r)].count);
    const std::string base = EdgeFolder(schema().relations[r].triple());
    Arrays::Edge& edge = arrays->edges[r];
    HG_ASSIGN_OR_RETURN(edge.indptr,
                        opener.Open(base + "/indptr.npy", Expected::Ids(nodes.size() + 1)));
    HG_ASSIGN_OR_RETURN(edge.indices,
                        opener.Open(base + "/indices.npy", {.dtype = index, .rows = ids.size()}));
    HG_RETURN_IF_ERROR(CheckIndptrEnds(edge.indptr, ids.size()));
    segment.indptr = Data<int64_t>(edge.indptr);
    if (index == DType::kInt64) {
      segment.indices64 = Data<int64_t>(edge.indices);
    } else {
      segment.indices32 = Data<uint32_t>(edge.indices);
    }
    HG_RETURN_IF_ERROR(MapWeights(folder, r, arrays));
  }
  return OkStatus();
}

Status Partition::MapClusters(const std::filesystem::path& folder, Arrays* arrays) {
  if (!manifest_.clusters || !contents_.topology) return OkStatus();
  const ArrayOpener opener(folder, manifest_.files);
  const std::string path = ClusterFile(schema().node_types.front().name);
  HG_ASSIGN_OR_RETURN(arrays->clusters, opener.Open(path, Expected::Ids(*manifest_.clusters + 1)));
  const std::span<const int64_t> bounds = Ids(*arrays->clusters);
  const IdRange own = book().NodeRange(0, part());
  if (bounds.front() == own.begin && bounds.back() == own.end) return OkStatus();
  return DataLoss(
      "{}: starts at {} and ends at {}, expected the part's first node {} and its end {}",
      (folder / path).string(), bounds.front(), bounds.back(), own.begin, own.end);
}

Status Partition::MapWeights(const std::filesystem::path& folder, int relation, Arrays* arrays) {
  const ArrayOpener opener(folder, manifest_.files);
  const std::vector<TensorSpec>& features = schema().relations[relation].features;
  const std::string base = EdgeFolder(schema().relations[relation].triple());
  Arrays::Edge& edge = arrays->edges[relation];
  CscSegment& segment = edges_[relation];
  for (size_t f = 0; f < features.size(); ++f) {
    if (!features[f].sampling) continue;
    edge.weights.resize(features.size());
    WeightTable& table = edge.weights[f];
    const int64_t edges = book().EdgeRange(relation, part()).size();
    const auto map = [&](std::string_view array, const Expected& expected, auto* place) -> Status {
      HG_ASSIGN_OR_RETURN(NpyArray mapped,
                          opener.Open(WeightTableFile(base, features[f].name, array), expected));
      *place = Data<std::remove_cvref_t<decltype(**place)>>(mapped);
      edge.tables.push_back(std::move(mapped));
      return OkStatus();
    };
    HG_RETURN_IF_ERROR(map("entries", {.dtype = DType::kUInt32, .rank = 2, .rows = edges, .dim = 2},
                           &table.entries));
    HG_RETURN_IF_ERROR(map("weights", {.dtype = DType::kFloat64, .rows = edges}, &table.weights));
    HG_RETURN_IF_ERROR(map("heavy",
                           {.dtype = DType::kUInt64,
                            .rank = 2,
                            .rows = edges / kHeavyDegree,
                            .dim = sizeof(HeavyEdges) / sizeof(uint64_t)},
                           &table.heavy));
    HG_RETURN_IF_ERROR(
        map("drawable", {.dtype = DType::kUInt32, .rows = segment.nodes.size()}, &table.drawable));
  }
  if (!edge.weights.empty()) segment.weights = edge.weights.data();
  return OkStatus();
}

Status Partition::MapEdgeFeatures(const std::filesystem::path& folder, Arrays* arrays) {
  const ArrayOpener opener(folder, manifest_.files);
  for (int r = 0; r < static_cast<int>(schema().relations.size()); ++r) {
    const Relation& relation = schema().relations[r];
    const int64_t edges = book().EdgeRange(r, part()).size();
    const std::string base = EdgeFolder(relation.triple());
    Arrays::Edge& edge = arrays->edges[r];
    HG_ASSIGN_OR_RETURN(edge.original_ids,
                        opener.Open(base + "/original_ids.npy", Expected::Ids(edges)));
    HG_ASSIGN_OR_RETURN(edge.features, opener.OpenFeatures(base, relation.features, edges));
  }
  return OkStatus();
}

Status Partition::MapTasks(const std::filesystem::path& folder, Arrays* arrays) {
  const ArrayOpener opener(folder, manifest_.files);
  size_t next_count = 0;
  for (const Task& task : schema().tasks) {
    auto& sets = arrays->tasks.emplace_back();
    for (const TaskSetSpec& set : task.sets) {
      const int64_t rows = manifest_.task_rows[next_count++];
      const std::string base = TaskSetFolder(task.name, set.set, set.type);
      auto& mapped = sets.emplace_back();
      for (const TensorSpec& spec : set.arrays) {
        HG_ASSIGN_OR_RETURN(NpyArray array,
                            opener.Open(TaskArrayFile(base, spec.name), Expected::Of(spec, rows)));
        mapped.push_back(std::move(array));
      }
    }
  }
  return OkStatus();
}

std::vector<const MappedFile*> Partition::Files() const {
  std::vector<const MappedFile*> files;
  const auto add = [&files](const NpyArray& array) { files.push_back(&array.file()); };
  const auto add_all = [&add](const std::vector<NpyArray>& arrays) {
    for (const NpyArray& array : arrays) add(array);
  };
  for (const Arrays::Node& node : arrays_->nodes) {
    add(node.original_ids);
    add(node.halo_ids);
    add_all(node.features);
  }
  for (const Arrays::Edge& edge : arrays_->edges) {
    for (const NpyArray* array : {&edge.indptr, &edge.indices, &edge.original_ids}) add(*array);
    add_all(edge.features);
    add_all(edge.tables);
  }
  for (const auto& sets : arrays_->tasks) {
    for (const std::vector<NpyArray>& arrays : sets) add_all(arrays);
  }
  if (arrays_->clusters) add(*arrays_->clusters);
  std::erase_if(files, [](const MappedFile* file) { return file->bytes().empty(); });
  return files;
}

std::span<const int64_t> Partition::ClusterBounds() const {
  if (!arrays_->clusters) return {};
  return Ids(*arrays_->clusters);
}
const NpyArray& Partition::NodeFeature(int node_type, int feature) const {
  assert(contents_.features);
  return arrays_->nodes[node_type].features[feature];
}
const NpyArray& Partition::EdgeFeature(int relation, int feature) const {
  assert(contents_.features);
  return arrays_->edges[relation].features[feature];
}
std::span<const int64_t> Partition::NodeOriginalIds(int node_type) const {
  assert(contents_.features);
  return Ids(arrays_->nodes[node_type].original_ids);
}
std::span<const int64_t> Partition::EdgeOriginalIds(int relation) const {
  assert(contents_.features);
  return Ids(arrays_->edges[relation].original_ids);
}
std::span<const int64_t> Partition::HaloIds(int node_type) const {
  assert(contents_.features);
  return Ids(arrays_->nodes[node_type].halo_ids);
}
const NpyArray& Partition::TaskArray(int task, int set, int array) const {
  assert(contents_.features);
  return arrays_->tasks[task][set][array];
}

}  // namespace halograph
