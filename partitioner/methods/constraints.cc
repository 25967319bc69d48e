#include "partitioner/methods/constraints.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/log.h"
#include "common/base/units.h"
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

int64_t NodesOf(const Dataset& dataset, const std::vector<int>& types) {
  int64_t nodes = 0;
  for (const int type : types) nodes += dataset.node_types[static_cast<size_t>(type)].count;
  return nodes;
}

Constraint OfNodes(const Dataset& dataset, std::string name, std::vector<int> types) {
  const int64_t total = NodesOf(dataset, types);
  return {std::move(name), total, kNodeTolerance, std::move(types)};
}

// Types with nodes, in the dataset's order; of more than kMostTypeConstraints the largest ones in
// `own`.
struct TypeShares {
  std::vector<int> own;     // a constraint each
  std::vector<int> shared;  // one for all
};

TypeShares ShareConstraints(const Dataset& dataset) {
  TypeShares types;
  for (size_t type = 0; type < dataset.node_types.size(); ++type) {
    if (dataset.node_types[type].count > 0) types.own.push_back(static_cast<int>(type));
  }
  if (types.own.size() <= static_cast<size_t>(kMostTypeConstraints)) return types;
  std::stable_sort(types.own.begin(), types.own.end(), [&](int a, int b) {
    return dataset.node_types[static_cast<size_t>(a)].count >
           dataset.node_types[static_cast<size_t>(b)].count;
  });
  const auto shared = types.own.begin() + kMostTypeConstraints - 1;
  types.shared.assign(shared, types.own.end());
  types.own.erase(shared, types.own.end());
  std::sort(types.own.begin(), types.own.end());
  std::sort(types.shared.begin(), types.shared.end());
  return types;
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
  const auto types = static_cast<int64_t>(counts.nodes.size());
  const int64_t of_nodes = balance.nodes ? std::min(types, kMostTypeConstraints) : 0;
  return std::max<int64_t>(1, of_nodes + (balance.edges ? 1 : 0) + BalancedSets(counts, balance));
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
  if (balance.nodes) {
    TypeShares types = ShareConstraints(dataset);
    for (const int type : types.own) {
      const std::string& name = dataset.node_types[static_cast<size_t>(type)].name;
      constraints.push_back(OfNodes(dataset, fmt::format("nodes/{}", name), {type}));
    }
    if (!types.shared.empty()) {
      std::string name = fmt::format("nodes of {} small types", types.shared.size());
      constraints.push_back(OfNodes(dataset, std::move(name), std::move(types.shared)));
    }
  }
  auto add = [&](bool wanted, std::string name, int64_t total, double tolerance) {
    if (wanted && total > 0) constraints.push_back({std::move(name), total, tolerance});
  };
  add(balance.edges, "edges", in_edges, kEdgeTolerance);
  add(balance.train, "train", TaskRows(dataset, "train"), kNodeTolerance);
  add(balance.valid, "valid", TaskRows(dataset, "valid"), kNodeTolerance);
  add(balance.test, "test", TaskRows(dataset, "test"), kNodeTolerance);
  if (constraints.empty()) {
    std::vector<int> all(dataset.node_types.size());
    std::iota(all.begin(), all.end(), 0);
    constraints.push_back(OfNodes(dataset, "nodes", std::move(all)));
  }
  return constraints;
}

void LogSharedConstraint(const Dataset& dataset, const std::vector<Constraint>& constraints) {
  for (const Constraint& constraint : constraints) {
    if (constraint.node_types.size() < 2 || constraint.name == "nodes") continue;
    int64_t largest = 0;
    for (const int type : constraint.node_types) {
      largest = std::max(largest, dataset.node_types[static_cast<size_t>(type)].count);
    }
    spdlog::info(
        "balance: the {} largest node types are balanced one by one, the other {}, of at most {} "
        "nodes each, together",
        kMostTypeConstraints - 1, constraint.node_types.size(), FormatCount(largest));
  }
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
