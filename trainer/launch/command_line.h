// The options of halograph-train on the command line.
#pragma once

#include "common/program/program.h"
#include "trainer/launch/launch_env.h"
#include "trainer/launch/options.h"

namespace halograph {

// As users know it, whichever of its two executables runs (trainer/launch/start.h).
inline constexpr char kTrainProgram[] = "halograph-train";
inline constexpr char kAboutTrainProgram[] =
    "Trains a graph neural network on a partitioned graph.";

// Adds the options to the program, and what to do where memory runs out. When its command runs they
// are resolved and valid, with a launcher's values (launch_env.h) for what was not given. What is
// wrong with several of them together, or with the environment, is wrong usage. --config names a
// file of options (run_config.h), which those of the command line replace.
void AddTrainOptions(Program& program, TrainOptions* options, Environment environment);

}  // namespace halograph
