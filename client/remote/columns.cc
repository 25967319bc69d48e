#include "client/remote/columns.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include <fmt/ranges.h>

namespace halograph {

int ServerOfColumn(std::span<const std::string> addresses, std::span<const int> servers,
                   int column) {
  std::vector<int> by_address(servers.begin(), servers.end());
  std::sort(by_address.begin(), by_address.end(), [&](int a, int b) {
    return addresses[static_cast<size_t>(a)] < addresses[static_cast<size_t>(b)];
  });
  return by_address[static_cast<size_t>(column) % by_address.size()];
}

int NumColumns(const ReplicaSets& sets) {
  size_t most = 0;
  for (const ReplicaSet& set : sets.sets) most = std::max(most, set.servers.size());
  return static_cast<int>(most);
}

Status CheckGrid(std::string_view option, const ReplicaSets& sets, int missing) {
  std::map<size_t, std::vector<int>, std::greater<>> parts_by_servers;
  for (size_t part = 0; part < sets.set_of_part.size(); ++part) {
    const ReplicaSet* set = sets.Find(static_cast<int>(part));
    if (set != nullptr) parts_by_servers[set->servers.size()].push_back(static_cast<int>(part));
  }
  if (parts_by_servers.empty()) return OkStatus();
  const size_t most = parts_by_servers.begin()->first;
  const size_t fewest = parts_by_servers.rbegin()->first;
  if (most - fewest <= static_cast<size_t>(missing)) return OkStatus();
  std::vector<std::string> found;
  found.reserve(parts_by_servers.size());
  for (const auto& [servers, parts] : parts_by_servers) {
    found.push_back(fmt::format("{} server{} for part{} {}", servers, servers == 1 ? "" : "s",
                                parts.size() == 1 ? "" : "s", fmt::join(parts, ",")));
  }
  return FailedPrecondition(
      "{} needs the same number of servers for each part, and there are {}{}: start as many of "
      "each and name them in --servers, or leave {} out",
      option, fmt::join(found, ", "),
      missing == 0 ? "" : fmt::format(" (of {} it is not known yet what they serve)", missing),
      option);
}

}  // namespace halograph
