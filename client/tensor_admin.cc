#include "client/tensor_admin.h"

#include <algorithm>
#include <set>

#include "common/state/import_mark.h"

namespace halograph {

Status NoMutableTensors(std::string_view what) {
  return FailedPrecondition(
      "{}: this store keeps no mutable tensors. Start halograph-server with --state DIR, or give "
      "--state DIR to a trainer without servers",
      what);
}

StatusOr<std::vector<MutableTensorState>> MergeTensors(const std::map<int, StateStats>& states) {
  struct Told {
    int part = 0;  // that told first
    MutableTensorState tensor;
    size_t parts = 0;
  };
  std::map<std::string, Told> all;
  ImportMarks marks;
  for (const auto& [part, state] : states) {
    for (const MutableTensorStats& tensor : state.tensors) {
      if (marks.Add(tensor.spec.ref)) continue;
      Told& told = all.try_emplace(tensor.spec.ref.ToString(), Told{part, {.spec = tensor.spec}, 0})
                       .first->second;
      if (const Status same = told.tensor.spec.SameAs(tensor.spec); !same.ok()) {
        return DataLoss("partitions {} and {} have different tensors of one name: {}", told.part,
                        part, Message(same));
      }
      told.tensor.step = std::max(told.tensor.step, tensor.step);
      ++told.parts;
    }
  }
  std::vector<MutableTensorState> merged;
  for (auto& [name, told] : all) {
    if (told.parts != states.size()) {
      return DataLoss("{}: {} of {} partitions have it, among them {}: create it again, or drop it",
                      name, told.parts, states.size(), told.part);
    }
    merged.push_back(std::move(told.tensor));
    merged.back().importing = marks.HasThatOf(merged.back().spec.ref);
  }
  return merged;
}

}  // namespace halograph
