#include "trainer/embeddings/rows/row_names.h"

#include <algorithm>
#include <set>
#include <utility>

#include "client/original_ids.h"
#include "common/storage/file.h"
#include "common/storage/json.h"

namespace halograph {
namespace {

constexpr char kRowNamesFolder[] = "row-names";
constexpr char kRowNamesManifest[] = "manifest.json";
constexpr char kRowNamesFormat[] = "halograph row names";
constexpr int64_t kRowNamesVersion = 1;

std::string FileOf(const std::string& type) { return PercentEncode(type) + ".npy"; }

Schema WithoutTensors(const Schema& schema) {
  Schema bare{.graph_name = schema.graph_name, .node_types = {}, .relations = {}, .tasks = {}};
  for (const NodeType& type : schema.node_types) {
    bare.node_types.push_back({.name = type.name, .count = type.count, .features = {}});
  }
  for (Relation relation : schema.relations) {
    relation.features.clear();
    bare.relations.push_back(std::move(relation));
  }
  return bare;
}

Status WriteNames(const std::filesystem::path& path, const Stores& stores, int type,
                  const CancelToken* cancel) {
  const int64_t count = stores.graph->info().schema.node_types[type].count;
  HG_ASSIGN_OR_RETURN(NpyWriter file, NpyWriter::Create(path, DType::kInt64, count, 1, 1));
  HG_RETURN_IF_ERROR(ForEachOriginalIds(
      stores, type, cancel, [&](std::span<const int64_t>, std::span<const int64_t> originals) {
        return file.Append(std::as_bytes(originals));
      }));
  return file.Close();
}

Status WriteAll(const std::filesystem::path& target, const Stores& stores,
                const std::set<std::string>& types, const CancelToken* cancel) {
  const GraphInfo& info = stores.graph->info();
  const Schema schema = WithoutTensors(info.schema);
  HG_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Create(target, /*replace=*/true));
  Json files = Json::array();
  for (const std::string& name : types) {
    HG_ASSIGN_OR_RETURN(const int type, schema.NodeTypeIndex(name));
    HG_RETURN_IF_ERROR(WriteNames(folder.path() / FileOf(name), stores, type, cancel));
    HG_ASSIGN_OR_RETURN(const FileEntry entry, ChecksumFile(folder.path(), FileOf(name)));
    files.push_back(ToJson(entry));
  }
  HG_RETURN_IF_ERROR(WriteManifest(folder.path() / kRowNamesManifest,
                                   Json{{"format", kRowNamesFormat},
                                        {"format_version", kRowNamesVersion},
                                        {"graph_identity", info.identity},
                                        {"schema", ToJson(schema)},
                                        {"partition_book", ToJson(info.book, schema)},
                                        {"types", types},
                                        {"files", std::move(files)}}));
  return folder.Commit();
}

}  // namespace

StatusOr<RowNames> RowNames::ReadManifestOf(const std::filesystem::path& state) {
  RowNames names;
  names.folder_ = state / kRowNamesFolder;
  const std::filesystem::path path = names.folder_ / kRowNamesManifest;
  const std::string where = path.string();
  HG_ASSIGN_OR_RETURN(const Json json, ReadManifest(path));
  HG_ASSIGN_OR_RETURN(const int64_t version, GetInt(json, "format_version", where));
  if (version != kRowNamesVersion) {
    return FailedPrecondition("{}: format version {}, this build reads {}", where, version,
                              kRowNamesVersion);
  }
  HG_ASSIGN_OR_RETURN(names.identity_, GetString(json, "graph_identity", where));
  HG_ASSIGN_OR_RETURN(const Json schema, GetObject(json, "schema", where));
  HG_ASSIGN_OR_RETURN(names.schema_, SchemaFromJson(schema, where));
  HG_ASSIGN_OR_RETURN(const Json book, GetObject(json, "partition_book", where));
  HG_ASSIGN_OR_RETURN(names.book_, PartitionBookFromJson(book, names.schema_, where));
  HG_ASSIGN_OR_RETURN(const Json types, GetArray(json, "types", where));
  for (const Json& type : types) {
    if (!type.is_string()) return DataLoss("{}: a node type is no text", where);
    names.types_.push_back(type.get<std::string>());
  }
  HG_ASSIGN_OR_RETURN(const Json files, GetArray(json, "files", where));
  if (files.size() != names.types_.size()) {
    return DataLoss("{}: {} files of {} node types", where, files.size(), names.types_.size());
  }
  for (const Json& file : files) {
    HG_ASSIGN_OR_RETURN(FileEntry entry, FileEntryFromJson(file, where));
    HG_RETURN_IF_ERROR(CheckFileSize(names.folder_, entry));
    names.files_.push_back(std::move(entry));
  }
  return names;
}

StatusOr<RowNames> RowNames::Read(const std::filesystem::path& state) {
  auto names = ReadManifestOf(state);
  if (absl::IsNotFound(names.status())) {
    return NotFound(
        "{}: does not say which original ids its rows have (servers or an older build kept them): "
        "infer once on the run's graph with --graph and this folder as --state, then it does",
        state.string());
  }
  HG_RETURN_IF_ERROR(names.status());
  for (const std::string& name : names->types_) {
    HG_ASSIGN_OR_RETURN(const int type, names->schema_.NodeTypeIndex(name));
    HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(names->folder_ / FileOf(name)));
    HG_RETURN_IF_ERROR(array.As<int64_t>().status());
    if (array.rows() != names->schema_.node_types[type].count) {
      return DataLoss("{}: {} original ids of {} nodes", array.file().path().string(), array.rows(),
                      names->schema_.node_types[type].count);
    }
    names->originals_.emplace(name, std::move(array));
  }
  for (const FileEntry& file : names->files_) {
    HG_RETURN_IF_ERROR(VerifyFile(names->folder_, file));
  }
  return names;
}

StatusOr<std::span<const int64_t>> RowNames::OriginalIds(int type) const {
  const std::string& name = schema_.node_types[type].name;
  const auto found = originals_.find(name);
  if (found != originals_.end()) return found->second.As<int64_t>();
  return NotFound("{}: has no original ids of node type '{}'", folder_.string(), name);
}

Status KeepRowNames(const std::filesystem::path& state, const Stores& stores,
                    std::span<const std::string> types, const CancelToken* cancel) {
  std::set<std::string> wanted(types.begin(), types.end());
  const auto kept = RowNames::ReadManifestOf(state);
  if (kept.ok() && kept->identity() == stores.graph->info().identity) {
    const std::set<std::string> there(kept->types_.begin(), kept->types_.end());
    if (std::includes(there.begin(), there.end(), wanted.begin(), wanted.end())) return OkStatus();
    wanted.insert(there.begin(), there.end());
  }
  return Annotate(WriteAll(state / kRowNamesFolder, stores, wanted, cancel),
                  "keeping the original ids of learnt rows");
}

}  // namespace halograph
