// How many processors there are for this process: the one answer for every default of a number of
// threads.
#pragma once

#include <filesystem>

namespace halograph {

// Where Linux says it; tests have files of their own.
struct ProcessorFiles {
  std::filesystem::path proc = "/proc";
  std::filesystem::path cgroup = "/sys/fs/cgroup";
  std::filesystem::path cpu = "/sys/devices/system/cpu";
};

// Processors that this process may use at a time: those that it may run on (taskset, a cpuset of
// its container or job) and that are online (the mask also has places for processors to come), or
// fewer if its cgroup, or one above it, has a quota of time: version 2's cpu.max, version 1's
// cpu.cfs_quota_us. A quota of 1.5 processors counts as 2. What cannot be read limits nothing. At
// least 1. Reads files: a few of a hundred bytes.
[[nodiscard]] int AvailableProcessors(const ProcessorFiles& files = {});
// The same as it is, for those who compare: a quota of 1.5 processors is 1.5. Above 0.
[[nodiscard]] double UsableProcessors(const ProcessorFiles& files = {});

}  // namespace halograph
