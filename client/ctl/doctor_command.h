// `halograph-ctl doctor`: what is wrong with servers and trainers, before a job or in a hang.
#pragma once

#include <memory>

#include "common/program/program.h"

namespace halograph::ctl {

struct DoctorOptions;

// Adds the command; what it returns must outlive the program's Main.
[[nodiscard]] std::shared_ptr<DoctorOptions> AddDoctorCommand(Program& program);

}  // namespace halograph::ctl
