// The unique lists of a minibatch in the making, of all node types: what the fused sampler and the
// builder over other sources share. Not thread-safe. Throws std::bad_alloc.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/fused_workspace.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"

namespace halograph {

class MinibatchLists {
 public:
  // Empties the workspace's lists. Neither is owned.
  MinibatchLists(const Schema* schema, FusedWorkspace* workspace);

  [[nodiscard]] FusedNodes& of(int type) const { return workspace_->nodes[type]; }

  // Appends a valid request's seeds and sets their positions, list by list. ResourceExhausted:
  // CheckLength.
  [[nodiscard]] Status AddSeeds(const SampleRequest& request,
                                std::vector<std::vector<int32_t>>* positions);
  // After appending: ResourceExhausted if a list is longer than the 2^31 - 1 that a block numbers.
  [[nodiscard]] Status CheckLength(int type) const;
  // Lengths per type, as they are now.
  void GetSizes(std::vector<int64_t>* sizes) const;
  void CopyTo(std::vector<std::vector<int64_t>>* nodes) const;

 private:
  const Schema* schema_;
  FusedWorkspace* workspace_;
};

}  // namespace halograph
