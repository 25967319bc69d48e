#include "common/graph/halo.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/graph/file_list.h"

namespace halograph {
namespace {

constexpr char kHaloKind[] = "halograph-halo";

Status CheckKind(const Json& value, const std::string& where) {
  HG_ASSIGN_OR_RETURN(const std::string format, GetString(value, "format", where));
  if (format != kHaloKind) {
    return DataLoss("{}: field 'format' is '{}', expected '{}'", where, format, kHaloKind);
  }
  HG_ASSIGN_OR_RETURN(const int64_t version, GetInt(value, "format_version", where));
  HG_ASSIGN_OR_RETURN(const int64_t bits, GetInt(value, "feature_bits", where));
  if (version == kFormatVersion && bits == 0) return OkStatus();
  return FailedPrecondition(
      "{}: format version {} with feature bits {:#x}, this build reads {} with 0; make the halo "
      "again or use a matching build",
      where, version, bits, kFormatVersion);
}

// Maps the arrays of a halo, each only if it is what is expected.
class Opener {
 public:
  Opener(const std::filesystem::path& folder, const std::vector<FileEntry>& files)
      : folder_(folder), files_(files) {}

  [[nodiscard]] StatusOr<NpyArray> Open(const std::string& path, DType dtype,
                                        const std::vector<int64_t>& shape) const {
    const bool listed = std::any_of(files_.begin(), files_.end(),
                                    [&](const FileEntry& entry) { return entry.path == path; });
    if (!listed) {
      return DataLoss("{}: the schema asks for file '{}', which 'files' does not list",
                      (folder_ / kManifestName).string(), path);
    }
    HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(folder_ / path));
    if (array.dtype() == dtype && array.shape() == shape && !array.fortran_order()) return array;
    return DataLoss("{}: holds {} of shape [{}], expected {} of shape [{}] in C order",
                    (folder_ / path).string(), DTypeName(array.dtype()),
                    fmt::join(array.shape(), ", "), DTypeName(dtype), fmt::join(shape, ", "));
  }
  [[nodiscard]] StatusOr<NpyArray> Ids(const std::string& path, int64_t rows) const {
    return Open(path, DType::kInt64, {rows});
  }

 private:
  const std::filesystem::path& folder_;
  const std::vector<FileEntry>& files_;
};

std::span<const int64_t> IdsOf(const NpyArray& array) {
  return {reinterpret_cast<const int64_t*>(array.data().data()), static_cast<size_t>(array.rows())};
}

Status CheckIds(std::span<const int64_t> ids, int64_t count, const IdRange& own,
                const std::string& path) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < count && !own.contains(ids[i]) && (i == 0 || ids[i] > ids[i - 1])) {
      continue;
    }
    return DataLoss(
        "{}: position {} holds id {}; ids must ascend, be below {} and not be the part's own ([{}, "
        "{}))",
        path, i, ids[i], count, own.begin, own.end);
  }
  return OkStatus();
}

Status CheckIndptr(std::span<const int64_t> indptr, int64_t edges, const std::string& path) {
  if (indptr.front() == 0 && indptr.back() == edges &&
      std::is_sorted(indptr.begin(), indptr.end())) {
    return OkStatus();
  }
  return DataLoss("{}: offsets must start at 0, end at {} and not descend", path, edges);
}

}  // namespace

