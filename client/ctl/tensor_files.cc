#include "client/ctl/tensor_files.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "client/ctl/image_files.h"
#include "client/ctl/tensor_folder.h"
#include "common/state/row_layout.h"
#include "common/state/row_table.h"
#include "common/storage/file.h"
#include "common/storage/scratch.h"

namespace halograph {
namespace {

// Of arrays of ids; what is beyond it is in files.
constexpr int64_t kIdBytesInMemory = int64_t{256} << 20;

StatusOr<ScratchArray> TakeIds(ScratchSpace& space, int64_t rows) {
  return space.Take(rows * static_cast<int64_t>(sizeof(int64_t)), "ids");
}

// Writes ids.npy; returns the global ids of its rows.
StatusOr<ScratchArray> WriteIds(const Stores& stores, const MutableTensorSpec& spec,
                                const std::filesystem::path& folder, ScratchSpace& space,
                                CallContext& context) {
  HG_ASSIGN_OR_RETURN(const int64_t rows, RowsOf(stores, spec));
  HG_ASSIGN_OR_RETURN(const ScratchArray originals, TakeIds(space, rows));
  HG_ASSIGN_OR_RETURN(ScratchArray globals, TakeIds(space, rows));
  const auto original = originals.As<int64_t>();
  const auto global = globals.As<int64_t>();
  HG_RETURN_IF_ERROR(ReadOriginalIds(stores, spec, original, context));
  SortByOriginal(original, global);
  HG_ASSIGN_OR_RETURN(NpyWriter file,
                      NpyWriter::Create(folder / kIdsFile, DType::kInt64, rows, 1, 1));
  std::vector<int64_t> some;
  for (size_t begin = 0; begin < global.size(); begin += some.size()) {
    some.clear();
    for (const int64_t id : global.subspan(begin, std::min(kIdsAtATime, global.size() - begin))) {
      some.push_back(original[static_cast<size_t>(id)]);
    }
    HG_RETURN_IF_ERROR(file.Append(std::as_bytes(std::span(some))));
  }
  HG_RETURN_IF_ERROR(file.Close());
  return globals;
}

// Writes rows.npy as the rows are now.
Status WriteRows(const Stores& stores, const MutableTensorSpec& spec, std::span<const int64_t> ids,
                 const std::filesystem::path& folder, CallContext& context) {
  const Column column = RowsColumn(spec);
  HG_ASSIGN_OR_RETURN(NpyWriter file,
                      NpyWriter::Create(folder / column.file, column.stored.dtype, std::ssize(ids),
                                        column.stored.cols, column.stored.rank));
  const size_t at_a_time = RowsAtATime(column.bytes);
  std::vector<std::byte> rows;
  for (size_t begin = 0; begin < ids.size(); begin += at_a_time) {
    const auto some = ids.subspan(begin, std::min(at_a_time, ids.size() - begin));
    rows.resize(some.size() * column.bytes);
    HG_RETURN_IF_ERROR(stores.rows->Pull({.tensor = spec.ref, .ids = some, .out = rows}, context));
    HG_RETURN_IF_ERROR(file.Append(rows));
  }
  return file.Close();
}

// Writes rows.npy and the optimizer's state as they were at a snapshot, beside ids.npy, which is
// there.
class SnapshotWriter {
 public:
  // `global`: of the rows of ids.npy.
  [[nodiscard]] static StatusOr<SnapshotWriter> Create(const MutableTensorSpec& spec,
                                                       std::span<const int64_t> global,
                                                       const std::filesystem::path& folder,
                                                       size_t buffer_bytes, ScratchSpace& space) {
    std::vector<Column> columns = {RowsColumn(spec)};
    for (Column& column : StateColumns(spec)) columns.push_back(std::move(column));
    HG_ASSIGN_OR_RETURN(ImageFiles files, ImageFiles::Create(folder, std::move(columns),
                                                             std::ssize(global), buffer_bytes));
    if (files.image_bytes() != RowLayout::Of(spec).image_bytes()) {
      return Internal("{}: columns of {} bytes for images of {}", spec.ref.ToString(),
                      files.image_bytes(), RowLayout::Of(spec).image_bytes());
    }
    HG_ASSIGN_OR_RETURN(ScratchArray rows, TakeIds(space, std::ssize(global)));
    for (size_t i = 0; i < global.size(); ++i) {
      rows.As<int64_t>()[static_cast<size_t>(global[i])] = static_cast<int64_t>(i);
    }
    return SnapshotWriter(spec, std::move(files), std::move(rows));
  }

  [[nodiscard]] Status Put(std::span<const int64_t> ids, std::span<const std::byte> images) {
    for (size_t i = 0; i < ids.size(); ++i) {
      int64_t& row = rows_.As<int64_t>()[static_cast<size_t>(ids[i])];
      if (row >= 0) row = ~row;
      HG_RETURN_IF_ERROR(files_.Put(~row, images.data() + i * files_.image_bytes()));
    }
    return OkStatus();
  }
  // Rows that did not come, since nobody had pushed them. `original`: ids.npy.
  [[nodiscard]] Status PutOthers(std::span<const int64_t> original) {
    const size_t at_a_time = RowsAtATime(files_.image_bytes());
    HG_ASSIGN_OR_RETURN(RowTable table, RowTable::Make(spec_, static_cast<int64_t>(at_a_time)));
    std::vector<int64_t> rows;
    std::vector<int64_t> ids;
    std::vector<std::byte> image(files_.image_bytes());
    const auto put = [&]() -> Status {
      table.Initialize(0, ids, std::ssize(original), nullptr);
      for (size_t i = 0; i < rows.size(); ++i) {
        table.SaveImage(static_cast<int64_t>(i), image.data());
        HG_RETURN_IF_ERROR(files_.Put(rows[i], image.data()));
      }
      rows.clear();
      ids.clear();
      return OkStatus();
    };
    for (const int64_t row : rows_.As<int64_t>()) {
      if (row < 0) continue;
      rows.push_back(row);
      ids.push_back(original[static_cast<size_t>(row)]);
      if (rows.size() == at_a_time) HG_RETURN_IF_ERROR(put());
    }
    return put();
  }
  [[nodiscard]] Status Close() { return files_.Close(); }

