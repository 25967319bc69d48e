// How many descriptors (files, connections) a process may have open.
#pragma once

#include <cstdint>

namespace halograph::server {

// The soft limit (RLIMIT_NOFILE); INT32_MAX where there is none.
[[nodiscard]] int64_t DescriptorLimit();

// Raises the soft limit to the hard one, which a process may always do, and returns what it is now.
// What systems give at first, 1,024, is for programs that use select(), which this one does not.
int64_t RaiseDescriptorLimit();

}  // namespace halograph::server
