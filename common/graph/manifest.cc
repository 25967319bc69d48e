#include "common/graph/manifest.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/checksum.h"
#include "common/graph/file_list.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

constexpr char kPartKind[] = "halograph-part";
constexpr char kGraphKind[] = "halograph-graph";

template <typename Manifest>
Json CommonFields(std::string_view kind, const Manifest& manifest) {
  return {{"format", std::string(kind)},
          {"format_version", kFormatVersion},
          {"feature_bits",
           FeatureBitsOf(manifest.schema) | (manifest.clusters ? kClustersBit : uint64_t{0})},
          {"identity", manifest.identity},
          {"build", manifest.build},
          {"schema", ToJson(manifest.schema)},
          {"book", ToJson(manifest.book, manifest.schema)}};
}

// Reads and checks what both kinds share before any other field is looked at.
StatusOr<Json> ReadChecked(const std::filesystem::path& folder, std::string_view kind) {
  const std::filesystem::path path = folder / kManifestName;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return NotFound(
        "{}: not there, so this is not a partition folder; give the folder that "
        "halograph-partition wrote",
        path.string());
  }
  auto read = ReadManifest(path);
  if (!read.ok() && read.status().code() == absl::StatusCode::kInvalidArgument) {
    return DataLoss("{}", Message(read.status()));
  }
  HG_ASSIGN_OR_RETURN(const Json value, std::move(read));
  const std::string where = path.string();
  HG_ASSIGN_OR_RETURN(const std::string format, GetString(value, "format", where));
  if (format != kind) {
    return DataLoss("{}: field 'format' is '{}', expected '{}'", where, format, kind);
  }
  HG_ASSIGN_OR_RETURN(const int64_t version, GetInt(value, "format_version", where));
  if (version != kFormatVersion) {
    return FailedPrecondition(
        "{}: format version {}, this build reads {}; partition again or use a matching build",
        where, version, kFormatVersion);
  }
  HG_ASSIGN_OR_RETURN(const int64_t bits, GetInt(value, "feature_bits", where));
  if (const uint64_t unknown = static_cast<uint64_t>(bits) & ~kKnownFeatureBits; unknown != 0) {
    return FailedPrecondition("{}: feature bits {:#x} are unknown to this build; use a newer one",
                              where, unknown);
  }
  return value;
}

// Whether the folder has clusters; the other bits are those that its schema calls for.
StatusOr<bool> ParseBits(const Json& value, const Schema& schema, const std::string& where) {
  HG_ASSIGN_OR_RETURN(const int64_t bits, GetInt(value, "feature_bits", where));
  const bool clusters = (static_cast<uint64_t>(bits) & kClustersBit) != 0;
  const uint64_t needed = FeatureBitsOf(schema) | (clusters ? kClustersBit : uint64_t{0});
  if (static_cast<uint64_t>(bits) != needed) {
    return DataLoss("{}: feature bits {:#x}, but its schema calls for {:#x}", where, bits, needed);
  }
  if (clusters && schema.node_types.size() != 1) {
    return DataLoss("{}: feature bit {:#x} (clusters) is for one node type, its schema has {}",
                    where, kClustersBit, schema.node_types.size());
  }
  return clusters;
}

template <typename Manifest>
Status ParseCommonFields(const Json& value, const std::string& where, Manifest* manifest) {
  HG_ASSIGN_OR_RETURN(manifest->identity, GetString(value, "identity", where));
  HG_ASSIGN_OR_RETURN(manifest->build, GetString(value, "build", where));
  HG_ASSIGN_OR_RETURN(const Json schema, GetObject(value, "schema", where));
  HG_ASSIGN_OR_RETURN(manifest->schema, SchemaFromJson(schema, where + ": schema"));
  HG_ASSIGN_OR_RETURN(const Json book, GetObject(value, "book", where));
  HG_ASSIGN_OR_RETURN(manifest->book,
                      PartitionBookFromJson(book, manifest->schema, where + ": book"));
  return OkStatus();
}

size_t NumTaskSets(const Schema& schema) {
  size_t sets = 0;
  for (const Task& task : schema.tasks) sets += task.sets.size();
  return sets;
}

