// What a program is told of the mutable tensors that it keeps: the same options for a server and
// for a trainer without servers. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/program/options.h"
#include "common/state/state_store.h"

namespace halograph {

struct StateFolderOptions {
  std::filesystem::path folder;  // holds part-XXXX of the state; empty: nothing is kept
  SyncLevel sync = SyncLevel::kInterval;
  std::chrono::nanoseconds sync_interval = std::chrono::milliseconds(200);
  int64_t memory = int64_t{4} << 30;             // of all parts
  int64_t log_bytes = StateOptions{}.log_bytes;  // of each part
  int64_t waiting = 0;  // of all parts; 0: a quarter of `memory`, at least 64 MiB
  int64_t tensors = StateOptions{}.max_tensors;  // of each part, as the next
  int64_t snapshots = StateOptions{}.max_snapshots;
  int64_t clients = StateOptions{}.max_registered_clients;
  std::chrono::nanoseconds client_age = std::chrono::seconds(StateOptions{}.client_age_s);
  std::vector<std::string> fall_back_to;                 // as StateOptions has it
  bool accept_loss = false;                              // likewise
  int64_t segment_bytes = StateOptions{}.segment_bytes;  // no option: tests have small logs
};

// For a store of which one push has at most `max_push_bytes`.
[[nodiscard]] StateOptions ToStateOptions(const StateFolderOptions& options,
                                          int64_t max_push_bytes = StateOptions{}.max_push_bytes);

// A group of rows, one for each of them. `whose`: of which parts the tensors are, for --help.
void AddStateRows(OptionTable& rows, StateFolderOptions* options, std::string_view whose);

}  // namespace halograph
