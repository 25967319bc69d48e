// `halograph-ctl why`: what makes a step slow, from two readings of servers and trainers.
#pragma once

#include <memory>

#include "common/program/program.h"

namespace halograph::ctl {

struct WhyOptions;

// Adds the command; what it returns must outlive the program's Main.
[[nodiscard]] std::shared_ptr<WhyOptions> AddWhyCommand(Program& program);

}  // namespace halograph::ctl
