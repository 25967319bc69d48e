#include "client/ctl/tensor_folder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "client/ctl/export_checksums.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

constexpr char kSpecFile[] = "tensor.json";
constexpr char kSnapshotFile[] = "snapshot.json";
constexpr int64_t kMostJsonBytes = 1 << 20;
constexpr size_t kBytesAtATime = size_t{16} << 20;  // of rows

Column FloatColumn(const char* file, int rank, int64_t dim) {
  return {file, {DType::kFloat32, rank, dim}, static_cast<size_t>(dim) * sizeof(float)};
}

StatusOr<NpyArray> OpenIds(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(NpyArray file, NpyArray::Open(path, NpyOrigin::kForeign));
  if (!file.native() || file.dtype() != DType::kInt64 || file.shape().size() != 1) {
    return DataLoss("{}: {} of rank {}, expected int64 of rank 1, little-endian", path.string(),
                    DTypeName(file.dtype()), file.shape().size());
  }
  HG_RETURN_IF_ERROR(file.As<int64_t>().status());
  return file;
}

StatusOr<NpyArray> OpenColumn(const std::filesystem::path& path, const StoredArray& stored,
                              int64_t rows) {
  HG_ASSIGN_OR_RETURN(NpyArray file, NpyArray::Open(path, NpyOrigin::kForeign));
  if (!file.native() || file.fortran_order() || file.dtype() != stored.dtype ||
      file.rows() != rows || file.cols() != stored.cols) {
    return DataLoss("{}: {} [{}, {}], expected {} [{}, {}] in C order: a row for each id of {}",
                    path.string(), DTypeName(file.dtype()), file.rows(), file.cols(),
                    DTypeName(stored.dtype), rows, stored.cols, kIdsFile);
  }
  return file;
}

bool OfGraph(const MutableTensorSpec& spec) {
  return spec.placement == Placement::kNodes || spec.placement == Placement::kEdges;
}

TensorRef OriginalIdsOf(const MutableTensorSpec& spec) {
  return {spec.ref.edge, spec.ref.type, kOriginalIdTensor};
}

StatusOr<Json> ReadDescription(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostJsonBytes));
  return ParseJson(text, path.string());
}

Status ReadSpec(const std::filesystem::path& path, TensorFolder* folder) {
  HG_ASSIGN_OR_RETURN(const Json json, ReadDescription(path));
  HG_ASSIGN_OR_RETURN(const Json spec, GetObject(json, "spec", path.string()));
  HG_ASSIGN_OR_RETURN(folder->step, GetInt(json, "step", path.string()));
  HG_ASSIGN_OR_RETURN(const Json state, GetArray(json, "state", path.string()));
  StatusOr<MutableTensorSpec> parsed = MutableTensorSpec::FromJson(spec);
  if (!parsed.ok()) return Annotate(parsed.status(), path.string());
  folder->spec = *std::move(parsed);
  Json expected = Json::array();
  for (const Column& column : StateColumns(folder->spec)) expected.push_back(column.file);
  folder->state = !state.empty();
  if (folder->state && state != expected) {
    return DataLoss("{}: state {}; the optimizer's is {}", path.string(), CanonicalJson(state),
                    CanonicalJson(expected));
  }
  return OkStatus();
}

std::string FolderChecksums(const std::string& folder) {
  return (std::filesystem::path(folder) / kChecksumsFile).generic_string();
}

// Files beside the description.
std::vector<std::string> ArraysOf(const std::vector<Column>& columns) {
  std::vector<std::string> files = {kIdsFile};
  for (const Column& column : columns) files.push_back(column.file);
  return files;
}

// The description's checksum is looked at before it is believed; those of what may be large last.
StatusOr<TensorFolder> OpenTensorFolder(const std::filesystem::path& path, bool* checked) {
  TensorFolder folder{.path = path, .spec = {}, .columns = {}, .ids = {}, .files = {}};
  const std::string description = kSpecFile;
  HG_RETURN_IF_ERROR(CheckExportChecksums(path, {&description, 1}).status());
  HG_RETURN_IF_ERROR(ReadSpec(path / kSpecFile, &folder));
  folder.columns = {RowsColumn(folder.spec)};
  if (folder.state) {
    for (Column& column : StateColumns(folder.spec)) folder.columns.push_back(std::move(column));
  }
  HG_ASSIGN_OR_RETURN(folder.ids, OpenIds(path / kIdsFile));
  for (const Column& column : folder.columns) {
    HG_ASSIGN_OR_RETURN(folder.files.emplace_back(), OpenColumn(path / column.file, column.stored,
                                                                std::ssize(folder.original_ids())));
  }
  HG_ASSIGN_OR_RETURN(const bool has_checksums,
                      CheckExportChecksums(path, ArraysOf(folder.columns)));
  *checked = *checked && has_checksums;
  return folder;
}

// The folders of a snapshot's tensors.
StatusOr<std::vector<std::string>> ReadSnapshotJson(const std::filesystem::path& path,
                                                    bool* checked) {
  const std::string description = kSnapshotFile;
  HG_ASSIGN_OR_RETURN(*checked, CheckExportChecksums(path, {&description, 1}));
  const std::string where = (path / kSnapshotFile).string();
  HG_ASSIGN_OR_RETURN(const Json json, ReadDescription(path / kSnapshotFile));
  HG_ASSIGN_OR_RETURN(const Json names, GetArray(json, "tensors", where));
  std::vector<std::string> folders;
  std::vector<std::string> checksums;
  for (const Json& name : names) {
    if (!name.is_string()) return DataLoss("{}: a tensor whose folder has no name", where);
    folders.push_back(name.get<std::string>());
    checksums.push_back(FolderChecksums(folders.back()));
  }
  if (*checked) HG_RETURN_IF_ERROR(CheckExportChecksums(path, checksums).status());
  return folders;
}

