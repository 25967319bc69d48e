// What the HTTP ports of trainers tell, asked side by side.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "client/ctl/why/readings.h"
#include "common/program/options.h"

namespace halograph::ctl {

struct TrainerPorts {
  std::vector<std::string> addresses = {};  // HOST:PORT
  std::string token_file = {};
};

// --trainer and --trainer-token-file.
void AddTrainerRows(OptionTable& rows, TrainerPorts* ports);

// GET /status of each, in their order, each within `timeout`. An error is its reading's.
// Thread-safe. InvalidArgument: the token file, as ReadBearerToken.
[[nodiscard]] StatusOr<std::vector<TrainerReading>> AskTrainers(const TrainerPorts& ports,
                                                                std::chrono::nanoseconds timeout);

}  // namespace halograph::ctl
