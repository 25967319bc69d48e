#include "common/sampling/minibatch_lists.h"

#include <limits>

namespace halograph {

MinibatchLists::MinibatchLists(const Schema* schema, FusedWorkspace* workspace)
    : schema_(schema), workspace_(workspace) {
  for (FusedNodes& nodes : workspace->nodes) nodes.Restart();
}

Status MinibatchLists::AddSeeds(const SampleRequest& request,
                                std::vector<std::vector<int32_t>>* positions) {
  positions->resize(request.seeds.size());
  for (size_t i = 0; i < request.seeds.size(); ++i) {
    const auto& [type, ids] = request.seeds[i];
    (*positions)[i].clear();
    if (!of(type).Compact(ids, &(*positions)[i])) {
      return Internal("a seed outside its type came through validation");
    }
    HG_RETURN_IF_ERROR(CheckLength(type));
  }
  return OkStatus();
}

Status MinibatchLists::CheckLength(int type) const {
  constexpr int64_t kMaxListLength = std::numeric_limits<int32_t>::max();
  const int64_t size = of(type).size;
  if (size <= kMaxListLength) return OkStatus();
  return ResourceExhausted(
      "the minibatch has {} nodes of type '{}' or more; a block can number {}: use a smaller batch "
      "or smaller fanouts",
      size, schema_->node_types[type].name, kMaxListLength);
}

void MinibatchLists::GetSizes(std::vector<int64_t>* sizes) const {
  sizes->clear();
  for (const FusedNodes& nodes : workspace_->nodes) sizes->push_back(nodes.size);
}

void MinibatchLists::CopyTo(std::vector<std::vector<int64_t>>* nodes) const {
  nodes->resize(workspace_->nodes.size());
  for (size_t t = 0; t < nodes->size(); ++t) {
    const FusedNodes& list = workspace_->nodes[t];
    (*nodes)[t].assign(list.ids.data(), list.ids.data() + list.size);
  }
}

}  // namespace halograph