Status ParseCounts(const Json& value, const std::string& where, PartManifest* manifest) {
  HG_ASSIGN_OR_RETURN(manifest->halo_nodes, GetInts(value, "halo_nodes", where));
  HG_ASSIGN_OR_RETURN(manifest->task_rows, GetInts(value, "task_rows", where));
  const size_t types = manifest->schema.node_types.size();
  const size_t sets = NumTaskSets(manifest->schema);
  if (manifest->halo_nodes.size() != types || manifest->task_rows.size() != sets) {
    return DataLoss("{}: {} halo_nodes and {} task_rows, expected {} and {}", where,
                    manifest->halo_nodes.size(), manifest->task_rows.size(), types, sets);
  }
  const auto negative = [](int64_t count) { return count < 0; };
  if (std::any_of(manifest->halo_nodes.begin(), manifest->halo_nodes.end(), negative) ||
      std::any_of(manifest->task_rows.begin(), manifest->task_rows.end(), negative)) {
    return DataLoss("{}: negative count in halo_nodes or task_rows", where);
  }
  HG_ASSIGN_OR_RETURN(const bool clustered, ParseBits(value, manifest->schema, where));
  if (!clustered) return OkStatus();
  HG_ASSIGN_OR_RETURN(manifest->clusters, GetInt(value, "clusters", where));
  const int64_t nodes = manifest->book.NodeRange(0, manifest->part).size();
  const int64_t least = nodes > 0 ? 1 : 0;
  if (*manifest->clusters >= least && *manifest->clusters <= nodes) return OkStatus();
  return DataLoss("{}: {} clusters of {} nodes, expected {} to {}", where, *manifest->clusters,
                  nodes, least, nodes);
}

Status ParseParts(const Json& value, const std::string& where, GraphManifest* manifest) {
  HG_ASSIGN_OR_RETURN(const Json parts, GetArray(value, "parts", where));
  if (static_cast<int>(parts.size()) != manifest->book.num_parts()) {
    return DataLoss("{}: {} parts, but the book has {}", where, parts.size(),
                    manifest->book.num_parts());
  }
  for (size_t p = 0; p < parts.size(); ++p) {
    const std::string here = fmt::format("{}: parts[{}]", where, p);
    HG_ASSIGN_OR_RETURN(std::string digest, GetString(parts[p], "digest", here));
    HG_ASSIGN_OR_RETURN(Json stats, GetObject(parts[p], "stats", here));
    manifest->part_digests.push_back(std::move(digest));
    manifest->part_stats.push_back(std::move(stats));
  }
  return OkStatus();
}

}  // namespace

uint64_t FeatureBitsOf(const Schema& schema) {
  const auto scaled = [](const std::vector<TensorSpec>& features) {
    return std::any_of(features.begin(), features.end(),
                       [](const TensorSpec& spec) { return HasRowScale(spec.dtype); });
  };
  const bool any = std::any_of(schema.node_types.begin(), schema.node_types.end(),
                               [&](const NodeType& type) { return scaled(type.features); }) ||
                   std::any_of(schema.relations.begin(), schema.relations.end(),
                               [&](const Relation& relation) { return scaled(relation.features); });
  return any ? kScaledInt8Bit : 0;
}

std::string FilesDigest(const std::vector<FileEntry>& files) {
  Json list = Json::array();
  for (const FileEntry& entry : files) list.push_back(ToJson(entry));
  return Checksum128Hex(CanonicalJson(list));
}

std::string GraphIdentity(const Schema& schema, const PartitionBook& book,
                          const std::vector<std::string>& part_digests) {
  return Checksum128Hex(CanonicalJson(
      {{"schema", ToJson(schema)}, {"book", ToJson(book, schema)}, {"parts", part_digests}}));
}

Status WritePartManifest(const std::filesystem::path& part_folder, const PartManifest& manifest) {
  Json value = CommonFields(kPartKind, manifest);
  value["part"] = manifest.part;
  value["halo_nodes"] = manifest.halo_nodes;
  value["task_rows"] = manifest.task_rows;
  if (manifest.clusters) value["clusters"] = *manifest.clusters;
  value["files"] = Json::array();
  for (const FileEntry& entry : manifest.files) value["files"].push_back(ToJson(entry));
  return WriteManifest(part_folder / kManifestName, std::move(value));
}

