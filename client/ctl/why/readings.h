// What a server and a trainer tell, once: values, whoever asked for them. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/ctl/why/evidence.h"
#include "client/ctl/why/metric_values.h"
#include "common/base/status.h"

namespace halograph::ctl {

struct ToldTensor {
  int part = 0;
  std::string name;  // "node/emb"
  int64_t step = -1;
  std::string refused = {};  // why pushes are refused; empty: they are not
  bool importing = false;
};

struct ToldSlowCall {
  double unix_seconds = 0;  // when it ended
  std::string method = {};
  std::string host = {};
  std::string rank = {};  // "-": none
  std::string status = {};
  double seconds = 0;
};

struct ToldClient {
  std::string host = {};
  std::string rank = {};  // "-": none
  int64_t in_flight = 0;
  double silent_seconds = 0;
};

struct ServerReading {
  std::string address = {};
  // Not OK: the other fields are empty. DeadlineExceeded: something is there and does not answer.
  // Unavailable: nothing is there. Else what it said.
  Status error = {};
  double at_seconds = 0;         // when its answer came, by this machine's steady clock
  double here_unix_seconds = 0;  // by this machine's clock, halfway between question and answer
  double answer_seconds = 0;     // from question to answer
  std::optional<double> round_trip_seconds = {};  // of the fastest of several empty calls
  double unix_seconds = 0;                        // by its clock; 0: it does not say
  std::string identity = {};
  std::string graph_name = {};
  std::string build_version = {};
  std::string own_address = {};
  std::string host_name = {};
  std::string phase = {};
  std::vector<int> parts = {};
  int num_parts = 0;
  bool draining = false;
  double uptime_seconds = 0;
  int64_t in_flight = 0;         // calls, without the one that asks
  int64_t ended = 0;             // calls since the start, without those that ask
  bool without_metrics = false;  // as ServerEvidence's, and the next
  std::vector<std::string> left_out = {};
  MetricValues metrics = {};
  std::vector<ToldTensor> tensors = {};
  int64_t tensors_left_out = 0;  // that the answer had no room for
  std::vector<ToldSlowCall> slow_calls = {};
  std::vector<ToldClient> clients = {};
};

struct TrainerReading {
  std::string address = {};
  Status error = {};  // as ServerReading's
  double at_seconds = 0;
  double here_unix_seconds = 0;
  double answer_seconds = 0;
  double unix_seconds = 0;
  std::string build_version = {};
  std::string host_name = {};
  std::string phase = {};
  int rank = -1;
  int world_size = 0;
  double uptime_seconds = 0;
  int64_t epoch = 0;
  int64_t step = 0;
  MetricValues metrics = {};
};

// Of the JSON that a trainer's /status prints. DataLoss naming `where` if it is none.
[[nodiscard]] StatusOr<TrainerReading> ReadTrainerStatus(std::string_view text,
                                                         const std::string& where);

// Of two readings of the same servers and trainers, in the same order.
[[nodiscard]] Evidence ToEvidence(std::vector<ServerReading> servers_before,
                                  std::vector<ServerReading> servers_after,
                                  std::vector<TrainerReading> trainers_before,
                                  std::vector<TrainerReading> trainers_after);

}  // namespace halograph::ctl
