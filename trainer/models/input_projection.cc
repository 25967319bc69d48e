#include "trainer/models/input_projection.h"

#include <algorithm>
#include <string>
#include <utility>

#include "trainer/kernels/linear_layer.h"

namespace halograph {
namespace {

int64_t CommonWidth(const std::vector<int64_t>& dims, int64_t hidden) {
  const bool same =
      std::all_of(dims.begin(), dims.end(), [&](int64_t dim) { return dim == dims.front(); });
  return same ? dims.front() : hidden;
}

}  // namespace

StackedRows StackedRows::Of(const std::vector<torch::Tensor>& parts) {
  StackedRows stacked{{}, {0}};
  std::vector<torch::Tensor> with_rows;
  for (const torch::Tensor& part : parts) {
    const int64_t rows = part.defined() ? part.size(0) : 0;
    stacked.first.push_back(stacked.first.back() + rows);
    if (rows > 0) with_rows.push_back(part);
  }
  stacked.rows = with_rows.size() == 1 ? with_rows.front().contiguous() : torch::cat(with_rows);
  return stacked;
}

InputProjectionImpl::InputProjectionImpl(std::vector<int64_t> dims, int64_t hidden)
    : dims_(std::move(dims)), width_(CommonWidth(dims_, hidden)) {
  for (size_t type = 0; type < dims_.size(); ++type) {
    TORCH_CHECK(dims_[type] > 0, "node type ", type, " has no inputs");
    torch::nn::Linear map{nullptr};
    if (dims_[type] != width_) {
      map = register_module("type" + std::to_string(type), torch::nn::Linear(dims_[type], width_));
    }
    maps_.push_back(std::move(map));
  }
}

StackedRows InputProjectionImpl::forward(const std::vector<torch::Tensor>& nodes) {
  std::vector<torch::Tensor> parts;
  for (size_t type = 0; type < maps_.size(); ++type) {
    torch::Tensor rows = nodes[type];
    if (rows.defined()) rows = rows.to(torch::kFloat32);
    const torch::nn::Linear& map = maps_[type];
    parts.push_back(rows.defined() && !map.is_empty() ? LinearLayer(rows, map->weight, map->bias)
                                                      : rows);
  }
  return StackedRows::Of(parts);
}

}  // namespace halograph
