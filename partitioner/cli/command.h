// The commands of halograph-partition: one function each adds its command, with its options and
// what it does, to the program. One file a command.
#pragma once

#include "common/program/program.h"

namespace halograph {

// Options that all commands have.
struct GeneralFlags {
  bool quiet = false;  // no progress lines and no summary
};

// `general` lives as long as the program.
void AddRunCommand(Command& program, const GeneralFlags& general);
void AddGenerateCommand(Command& program);
void AddVerifyCommand(Command& program, const GeneralFlags& general);
void AddInspectCommand(Command& program);
void AddHaloCommand(Command& program, const GeneralFlags& general);
void AddCompareCommand(Program& program);
void AddPlanCommand(Command& program);

// The whole program. Returns its exit code: 0 done, 1 failed, 2 wrong usage. SIGINT and SIGTERM end
// the process when its temporary folders are removed.
int PartitionMain(int argc, const char* const* argv);

}  // namespace halograph
