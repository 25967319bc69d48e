// The command line of halograph-server.
#pragma once

#include <optional>
#include <string>

#include "server/options.h"

namespace halograph::server {

struct Flags {
  ServerOptions options;
  std::string log_level = "info";
};

// nullopt where the program is done: `*exit_code` is 0 (--help, --version, printed to stdout) or 2
// (wrong usage: what and how, on stderr).
[[nodiscard]] std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_code);

}  // namespace halograph::server
