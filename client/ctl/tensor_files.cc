#include "client/ctl/tensor_files.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "common/storage/file.h"
#include "common/storage/npy.h"

namespace halograph {
namespace {

constexpr char kIdsFile[] = "ids.npy";
constexpr char kRowsFile[] = "rows.npy";
constexpr char kSpecFile[] = "tensor.json";
constexpr int64_t kRowsAtATime = 65536;

// The original id of every row by its global id; rows of no graph object have one id.
StatusOr<std::vector<int64_t>> OriginalIds(KVStore& store, const MutableTensorSpec& spec,
                                           CallContext& context) {
  int64_t rows = spec.rows;
  const Schema& schema = store.info().schema;
  const bool of_graph = spec.placement == Placement::kNodes || spec.placement == Placement::kEdges;
  const TensorRef ref{spec.ref.edge, spec.ref.type, kOriginalIdTensor};
  if (of_graph) {
    HG_ASSIGN_OR_RETURN(const ResolvedTensor resolved, ResolveTensor(schema, ref));
    rows = resolved.rows;
  }
  std::vector<int64_t> ids(static_cast<size_t>(rows));
  std::iota(ids.begin(), ids.end(), 0);
  if (!of_graph) return ids;
  std::vector<int64_t> original(ids.size());
  HG_RETURN_IF_ERROR(store.Pull(
      {.tensor = ref, .ids = ids, .out = std::as_writable_bytes(std::span(original))}, context));
  return original;
}

// Global ids in the order of their original ones.
std::vector<int64_t> InOrder(const std::vector<int64_t>& original) {
  std::vector<int64_t> order(original.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return original[static_cast<size_t>(a)] < original[static_cast<size_t>(b)];
  });
  return order;
}

Status WriteRows(KVStore& store, const MutableTensorSpec& spec, std::span<const int64_t> ids,
                 const std::filesystem::path& path, CallContext& context) {
  const StoredArray stored = StoredAs(spec.dtype, 2, spec.dim);
  const size_t row_bytes = RowBytes(spec.dtype, spec.dim);
  HG_ASSIGN_OR_RETURN(NpyWriter writer, NpyWriter::Create(path, stored.dtype, std::ssize(ids),
                                                          stored.cols, stored.rank));
  std::vector<std::byte> rows;
  for (size_t begin = 0; begin < ids.size(); begin += kRowsAtATime) {
    const auto some = ids.subspan(begin, std::min<size_t>(kRowsAtATime, ids.size() - begin));
    rows.resize(some.size() * row_bytes);
    HG_RETURN_IF_ERROR(store.Pull({.tensor = spec.ref, .ids = some, .out = rows}, context));
    HG_RETURN_IF_ERROR(writer.Append(rows));
  }
  return writer.Close();
}

StatusOr<MutableTensorSpec> ReadSpec(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, 1 << 20));
  HG_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path.string()));
  StatusOr<MutableTensorSpec> spec = MutableTensorSpec::FromJson(json);
  if (!spec.ok()) return Annotate(spec.status(), path.string());
  return spec;
}

// The global ids of original ones.
StatusOr<std::vector<int64_t>> ToGlobal(const std::vector<int64_t>& original,
                                        std::span<const int64_t> ids,
                                        const std::filesystem::path& path) {
  const std::vector<int64_t> order = InOrder(original);
  const auto original_of = [&](int64_t global) { return original[static_cast<size_t>(global)]; };
  std::vector<int64_t> global;
  global.reserve(ids.size());
  for (const int64_t id : ids) {
    const auto found =
        std::lower_bound(order.begin(), order.end(), id,
                         [&](int64_t of, int64_t wanted) { return original_of(of) < wanted; });
    if (found == order.end() || original_of(*found) != id) {
      return NotFound("{}: id {} at position {}: the graph has no row of this original id",
                      path.string(), id, global.size());
    }
    global.push_back(*found);
  }
  return global;
}

}  // namespace

