#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "client/ctl/tensor_files.h"
#include "client/ctl/tensor_folder.h"
#include "common/state/import_mark.h"
#include "common/state/row_kernels.h"
#include "common/state/row_layout.h"

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
  int64_t not_finite = 0;  // rows
  int64_t step = -1;       // of the store's tensor; -1: none
  bool was_marked = false;

  // Assigned values are finite: what is not is pushed as bits.
  [[nodiscard]] PushKind kind() const {
    if (folder->state) return PushKind::kImage;
    return not_finite > 0 ? PushKind::kBits : PushKind::kAssign;
  }
};

// Every row once: else some would stay as they are in the store, or be one of several.
Status CheckAllRows(const ImportedRows& imported, std::span<const int64_t> original) {
  std::vector<bool> seen(original.size(), false);
  std::string twice;
  for (const int64_t id : imported.global) {
    const auto row = static_cast<size_t>(id);
    if (seen[row] && twice.empty()) twice = fmt::format("; id {} stands twice", original[row]);
    seen[row] = true;
  }
  const auto missing = std::count(seen.begin(), seen.end(), false);
  if (missing == 0 && twice.empty()) return OkStatus();
  const auto first = static_cast<size_t>(std::find(seen.begin(), seen.end(), false) - seen.begin());
  return DataLoss(
      "{}: {} ids for {} rows, {} of which are missing{}{}: each row must be there, once",
      (imported.folder->path / kIdsFile).string(), imported.global.size(), original.size(), missing,
      missing > 0 ? fmt::format(" (id {})", original[first]) : "", twice);
}

StatusOr<ImportedRows> FindRows(const Stores& stores, const TensorFolder& folder,
                                CallContext& context) {
  ImportedRows imported{.folder = &folder, .global = {}};
  HG_ASSIGN_OR_RETURN(const int64_t rows, RowsOf(stores, folder.spec));
  std::vector<int64_t> original(static_cast<size_t>(rows));
  HG_RETURN_IF_ERROR(ReadOriginalIds(stores, folder.spec, original, context));
  HG_ASSIGN_OR_RETURN(imported.global,
                      ToGlobal(original, folder.original_ids(), folder.path / kIdsFile));
  HG_RETURN_IF_ERROR(CheckAllRows(imported, original));
  return imported;
}

// What the store has of the tensor, if anything: of the same specification, and with state not
// beyond the folder's step.
Status CheckStored(const std::map<TensorRef, MutableTensorState>& stored, ImportedRows* imported) {
  const TensorFolder& folder = *imported->folder;
  if (const auto found = stored.find(folder.spec.ref); found != stored.end()) {
    HG_RETURN_IF_ERROR(Annotate(found->second.spec.SameAs(folder.spec), folder.path.string()));
    imported->step = found->second.step;
    imported->was_marked = found->second.importing;
  }
  if (!folder.state || imported->step == folder.step) return OkStatus();
  if (imported->step > folder.step) {
    return FailedPrecondition(
        "{} has been trained up to step {}, and {} is of step {}: drop the tensor first",
        folder.spec.ref.ToString(), imported->step, folder.path.string(), folder.step);
  }
  if (folder.step - imported->step <= kMaxSkippedSteps) return OkStatus();
  return FailedPrecondition(
      "{}: step {} is more than {} above step {} of {}, and a server takes no such step: set a "
      "smaller \"step\" in its description, and remove its checksums",
      folder.path.string(), folder.step, kMaxSkippedSteps, imported->step,
      folder.spec.ref.ToString());
}

// Rows [begin, begin + count) of the files, the columns of each one after the other.
void TakeRows(const TensorFolder& folder, size_t begin, size_t count,
              std::vector<std::byte>* images) {
  const size_t row_bytes = folder.row_bytes();
  images->resize(count * row_bytes);
  size_t at = 0;
  for (size_t c = 0; c < folder.columns.size(); ++c) {
    const size_t bytes = folder.columns[c].bytes;
    const std::byte* from = folder.files[c].data().data() + begin * bytes;
    for (size_t i = 0; i < count; ++i, from += bytes) {
      std::memcpy(images->data() + i * row_bytes + at, from, bytes);
    }
    at += bytes;
  }
}

// `take`: the place of some rows, and what they have. Its first error.
Status ForRows(const ImportedRows& imported,
               const std::function<Status(size_t, std::span<const std::byte>)>& take) {
  const size_t at_a_time = RowsAtATime(imported.folder->row_bytes());
  std::vector<std::byte> images;
  for (size_t begin = 0; begin < imported.global.size(); begin += at_a_time) {
    const size_t count = std::min(at_a_time, imported.global.size() - begin);
    TakeRows(*imported.folder, begin, count, &images);
    HG_RETURN_IF_ERROR(take(begin, images));
  }
  return OkStatus();
}

