// `halograph-ctl state ...`: the mutable tensors of the servers.
#pragma once

#include <memory>

#include "common/program/program.h"

namespace halograph {

struct StateFlags;
// Adds the commands; what they return lives as long as the program runs.
[[nodiscard]] std::shared_ptr<StateFlags> AddStateCommands(Program& program);

}  // namespace halograph
