#include "tests/simulation/sim_model.h"

#include <span>

#include <fmt/format.h>

#include "common/base/checksum.h"

namespace halograph::sim {

std::string PushRecord::ToString() const {
  std::string text = fmt::format("push {} of client {} to tensor {}", sequence, client, tensor);
  if (step.has_value()) text += fmt::format(", step {} rank {}", step->step, step->rank);
  if (lsn > 0) text += fmt::format(", lsn {}", lsn);
  return text;
}

StoreModel::StoreModel(const std::vector<ModelTensor>& tensors) {
  for (const ModelTensor& tensor : tensors) {
    tensors_.push_back({.reference = ReferenceState(tensor.spec, tensor.total_rows),
                        .ids = tensor.ids,
                        .waiting = {}});
  }
}

void StoreModel::ApplyTogether(Tensor& tensor, PushKind kind, const Pushes& pushes) {
  std::vector<PushedRows> lists;
  for (const auto& [rank, push] : pushes) {
    lists.push_back({.rows = push->ids,
                     .dtype = DType::kFloat32,
                     .values = std::as_bytes(std::span(push->values))});
  }
  tensor.reference.Apply(kind, lists);
}

std::vector<const PushRecord*> StoreModel::Apply(const PushRecord& push) {
  Tensor& tensor = tensors_[static_cast<size_t>(push.tensor)];
  std::vector<const PushRecord*> changed;
  if (!push.step.has_value()) {
    ApplyTogether(tensor, push.kind, {{0, &push}});
    return {&push};
  }
  tensor.waiting[push.step->step][push.step->rank] = &push;
  while (!tensor.waiting.empty()) {
    const auto first = tensor.waiting.begin();
    const bool due = !tensor.started || first->first == tensor.step + 1;
    if (!due || first->second.size() < static_cast<size_t>(push.step->world_size)) break;
    ApplyTogether(tensor, push.kind, first->second);
    for (const auto& [rank, of_rank] : first->second) changed.push_back(of_rank);
    tensor.step = first->first;
    tensor.started = true;
    tensor.waiting.erase(first);
  }
  return changed;
}

std::vector<std::byte> StoreModel::RowsOf(int tensor) {
  Tensor& of = tensors_[static_cast<size_t>(tensor)];
  std::vector<std::byte> rows;
  for (const int64_t id : of.ids) {
    const std::vector<std::byte> row = of.reference.Pull(id);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

uint64_t StoreModel::Fingerprint() {
  std::vector<std::byte> all;
  const auto add = [&](int64_t number) {
    const auto bytes = std::as_bytes(std::span(&number, 1));
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  for (Tensor& tensor : tensors_) {
    for (const int64_t id : tensor.ids) {
      const std::vector<std::byte> image = tensor.reference.Image(id);
      all.insert(all.end(), image.begin(), image.end());
    }
    add(tensor.started ? tensor.step : -1);
    for (const auto& [step, pushes] : tensor.waiting) {
      add(step);
      for (const auto& [rank, push] : pushes) add(rank);
    }
  }
  return Checksum64(all);
}

StoreRows StoreModel::Rows() {
  StoreRows rows;
  for (size_t i = 0; i < tensors_.size(); ++i) rows.push_back(RowsOf(static_cast<int>(i)));
  return rows;
}

}  // namespace halograph::sim
