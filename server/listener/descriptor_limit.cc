#include "server/listener/descriptor_limit.h"

#include <algorithm>
#include <limits>

#include <sys/resource.h>

namespace halograph::server {

int64_t DescriptorLimit() {
  constexpr rlim_t kMost = std::numeric_limits<int32_t>::max();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  return static_cast<int64_t>(std::min(limit.rlim_cur, kMost));
}

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));  // then the limit is as it was
  }
  return DescriptorLimit();
}

}  // namespace halograph::server
