// The subcommands of halograph-partition. Each is one function in one file: it adds its options
// to the program and sets the action to run when the user asks for that subcommand.
#pragma once

#include <functional>
#include <memory>

#include <CLI/CLI.hpp>

#include "common/base/status.h"

namespace halograph {

// Runs after the command line was understood.
using Action = std::function<Status()>;

// Each adds a subcommand to the program, which has the option --quiet. The parsed options live in
// what `*action` captures; `*action` is set when that subcommand was given.
void AddRunCommand(CLI::App* app, Action* action);
void AddGenerateCommand(CLI::App* app, Action* action);
void AddVerifyCommand(CLI::App* app, Action* action);
void AddInspectCommand(CLI::App* app, Action* action);
void AddCompareCommand(CLI::App* app, Action* action);
void AddPlanCommand(CLI::App* app, Action* action);

// The whole program. Returns its exit code: 0 done, 1 failed, 2 wrong usage.
int PartitionMain(int argc, const char* const* argv);

}  // namespace halograph
