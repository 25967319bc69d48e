#include <algorithm>

#include "common/graph/partition.h"

namespace halograph {
namespace {

// As the graph's manifest says, or that of any part; 0 if there is none that can be read.
int NumParts(const std::filesystem::path& graph) {
  if (const auto manifest = ReadGraphManifest(graph); manifest.ok()) {
    return manifest->book.num_parts();
  }
  std::error_code error;
  std::filesystem::directory_iterator entry(graph, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!entry->path().filename().string().starts_with("part-")) continue;
    if (const auto part = ReadPartManifest(entry->path()); part.ok()) return part->book.num_parts();
  }
  return 0;
}

// NotFound where a part is missing of a graph that is here.
Status CheckPartIsThere(const std::filesystem::path& graph, int part) {
  const std::filesystem::path folder = graph / PartFolderName(part);
  std::error_code error;
  if (std::filesystem::exists(folder / kManifestName, error)) return OkStatus();
  const int parts = NumParts(graph);
  if (parts == 0) return OkStatus();  // no graph at all: opening it says so
  if (part >= parts) {
    return NotFound("{}: the graph has no part {}; its parts are 0 to {}", folder.string(), part,
                    parts - 1);
  }
  return NotFound(
      "{}: part {} of {} is missing: there is no {} (parts are numbered from 0); copy that folder "
      "here, or partition the graph again",
      graph.string(), part, parts, (folder / kManifestName).string());
}

StatusOr<std::unique_ptr<Partition>> OpenPart(const std::filesystem::path& graph, int part,
                                              VerifyLevel verify, const PartContents& contents) {
  HG_RETURN_IF_ERROR(CheckPartIsThere(graph, part));
  const std::filesystem::path folder = graph / PartFolderName(part);
  HG_ASSIGN_OR_RETURN(std::unique_ptr<Partition> opened, Partition::Open(folder, verify, contents));
  if (opened->part() != part) {
    return FailedPrecondition("{}: holds part {}, expected part {}; was a folder renamed?",
                              folder.string(), opened->part(), part);
  }
  return opened;
}

Status CheckSameGraph(const std::filesystem::path& graph, const Partition& first,
                      const Partition& other) {
  if (first.manifest().identity == other.manifest().identity && first.schema() == other.schema() &&
      first.book() == other.book()) {
    return OkStatus();
  }
  return FailedPrecondition(
      "{}: part {} is of graph {} and part {} of graph {}; they do not belong together",
      graph.string(), first.part(), first.manifest().identity, other.part(),
      other.manifest().identity);
}

// Against GRAPH/manifest.json, which a server's machine need not have.
Status CheckGraphManifest(const std::filesystem::path& graph,
                          std::span<const std::unique_ptr<Partition>> parts) {
  std::error_code error;
  if (!std::filesystem::exists(graph / "manifest.json", error)) return OkStatus();
  HG_ASSIGN_OR_RETURN(const GraphManifest manifest, ReadGraphManifest(graph));
  for (const auto& part : parts) {
    const std::string digest = FilesDigest(part->manifest().files);
    if (part->manifest().identity != manifest.identity ||
        digest != manifest.part_digests[part->part()]) {
      return FailedPrecondition(
          "{}: is of graph {} with digest {} for part {}, but {} is of graph {} with digest {}",
          (graph / "manifest.json").string(), manifest.identity,
          manifest.part_digests[part->part()], part->part(), PartFolderName(part->part()),
          part->manifest().identity, digest);
    }
  }
  return OkStatus();
}

// What only all parts together can show: the identity, and the rows of task sets.
Status CheckWhole(const std::filesystem::path& graph,
                  std::span<const std::unique_ptr<Partition>> parts) {
  const Schema& schema = parts.front()->schema();
  std::vector<std::string> digests;
  for (const auto& part : parts) digests.push_back(FilesDigest(part->manifest().files));
  const std::string identity = GraphIdentity(schema, parts.front()->book(), digests);
  if (identity != parts.front()->manifest().identity) {
    return FailedPrecondition("{}: the parts say they are of graph {}, but together they make {}",
                              graph.string(), parts.front()->manifest().identity, identity);
  }
  size_t next_count = 0;
  for (const Task& task : schema.tasks) {
    for (const TaskSetSpec& set : task.sets) {
      int64_t rows = 0;
      for (const auto& part : parts) rows += part->manifest().task_rows[next_count];
      ++next_count;
      if (rows == set.rows) continue;
      return DataLoss("{}: task '{}' set '{}' of '{}' has {} rows in all parts, expected {}",
                      graph.string(), task.name, set.set, set.type, rows, set.rows);
    }
  }
  return OkStatus();
}

StatusOr<std::vector<int>> PartsToOpen(const std::filesystem::path& graph,
                                       const std::vector<int>& parts) {
  if (parts.empty()) {
    HG_RETURN_IF_ERROR(CheckPartIsThere(graph, 0));
    HG_ASSIGN_OR_RETURN(const PartManifest first, ReadPartManifest(graph / PartFolderName(0)));
    std::vector<int> all(first.book.num_parts());
    for (int p = 0; p < first.book.num_parts(); ++p) all[p] = p;
    return all;
  }
  std::vector<int> sorted = parts;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return InvalidArgument("part {} is asked for twice", *twice);
  if (sorted.front() < 0) return InvalidArgument("part {} is negative", sorted.front());
  return sorted;
}

Topology MakeTopology(const std::vector<const Partition*>& by_part, const Partition& any) {
  Topology topology;
  for (int r = 0; r < static_cast<int>(any.schema().relations.size()); ++r) {
    std::vector<CscSegment> segments(by_part.size());
    for (const Partition* part : by_part) {
      if (part != nullptr) segments[part->part()] = part->Edges(r);
    }
    const auto boundaries = any.book().NodeBoundaries(any.schema().DestinationType(r));
    topology.emplace_back(std::vector<int64_t>(boundaries.begin(), boundaries.end()),
                          std::move(segments));
  }
  return topology;
}

}  // namespace

