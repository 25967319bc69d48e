// What every benchmark's report says of the machine.
#pragma once

#include <fstream>
#include <string>

namespace halograph {

// As /proc/cpuinfo names the first processor; "unknown" where it names none.
inline std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace halograph
