#include <algorithm>
#include <cstring>
#include <random>

#include "client/ctl/tensor_files.h"
#include "client/ctl/tensor_folder.h"
#include "common/state/import_mark.h"

namespace halograph {
namespace {

// The global ids of original ones.
StatusOr<std::vector<int64_t>> ToGlobal(std::span<const int64_t> original,
                                        std::span<const int64_t> ids,
                                        const std::filesystem::path& path) {
  std::vector<int64_t> order(original.size());
  SortByOriginal(original, order);
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

// The rows of a folder, with the global ids of the store.
struct ImportedRows {
  const TensorFolder* folder;
  std::vector<int64_t> global;
};

// Rows with their optimizer's state are all rows, each once: else some would go on from the state
// that they have in the store.
Status CheckAllRows(const ImportedRows& imported, size_t rows) {
  std::vector<bool> seen(rows, false);
  for (const int64_t id : imported.global) seen[static_cast<size_t>(id)] = true;
  const auto missing = std::count(seen.begin(), seen.end(), false);
  if (missing == 0 && imported.global.size() == rows) return OkStatus();
  return DataLoss(
      "{}: {} ids for {} rows, {} of which are missing: with the optimizer's state all rows must "
      "be there, each once",
      (imported.folder->path / kIdsFile).string(), imported.global.size(), rows, missing);
}

StatusOr<ImportedRows> FindRows(const Stores& stores, const TensorFolder& folder,
                                CallContext& context) {
  ImportedRows imported{.folder = &folder, .global = {}};
  HG_ASSIGN_OR_RETURN(const int64_t rows, RowsOf(stores, folder.spec));
  std::vector<int64_t> original(static_cast<size_t>(rows));
  HG_RETURN_IF_ERROR(ReadOriginalIds(stores, folder.spec, original, context));
  HG_ASSIGN_OR_RETURN(imported.global,
                      ToGlobal(original, folder.original_ids(), folder.path / kIdsFile));
  if (folder.state) HG_RETURN_IF_ERROR(CheckAllRows(imported, original.size()));
  return imported;
}

// The step of the store's tensor; -1: none. With state it must not be beyond the folder's.
StatusOr<int64_t> CheckStep(const Stores& stores, const TensorFolder& folder,
                            CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<MutableTensorState> tensors, stores.admin->List(context));
  for (const MutableTensorState& tensor : tensors) {
    if (tensor.spec.ref != folder.spec.ref) continue;
    if (!folder.state || tensor.step <= folder.step) return tensor.step;
    return FailedPrecondition(
        "{} has been trained up to step {}, and {} is of step {}: drop the tensor first",
        folder.spec.ref.ToString(), tensor.step, folder.path.string(), folder.step);
  }
  return int64_t{-1};
}

Status PushRows(const Stores& stores, const ImportedRows& imported, CallContext& context) {
  const TensorFolder& folder = *imported.folder;
  const size_t row_bytes = folder.row_bytes();
  const size_t at_a_time = RowsAtATime(row_bytes);
  std::vector<std::byte> images;
  for (size_t begin = 0; begin < imported.global.size(); begin += at_a_time) {
    const size_t count = std::min(at_a_time, imported.global.size() - begin);
    images.resize(count * row_bytes);
    size_t at = 0;
    for (size_t c = 0; c < folder.columns.size(); ++c) {
      const size_t bytes = folder.columns[c].bytes;
      const std::byte* from = folder.files[c].data().data() + begin * bytes;
      for (size_t i = 0; i < count; ++i, from += bytes) {
        std::memcpy(images.data() + i * row_bytes + at, from, bytes);
      }
      at += bytes;
    }
    const RowPush push{.tensor = folder.spec.ref,
                       .kind = folder.state ? PushKind::kImage : PushKind::kAssign,
                       .ids = std::span(imported.global).subspan(begin, count),
                       .dtype = folder.spec.dtype,
                       .rows = images};
    HG_RETURN_IF_ERROR(stores.rows->Push({&push, 1}, context).status());
  }
  return OkStatus();
}

// A step without rows, after which steps go on as they would where the snapshot was taken.
Status PushStep(const Stores& stores, const TensorFolder& folder, CallContext& context) {
  std::random_device device;
  const SyncStep step{.step = folder.step,
                      .rank = 0,
                      .world_size = 1,
                      .run = (uint64_t{device()} << 32) | device()};
  const RowPush push{.tensor = folder.spec.ref,
                     .kind = PushKind::kAssign,
                     .step = step,
                     .dtype = folder.spec.dtype};
  return stores.rows->Push({&push, 1}, context).status();
}

}  // namespace

StatusOr<FileCounts> ImportTensors(const Stores& stores, const std::filesystem::path& folder,
                                   CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<TensorFolder> folders, OpenTensorFolders(folder));
  const int parts = stores.graph->info().book.num_parts();
  std::vector<ImportedRows> imports;
  std::vector<int64_t> steps;  // in the store
  for (const TensorFolder& tensor : folders) {
    HG_ASSIGN_OR_RETURN(steps.emplace_back(), CheckStep(stores, tensor, context));
    HG_ASSIGN_OR_RETURN(imports.emplace_back(), FindRows(stores, tensor, context));
  }
  // From the first mark to the last none of the tensors is pulled.
  for (const TensorFolder& tensor : folders) {
    HG_RETURN_IF_ERROR(stores.admin->Create(tensor.spec, context));
    HG_RETURN_IF_ERROR(stores.admin->Create(ImportMarkSpec(tensor.spec.ref, parts), context));
  }
  FileCounts counts;
  for (size_t i = 0; i < imports.size(); ++i) {
    const TensorFolder& tensor = folders[i];
    HG_RETURN_IF_ERROR(PushRows(stores, imports[i], context));
    if (tensor.state && tensor.step > steps[i]) {
      HG_RETURN_IF_ERROR(PushStep(stores, tensor, context));
    }
    ++counts.tensors;
    counts.rows += std::ssize(imports[i].global);
  }
  for (const TensorFolder& tensor : folders) {
    HG_RETURN_IF_ERROR(stores.admin->Drop(ImportMarkOf(tensor.spec.ref), context));
  }
  return counts;
}

}  // namespace halograph
