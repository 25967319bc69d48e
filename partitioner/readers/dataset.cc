#include "partitioner/readers/dataset.h"

#include <algorithm>

#include "common/storage/file.h"

namespace halograph {
namespace {

// Of one component of a path, in all common file systems.
constexpr size_t kMostNameBytes = 255;

// `suffix`: what the file's name has after the name.
Status CheckName(std::string_view what, const std::string& name, std::string_view suffix = "") {
  constexpr size_t kShown = 40;
  const size_t bytes = PercentEncode(name).size() + suffix.size();
  if (bytes <= kMostNameBytes) return OkStatus();
  return InvalidArgument(
      "the name of {} '{}{}' is too long: a file of it would have a name of {} bytes, and a file "
      "system takes {}; give it a shorter name (characters other than letters, digits, '.', '_' "
      "and '-' take 3 bytes each)",
      what, name.substr(0, kShown), name.size() > kShown ? "..." : "", bytes, kMostNameBytes);
}

Status CheckNames(std::string_view what, const std::vector<InputTensor>& tensors) {
  for (const InputTensor& tensor : tensors) {
    HG_RETURN_IF_ERROR(CheckName(what, tensor.spec.name, ".npy"));
  }
  return OkStatus();
}

}  // namespace

int Dataset::NodeTypeIndex(std::string_view type) const {
  const auto found =
      std::find_if(node_types.begin(), node_types.end(),
                   [&](const InputNodeType& node_type) { return node_type.name == type; });
  return found == node_types.end() ? -1 : static_cast<int>(found - node_types.begin());
}

Status CheckNames(const Dataset& dataset) {
  for (const InputNodeType& type : dataset.node_types) {
    HG_RETURN_IF_ERROR(CheckName("node type", type.name));
    HG_RETURN_IF_ERROR(CheckNames("feature", type.features));
  }
  for (const InputRelation& relation : dataset.relations) {
    HG_RETURN_IF_ERROR(CheckName("relation", relation.triple()));
    HG_RETURN_IF_ERROR(CheckNames("feature", relation.features));
  }
  for (const InputTask& task : dataset.tasks) {
    HG_RETURN_IF_ERROR(CheckName("task", task.name));
    for (const InputTaskSet& set : task.sets) {
      HG_RETURN_IF_ERROR(CheckNames("array", set.arrays));
    }
  }
  return OkStatus();
}

}  // namespace halograph
