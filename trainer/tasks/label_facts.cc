#include "trainer/tasks/label_facts.h"

#include <algorithm>

#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

SetLabels Of(const LabeledSeeds& set, NodeTaskKind kind) {
  SetLabels found{.rows = std::ssize(set.seeds),
                  .labelled = CountLabelled(set.labels, kind),
                  .contradicted = set.contradicted};
  if (kind != NodeTaskKind::kClassification || found.labelled == 0) return found;
  found.low = INT64_MAX;
  for (const int64_t label : set.labels.As<int64_t>()) {
    if (label == kUnlabelled) continue;
    found.low = std::min(found.low, label);
    found.high = std::max(found.high, label);
  }
  return found;
}

SetLabels Both(const SetLabels& a, const SetLabels& b) {
  SetLabels both = a.labelled == 0 ? b : a;
  both.rows = a.rows + b.rows;
  both.labelled = a.labelled + b.labelled;
  both.contradicted = a.contradicted + b.contradicted;
  if (a.labelled == 0 || b.labelled == 0) return both;
  both.low = std::min(a.low, b.low);
  both.high = std::max(a.high, b.high);
  return both;
}

constexpr int64_t SetLabels::*kFields[] = {&SetLabels::rows, &SetLabels::labelled, &SetLabels::low,
                                           &SetLabels::high, &SetLabels::contradicted};

}  // namespace

TaskLabels OwnLabels(const NodeTaskRows& rows) {
  return {Of(rows.train, rows.rule.kind), Of(rows.valid, rows.rule.kind),
          Of(rows.test, rows.rule.kind)};
}

StatusOr<TaskLabels> LabelsOverRanks(const TaskLabels& own, Communicator& ranks) {
  // A row of each rank: its fields, set after set.
  torch::Tensor table =
      torch::zeros({ranks.world_size(), std::ssize(own) * std::ssize(kFields)}, torch::kInt64);
  auto* next = table[ranks.rank()].data_ptr<int64_t>();
  for (const SetLabels& set : own) {
    for (const auto field : kFields) *next++ = set.*field;
  }
  HG_RETURN_IF_ERROR(ranks.AllReduceSum(table, "all-reduce of what the labels are"));
  TaskLabels all;
  const auto* of_rank = table.data_ptr<int64_t>();
  for (int rank = 0; rank < ranks.world_size(); ++rank) {
    for (SetLabels& set : all) {
      SetLabels of;
      for (const auto field : kFields) of.*field = *of_rank++;
      set = Both(set, of);
    }
  }
  return all;
}

}  // namespace halograph