// Counts the rows that are not finite. DataLoss: state that no optimizer makes.
Status CheckValues(ImportedRows* imported) {
  const TensorFolder& folder = *imported->folder;
  const size_t row_bytes = folder.row_bytes();
  MutableTensorSpec spec = folder.spec;
  if (!folder.state) spec.optimizer = {};
  const RowLayout layout = RowLayout::Of(spec);
  return ForRows(*imported, [&](size_t begin, std::span<const std::byte> images) -> Status {
    const size_t count = images.size() / row_bytes;
    for (size_t i = 0; i < count; ++i) {
      if (!IsFiniteImage(layout, images.data() + i * row_bytes)) ++imported->not_finite;
    }
    const RowPush push{.tensor = spec.ref,
                       .kind = PushKind::kImage,
                       .ids = folder.original_ids().subspan(begin, count),
                       .dtype = spec.dtype,
                       .rows = images};
    Status valid = CheckPushedValues(spec, push);
    if (valid.ok()) return valid;
    return DataLoss("{}: {}", folder.path.string(), Message(valid));
  });
}

Status PushRows(const Stores& stores, const ImportedRows& imported, CallContext& context) {
  return ForRows(imported, [&](size_t begin, std::span<const std::byte> images) {
    const size_t count = images.size() / imported.folder->row_bytes();
    const RowPush push{.tensor = imported.folder->spec.ref,
                       .kind = imported.kind(),
                       .ids = std::span(imported.global).subspan(begin, count),
                       .dtype = imported.folder->spec.dtype,
                       .rows = images};
    return stores.rows->Push({&push, 1}, context).status();
  });
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

// The tensors are there, with the rows that they had, and take what will be pushed.
Status CreateAll(const Stores& stores, std::span<const ImportedRows> imports,
                 CallContext& context) {
  for (const ImportedRows& imported : imports) {
    HG_RETURN_IF_ERROR(stores.admin->Create(imported.folder->spec, context));
  }
  for (const ImportedRows& imported : imports) {
    const RowPush asked{.tensor = imported.folder->spec.ref,
                        .kind = imported.kind(),
                        .dtype = imported.folder->spec.dtype};
    HG_RETURN_IF_ERROR(stores.rows->Push({&asked, 1}, context).status());
  }
  return OkStatus();
}

Status MarkAll(const Stores& stores, std::span<const ImportedRows> imports, CallContext& context) {
  const int parts = stores.graph->info().book.num_parts();
  for (size_t i = 0; i < imports.size(); ++i) {
    Status marked =
        stores.admin->Create(ImportMarkSpec(imports[i].folder->spec.ref, parts), context);
    if (marked.ok()) continue;
    // No row has changed. The error is the one that matters, and a mark that stays is told.
    CallContext own;  // that of the call may be what ended
    for (size_t j = 0; j <= i; ++j) {
      if (imports[j].was_marked) continue;
      static_cast<void>(stores.admin->Drop(ImportMarkOf(imports[j].folder->spec.ref), own).ok());
    }
    return marked;
  }
  return OkStatus();
}

}  // namespace

StatusOr<FileCounts> ImportTensors(const Stores& stores, const std::filesystem::path& folder,
                                   CallContext& context) {
  HG_ASSIGN_OR_RETURN(const ExportFolder files, OpenExport(folder));
  HG_ASSIGN_OR_RETURN(const std::vector<MutableTensorState> listed, stores.admin->List(context));
  std::map<TensorRef, MutableTensorState> stored;
  for (const MutableTensorState& tensor : listed) stored.emplace(tensor.spec.ref, tensor);
  FileCounts counts{.checked = files.checked};
  std::vector<ImportedRows> imports;
  for (const TensorFolder& tensor : files.tensors) {
    HG_ASSIGN_OR_RETURN(ImportedRows imported, FindRows(stores, tensor, context));
    HG_RETURN_IF_ERROR(CheckStored(stored, &imported));
    HG_RETURN_IF_ERROR(CheckValues(&imported));
    ++counts.tensors;
    counts.rows += std::ssize(imported.global);
    counts.not_finite_rows += imported.not_finite;
    imports.push_back(std::move(imported));
  }
  HG_RETURN_IF_ERROR(CreateAll(stores, imports, context));
  // From the first mark to the last none of the tensors is pulled.
  HG_RETURN_IF_ERROR(MarkAll(stores, imports, context));
  for (const ImportedRows& imported : imports) {
    HG_RETURN_IF_ERROR(PushRows(stores, imported, context));
    if (imported.folder->state && imported.folder->step > imported.step) {
      HG_RETURN_IF_ERROR(PushStep(stores, *imported.folder, context));
    }
  }
  for (const ImportedRows& imported : imports) {
    HG_RETURN_IF_ERROR(stores.admin->Drop(ImportMarkOf(imported.folder->spec.ref), context));
  }
  return counts;
}

}  // namespace halograph
