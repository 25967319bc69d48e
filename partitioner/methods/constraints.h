// What a partitioning balances, as DistDGLv2 section 5.3.2 describes: one constraint for each
// quantity (nodes of a type, in-edges, rows of task sets). METIS' time grows with the square of
// their number, so a graph of many node types gets one constraint each for its largest types, and
// one for all others together.
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

// The most constraints of nodes.
inline constexpr int64_t kMostTypeConstraints = 16;

struct Constraint {
  // "nodes/<type>", "nodes of <n> small types", "nodes", "edges", "train", "valid", "test"
  std::string name;
  int64_t total = 0;
  double tolerance = kNodeTolerance;
  std::vector<int> node_types = {};  // whose nodes count; none: it counts no nodes, but its name's
};

// Of the tight ones, by the constraint's name.
[[nodiscard]] double TightTolerance(std::string_view constraint);

// Constraints in the order nodes (per type), edges (in-edges), train, valid, test (rows of all
// tasks' sets, at their owning node). One that `balance` leaves out or whose weights are all zero
// is dropped; if all are, nodes of any type are counted together as "nodes". Of more than
// kMostTypeConstraints types with nodes the largest have a constraint each (the first of types of
// one size), and all others share one, the last of nodes.
[[nodiscard]] std::vector<Constraint> ChooseConstraints(const Dataset& dataset, int64_t in_edges,
                                                        const BalanceOptions& balance);

// Logs which types share a constraint, if some do.
void LogSharedConstraint(const Dataset& dataset, const std::vector<Constraint>& constraints);

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
