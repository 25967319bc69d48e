#include "client/ctl/tensor_files.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "client/ctl/tensor_folder.h"
#include "common/state/row_table.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

// Rows of all ids under original ids.
struct Order {
  std::vector<int64_t> global;    // in the order of original ids
  std::vector<int64_t> original;  // the same rows
};

StatusOr<Order> OrderOf(KVStore& store, const MutableTensorSpec& spec, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<int64_t> original, OriginalIds(store, spec, context));
  Order order{.global = InOrder(original), .original = {}};
  order.original.reserve(order.global.size());
  for (const int64_t id : order.global) order.original.push_back(original[static_cast<size_t>(id)]);
  return order;
}

// Writes the columns of images, which come in the order of ids.npy.
class ColumnWriter {
 public:
  [[nodiscard]] static StatusOr<ColumnWriter> Create(const std::filesystem::path& folder,
                                                     std::vector<Column> columns, int64_t rows) {
    ColumnWriter writer;
    for (const Column& column : columns) {
      HG_ASSIGN_OR_RETURN(NpyWriter file,
                          NpyWriter::Create(folder / column.file, column.stored.dtype, rows,
                                            column.stored.cols, column.stored.rank));
      writer.files_.push_back(std::move(file));
    }
    writer.columns_ = std::move(columns);
    return writer;
  }
  // Images of the columns' bytes together.
  [[nodiscard]] Status Append(std::span<const std::byte> images, size_t count) {
    const size_t image_bytes = images.size() / std::max<size_t>(1, count);
    size_t at = 0;  // of the column in an image
    std::vector<std::byte> values;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const size_t bytes = columns_[c].bytes;
      values.resize(count * bytes);
      for (size_t i = 0; i < count; ++i) {
        std::memcpy(values.data() + i * bytes, images.data() + i * image_bytes + at, bytes);
      }
      HG_RETURN_IF_ERROR(files_[c].Append(values));
      at += bytes;
    }
    return OkStatus();
  }
  [[nodiscard]] Status Close() {
    for (NpyWriter& file : files_) HG_RETURN_IF_ERROR(file.Close());
    return OkStatus();
  }

 private:
  ColumnWriter() = default;
  std::vector<Column> columns_;
  std::vector<NpyWriter> files_;
};

Status WriteRows(KVStore& store, const MutableTensorSpec& spec, std::span<const int64_t> ids,
                 const std::filesystem::path& folder, CallContext& context) {
  HG_ASSIGN_OR_RETURN(ColumnWriter writer,
                      ColumnWriter::Create(folder, {RowsColumn(spec)}, std::ssize(ids)));
  std::vector<std::byte> rows;
  for (size_t begin = 0; begin < ids.size(); begin += kRowsAtATime) {
    const auto some = ids.subspan(begin, std::min<size_t>(kRowsAtATime, ids.size() - begin));
    rows.resize(some.size() * RowBytes(spec.dtype, spec.dim));
    HG_RETURN_IF_ERROR(store.Pull({.tensor = spec.ref, .ids = some, .out = rows}, context));
    HG_RETURN_IF_ERROR(writer.Append(rows, some.size()));
  }
  return writer.Close();
}

// All rows of a tensor as they were at a snapshot, in the order of original ids.
StatusOr<RowTable> LoadSnapshot(KVStore& store, const std::string& name,
                                const MutableTensorSpec& spec, const Order& order, int64_t* step,
                                CallContext& context) {
  const int64_t rows = std::ssize(order.global);
  std::vector<int64_t> place(order.global.size());  // of each global id
  for (size_t i = 0; i < place.size(); ++i) {
    place[static_cast<size_t>(order.global[i])] = static_cast<int64_t>(i);
  }
  HG_ASSIGN_OR_RETURN(RowTable table, RowTable::Make(spec, rows));
  std::vector<bool> told(order.global.size(), false);  // by place
  const TakeImages take = [&](std::span<const int64_t> ids, std::span<const std::byte> images) {
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t row = place[static_cast<size_t>(ids[i])];
      table.LoadImage(row, images.data() + i * table.image_bytes());
      told[static_cast<size_t>(row)] = true;
    }
    return OkStatus();
  };
  HG_ASSIGN_OR_RETURN(*step, store.ReadSnapshot(name, spec, take, context));
  for (size_t begin = 0; begin < told.size();) {
    size_t end = begin;
    while (end < told.size() && !told[end] && end < begin + kRowsAtATime) ++end;
    table.Initialize(static_cast<int64_t>(begin),
                     std::span(order.original).subspan(begin, end - begin), rows, nullptr);
    begin = std::max(begin + 1, end);
  }
  return table;
}

