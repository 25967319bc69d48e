#include "common/sampling/samplers/cluster_list.h"

namespace halograph {

ClusterList::ClusterList(std::span<const std::vector<int64_t>> bounds) {
  for (const std::vector<int64_t>& part : bounds) {
    for (size_t i = 0; i + 1 < part.size(); ++i) ranges_.push_back({part[i], part[i + 1]});
  }
  alike_.assign(ranges_.size(), 1);
  sums_.Reset(std::span<const uint32_t>(alike_));
}

}  // namespace halograph
