#include "partitioner/compare/cache_forecast.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace halograph {
namespace {

struct RemoteRow {
  float chance = 0;  // of being read in a minibatch: what a byte in the cache saves
  int32_t type = 0;
};

// That are read at all.
std::vector<RemoteRow> RemoteRows(const NodeChances& chances, const Assignment& assignment,
                                  int part, std::span<const int64_t> row_bytes) {
  std::vector<RemoteRow> rows;
  for (size_t type = 0; type < chances.size(); ++type) {
    if (row_bytes[type] == 0) continue;
    for (size_t node = 0; node < chances[type].size(); ++node) {
      if (assignment.owners[type][node] == part || chances[type][node] <= 0) continue;
      rows.push_back({chances[type][node], static_cast<int32_t>(type)});
    }
  }
  return rows;
}

}  // namespace

double RemoteShareLeft(const NodeChances& chances, const Assignment& assignment, int part,
                       std::span<const int64_t> row_bytes, int64_t memory) {
  std::vector<RemoteRow> rows = RemoteRows(chances, assignment, part, row_bytes);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RemoteRow& a, const RemoteRow& b) { return a.chance > b.chance; });
  double all = 0;
  double kept = 0;
  for (const RemoteRow& row : rows) {
    const int64_t bytes = row_bytes[static_cast<size_t>(row.type)];
    const double read = double{row.chance} * static_cast<double>(bytes);
    all += read;
    if (bytes > memory) continue;
    memory -= bytes;
    kept += read;
  }
  return all > 0 ? 1 - kept / all : 1;
}

}  // namespace halograph
