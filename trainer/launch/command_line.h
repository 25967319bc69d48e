// The options of halograph-train on the command line.
#pragma once

#include <functional>
#include <span>

#include "common/program/program.h"
#include "trainer/launch/launch_env.h"
#include "trainer/options/train_options.h"

namespace halograph {

// As users know it, whichever of its two executables runs (trainer/launch/start.h).
inline constexpr char kTrainProgram[] = "halograph-train";
inline constexpr char kAboutTrainProgram[] =
    "Trains a graph neural network on a partitioned graph.";

// Adds the options to the program, and what to do where memory runs out. When its command runs they
// are resolved and valid, with a launcher's values (launch_env.h) for what was not given. What is
// wrong with several of them together, or with the environment, is wrong usage. --config names a
// file of options (run_config.h), which those of the command line replace. `left_aside`: marks of
// the options that are not taken from that file (option_marks.h), by the words; null: none.
using LeftAside = std::function<OptionMarks(std::span<const char* const> words)>;
void AddTrainOptions(Program& program, TrainOptions* options, Environment environment,
                     LeftAside left_aside = nullptr);

}  // namespace halograph
