// Names of a test's own: what the system says of them, to all of this process, gRPC too.
#pragma once

#include <string>
#include <vector>

namespace halograph {

// From now on `name` stands for these numbers, in this order; for none: as the system has it.
// Thread-safe.
void NameHost(const std::string& name, const std::vector<std::string>& numbers);

}  // namespace halograph
