#include "trainer/tasks/registry.h"

#include <string_view>

#include "trainer/seeds/edge_rows.h"
#include "trainer/seeds/labeled_seeds.h"
#include "trainer/tasks/link_prediction.h"
#include "trainer/tasks/node_task.h"
#include "trainer/tasks/task.h"

namespace halograph {
namespace {

struct TaskKind {
  std::string_view name;  // "node task"
  // OK if a task of the graph can be trained for as this kind; else InvalidArgument saying why not.
  Status (*fits)(const Schema& schema, const Task& task);
  // Adds the rows of the options that are this kind's alone.
  void (*add_rows)(TaskOptions& options, OptionTable& table);
  // Reads the rank's rows of all sets.
  StatusOr<std::unique_ptr<TrainingTask>> (*open)(const Stores& stores, const TaskOptions& options,
                                                  const std::string& name, RankOfWorld who);
};

constexpr TaskKind kKinds[] = {
    {"node task", CheckNodeTask,
     [](TaskOptions& options, OptionTable& table) { options.node.AddRows(table); }, OpenNodeTask},
    {"link prediction task", CheckEdgeTask,
     [](TaskOptions& options, OptionTable& table) { options.link.AddRows(table); },
     OpenLinkPrediction},
};

// An option that would change nothing is a mistake: it is refused.
Status CheckNoneOfOthers(const TaskKind& own, const TaskOptions& options, const Task& task) {
  TaskOptions given = options, defaults;
  for (const TaskKind& kind : kKinds) {
    if (&kind == &own) continue;
    OptionTable given_rows, default_rows;
    kind.add_rows(given, given_rows);
    kind.add_rows(defaults, default_rows);
    for (const auto& row : given_rows.rows()) {
      if (row->Text() == default_rows.Find(row->name())->Text()) continue;
      return InvalidArgument("{} is for a {}: task '{}' is a {}; leave the option out", row->Flag(),
                             kind.name, task.name, own.name);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<TrainingTask>> OpenTask(const Stores& stores, const TaskOptions& options,
                                                 const std::string& name, RankOfWorld who) {
  const Schema& schema = stores.graph->info().schema;
  HG_ASSIGN_OR_RETURN(const int index, ChooseTask(schema, name));
  const Task& task = schema.tasks[index];
  std::string reasons;
  for (const TaskKind& kind : kKinds) {
    const Status fits = kind.fits(schema, task);
    if (fits.ok()) {
      HG_RETURN_IF_ERROR(CheckNoneOfOthers(kind, options, task));
      return kind.open(stores, options, task.name, who);
    }
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kind.name, Message(fits));
  }
  return InvalidArgument("task '{}' cannot be trained for ({})", task.name, reasons);
}

}  // namespace halograph
