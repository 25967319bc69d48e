// What can make a step slow: one row of a table each, and how each is recognised. A cause that is
// added is one function and its row. Pure functions.
//
// A cause looks at the picture and gives a finding for what it can show by figures, else nothing.
// It never takes a figure that nobody tells for 0.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/ctl/why/picture.h"

namespace halograph::ctl {

struct Finding {
  std::string cause = {};    // of the table: "delay"
  std::string culprit = {};  // a server's address, "rank 1", a part
  // How much of a step it costs; of a step's time, where trainers tell, else of the time that calls
  // to servers take.
  double share = 0;
  // What stands before what: as `share`, unless less certain, or less of a fault.
  std::optional<double> weight = {};
  std::optional<double> step_seconds = {};  // of one step; nothing without trainers
  std::string what = {};                    // one sentence: what is slow, and who
  std::vector<std::string> evidence = {};   // figures
  std::string advice = {};
};

struct Cause {
  std::string_view name;
  std::optional<Finding> (*find)(const Picture& picture);
};

// In no order.
[[nodiscard]] std::span<const Cause> Causes();

// Each is a row.
[[nodiscard]] std::optional<Finding> FindDelay(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindNarrowLink(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindBusyProcessors(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindServerWork(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindReplyMemory(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindSlowSync(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindStraggler(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindTrainerProcessors(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindFewSampleThreads(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindColdCache(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindPreparing(const Picture& picture);
[[nodiscard]] std::optional<Finding> FindComputing(const Picture& picture);

// What several of them ask.

// The share of a step that the slowest rank waits for minibatches which are held up by calls to
// servers. Nothing without trainers.
[[nodiscard]] std::optional<double> WaitForCalls(const Picture& picture);
// Of the busiest stage of a rank, the share of its time in which such calls were under way.
[[nodiscard]] double CallsShare(const RankPicture& rank);
// Seconds of a call that a delay or a full way to the server costs; less than either names is 0.
[[nodiscard]] double FaultsOfWay(const ServerPicture& server);
// The share of a call that is other causes' than the number of calls and what they ask for: faults
// of the way, waits, and lack of processors; what all servers lack alike is not. Of the server
// that is held up most.
[[nodiscard]] double HeldUp(const Picture& picture);
// 3.2 ms, 42 us, 1.5 s.
[[nodiscard]] std::string ShortSeconds(double seconds);
[[nodiscard]] std::string Percent(double share);

}  // namespace halograph::ctl