Status CheckDistinct(const std::vector<TensorFolder>& tensors) {
  std::map<TensorRef, const TensorFolder*> known;
  for (const TensorFolder& tensor : tensors) {
    const auto [same, fresh] = known.emplace(tensor.spec.ref, &tensor);
    if (fresh) continue;
    return DataLoss("{} and {} are both of {}: leave one out", same->second->path.string(),
                    tensor.path.string(), tensor.spec.ref.ToString());
  }
  return OkStatus();
}

}  // namespace

Column RowsColumn(const MutableTensorSpec& spec) {
  return {"rows.npy", StoredAs(spec.dtype, 2, spec.dim), RowBytes(spec.dtype, spec.dim)};
}

std::vector<Column> StateColumns(const MutableTensorSpec& spec) {
  switch (spec.optimizer.kind) {
    case RowOptimizer::Kind::kNone:
      return {};
    case RowOptimizer::Kind::kSgd:
      if (spec.optimizer.momentum == 0) return {};
      return {FloatColumn("momentum.npy", 2, spec.dim)};
    case RowOptimizer::Kind::kAdagrad:
      return {FloatColumn("sum.npy", 2, spec.dim)};
    case RowOptimizer::Kind::kRowAdagrad:
      return {FloatColumn("sum.npy", 1, 1)};
    case RowOptimizer::Kind::kAdam:
      return {FloatColumn("m.npy", 2, spec.dim),
              FloatColumn("v.npy", 2, spec.dim),
              {"updates.npy", {DType::kUInt32, 1, 1}, sizeof(uint32_t)}};
  }
  return {};
}

size_t RowsAtATime(size_t row_bytes) {
  return std::clamp<size_t>(kBytesAtATime / std::max<size_t>(1, row_bytes), 1, kIdsAtATime);
}

Status WriteTensorJson(const std::filesystem::path& folder, const MutableTensorSpec& spec,
                       const std::vector<Column>& state, int64_t step) {
  Json files = Json::array();
  for (const Column& column : state) files.push_back(column.file);
  const Json json = {{"spec", spec.ToJson()}, {"state", std::move(files)}, {"step", step}};
  HG_RETURN_IF_ERROR(WriteFileAtomically(folder / kSpecFile, PrintableJson(json)));
  std::vector<std::string> written = {kSpecFile, kIdsFile, RowsColumn(spec).file};
  for (const Column& column : state) written.push_back(column.file);
  return WriteExportChecksums(folder, written);
}

Status WriteSnapshotJson(const std::filesystem::path& folder, const std::string& snapshot,
                         const std::vector<std::string>& tensors) {
  const Json json = {{"snapshot", snapshot}, {"tensors", tensors}};
  HG_RETURN_IF_ERROR(WriteFileAtomically(folder / kSnapshotFile, PrintableJson(json)));
  std::vector<std::string> written = {kSnapshotFile};
  for (const std::string& tensor : tensors) written.push_back(FolderChecksums(tensor));
  return WriteExportChecksums(folder, written);
}

StatusOr<ExportFolder> OpenExport(const std::filesystem::path& path) {
  ExportFolder folder{.tensors = {}, .checked = true};
  std::error_code ignored;
  if (!std::filesystem::exists(path / kSnapshotFile, ignored)) {
    HG_ASSIGN_OR_RETURN(folder.tensors.emplace_back(), OpenTensorFolder(path, &folder.checked));
    return folder;
  }
  HG_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      ReadSnapshotJson(path, &folder.checked));
  for (const std::string& name : names) {
    HG_ASSIGN_OR_RETURN(folder.tensors.emplace_back(),
                        OpenTensorFolder(path / name, &folder.checked));
  }
  HG_RETURN_IF_ERROR(CheckDistinct(folder.tensors));
  return folder;
}

StatusOr<int64_t> RowsOf(const Stores& stores, const MutableTensorSpec& spec) {
  if (!OfGraph(spec)) return spec.rows;
  HG_ASSIGN_OR_RETURN(const ResolvedTensor resolved,
                      ResolveTensor(stores.graph->info().schema, OriginalIdsOf(spec)));
  return resolved.rows;
}

Status ReadOriginalIds(const Stores& stores, const MutableTensorSpec& spec,
                       std::span<int64_t> original, CallContext& context) {
  std::iota(original.begin(), original.end(), 0);
  if (!OfGraph(spec)) return OkStatus();
  const TensorRef ref = OriginalIdsOf(spec);
  std::vector<int64_t> ids;
  for (size_t begin = 0; begin < original.size(); begin += kIdsAtATime) {
    const auto some = original.subspan(begin, std::min(kIdsAtATime, original.size() - begin));
    ids.assign(some.begin(), some.end());
    HG_RETURN_IF_ERROR(stores.rows->Pull(
        {.tensor = ref, .ids = ids, .out = std::as_writable_bytes(some)}, context));
  }
  return OkStatus();
}

void SortByOriginal(std::span<const int64_t> original, std::span<int64_t> global) {
  std::iota(global.begin(), global.end(), 0);
  std::sort(global.begin(), global.end(), [&](int64_t a, int64_t b) {
    return original[static_cast<size_t>(a)] < original[static_cast<size_t>(b)];
  });
}

}  // namespace halograph