 private:
  SnapshotWriter(const MutableTensorSpec& spec, ImageFiles files, ScratchArray rows)
      : spec_(spec), files_(std::move(files)), rows_(std::move(rows)) {}

  const MutableTensorSpec& spec_;
  ImageFiles files_;
  ScratchArray rows_;  // by global id: its row of the files, inverted when it has come
};

// Fills the folder of one tensor. How many rows it has.
StatusOr<int64_t> WriteSnapshot(const Stores& stores, const std::string& name,
                                const MutableTensorSpec& spec, const std::filesystem::path& folder,
                                size_t buffer_bytes, CallContext& context) {
  ScratchSpace space(kIdBytesInMemory, folder);
  HG_ASSIGN_OR_RETURN(ScratchArray global, WriteIds(stores, spec, folder, space, context));
  HG_ASSIGN_OR_RETURN(
      SnapshotWriter writer,
      SnapshotWriter::Create(spec, global.As<const int64_t>(), folder, buffer_bytes, space));
  global = ScratchArray();
  const TakeImages take = [&](std::span<const int64_t> ids, std::span<const std::byte> images) {
    return writer.Put(ids, images);
  };
  HG_ASSIGN_OR_RETURN(const int64_t step, stores.admin->ReadSnapshot(name, spec, take, context));
  HG_ASSIGN_OR_RETURN(const NpyArray ids, NpyArray::Open(folder / kIdsFile));
  HG_ASSIGN_OR_RETURN(const std::span<const int64_t> original, ids.As<int64_t>());
  HG_RETURN_IF_ERROR(writer.PutOthers(original));
  HG_RETURN_IF_ERROR(writer.Close());
  HG_RETURN_IF_ERROR(WriteTensorJson(folder, spec, StateColumns(spec), step));
  return std::ssize(original);
}

}  // namespace

StatusOr<MutableTensorSpec> FindTensorSpec(const Stores& stores, const std::string& type,
                                           const std::string& name, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<MutableTensorState> tensors, stores.admin->List(context));
  std::string names;
  for (const MutableTensorState& tensor : tensors) {
    const MutableTensorSpec& spec = tensor.spec;
    if (spec.ref.type == type && spec.ref.name == name) return spec;
    names += (names.empty() ? "" : ", ") + spec.ref.ToString();
  }
  return NotFound("no mutable tensor '{}' of '{}'; there are: {}", name, type,
                  names.empty() ? "none" : names);
}

StatusOr<int64_t> ExportTensor(const Stores& stores, const MutableTensorSpec& spec,
                               const std::filesystem::path& folder, CallContext& context) {
  HG_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Create(folder));
  ScratchSpace space(kIdBytesInMemory, temporary.path());
  HG_ASSIGN_OR_RETURN(const ScratchArray globals,
                      WriteIds(stores, spec, temporary.path(), space, context));
  const auto global = globals.As<const int64_t>();
  HG_RETURN_IF_ERROR(WriteRows(stores, spec, global, temporary.path(), context));
  HG_RETURN_IF_ERROR(WriteTensorJson(temporary.path(), spec, {}, -1));
  HG_RETURN_IF_ERROR(temporary.Commit());
  return std::ssize(global);
}

StatusOr<std::vector<MutableTensorSpec>> TensorsOfSnapshot(const Stores& stores,
                                                           const std::string& name,
                                                           CallContext& context) {
  HG_ASSIGN_OR_RETURN(const auto kept, stores.admin->DescribeSnapshot(name, context));
  const int parts = stores.graph->info().book.num_parts();
  std::map<int, StateStats> by_part;  // as if they were there now
  for (int part = 0; part < parts; ++part) {
    const auto found = kept.find(part);
    if (found == kept.end()) {
      return NotFound("snapshot '{}': partition {} of {} does not have it", name, part, parts);
    }
    StateStats& of_part = by_part[part];
    for (const MutableTensorSpec& spec : found->second.tensors) {
      of_part.tensors.emplace_back().spec = spec;
    }
  }
  HG_ASSIGN_OR_RETURN(const std::vector<MutableTensorState> tensors, MergeTensors(by_part));
  std::vector<MutableTensorSpec> specs;
  specs.reserve(tensors.size());
  for (const MutableTensorState& tensor : tensors) specs.push_back(tensor.spec);
  return specs;
}

StatusOr<FileCounts> ExportSnapshot(const Stores& stores, const std::string& name,
                                    std::span<const MutableTensorSpec> specs,
                                    const std::filesystem::path& folder, CallContext& context,
                                    size_t buffer_bytes) {
  HG_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Create(folder));
  FileCounts counts;
  std::vector<std::string> names;
  for (const MutableTensorSpec& spec : specs) {
    names.push_back(fmt::format("tensor-{:04}", counts.tensors++));
    const std::filesystem::path path = temporary.path() / names.back();
    HG_RETURN_IF_ERROR(MakeFolder(path));
    HG_ASSIGN_OR_RETURN(const int64_t rows,
                        WriteSnapshot(stores, name, spec, path, buffer_bytes, context));
    counts.rows += rows;
  }
  HG_RETURN_IF_ERROR(WriteSnapshotJson(temporary.path(), name, names));
  HG_RETURN_IF_ERROR(temporary.Commit());
  return counts;
}

}  // namespace halograph