Status WriteTable(const RowTable& table, const MutableTensorSpec& spec,
                  const std::filesystem::path& folder) {
  std::vector<Column> columns = {RowsColumn(spec)};
  for (Column& column : StateColumns(spec)) columns.push_back(std::move(column));
  size_t bytes = 0;
  for (const Column& column : columns) bytes += column.bytes;
  if (bytes != table.image_bytes()) {
    return Internal("{}: columns of {} bytes for images of {}", spec.ref.ToString(), bytes,
                    table.image_bytes());
  }
  HG_ASSIGN_OR_RETURN(ColumnWriter writer,
                      ColumnWriter::Create(folder, std::move(columns), table.rows()));
  std::vector<std::byte> images;
  for (int64_t begin = 0; begin < table.rows(); begin += kRowsAtATime) {
    const auto count = static_cast<size_t>(std::min(kRowsAtATime, table.rows() - begin));
    images.resize(count * bytes);
    for (size_t i = 0; i < count; ++i) {
      table.SaveImage(begin + static_cast<int64_t>(i), images.data() + i * bytes);
    }
    HG_RETURN_IF_ERROR(writer.Append(images, count));
  }
  return writer.Close();
}

}  // namespace

StatusOr<MutableTensorSpec> FindTensorSpec(KVStore& store, const std::string& type,
                                           const std::string& name, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<MutableTensorState> tensors, store.ListTensors(context));
  std::string names;
  for (const MutableTensorState& tensor : tensors) {
    const MutableTensorSpec& spec = tensor.spec;
    if (spec.ref.type == type && spec.ref.name == name) return spec;
    names += (names.empty() ? "" : ", ") + spec.ref.ToString();
  }
  return NotFound("no mutable tensor '{}' of '{}'; there are: {}", name, type,
                  names.empty() ? "none" : names);
}

StatusOr<int64_t> ExportTensor(KVStore& store, const MutableTensorSpec& spec,
                               const std::filesystem::path& folder, CallContext& context) {
  HG_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Create(folder));
  HG_ASSIGN_OR_RETURN(const Order order, OrderOf(store, spec, context));
  HG_RETURN_IF_ERROR(WriteNpy<int64_t>(temporary.path() / kIdsFile, order.original));
  HG_RETURN_IF_ERROR(WriteRows(store, spec, order.global, temporary.path(), context));
  HG_RETURN_IF_ERROR(WriteTensorJson(temporary.path(), spec, {}, -1));
  HG_RETURN_IF_ERROR(temporary.Commit());
  return std::ssize(order.global);
}

StatusOr<std::vector<MutableTensorSpec>> TensorsOfSnapshot(KVStore& store, const std::string& name,
                                                           CallContext& context) {
  HG_ASSIGN_OR_RETURN(const auto snapshots, store.ListSnapshots(context));
  std::map<int, StateStats> by_part;  // as if they were there now
  for (const auto& [part, kept] : snapshots) {
    const auto found = std::find_if(kept.begin(), kept.end(),
                                    [&](const SnapshotInfo& info) { return info.name == name; });
    if (found == kept.end()) {
      return NotFound("snapshot '{}': partition {} of {} does not have it", name, part,
                      snapshots.size());
    }
    StateStats& of_part = by_part[part];
    for (const MutableTensorSpec& spec : found->tensors) of_part.tensors.emplace_back().spec = spec;
  }
  HG_ASSIGN_OR_RETURN(const std::vector<MutableTensorState> tensors, MergeTensors(by_part));
  std::vector<MutableTensorSpec> specs;
  specs.reserve(tensors.size());
  for (const MutableTensorState& tensor : tensors) specs.push_back(tensor.spec);
  return specs;
}

StatusOr<FileCounts> ExportSnapshot(KVStore& store, const std::string& name,
                                    std::span<const MutableTensorSpec> specs,
                                    const std::filesystem::path& folder, CallContext& context) {
  HG_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Create(folder));
  FileCounts counts;
  std::vector<std::string> names;
  for (const MutableTensorSpec& spec : specs) {
    names.push_back(fmt::format("tensor-{:04}", counts.tensors++));
    const std::filesystem::path path = temporary.path() / names.back();
    HG_RETURN_IF_ERROR(MakeFolder(path));
    HG_ASSIGN_OR_RETURN(const Order order, OrderOf(store, spec, context));
    int64_t step = -1;
    HG_ASSIGN_OR_RETURN(const RowTable table,
                        LoadSnapshot(store, name, spec, order, &step, context));
    HG_RETURN_IF_ERROR(WriteNpy<int64_t>(path / kIdsFile, order.original));
    HG_RETURN_IF_ERROR(WriteTable(table, spec, path));
    HG_RETURN_IF_ERROR(WriteTensorJson(path, spec, StateColumns(spec), step));
    counts.rows += table.rows();
  }
  HG_RETURN_IF_ERROR(WriteSnapshotJson(temporary.path(), name, names));
  HG_RETURN_IF_ERROR(temporary.Commit());
  return counts;
}

}  // namespace halograph
