#include "common/sampling/kernel/stacked_columns.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/kernel/extract_edges.h"
#include "common/sampling/kernel/stacked_edges.h"
#include "common/sampling/kernel/stacked_sums.h"

namespace halograph {
namespace {

// One at a time takes less memory than a stack.
template <typename Stacked>
bool Stack(const Stacked& stacked, size_t begin, size_t end, StackTables* tables) {
  try {
    return stacked(begin, end, tables);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Calls stacked(begin, end, tables) for each run of groups that may make a stack, and
// alone(i) for each group of those for which that gives false.
template <typename Group, typename Stacked, typename Alone>
Status ByStacks(const ColumnEdges& edges, std::span<const Group* const> groups, StackMemory* memory,
                const ColumnWorkspace& workspace, const WorkLimits& limits, const Stacked& stacked,
                const Alone& alone) {
  const bool tables_fit = groups.size() > 1 && workspace.HasTables(edges.num_sources) &&
                          workspace.HasTables(edges.topology->num_destinations());
  for (size_t begin = 0, end = 0; begin < groups.size(); begin = end) {
    end = std::min(groups.size(), begin + kMostStacked);
    if (tables_fit && end - begin > 1) {
      const StackMemory::Lease tables(memory, edges.num_sources,
                                      edges.topology->num_destinations());
      HG_RETURN_IF_ERROR(limits.Check());
      if (tables.get() != nullptr && Stack(stacked, begin, end, tables.get())) continue;
    }
    for (size_t i = begin; i < end; ++i) {
      HG_RETURN_IF_ERROR(limits.Check());
      HG_RETURN_IF_ERROR(alone(i));
    }
  }
  return OkStatus();
}

template <typename Group>
std::vector<std::span<const int64_t>> FrontiersOf(std::span<const Group* const> groups) {
  std::vector<std::span<const int64_t>> frontiers;
  for (const Group* const group : groups) frontiers.push_back(group->destinations);
  return frontiers;
}

}  // namespace

Status SumColumnsOfAll(const ColumnEdges& edges, std::span<const ColumnGroup* const> groups,
                       StackMemory* memory, ColumnWorkspace* workspace,
                       std::span<ColumnSums* const> sums, const WorkLimits& limits) {
  const bool counts = std::ranges::all_of(
      groups, [](const ColumnGroup* group) { return group->value == ColumnValue::kOne; });
  const auto stacked = [&](size_t begin, size_t end, StackTables* tables) {
    const auto frontiers = FrontiersOf(groups.subspan(begin, end - begin));
    const FrontierStack stack(edges, frontiers, tables);
    return stack.whole() && StackedSumsPay(stack, edges.num_sources) &&
           SumStacked(edges, stack, tables, sums.subspan(begin, end - begin));
  };
  return ByStacks(
      edges, groups, counts ? memory : nullptr, *workspace, limits, stacked, [&](size_t i) {
        return SumColumns(edges, groups[i]->destinations, groups[i]->value, workspace, sums[i]);
      });
}

Status ExtractEdgesOfAll(const ColumnEdges& edges, std::span<const EdgeGroup* const> groups,
                         StackMemory* memory, ColumnWorkspace* workspace,
                         std::span<ExtractedEdges* const> extracted, const WorkLimits& limits) {
  // One at a time tells what is wrong, after what is wrong with others before.
  if (memory != nullptr && groups.size() > 1 &&
      !std::ranges::all_of(groups, [&](const EdgeGroup* group) {
        return CheckColumns(edges, group->columns).ok();
      })) {
    memory = nullptr;
  }
  const auto stacked = [&](size_t begin, size_t end, StackTables* tables) {
    const auto some = groups.subspan(begin, end - begin);
    const auto frontiers = FrontiersOf(some);
    const FrontierStack stack(edges, frontiers, tables);
    if (!stack.whole() || !StackedEdgesPay(stack) ||
        !ExtractStacked(edges, stack, some, tables, workspace,
                        extracted.subspan(begin, end - begin))) {
      return false;
    }
    for (size_t i = begin; i < end; ++i) {
      if (groups[i]->wanted.column_degrees &&
          !FindColumnDegrees(edges, groups[i]->columns, &extracted[i]->column_degrees).ok()) {
        return false;
      }
    }
    return true;
  };
  return ByStacks(edges, groups, memory, *workspace, limits, stacked, [&](size_t i) {
    return ExtractEdges(edges, groups[i]->destinations, groups[i]->columns, groups[i]->wanted,
                        workspace, extracted[i]);
  });
}

}  // namespace halograph
