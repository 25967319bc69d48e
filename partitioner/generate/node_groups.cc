#include "partitioner/generate/node_groups.h"

#include "common/base/rng.h"

namespace halograph {

NodeGroups::NodeGroups(int64_t nodes, int64_t groups, uint64_t key)
    : groups_(static_cast<size_t>(nodes)),
      starts_(static_cast<size_t>(groups) + 1, 0),
      members_(static_cast<size_t>(nodes)) {
  for (size_t node = 0; node < groups_.size(); ++node) {
    const uint64_t group = Bounded(SubKey(key, node), static_cast<uint64_t>(groups));
    groups_[node] = static_cast<uint32_t>(group);
    ++starts_[group + 1];
  }
  for (size_t group = 1; group < starts_.size(); ++group) starts_[group] += starts_[group - 1];
  std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
  for (size_t node = 0; node < groups_.size(); ++node) {
    members_[static_cast<size_t>(next[groups_[node]]++)] = static_cast<uint32_t>(node);
  }
}

}  // namespace halograph
