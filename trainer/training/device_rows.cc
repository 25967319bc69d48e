#include "trainer/training/device_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "common/graph/schema.h"
#include "trainer/training/batch_feed.h"

namespace halograph {
namespace {

constexpr int64_t kPieceBytes = 16 << 20;  // of rows on their way to the device

// The rows of some nodes of a type, as minibatches have them.
StatusOr<torch::Tensor> PullSome(const BatchMaker& maker, size_t types, size_t type,
                                 std::span<const int64_t> ids, const CancelToken* cancel) {
  Step step;
  step.rows = std::ssize(ids);
  step.minibatch.nodes.resize(types);
  step.minibatch.nodes[type].assign(ids.begin(), ids.end());
  HG_RETURN_IF_ERROR(maker.PullRows({.cancel = cancel}, &step));
  HG_RETURN_IF_ERROR(MoveToTensors(&step));
  return static_cast<MovedRows&>(*step.tensors).nodes[type];
}

}  // namespace

StatusOr<std::unique_ptr<const DeviceRows>> DeviceRows::Fill(const BatchCopier& copier,
                                                             const BatchMaker& maker,
                                                             const NodesByType& nodes,
                                                             const Schema& schema,
                                                             const CancelToken* cancel) {
  auto filled = std::make_unique<DeviceRows>();
  filled->rows_.resize(nodes.size());
  HeldRows held;
  for (size_t type = 0; type < nodes.size(); ++type) {
    const std::span<const int64_t> ids = nodes[type];
    held.emplace_back(ids, schema.node_types[type].count);
    torch::Tensor& rows = filled->rows_[type];
    int64_t begin = 0;
    int64_t piece = std::min<int64_t>(1, std::ssize(ids));  // the first says how wide rows are
    while (piece > 0) {
      HG_ASSIGN_OR_RETURN(
          const torch::Tensor host,
          PullSome(maker, nodes.size(), type,
                   ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(piece)), cancel));
      const auto store = [&](std::vector<torch::Tensor>* there) {
        const torch::Tensor& part = there->front();
        if (!rows.defined()) rows = torch::empty({std::ssize(ids), part.size(1)}, part.options());
        rows.narrow(0, begin, piece).copy_(part);
        there->clear();
      };
      static_cast<void>(copier.Copy({host}, store));
      begin += piece;
      const int64_t most = kPieceBytes / (host.size(1) * host.element_size());
      piece = std::min(std::max<int64_t>(1, most), std::ssize(ids) - begin);
    }
  }
  filled->held_ = std::make_shared<const HeldRows>(std::move(held));
  return filled;
}

int64_t DeviceRows::rows() const {
  int64_t rows = 0;
  for (const HeldIds& of_type : *held_) rows += of_type.count();
  return rows;
}

int64_t DeviceRows::bytes() const {
  int64_t bytes = 0;
  for (const torch::Tensor& rows : rows_) {
    if (rows.defined()) bytes += rows.numel() * rows.element_size();
  }
  return bytes;
}

void DeviceRows::AddPlaces(const Device& device, const RowSplit& split,
                           std::vector<torch::Tensor>* host) const {
  size_t count = 0;
  for (size_t type = 0; type < rows_.size(); ++type) {
    const RowSplit::Places& of = split.places[type];
    if (split.held(type) > 0) count += of.slots.size() + of.gathered.size();
  }
  if (count == 0) return host->push_back(torch::Tensor());
  const torch::Tensor places = device.HostTensor({static_cast<int64_t>(count)}, torch::kInt32);
  auto* to = places.data_ptr<int32_t>();
  for (size_t type = 0; type < rows_.size(); ++type) {
    const RowSplit::Places& of = split.places[type];
    if (split.held(type) == 0) continue;
    to = std::copy(of.slots.begin(), of.slots.end(), to);
    to = std::copy(of.gathered.begin(), of.gathered.end(), to);
  }
  host->push_back(places);
}

void DeviceRows::Join(const RowSplit& split, size_t first,
                      std::vector<torch::Tensor>* there) const {
  const torch::Tensor places = there->back();
  there->pop_back();
  int64_t begin = 0;
  const auto next = [&](const std::vector<int32_t>& of) {
    begin += std::ssize(of);
    return places.narrow(0, begin - std::ssize(of), std::ssize(of));
  };
  for (size_t type = 0; type < rows_.size(); ++type) {
    if (split.held(type) == 0) continue;
    const torch::Tensor slots = next(split.places[type].slots);
    const torch::Tensor gathered = next(split.places[type].gathered);
    torch::Tensor& rows = (*there)[first + type];
    // Those of slot 0 that stand for gathered ones are written over.
    torch::Tensor joined = rows_[type].index_select(0, slots);
    if (gathered.size(0) > 0) joined.index_copy_(0, gathered.to(torch::kInt64), rows);
    rows = joined;
  }
}

}  // namespace halograph
