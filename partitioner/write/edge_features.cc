#include "partitioner/write/edge_features.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "common/base/progress.h"
#include "common/storage/row_gather.h"
#include "partitioner/write/mapped_npy.h"
#include "partitioner/write/nan_check.h"

namespace halograph {
namespace {

constexpr int64_t kBlockRows = 8192;

Status GatherPart(const InputTensor& tensor, std::span<const int64_t> edge_ids, bool allow_nan,
                  MappedNpy* out, Progress* progress) {
  const NpyArray& array = *tensor.array;
  const size_t row_bytes = array.row_bytes();
  std::vector<int64_t> rows;
  const auto edges = static_cast<int64_t>(edge_ids.size());
  for (int64_t first = 0; first < edges; first += kBlockRows) {
    const int64_t count = std::min(kBlockRows, edges - first);
    rows.assign(edge_ids.begin() + first, edge_ids.begin() + first + count);
    if (tensor.row_divisor > 1) {
      for (int64_t& row : rows) row /= tensor.row_divisor;
    }
    std::byte* to = out->data() + static_cast<size_t>(first) * row_bytes;
    GatherRows(array.data(), row_bytes, 0, rows, to);
    if (!allow_nan) {
      const auto nan = FindNan(tensor.spec.dtype, {to, static_cast<size_t>(count) * row_bytes});
      if (nan) {
        const auto width = static_cast<size_t>(array.cols());
        return NanError(tensor, rows[*nan / width], static_cast<int64_t>(*nan % width));
      }
    }
    out->ReleaseBefore(first + count);
    progress->Advance(count);
  }
  return OkStatus();
}

}  // namespace

Status WriteEdgeFeatures(const WriteContext& context, int relation) {
  const InputRelation& input = context.dataset.relations[static_cast<size_t>(relation)];
  const std::string folder = EdgeFolder(input.triple());
  for (const InputTensor& tensor : input.features) {
    Progress progress(fmt::format("splitting {} of {}", tensor.spec.name, input.triple()),
                      input.edges->max_edges());
    for (int part = 0; part < context.num_parts(); ++part) {
      const std::filesystem::path part_folder = context.PartFolder(part);
      HG_ASSIGN_OR_RETURN(const NpyArray ids,
                          NpyArray::Open(part_folder / folder / "original_ids.npy"));
      HG_ASSIGN_OR_RETURN(const std::span<const int64_t> edge_ids, ids.As<int64_t>());
      HG_ASSIGN_OR_RETURN(
          MappedNpy out,
          MappedNpy::Create(part_folder / FeatureFile(folder, tensor.spec.name), tensor.spec.dtype,
                            ids.rows(), tensor.spec.dim, tensor.spec.rank));
      HG_RETURN_IF_ERROR(GatherPart(tensor, edge_ids, context.options.allow_nan, &out, &progress));
      HG_RETURN_IF_ERROR(out.Close());
    }
  }
  return OkStatus();
}

}  // namespace halograph
