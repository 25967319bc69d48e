#include "trainer/tasks/registry.h"

#include "trainer/pipeline/edge_rows.h"
#include "trainer/pipeline/labeled_seeds.h"
#include "trainer/tasks/link_prediction.h"
#include "trainer/tasks/node_task.h"
#include "trainer/tasks/task.h"

namespace halograph {
namespace {

constexpr TaskKind kKinds[] = {
    {"node task", CheckNodeTask, OpenNodeTask},
    {"link prediction", CheckEdgeTask, OpenLinkPrediction},
};

}  // namespace

std::span<const TaskKind> TaskKinds() { return kKinds; }

StatusOr<std::unique_ptr<TrainingTask>> OpenTask(KVStore& kv, const TaskOptions& options,
                                                 const std::string& name, RankOfWorld who) {
  const Schema& schema = kv.info().schema;
  HG_ASSIGN_OR_RETURN(const int index, ChooseTask(schema, name));
  const Task& task = schema.tasks[index];
  std::string reasons;
  for (const TaskKind& kind : kKinds) {
    const Status fits = kind.fits(schema, task);
    if (fits.ok()) return kind.open(kv, options, task.name, who);
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kind.name, Message(fits));
  }
  return InvalidArgument("task '{}' cannot be trained for ({})", task.name, reasons);
}

}  // namespace halograph
