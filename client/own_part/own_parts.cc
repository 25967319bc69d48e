#include "client/own_part/own_parts.h"

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

StatusOr<int> CountPartsOf(const std::filesystem::path& graph) {
  HG_ASSIGN_OR_RETURN(const std::vector<int> parts, PartsPresent(graph));
  HG_ASSIGN_OR_RETURN(const PartManifest first,
                      ReadPartManifest(graph / PartFolderName(parts.front())));
  return first.book.num_parts();
}

Status CheckSameGraph(const GraphInfo& info, std::string_view where, const GraphInfo& other,
                      std::string_view other_where) {
  if (info.identity == other.identity && info.schema == other.schema && info.book == other.book) {
    return OkStatus();
  }
  return FailedPrecondition(
      "{}: is of graph {} ('{}'), but {} have graph {} ('{}'); give the folder that they serve",
      where, info.identity, info.schema.graph_name, other_where, other.identity,
      other.schema.graph_name);
}

std::vector<int> OwnTargets(const PartitionSet& mapped) {
  std::vector<int> targets;
  for (int part = 0; part < mapped.book().num_parts(); ++part) {
    targets.push_back(mapped.Find(part) != nullptr ? kOwn : kRest);
  }
  return targets;
}

}  // namespace halograph
