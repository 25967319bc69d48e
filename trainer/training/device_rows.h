// Rows of features that stay in the memory of the device that computes: they are neither gathered
// nor copied, and stand among those that are as if they had been.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "trainer/device/batch_copier.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/held_rows.h"
#include "trainer/pipeline/step.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// By node type, ascending ids of nodes.
using NodesByType = std::vector<std::vector<int64_t>>;

// Never changes once it is there. Thread-safe.
class DeviceRows {
 public:
  // Pulls the rows of `nodes` as `maker` pulls those of a minibatch, some megabytes at a time.
  // Requires a maker of InputRows::kNodes. Errors as BatchMaker::PullRows. Throws as
  // BatchCopier::Copy.
  [[nodiscard]] static StatusOr<std::unique_ptr<const DeviceRows>> Fill(const BatchCopier& copier,
                                                                        const BatchMaker& maker,
                                                                        const NodesByType& nodes,
                                                                        const Schema& schema,
                                                                        const CancelToken* cancel);

  DeviceRows() = default;  // none; for Fill

  // Shared with makers, for as long as they are.
  [[nodiscard]] const std::shared_ptr<const HeldRows>& held() const { return held_; }
  [[nodiscard]] int64_t rows() const;
  [[nodiscard]] int64_t bytes() const;

  // For the copier of a step that was split by held(): `host` has from position `first` on the rows
  // that were gathered, a matrix a node type. Puts what Join needs behind `host`.
  void AddPlaces(const Device& device, const RowSplit& split,
                 std::vector<torch::Tensor>* host) const;
  // Of these tensors on the device: has the rows of all nodes in place of the gathered ones, and
  // takes away what AddPlaces put there. For the queue that copies (BatchCopier::Then).
  void Join(const RowSplit& split, size_t first, std::vector<torch::Tensor>* there) const;

 private:
  std::shared_ptr<const HeldRows> held_;
  std::vector<torch::Tensor> rows_;  // by node type, [slots, columns]; undefined: none is held
};

}  // namespace halograph
