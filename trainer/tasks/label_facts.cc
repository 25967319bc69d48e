#include "trainer/tasks/label_facts.h"

#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

constexpr int64_t SetLabels::*kSums[] = {&SetLabels::rows, &SetLabels::labelled};

SetLabels Of(const LabeledSeeds& set, NodeTaskKind kind) {
  return {.rows = std::ssize(set.seeds), .labelled = CountLabelled(set.labels, kind)};
}

}  // namespace

TaskLabels OwnLabels(const NodeTaskRows& rows) {
  return {Of(rows.train, rows.rule.kind), Of(rows.valid, rows.rule.kind),
          Of(rows.test, rows.rule.kind)};
}

StatusOr<TaskLabels> LabelsOverRanks(const TaskLabels& own, Communicator& ranks) {
  TaskLabels all = own;
  torch::Tensor sums = torch::zeros({std::ssize(own), std::ssize(kSums)}, torch::kInt64);
  auto* next = sums.data_ptr<int64_t>();
  for (const SetLabels& set : own) {
    for (const auto sum : kSums) *next++ = set.*sum;
  }
  HG_RETURN_IF_ERROR(ranks.AllReduceSum(sums, "all-reduce of what the labels are"));
  next = sums.data_ptr<int64_t>();
  for (SetLabels& set : all) {
    for (const auto sum : kSums) set.*sum = *next++;
  }
  return all;
}

}  // namespace halograph
