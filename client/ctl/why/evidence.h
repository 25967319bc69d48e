// What was read of servers and trainers, twice, before anybody draws conclusions. Values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/ctl/why/metric_values.h"

namespace halograph::ctl {

struct ServerEvidence {
  std::string address;           // as it was asked
  std::string own_address = {};  // as it says that others call it; empty: it does not say
  std::string error = {};        // why it did not answer both times; empty: it did
  // An older server: it says nothing but its calls and its log's syncs, which stand in `metrics`
  // under the names that newer ones use.
  bool without_metrics = false;
  // What did not fit into its answer, in its words.
  std::vector<std::string> left_out = {};
  bool restarted = false;  // between the readings: nothing can be said of it
  // The least time of several empty calls from here.
  std::optional<double> round_trip_seconds = {};
  double seconds = 0;  // between the readings
  MetricChange metrics = {};
};

struct TrainerEvidence {
  std::string address;     // of its HTTP port
  std::string error = {};  // as ServerEvidence's
  bool restarted = false;
  int rank = -1;  // -1: it does not say
  int world_size = 0;
  std::string phase;  // "training"
  double seconds = 0;
  MetricChange metrics = {};
};

struct Evidence {
  std::vector<ServerEvidence> servers;
  std::vector<TrainerEvidence> trainers;  // none: nobody asked any
};

}  // namespace halograph::ctl
