// What a partitioning balances, as DistDGLv2 section 5.3.2 describes: one constraint for each
// quantity (nodes of a type, in-edges, rows of task sets). Plain values and pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/method.h"

namespace halograph {

// A partition may hold at most this much of its even share: what is promised of nodes and task
// rows, and of edges, whose weights (degrees) are far more uneven.
inline constexpr double kNodeTolerance = 1.05;
inline constexpr double kEdgeTolerance = 1.12;

// What methods that move single nodes at the end keep instead.
inline constexpr double kTightNodeTolerance = 1.03;
inline constexpr double kTightEdgeTolerance = 1.10;
inline constexpr double kTightTaskTolerance = 1.05;

struct Constraint {
  std::string name;  // "nodes/<type>", "edges", "train", "valid", "test"
  int64_t total = 0;
  double tolerance = kNodeTolerance;
};

// Of the tight ones, by the constraint's name.
[[nodiscard]] double TightTolerance(std::string_view constraint);

// Constraints in the order nodes (per type), edges (in-edges), train, valid, test (rows of all
// tasks' sets, at their owning node). One that `balance` leaves out or whose weights are all zero
// is dropped; if all are, nodes of any type are counted together as "nodes".
[[nodiscard]] std::vector<Constraint> ChooseConstraints(const Dataset& dataset, int64_t in_edges,
                                                        const BalanceOptions& balance);

// What PlanMemory knows of them before tasks are read: how many constraints there are at most (at
// least 1), and how many of these are of task sets.
[[nodiscard]] int64_t MostConstraints(const GraphCounts& counts, const BalanceOptions& balance);
[[nodiscard]] int64_t BalancedSets(const GraphCounts& counts, const BalanceOptions& balance);

// For reports: name, total and `max_over_mean` of each constraint.
[[nodiscard]] Json ConstraintReport(const std::vector<Constraint>& constraints,
                                    const std::vector<double>& max_over_mean);

// The node (type_offsets[type] + input id) that each row of the tasks' sets `set_name` lives with.
// InvalidArgument as ResolveTaskColumns.
[[nodiscard]] Status ForEachTaskRow(const Dataset& dataset,
                                    const std::vector<int64_t>& type_offsets,
                                    std::string_view set_name,
                                    const std::function<void(int64_t)>& visit);

}  // namespace halograph
