#include "partitioner/methods/constraints.h"

#include <algorithm>
#include <utility>

#include "partitioner/methods/task_columns.h"

namespace halograph {
namespace {

int64_t TaskRows(const Dataset& dataset, std::string_view set_name) {
  int64_t rows = 0;
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      if (set.set == set_name && !set.arrays.empty()) rows += set.arrays.front().array->rows();
    }
  }
  return rows;
}

}  // namespace

double TightTolerance(std::string_view constraint) {
  if (constraint == "edges") return kTightEdgeTolerance;
  return constraint.starts_with("nodes") ? kTightNodeTolerance : kTightTaskTolerance;
}

int64_t BalancedSets(const GraphCounts& counts, const BalanceOptions& balance) {
  return (balance.train && counts.train ? 1 : 0) + (balance.valid && counts.valid ? 1 : 0) +
         (balance.test && counts.test ? 1 : 0);
}

int64_t MostConstraints(const GraphCounts& counts, const BalanceOptions& balance) {
  return std::max<int64_t>(1, (balance.nodes ? static_cast<int64_t>(counts.nodes.size()) : 0) +
                                  (balance.edges ? 1 : 0) + BalancedSets(counts, balance));
}

Json ConstraintReport(const std::vector<Constraint>& constraints,
                      const std::vector<double>& max_over_mean) {
  Json report = Json::array();
  for (size_t c = 0; c < constraints.size(); ++c) {
    report.push_back({{"name", constraints[c].name},
                      {"total", constraints[c].total},
                      {"max_over_mean", max_over_mean[c]}});
  }
  return report;
}

std::vector<Constraint> ChooseConstraints(const Dataset& dataset, int64_t in_edges,
                                          const BalanceOptions& balance) {
  std::vector<Constraint> constraints;
  auto add = [&](bool wanted, std::string name, int64_t total, double tolerance) {
    if (wanted && total > 0) constraints.push_back({std::move(name), total, tolerance});
  };
  int64_t nodes = 0;
  for (const InputNodeType& type : dataset.node_types) {
    add(balance.nodes, "nodes/" + type.name, type.count, kNodeTolerance);
    nodes += type.count;
  }
  add(balance.edges, "edges", in_edges, kEdgeTolerance);
  add(balance.train, "train", TaskRows(dataset, "train"), kNodeTolerance);
  add(balance.valid, "valid", TaskRows(dataset, "valid"), kNodeTolerance);
  add(balance.test, "test", TaskRows(dataset, "test"), kNodeTolerance);
  if (constraints.empty()) add(true, "nodes", nodes, kNodeTolerance);
  return constraints;
}

Status ForEachTaskRow(const Dataset& dataset, const std::vector<int64_t>& type_offsets,
                      std::string_view set_name, const std::function<void(int64_t)>& visit) {
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      if (set.set != set_name) continue;
      HG_ASSIGN_OR_RETURN(const TaskColumns columns, ResolveTaskColumns(dataset, set));
      const int64_t offset = type_offsets[static_cast<size_t>(columns.owner_type())];
      for (int64_t row = 0; row < columns.rows; ++row) visit(offset + columns.OwnerId(row));
    }
  }
  return OkStatus();
}

}  // namespace halograph
