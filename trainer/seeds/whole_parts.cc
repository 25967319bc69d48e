#include "trainer/seeds/whole_parts.h"

#include <algorithm>
#include <numeric>

namespace halograph {
namespace {

// Whether each part has rows of the task.
std::vector<bool> PartsWithRows(const GraphInfo& info, int task) {
  std::vector<bool> has(static_cast<size_t>(info.book.num_parts()));
  for (const std::vector<int64_t>& part_rows : info.task_rows[static_cast<size_t>(task)]) {
    for (size_t part = 0; part < has.size(); ++part) {
      if (part_rows[part] < part_rows[part + 1]) has[part] = true;
    }
  }
  return has;
}

std::vector<int> TypesOfLayers(const Schema& schema, std::span<const int> row_types) {
  std::vector<bool> reads(schema.node_types.size()), taken(reads.size());
  for (const int type : row_types) reads[type] = taken[type] = true;
  const auto relations = static_cast<int>(schema.relations.size());
  for (bool more = true; std::exchange(more, false);) {
    for (int r = 0; r < relations; ++r) {
      if (schema.relations[r].count == 0 || !reads[schema.DestinationType(r)]) continue;
      taken[schema.DestinationType(r)] = true;
      more = more || !reads[schema.SourceType(r)];
      reads[schema.SourceType(r)] = true;
    }
  }
  std::vector<int> types;
  for (size_t type = 0; type < taken.size(); ++type) {
    if (taken[type]) types.push_back(static_cast<int>(type));
  }
  return types;
}

// A rank's share of the nodes of the parts that count, one after the other.
std::vector<IdRange> ShareOf(std::span<const int64_t> boundaries, const std::vector<bool>& counts,
                             RankOfWorld who) {
  std::vector<int64_t> counted(boundaries.size());  // boundaries in the numbers of these nodes
  for (size_t part = 0; part < counts.size(); ++part) {
    counted[part + 1] =
        counted[part] + (counts[part] ? boundaries[part + 1] - boundaries[part] : 0);
  }
  const IdRange share = SplitRows(counted, who.world_size).of_rank[who.rank];
  std::vector<IdRange> ids;
  for (size_t part = 0; part < counts.size(); ++part) {
    const int64_t begin = std::max(share.begin, counted[part]);
    const int64_t end = std::min(share.end, counted[part + 1]);
    const int64_t shift = boundaries[part] - counted[part];
    if (begin < end) ids.push_back({begin + shift, end + shift});
  }
  return ids;
}

void Append(const std::vector<IdRange>& ranges, std::vector<int64_t>* ids) {
  for (const IdRange& range : ranges) {
    const size_t before = ids->size();
    ids->resize(before + static_cast<size_t>(range.size()));
    std::iota(ids->begin() + static_cast<std::ptrdiff_t>(before), ids->end(), range.begin);
  }
}

}  // namespace

std::vector<NodesOfType> NodesOfParts(const GraphInfo& info, int task,
                                      std::span<const int> row_types, RankOfWorld who) {
  const std::vector<bool> counts = PartsWithRows(info, task);
  std::vector<NodesOfType> nodes;
  for (const int type : TypesOfLayers(info.schema, row_types)) {
    nodes.push_back({type, ShareOf(info.book.NodeBoundaries(type), counts, who)});
  }
  return nodes;
}

Status WholePartSeeds::Collect(std::span<const int64_t> rows, uint64_t key, StepSeeds* step) const {
  HG_RETURN_IF_ERROR(rows_->Collect(rows, key, step));
  if (rows.empty()) return OkStatus();
  for (StepSeeds::List& list : step->seeds) list.asked = std::ssize(list.ids);
  for (const NodesOfType& of : *nodes_) {
    auto list = std::lower_bound(
        step->seeds.begin(), step->seeds.end(), of.type,
        [](const StepSeeds::List& before, int type) { return before.type < type; });
    if (list == step->seeds.end() || list->type != of.type) {
      list = step->seeds.insert(list, {.type = of.type, .ids = {}, .asked = 0});
    }
    Append(of.ids, &list->ids);
  }
  return OkStatus();
}

}  // namespace halograph
