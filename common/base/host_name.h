// What this machine is called.
#pragma once

#include <string>

namespace halograph {

// As gethostname(2) says; empty where it has no name. Need not be one that others can resolve.
[[nodiscard]] std::string HostName();

}  // namespace halograph
