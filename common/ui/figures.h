// What follows from the figures of servers: percentiles, who is slow, and what is wrong, in words.
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/ui/ui_data.h"

namespace halograph::ui {

// A server is slow if its p99 is more than kSlowRatio times the median of all servers' and at least
// kSlowSeconds above it.
inline constexpr double kSlowRatio = 2;
inline constexpr double kSlowSeconds = 0.005;
// A queue or memory is nearly full from this share of its bound on.
inline constexpr double kNearlyFull = 0.9;
// A clock is off if it is surely more than so many seconds away.
inline constexpr double kClockOff = 1;

// As QuantileOf (common/metrics/snapshot.h). -1: there are no values.
[[nodiscard]] double Quantile(const Histogram& histogram, double q);
// Adds counts. Where bounds differ, the sum has those of both.
void Add(const Histogram& histogram, Histogram& sum);

// Whether a method answers clients; others are what operators and probes ask, which says nothing
// about a step.
[[nodiscard]] bool OfClients(std::string_view method);
// The latency of what clients called in recent_seconds.
[[nodiscard]] Histogram RecentLatency(const ServerFigures& server);

struct Speed {
  double p50_seconds = -1;  // -1: no calls
  double p99_seconds = -1;
  double ratio =
      -1;  // of p99 to the median of all servers'; -1: no calls, or nobody to compare with
  bool slow = false;
};
// One for each server.
[[nodiscard]] std::vector<Speed> Speeds(const std::vector<ServerFigures>& servers);

// The largest num_parts that a server says.
[[nodiscard]] int NumParts(const UiData& data);
[[nodiscard]] bool Serves(const ServerFigures& server, int part);

inline constexpr size_t kMostProblems = 32;
// What is wrong with the servers, a sentence each: parts without server first, then what does not
// answer, then server by server. At most kMostProblems, and one that says how many more there are.
// Empty: nothing is wrong.
[[nodiscard]] std::vector<std::string> Problems(const UiData& data);

}  // namespace halograph::ui
