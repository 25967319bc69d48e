// The options of halograph-train on the command line.
#pragma once

#include <optional>
#include <string>

#include "common/base/status.h"
#include "trainer/launch/launch_env.h"
#include "trainer/launch/options.h"

namespace halograph {

struct ParsedCommandLine {
  std::optional<int> exit_code;  // set: end with it (--help, --version, wrong usage; text is out)
  TrainOptions options;          // resolved and valid
  std::string log_level = "info";
};

// Never ends the process. What is wrong goes to stderr; the exit code of wrong usage is 2.
[[nodiscard]] ParsedCommandLine ParseCommandLine(int argc, const char* const* argv,
                                                 const Environment& environment);

}  // namespace halograph