Status WriteGraphManifest(const std::filesystem::path& graph_folder,
                          const GraphManifest& manifest) {
  Json value = CommonFields(kGraphKind, manifest);
  value["options"] = manifest.options;
  value["parts"] = Json::array();
  for (size_t p = 0; p < manifest.part_digests.size(); ++p) {
    value["parts"].push_back(
        {{"folder", PartFolderName(static_cast<int>(p))},
         {"digest", manifest.part_digests[p]},
         {"stats", p < manifest.part_stats.size() ? manifest.part_stats[p] : Json::object()}});
  }
  return WriteManifest(graph_folder / kManifestName, std::move(value));
}

StatusOr<PartManifest> ReadPartManifest(const std::filesystem::path& part_folder) {
  HG_ASSIGN_OR_RETURN(const Json value, ReadChecked(part_folder, kPartKind));
  const std::string where = (part_folder / kManifestName).string();
  PartManifest manifest;
  HG_RETURN_IF_ERROR(ParseCommonFields(value, where, &manifest));
  HG_ASSIGN_OR_RETURN(const int64_t part, GetInt(value, "part", where));
  if (part < 0 || part >= manifest.book.num_parts()) {
    return DataLoss("{}: field 'part' is {}, but the book has {} parts", where, part,
                    manifest.book.num_parts());
  }
  manifest.part = static_cast<int>(part);
  HG_RETURN_IF_ERROR(ParseCounts(value, where, &manifest));
  HG_ASSIGN_OR_RETURN(manifest.files, FilesFromJson(value, where));
  return manifest;
}

StatusOr<GraphManifest> ReadGraphManifest(const std::filesystem::path& graph_folder) {
  HG_ASSIGN_OR_RETURN(const Json value, ReadChecked(graph_folder, kGraphKind));
  const std::string where = (graph_folder / kManifestName).string();
  GraphManifest manifest;
  HG_RETURN_IF_ERROR(ParseCommonFields(value, where, &manifest));
  HG_ASSIGN_OR_RETURN(manifest.clusters, ParseBits(value, manifest.schema, where));
  HG_ASSIGN_OR_RETURN(manifest.options, GetObject(value, "options", where));
  HG_RETURN_IF_ERROR(ParseParts(value, where, &manifest));
  const std::string identity = GraphIdentity(manifest.schema, manifest.book, manifest.part_digests);
  if (identity != manifest.identity) {
    return DataLoss("{}: field 'identity' is {}, but schema, book and parts give {}", where,
                    manifest.identity, identity);
  }
  return manifest;
}

std::string PartFolderName(int part) { return fmt::format("part-{:04}", part); }

bool IsTopologyFile(std::string_view path) {
  constexpr std::string_view kNodes = "nodes/", kClusters = "/clusters.npy";
  if (path.starts_with(kNodes) && path.ends_with(kClusters)) {
    return path.find('/', kNodes.size()) == path.size() - kClusters.size();
  }
  if (path.rfind("edges/", 0) != 0) return false;
  const size_t slash = path.find('/', std::string_view("edges/").size());
  if (slash == std::string_view::npos) return false;
  const std::string_view inside = path.substr(slash + 1);
  return inside != "original_ids.npy" && inside.rfind("features/", 0) != 0;
}

std::string NodeFolder(const std::string& node_type) { return "nodes/" + PercentEncode(node_type); }
std::string ClusterFile(const std::string& node_type) {
  return NodeFolder(node_type) + "/clusters.npy";
}
std::string EdgeFolder(const std::string& triple) { return "edges/" + PercentEncode(triple); }
std::string TaskSetFolder(const std::string& task, const std::string& set,
                          const std::string& type) {
  return fmt::format("tasks/{}/{}/{}", PercentEncode(task), PercentEncode(set),
                     PercentEncode(type));
}
std::string WeightTableFile(const std::string& edge_folder, const std::string& name,
                            std::string_view array) {
  return fmt::format("{}/sampling/{}/{}.npy", edge_folder, PercentEncode(name), array);
}
std::string FeatureFile(const std::string& folder, const std::string& name) {
  return fmt::format("{}/features/{}.npy", folder, PercentEncode(name));
}
std::string TaskArrayFile(const std::string& set_folder, const std::string& name) {
  return fmt::format("{}/{}.npy", set_folder, PercentEncode(name));
}

}  // namespace halograph