struct Halo::Arrays {
  struct Node {
    NpyArray ids, destinations;
    std::vector<NpyArray> features;
  };
  struct Edge {
    NpyArray indptr, indices, first_edges;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

int64_t HaloManifest::bytes() const {
  return std::accumulate(files.begin(), files.end(), int64_t{0},
                         [](int64_t sum, const FileEntry& file) { return sum + file.bytes; });
}

Status WriteHaloManifest(const std::filesystem::path& halo_folder, const HaloManifest& manifest) {
  Json value = {{"format", kHaloKind},
                {"format_version", kFormatVersion},
                {"feature_bits", 0},
                {"identity", manifest.identity},
                {"build", manifest.build},
                {"part", manifest.part},
                {"hops", manifest.hops},
                {"nodes", manifest.nodes},
                {"destinations", manifest.destinations},
                {"edges", manifest.edges},
                {"files", Json::array()}};
  for (const FileEntry& entry : manifest.files) value["files"].push_back(ToJson(entry));
  return WriteManifest(halo_folder / kManifestName, std::move(value));
}

bool HasHalo(const std::filesystem::path& part_folder) {
  std::error_code error;
  return std::filesystem::exists(part_folder / kHaloFolder / kManifestName, error);
}

StatusOr<HaloManifest> ReadHaloManifest(const std::filesystem::path& part_folder) {
  const std::filesystem::path path = part_folder / kHaloFolder / kManifestName;
  const std::string where = path.string();
  if (!HasHalo(part_folder)) {
    return NotFound(
        "{}: not there, so this part cannot be trained on alone; make its halo with "
        "halograph-partition halo --graph {}, or partition with --halo-features",
        where, part_folder.parent_path().string());
  }
  auto read = ReadManifest(path);
  if (!read.ok() && absl::IsInvalidArgument(read.status())) {
    return DataLoss("{}", Message(read.status()));
  }
  HG_ASSIGN_OR_RETURN(const Json value, std::move(read));
  HG_RETURN_IF_ERROR(CheckKind(value, where));
  HaloManifest manifest;
  HG_ASSIGN_OR_RETURN(manifest.identity, GetString(value, "identity", where));
  HG_ASSIGN_OR_RETURN(manifest.build, GetString(value, "build", where));
  HG_ASSIGN_OR_RETURN(const int64_t part, GetInt(value, "part", where));
  HG_ASSIGN_OR_RETURN(const int64_t hops, GetInt(value, "hops", where));
  HG_ASSIGN_OR_RETURN(manifest.nodes, GetInts(value, "nodes", where));
  HG_ASSIGN_OR_RETURN(manifest.destinations, GetInts(value, "destinations", where));
  HG_ASSIGN_OR_RETURN(manifest.edges, GetInts(value, "edges", where));
  HG_ASSIGN_OR_RETURN(manifest.files, FilesFromJson(value, where));
  bool negative = part < 0 || hops < 1 || hops > kMostHaloHops;
  for (const auto* counts : {&manifest.nodes, &manifest.destinations, &manifest.edges}) {
    negative |= std::any_of(counts->begin(), counts->end(), [](int64_t n) { return n < 0; });
  }
  if (negative)
    return DataLoss("{}: a negative count, or hops outside [1, {}]", where, kMostHaloHops);
  manifest.part = static_cast<int>(part);
  manifest.hops = static_cast<int>(hops);
  return manifest;
}

std::string HaloIdsFile(const std::string& node_type) { return NodeFolder(node_type) + "/ids.npy"; }
std::string HaloDestinationsFile(const std::string& node_type) {
  return NodeFolder(node_type) + "/destinations.npy";
}
std::string HaloIndptrFile(const std::string& triple) { return EdgeFolder(triple) + "/indptr.npy"; }
std::string HaloIndicesFile(const std::string& triple) {
  return EdgeFolder(triple) + "/indices.npy";
}
std::string HaloFirstEdgesFile(const std::string& triple) {
  return EdgeFolder(triple) + "/first_edges.npy";
}

DType SourceIdDType(int64_t source_count) {
  return source_count <= int64_t{std::numeric_limits<uint32_t>::max()} + 1 ? DType::kUInt32
                                                                           : DType::kInt64;
}

StatusOr<std::unique_ptr<Halo>> Halo::Open(const std::filesystem::path& part_folder,
                                           const Partition& part, VerifyLevel verify) {
  auto halo = std::unique_ptr<Halo>(new Halo());
  HG_ASSIGN_OR_RETURN(halo->manifest_, ReadHaloManifest(part_folder));
  const HaloManifest& manifest = halo->manifest_;
  const std::filesystem::path folder = part_folder / kHaloFolder;
  if (manifest.identity != part.manifest().identity || manifest.part != part.part()) {
    return FailedPrecondition(
        "{}: is of part {} of graph {}, but lies with part {} of graph {}; make the halo again",
        folder.string(), manifest.part, manifest.identity, part.part(), part.manifest().identity);
  }
  for (const FileEntry& entry : manifest.files) {
    HG_RETURN_IF_ERROR(CheckFileSize(folder, entry));
  }
  if (verify == VerifyLevel::kContents) {
    for (const FileEntry& entry : manifest.files) HG_RETURN_IF_ERROR(VerifyFile(folder, entry));
  }
  HG_RETURN_IF_ERROR(halo->Map(folder, part));
  if (verify == VerifyLevel::kContents) HG_RETURN_IF_ERROR(halo->CheckContents(folder, part));
  return halo;
}

Status Halo::Map(const std::filesystem::path& folder, const Partition& part) {
  const Schema& schema = part.schema();
  if (manifest_.nodes.size() != schema.node_types.size() ||
      manifest_.destinations.size() != schema.node_types.size() ||
      manifest_.edges.size() != schema.relations.size()) {
    return DataLoss("{}: counts are not of {} node types and {} relations",
                    (folder / kManifestName).string(), schema.node_types.size(),
                    schema.relations.size());
  }
  auto arrays = std::make_shared<Arrays>();
  const Opener opener(folder, manifest_.files);
  for (size_t t = 0; t < schema.node_types.size(); ++t) {
    const NodeType& type = schema.node_types[t];
    const int64_t rows = manifest_.nodes[t];
    Arrays::Node node;
    HG_ASSIGN_OR_RETURN(node.ids, opener.Ids(HaloIdsFile(type.name), rows));
    HG_ASSIGN_OR_RETURN(node.destinations,
                        opener.Ids(HaloDestinationsFile(type.name), manifest_.destinations[t]));
    for (const TensorSpec& spec : type.features) {
      const StoredArray stored = StoredAs(spec.dtype, spec.rank, spec.dim);
      const std::vector<int64_t> shape =
          stored.rank == 1 ? std::vector{rows} : std::vector{rows, stored.cols};
      HG_ASSIGN_OR_RETURN(NpyArray array, opener.Open(FeatureFile(NodeFolder(type.name), spec.name),
                                                      stored.dtype, shape));
      node.features.push_back(std::move(array));
    }
    arrays->nodes.push_back(std::move(node));
  }
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    const std::string triple = schema.relations[r].triple();
    const int relation = static_cast<int>(r);
    const int64_t rows =
        manifest_.destinations[static_cast<size_t>(schema.DestinationType(relation))];
    const DType dtype =
        SourceIdDType(schema.node_types[static_cast<size_t>(schema.SourceType(relation))].count);
    Arrays::Edge edge;
    HG_ASSIGN_OR_RETURN(edge.indptr, opener.Ids(HaloIndptrFile(triple), rows + 1));
    HG_ASSIGN_OR_RETURN(edge.indices,
                        opener.Open(HaloIndicesFile(triple), dtype, {manifest_.edges[r]}));
    HG_ASSIGN_OR_RETURN(edge.first_edges, opener.Ids(HaloFirstEdgesFile(triple), rows));
    InEdges& view = edges_.emplace_back();
    view.indptr = IdsOf(edge.indptr);
    view.first_edges = IdsOf(edge.first_edges);
    const auto* const data = edge.indices.data().data();
    if (dtype == DType::kInt64) view.indices64 = reinterpret_cast<const int64_t*>(data);
    if (dtype == DType::kUInt32) view.indices32 = reinterpret_cast<const uint32_t*>(data);
    arrays->edges.push_back(std::move(edge));
  }
  arrays_ = std::move(arrays);
  return OkStatus();
}

Status Halo::CheckContents(const std::filesystem::path& folder, const Partition& part) const {
  const Schema& schema = part.schema();
  const auto own = [&](int type) { return part.book().NodeRange(type, part.part()); };
  for (int t = 0; t < static_cast<int>(schema.node_types.size()); ++t) {
    const NodeType& type = schema.node_types[static_cast<size_t>(t)];
    const std::string nodes = (folder / HaloIdsFile(type.name)).string();
    const std::string destinations = (folder / HaloDestinationsFile(type.name)).string();
    HG_RETURN_IF_ERROR(CheckIds(Nodes(t), type.count, own(t), nodes));
    HG_RETURN_IF_ERROR(CheckIds(Destinations(t), type.count, own(t), destinations));
    if (!std::includes(Nodes(t).begin(), Nodes(t).end(), Destinations(t).begin(),
                       Destinations(t).end())) {
      return DataLoss("{}: has an id that {} lacks", destinations, nodes);
    }
  }
  for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
    const std::string triple = schema.relations[static_cast<size_t>(r)].triple();
    const InEdges& edges = Edges(r);
    const int64_t count = manifest_.edges[static_cast<size_t>(r)];
    HG_RETURN_IF_ERROR(
        CheckIndptr(edges.indptr, count, (folder / HaloIndptrFile(triple)).string()));
    const int source = schema.SourceType(r);
    const IdRange core = own(source);
    for (int64_t position = 0; position < count; ++position) {
      const int64_t id = edges.Source(position);
      if (core.contains(id) || PositionOf(Nodes(source), id) >= 0) continue;
      return DataLoss("{}: position {} holds source {}, which is neither a core node nor in {}",
                      (folder / HaloIndicesFile(triple)).string(), position, id,
                      HaloIdsFile(schema.node_types[static_cast<size_t>(source)].name));
    }
  }
  return OkStatus();
}

std::span<const int64_t> Halo::Nodes(int node_type) const {
  return IdsOf(arrays_->nodes[static_cast<size_t>(node_type)].ids);
}
std::span<const int64_t> Halo::Destinations(int node_type) const {
  return IdsOf(arrays_->nodes[static_cast<size_t>(node_type)].destinations);
}
const NpyArray& Halo::NodeFeature(int node_type, int feature) const {
  return arrays_->nodes[static_cast<size_t>(node_type)].features[static_cast<size_t>(feature)];
}

int64_t PositionOf(std::span<const int64_t> ids, int64_t id) {
  const auto found = std::lower_bound(ids.begin(), ids.end(), id);
  return found != ids.end() && *found == id ? found - ids.begin() : -1;
}

}  // namespace halograph
