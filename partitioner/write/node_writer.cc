#include "partitioner/write/node_writer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "common/base/progress.h"
#include "partitioner/write/feature_dtype.h"
#include "partitioner/write/mapped_npy.h"
#include "partitioner/write/nan_check.h"

namespace halograph {
namespace {

constexpr size_t kInputBytes = size_t{4} << 20;  // input looked at, and given back, at a time

// One file a part. In input order each is filled front to back, else row by row in no order.
struct PartFiles {
  const Renumbering* numbering = nullptr;
  int node_type = 0;
  std::vector<MappedNpy> files;
  std::vector<int64_t> end;  // in input order: rows written so far

  // Where the row of a node goes; nodes are asked for by ascending input id.
  [[nodiscard]] std::byte* Row(int64_t id) {
    const size_t p = numbering->Owners(node_type)[static_cast<size_t>(id)];
    const int64_t row = numbering->LocalId(node_type, id);
    end[p] = row + 1;
    return files[p].data() + static_cast<size_t>(row) * files[p].row_bytes();
  }
  void Release() {
    if (!numbering->in_input_order()) return;
    for (size_t p = 0; p < files.size(); ++p) files[p].ReleaseBefore(end[p]);
  }
  [[nodiscard]] Status Close() {
    for (MappedNpy& file : files) HG_RETURN_IF_ERROR(file.Close());
    return OkStatus();
  }
};

StatusOr<PartFiles> CreateFiles(const WriteContext& context, int node_type,
                                const std::string& relative_path, const TensorSpec& spec) {
  PartFiles out{&context.numbering, node_type, {}, {}};
  for (int part = 0; part < context.num_parts(); ++part) {
    HG_ASSIGN_OR_RETURN(MappedNpy file,
                        MappedNpy::Create(context.PartFolder(part) / relative_path, spec,
                                          context.numbering.CoreNodes(node_type, part)));
    out.files.push_back(std::move(file));
  }
  out.end.assign(out.files.size(), 0);
  return out;
}

Status WriteOriginalIds(const WriteContext& context, int node_type) {
  const InputNodeType& input = context.dataset.node_types[static_cast<size_t>(node_type)];
  const TensorSpec spec{.name = "original_ids", .dtype = DType::kInt64, .rank = 1, .dim = 1};
  HG_ASSIGN_OR_RETURN(
      PartFiles out,
      CreateFiles(context, node_type, NodeFolder(input.name) + "/original_ids.npy", spec));
  std::span<const int64_t> original;
  if (input.original_ids != nullptr) {
    HG_ASSIGN_OR_RETURN(original, input.original_ids->As<int64_t>());
  }
  for (int64_t id = 0; id < input.count; ++id) {
    const int64_t value = original.empty() ? id : original[static_cast<size_t>(id)];
    std::memcpy(out.Row(id), &value, sizeof(value));
  }
  return out.Close();
}

Status CheckRows(const InputTensor& tensor, int64_t first, int64_t rows) {
  const size_t row_bytes = tensor.array->row_bytes();
  const auto found = FindNonFinite(
      tensor.array->dtype(), tensor.array->data().subspan(static_cast<size_t>(first) * row_bytes,
                                                          static_cast<size_t>(rows) * row_bytes));
  if (!found) return OkStatus();
  const auto index = static_cast<int64_t>(*found);
  return NonFiniteError(tensor, first + index / tensor.array->cols(), index % tensor.array->cols());
}

Status WriteFeature(const WriteContext& context, int node_type, const InputTensor& tensor) {
  const InputNodeType& input = context.dataset.node_types[static_cast<size_t>(node_type)];
  HG_ASSIGN_OR_RETURN(
      PartFiles out,
      CreateFiles(context, node_type, FeatureFile(NodeFolder(input.name), tensor.spec.name),
                  tensor.spec));
  const NpyArray& array = *tensor.array;
  const size_t row_bytes = array.row_bytes();
  const auto block =
      static_cast<int64_t>(std::max<size_t>(1, kInputBytes / std::max<size_t>(row_bytes, 1)));
  const size_t data_offset = array.file().bytes().size() - array.data().size();
  array.file().Advise(MappedFile::Access::kSequential);
  Progress progress(fmt::format("splitting {} of {}", tensor.spec.name, input.name), input.count);
  Float32Watch watch(tensor);
  for (int64_t first = 0; first < input.count; first += block) {
    const int64_t rows = std::min(block, input.count - first);
    if (!context.options.allow_nan) HG_RETURN_IF_ERROR(CheckRows(tensor, first, rows));
    watch.Look(first, rows);
    const std::byte* from = array.data().data() + static_cast<size_t>(first) * row_bytes;
    for (int64_t row = first; row < first + rows; ++row, from += row_bytes) {
      HG_RETURN_IF_ERROR(StoreRow(tensor, from, row, out.Row(row)));
    }
    out.Release();
    array.file().Release(data_offset + static_cast<size_t>(first) * row_bytes,
                         static_cast<size_t>(rows) * row_bytes);
    progress.Advance(rows);
  }
  return out.Close();
}

}  // namespace

Status WriteNodes(const WriteContext& context, int node_type) {
  HG_RETURN_IF_ERROR(WriteOriginalIds(context, node_type));
  for (const InputTensor& tensor :
       context.dataset.node_types[static_cast<size_t>(node_type)].features) {
    HG_RETURN_IF_ERROR(WriteFeature(context, node_type, tensor));
  }
  return OkStatus();
}

}  // namespace halograph
