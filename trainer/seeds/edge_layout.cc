#include "trainer/seeds/edge_layout.h"

#include <algorithm>
#include <iterator>

namespace halograph {
namespace {

// Index of the list of `type`, which is made if need be: unsorted.
int ListOf(int type, std::vector<EdgeLayout::List>* lists) {
  for (size_t i = 0; i < lists->size(); ++i) {
    if ((*lists)[i].type == type) return static_cast<int>(i);
  }
  lists->push_back({.type = type});
  return static_cast<int>(lists->size()) - 1;
}

int64_t Append(int64_t count, EdgeLayout::List* list) {
  const int64_t first = list->size;
  list->size += count;
  return first;
}

}  // namespace

int64_t RunOf(const Schema& schema, int relation) {
  return schema.SourceType(relation) * static_cast<int64_t>(schema.node_types.size()) +
         schema.DestinationType(relation);
}

EdgeLayout LayOutEdges(const Schema& schema, std::span<const int64_t> relations,
                       const NegativeSpec& negatives) {
  EdgeLayout layout;
  std::vector<int> relation_of_run;
  for (int64_t row = 0; row < std::ssize(relations); ++row) {
    const auto relation = static_cast<int>(relations[static_cast<size_t>(row)]);
    if (relation_of_run.empty() ||
        RunOf(schema, relation) != RunOf(schema, relation_of_run.back())) {
      layout.runs.push_back({.rows = {row, row}});
      relation_of_run.push_back(relation);
      ListOf(schema.SourceType(relation), &layout.lists);
      ListOf(schema.DestinationType(relation), &layout.lists);
    }
    ++layout.runs.back().rows.end;
  }
  std::sort(layout.lists.begin(), layout.lists.end(),
            [](const EdgeLayout::List& a, const EdgeLayout::List& b) { return a.type < b.type; });
  for (size_t i = 0; i < layout.runs.size(); ++i) {
    EdgeRun& run = layout.runs[i];
    run.source_list = ListOf(schema.SourceType(relation_of_run[i]), &layout.lists);
    run.destination_list = ListOf(schema.DestinationType(relation_of_run[i]), &layout.lists);
    EdgeLayout::List* const sources = &layout.lists[run.source_list];
    EdgeLayout::List* const destinations = &layout.lists[run.destination_list];
    run.sources = Append(run.rows.size(), sources);
    run.destinations = Append(run.rows.size(), destinations);
    if (!negatives.drawn()) continue;
    const int64_t drawn = negatives.shared ? negatives.count : negatives.count * run.rows.size();
    if (negatives.tails()) run.tails = Append(drawn, destinations);
    if (negatives.heads()) run.heads = Append(drawn, sources);
  }
  return layout;
}

}  // namespace halograph
