#include "partitioner/methods/owners/load_owners.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "common/base/log.h"
#include "common/storage/file.h"
#include "common/storage/json.h"
#include "partitioner/methods/owners/owner_file.h"

namespace halograph {

namespace {

namespace fs = std::filesystem;

constexpr char kMetaName[] = "partition_meta.json";

// DGL's description of a folder of text files.
struct OwnersMeta {
  int parts = 0;  // 0: not said
  std::string algorithm;
};

StatusOr<OwnersMeta> ReadMeta(const fs::path& folder) {
  const fs::path path = folder / kMetaName;
  if (!fs::exists(path)) return OwnersMeta();
  HG_ASSIGN_OR_RETURN(const Json meta, ReadJsonFile(path));
  const auto parts = GetInt(meta, "num_parts", path.string());
  if (!parts.ok()) return InvalidArgument("{}", Message(parts.status()));
  if (*parts < 1 || *parts > kMaxParts) {
    return InvalidArgument("{}: num_parts is {}, expected 1 to {}", path.string(), *parts,
                           kMaxParts);
  }
  OwnersMeta result{static_cast<int>(*parts), ""};
  if (meta.contains("algo_name") && meta["algo_name"].is_string()) {
    result.algorithm = meta["algo_name"].get<std::string>();
  }
  return result;
}

// The file of one node type in a folder; nullopt for a type without nodes that has none.
StatusOr<std::optional<fs::path>> FindTypeFile(const fs::path& folder, const InputNodeType& type) {
  std::vector<fs::path> names;
  // A name with a slash is a path elsewhere.
  if (type.name.find('/') == std::string::npos) names.emplace_back(type.name);
  if (PercentEncode(type.name) != type.name) names.emplace_back(PercentEncode(type.name));
  std::optional<fs::path> found;
  for (const fs::path& name : names) {
    for (const char* extension : {".npy", ".txt"}) {
      const fs::path path = folder / (name.string() + extension);
      if (!fs::exists(path)) continue;
      if (found) {
        return InvalidArgument("{} and {} are both of node type `{}`; remove one", found->string(),
                               path.string(), type.name);
      }
      found = path;
    }
  }
  if (!found && type.count > 0) {
    return NotFound("{}: no owners of node type `{}`; expected a file {}.npy or {}.txt",
                    folder.string(), type.name, names.back().string(), names.back().string());
  }
  return found;
}

// A path per node type.
StatusOr<std::vector<std::optional<fs::path>>> FindFiles(const fs::path& path,
                                                         const Dataset& dataset) {
  std::vector<std::optional<fs::path>> files;
  if (!fs::is_directory(path)) {
    if (dataset.node_types.size() != 1) {
      return InvalidArgument(
          "{}: one file of owners, but the graph has {} node types; give a folder with "
          "<type>.npy or <type>.txt for each",
          path.string(), dataset.node_types.size());
    }
    files.emplace_back(path);
    return files;
  }
  for (const InputNodeType& type : dataset.node_types) {
    HG_ASSIGN_OR_RETURN(files.emplace_back(), FindTypeFile(path, type));
  }
  return files;
}

OwnerFileShape ShapeOf(const InputNodeType& type, int parts) {
  OwnerFileShape shape{type.count, parts, fmt::format("nodes of type `{}`", type.name)};
  if (type.original_ids != nullptr) {
    shape.what +=
        " (the distinct ids of the edge list, ascending; entry i is the i-th smallest; "
        "--num-nodes counts all ids)";
  }
  return shape;
}

// Nodes of each partition; warns of partitions without any.
std::vector<int64_t> CountNodes(const fs::path& path, const Assignment& assignment, int parts) {
  std::vector<int64_t> nodes(static_cast<size_t>(parts), 0);
  for (const auto& owners : assignment.owners) {
    for (const uint16_t owner : owners) ++nodes[owner];
  }
  constexpr size_t kShown = 8;
  std::vector<int> empty;
  for (int part = 0; part < parts; ++part) {
    if (nodes[static_cast<size_t>(part)] == 0) empty.push_back(part);
  }
  if (!empty.empty()) {
    const size_t count = empty.size();
    empty.resize(std::min(count, kShown));
    spdlog::warn("{}: {} of {} partitions have no node: {}{}", path.string(), count, parts,
                 fmt::join(empty, ", "), count > kShown ? ", ..." : "");
  }
  return nodes;
}

int PartsFound(const Assignment& assignment) {
  int parts = 1;
  for (const auto& owners : assignment.owners) {
    for (const uint16_t owner : owners) parts = std::max(parts, owner + 1);
  }
  return parts;
}

}  // namespace

MemoryPlan PlanLoadOwners(const GraphCounts& counts) {
  return {{{"reading owners", {{"owners", 2 * counts.num_nodes()}}}}};
}

StatusOr<LoadedOwners> LoadOwners(const fs::path& path, const Dataset& dataset, int parts) {
  if (!fs::exists(path)) return NotFound("{}: no such file or folder", path.string());
  if (parts != 0) HG_RETURN_IF_ERROR(CheckParts(dataset, parts));
  HG_ASSIGN_OR_RETURN(const auto files, FindFiles(path, dataset));
  OwnersMeta meta;
  if (fs::is_directory(path)) {
    HG_ASSIGN_OR_RETURN(meta, ReadMeta(path));
  }
  if (parts != 0 && meta.parts != 0 && parts != meta.parts) {
    return InvalidArgument("{}: num_parts is {}, but {} partitions are asked for",
                           (path / kMetaName).string(), meta.parts, parts);
  }
  LoadedOwners loaded;
  loaded.parts = parts != 0 ? parts : meta.parts;
  const int limit = loaded.parts != 0 ? loaded.parts : kMaxParts;
  for (size_t type = 0; type < files.size(); ++type) {
    std::vector<uint16_t> owners;
    if (files[type]) {
      HG_ASSIGN_OR_RETURN(owners,
                          ReadOwnerFile(*files[type], ShapeOf(dataset.node_types[type], limit)));
    }
    loaded.assignment.owners.push_back(std::move(owners));
  }
  if (loaded.parts == 0) loaded.parts = PartsFound(loaded.assignment);
  HG_RETURN_IF_ERROR(CheckParts(dataset, loaded.parts));
  loaded.assignment.report["nodes"] = CountNodes(path, loaded.assignment, loaded.parts);
  if (!meta.algorithm.empty()) loaded.assignment.report["algorithm"] = meta.algorithm;
  return loaded;
}

MemoryPlan OwnersMethod::PlanMemory(const GraphCounts& counts, const MethodOptions&) const {
  return PlanLoadOwners(counts);
}

StatusOr<int> OwnersMethod::Parts(const Dataset& dataset) const {
  const MutexLock lock(mutex_);
  HG_ASSIGN_OR_RETURN(loaded_, LoadOwners(path_, dataset, 0));
  return loaded_->parts;
}

StatusOr<Assignment> OwnersMethod::Assign(const Dataset& dataset,
                                          const MethodOptions& options) const {
  std::optional<LoadedOwners> kept;
  {
    const MutexLock lock(mutex_);
    kept.swap(loaded_);
  }
  if (kept.has_value() && kept->parts == options.parts) return std::move(kept->assignment);
  HG_ASSIGN_OR_RETURN(LoadedOwners loaded, LoadOwners(path_, dataset, options.parts));
  return std::move(loaded.assignment);
}

}  // namespace halograph
