#include "client/own_part/parts_present.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "common/graph/manifest.h"

namespace halograph {

StatusOr<std::vector<int>> PartsPresent(const std::filesystem::path& graph) {
  constexpr std::string_view kPrefix = "part-";
  std::error_code error;
  std::vector<int> parts;
  for (std::filesystem::directory_iterator entry(graph, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int part = -1;
    if (!name.starts_with(kPrefix) || !absl::SimpleAtoi(name.substr(kPrefix.size()), &part)) {
      continue;
    }
    // Neither copies nor what is being written: exactly the names that a reader opens.
    if (part >= 0 && name == PartFolderName(part)) parts.push_back(part);
  }
  if (error) return ErrnoStatus(error.value(), "reading partition folder", graph.string());
  if (parts.empty()) {
    return NotFound("{}: has no part ({}, ...); give the folder that holds them", graph.string(),
                    PartFolderName(0));
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

}  // namespace halograph
