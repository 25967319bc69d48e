// What `why` and `doctor` share: their options, and two looks at all servers and trainers, some
// time apart, at which both ask side by side.
#pragma once

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "client/ctl/trainer_ports.h"
#include "client/ctl/why/readings.h"
#include "client/remote_options.h"
#include "common/program/command.h"

namespace halograph::ctl {

struct LookOptions {
  RemoteOptions remote;
  TrainerPorts trainers;
  std::chrono::nanoseconds seconds;  // between the looks
  bool json = false;
};

// What the help of --servers and --seconds says, and the range of the latter.
struct LookHelp {
  std::string_view servers;
  std::string_view seconds;
  std::chrono::milliseconds least;
};

// A row for each option of LookOptions.
void AddLookRows(Command& command, const LookHelp& help, LookOptions* options);

// In the order of the addresses; an error is its reading's.
struct Look {
  std::vector<ServerReading> servers;
  std::vector<TrainerReading> trainers;
};
// The first look and the second. InvalidArgument: the token file, as AskTrainers. Errors as
// RemoteOptions::OpenTls.
[[nodiscard]] StatusOr<std::pair<Look, Look>> LookTwice(const LookOptions& options);

}  // namespace halograph::ctl