StatusOr<MutableTensorSpec> FindTensorSpec(KVStore& store, const std::string& type,
                                           const std::string& name, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<MutableTensorState> tensors, store.ListTensors(context));
  std::string names;
  for (const auto& [spec, step] : tensors) {
    if (spec.ref.type == type && spec.ref.name == name) return spec;
    names += (names.empty() ? "" : ", ") + spec.ref.ToString();
  }
  return NotFound("no mutable tensor '{}' of '{}'; there are: {}", name, type,
                  names.empty() ? "none" : names);
}

StatusOr<int64_t> ExportTensor(KVStore& store, const MutableTensorSpec& spec,
                               const std::filesystem::path& folder, CallContext& context) {
  HG_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Create(folder));
  HG_ASSIGN_OR_RETURN(const std::vector<int64_t> original, OriginalIds(store, spec, context));
  const std::vector<int64_t> global = InOrder(original);
  std::vector<int64_t> ids;
  ids.reserve(global.size());
  for (const int64_t id : global) ids.push_back(original[static_cast<size_t>(id)]);
  HG_RETURN_IF_ERROR(WriteNpy<int64_t>(temporary.path() / kIdsFile, ids));
  HG_RETURN_IF_ERROR(WriteRows(store, spec, global, temporary.path() / kRowsFile, context));
  HG_RETURN_IF_ERROR(
      WriteFileAtomically(temporary.path() / kSpecFile, PrintableJson(spec.ToJson())));
  HG_RETURN_IF_ERROR(temporary.Commit());
  return std::ssize(ids);
}

StatusOr<int64_t> ImportTensor(KVStore& store, const std::filesystem::path& folder,
                               CallContext& context) {
  HG_ASSIGN_OR_RETURN(const MutableTensorSpec spec, ReadSpec(folder / kSpecFile));
  HG_ASSIGN_OR_RETURN(const NpyArray ids_file,
                      NpyArray::Open(folder / kIdsFile, NpyOrigin::kForeign));
  HG_ASSIGN_OR_RETURN(const NpyArray rows, NpyArray::Open(folder / kRowsFile, NpyOrigin::kForeign));
  HG_ASSIGN_OR_RETURN(const std::span<const int64_t> ids, ids_file.As<int64_t>());
  const StoredArray stored = StoredAs(spec.dtype, 2, spec.dim);
  if (!rows.native() || rows.fortran_order() || rows.dtype() != stored.dtype ||
      rows.rows() != std::ssize(ids) || rows.cols() != stored.cols) {
    return DataLoss("{}: {} [{}, {}], expected {} [{}, {}] in C order: a row for each id of {}",
                    (folder / kRowsFile).string(), DTypeName(rows.dtype()), rows.rows(),
                    rows.cols(), DTypeName(stored.dtype), ids.size(), stored.cols, kIdsFile);
  }
  HG_RETURN_IF_ERROR(store.CreateTensor(spec, context));
  HG_ASSIGN_OR_RETURN(const std::vector<int64_t> original, OriginalIds(store, spec, context));
  HG_ASSIGN_OR_RETURN(const std::vector<int64_t> global,
                      ToGlobal(original, ids, folder / kIdsFile));
  const size_t row_bytes = RowBytes(spec.dtype, spec.dim);
  for (size_t begin = 0; begin < global.size(); begin += kRowsAtATime) {
    const size_t count = std::min<size_t>(kRowsAtATime, global.size() - begin);
    HG_RETURN_IF_ERROR(
        store
            .Push({.tensor = spec.ref,
                   .kind = PushKind::kAssign,
                   .ids = std::span(global).subspan(begin, count),
                   .dtype = spec.dtype,
                   .rows = rows.data().subspan(begin * row_bytes, count * row_bytes)},
                  context)
            .status());
  }
  return std::ssize(ids);
}

}  // namespace halograph