StatusOr<std::unique_ptr<PartitionSet>> PartitionSet::Open(const std::filesystem::path& graph,
                                                           const std::vector<int>& parts,
                                                           VerifyLevel verify,
                                                           const PartContents& contents) {
  HG_ASSIGN_OR_RETURN(const std::vector<int> wanted, PartsToOpen(graph, parts));
  auto set = std::unique_ptr<PartitionSet>(new PartitionSet());
  for (const int part : wanted) {
    HG_ASSIGN_OR_RETURN(std::unique_ptr<Partition> opened, OpenPart(graph, part, verify, contents));
    if (!set->parts_.empty()) {
      HG_RETURN_IF_ERROR(CheckSameGraph(graph, *set->parts_.front(), *opened));
    }
    set->parts_.push_back(std::move(opened));
  }
  HG_RETURN_IF_ERROR(CheckGraphManifest(graph, set->parts_));
  set->by_part_.assign(set->book().num_parts(), nullptr);
  for (const auto& part : set->parts_) set->by_part_[part->part()] = part.get();
  if (set->parts_.size() == set->by_part_.size()) {
    HG_RETURN_IF_ERROR(CheckWhole(graph, set->parts_));
  }
  set->topology_ = MakeTopology(set->by_part_, *set->parts_.front());
  return set;
}

std::vector<std::vector<int64_t>> PartitionSet::ClusterBounds() const {
  std::vector<std::vector<int64_t>> bounds;
  for (const auto& part : parts_) {
    const std::span<const int64_t> of_part = part->ClusterBounds();
    if (of_part.empty()) continue;
    bounds.resize(by_part_.size());
    bounds[static_cast<size_t>(part->part())].assign(of_part.begin(), of_part.end());
  }
  return bounds;
}

const Partition* PartitionSet::Find(int part) const {
  return part >= 0 && part < static_cast<int>(by_part_.size()) ? by_part_[part] : nullptr;
}

}  // namespace halograph
