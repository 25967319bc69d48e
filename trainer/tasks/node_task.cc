#include "trainer/tasks/node_task.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/log.h"

namespace halograph {
namespace {

// `kept`: also without rows.
std::optional<NodeSeeds> SourceOf(int node_type, LabeledSeeds set, bool kept = false) {
  if (!kept && (set.part_rows.empty() || set.part_rows.back() == 0)) return std::nullopt;
  if (set.types.empty()) {
    return NodeSeeds(node_type, std::move(set.seeds), std::move(set.labels),
                     std::move(set.part_rows), set.first_row);
  }
  return NodeSeeds(std::move(set.types), std::move(set.seeds), std::move(set.labels),
                   std::move(set.part_rows), set.first_row);
}

Metric WithSumsOfAll(const NodeTask::Metrics& metrics) {
  Metric metric = metrics.front()->metric();
  metric.sums = 0;
  for (const auto& each : metrics) metric.sums += each->metric().sums;
  return metric;
}

// Calls use(metric, its sums) for each.
template <typename T, typename Use>
void ForEach(const NodeTask::Metrics& metrics, std::span<T> sums, const Use& use) {
  for (const auto& metric : metrics) {
    use(*metric, sums.first(metric->metric().sums));
    sums = sums.subspan(metric->metric().sums);
  }
}

// ---- class weights -----------------------------------------------------------------------------

// rows / (classes * rows of the class), of the classes that occur; 0 of others, which no row has.
std::vector<double> Balanced(const std::vector<int64_t>& counts) {
  const auto rows = std::accumulate(counts.begin(), counts.end(), 0.0);
  const auto classes = static_cast<double>(counts.size()) -
                       static_cast<double>(std::count(counts.begin(), counts.end(), int64_t{0}));
  std::vector<double> weights;
  for (const int64_t count : counts) {
    weights.push_back(count == 0 ? 0 : rows / (classes * static_cast<double>(count)));
  }
  return weights;
}

StatusOr<std::vector<double>> WeightsOf(const Stores& stores, const NodeTaskRows& rows,
                                        const ClassWeights& asked) {
  if (asked.rule == ClassWeights::Rule::kNone) return std::vector<double>{};
  if (rows.rule.kind != NodeTaskKind::kClassification) {
    return InvalidArgument(
        "--class-weights {}: task '{}' is {}; only classification has them, so leave the option "
        "out",
        ToString(asked), rows.name, ToString(rows.rule.kind));
  }
  if (asked.rule == ClassWeights::Rule::kBalanced) {
    HG_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, CountLabels(stores, rows, "train"));
    return Balanced(counts);
  }
  if (std::ssize(asked.given) != rows.rule.classes) {
    return InvalidArgument(
        "--class-weights {}: {} weights, expected one for each of {} classes of "
        "task '{}'",
        ToString(asked), asked.given.size(), rows.rule.classes, rows.name);
  }
  return asked.given;
}

// ---- sets that ROC-AUC says nothing of ---------------------------------------------------------

// Whether some class, or label, has rows of both kinds.
bool HasBoth(const NodeTaskRows& rows, const std::vector<int64_t>& counts) {
  if (rows.rule.kind == NodeTaskKind::kClassification) {
    return std::count(counts.begin(), counts.end(), int64_t{0}) + 2 <= std::ssize(counts);
  }
  const size_t columns = counts.size() / 2;
  for (size_t i = 0; i < columns; ++i) {
    if (counts[i] > 0 && counts[columns + i] > 0) return true;
  }
  return false;
}

Status WarnOfOneClass(const Stores& stores, const NodeTaskRows& rows) {
  for (const auto& [name, set] : {std::pair{"train", &rows.train}, std::pair{"valid", &rows.valid},
                                  std::pair{"test", &rows.test}}) {
    if (set->part_rows.empty() || set->part_rows.back() == 0) continue;
    HG_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, CountLabels(stores, rows, name));
    if (HasBoth(rows, counts)) continue;
    spdlog::warn(
        "--metric roc-auc: all labels of the {} set of task '{}' are alike, so it has none (null "
        "in the log); choose another metric, or other sets",
        name, rows.name);
  }
  return OkStatus();
}

bool Asks(const NodeTaskOptions& options, std::string_view metric) {
  return std::find(options.metrics.begin(), options.metrics.end(), metric) != options.metrics.end();
}

}  // namespace

NodeTask::NodeTask(NodeTaskRows rows, Metrics metrics)
    : name_(std::move(rows.name)),
      node_types_(std::move(rows.node_types)),
      rule_(rows.rule),
      labels_(OwnLabels(rows)),
      train_(SourceOf(node_types_.front(), std::move(rows.train), /*kept=*/true)),
      valid_(SourceOf(node_types_.front(), std::move(rows.valid))),
      test_(SourceOf(node_types_.front(), std::move(rows.test))),
      metrics_(std::move(metrics)),
      metric_(WithSumsOfAll(metrics_)) {}

const NodeSeeds* NodeTask::Find(BatchPurpose set) const {
  const auto& found = set == BatchPurpose::kTrain   ? train_
                      : set == BatchPurpose::kValid ? valid_
                                                    : test_;
  return found.has_value() ? &*found : nullptr;
}

const SeedSource* NodeTask::source(BatchPurpose set) const {
  if (set == BatchPurpose::kTrain && found_.has_value()) return &*found_;
  const auto whole = whole_.find(set);
  return whole == whole_.end() ? static_cast<const SeedSource*>(Find(set)) : &whole->second;
}

void NodeTask::AddWholeParts(std::vector<NodesOfType> nodes) {
  const auto shared = std::make_shared<const std::vector<NodesOfType>>(std::move(nodes));
  for (const auto set : {BatchPurpose::kTrain, BatchPurpose::kValid, BatchPurpose::kTest}) {
    if (Find(set) != nullptr) whole_.try_emplace(set, Find(set), shared);
  }
}

Status NodeTask::FindRowsInSubgraphs(const Stores& stores, bool by_edges,
                                     const CancelToken* cancel) {
  if (node_types_.size() != 1) {
    return InvalidArgument("task '{}' has nodes of {} types, and a subgraph is of one", name_,
                           node_types_.size());
  }
  HG_ASSIGN_OR_RETURN(LabeledSeeds all, ReadWholeTrainSet(stores, name_, rule_));
  if (by_edges) {
    HG_ASSIGN_OR_RETURN(all, RowsWithEdges(*stores.graph, 0, std::move(all), cancel));
  }
  if (all.seeds.empty()) {
    return FailedPrecondition(
        "task '{}': no node of the train set has an edge, so that no subgraph has one; give "
        "--sampler saint-walk, cluster or neighbor",
        name_);
  }
  weight_of_all_ = WeightOf(all.labels);
  found_.emplace(Find(BatchPurpose::kTrain), node_types_.front(), std::move(all));
  return OkStatus();
}

Json NodeTask::Facts() const {
  const auto rows = [](const std::optional<NodeSeeds>& set) {
    return set.has_value() ? set->rows() : int64_t{0};
  };
  Json facts = {{"task_kind", ToString(rule_.kind)},
                {"train_rows", rows(train_)},
                {"valid_rows", rows(valid_)},
                {"test_rows", rows(test_)}};
  facts[rule_.kind == NodeTaskKind::kClassification ? "num_classes"
        : rule_.kind == NodeTaskKind::kMultiLabel   ? "num_labels"
                                                    : "num_values"] = output_dim();
  return facts;
}

Status NodeTask::CheckRows(const Stores& /*stores*/, Communicator& ranks,
                           std::span<const int> /*learnt*/, const CancelToken* /*cancel*/) {
  HG_ASSIGN_OR_RETURN(labels_, LabelsOverRanks(labels_, ranks));
  const auto& [train, valid, test] = labels_;
  if (train.labelled == 0) return NoLabels();
  if (ranks.rank() != 0) return OkStatus();
  for (const auto& [set, labels] :
       {std::pair{"train", &train}, {"valid", &valid}, {"test", &test}}) {
    if (labels->contradicted == 0) continue;
    spdlog::warn(
        "task '{}': seeds that stand in the {} set more than once, with labels that differ: {}. "
        "Each row counts with its own: give a seed one label, unless that is meant",
        name_, set, labels->contradicted);
  }
  if (valid.labelled == 0) {
    WarnOfNoValidation(valid.rows == 0 ? "it has no validation set, or an empty one"
                                       : "no row of its validation set has a label");
  }
  if (rule_.kind == NodeTaskKind::kClassification && train.low == train.high) {
    spdlog::warn(
        "task '{}': all {} labels of the train set are class {}: a model that always names it is "
        "right, and there is nothing else to learn. Look at the labels, and at which seeds the set "
        "has",
        name_, train.labelled, train.low);
  }
  return OkStatus();
}

torch::Tensor NodeTask::Scores(const std::vector<torch::Tensor>& outputs, const Step& batch) const {
  return RowsOfLists(outputs, batch);
}

torch::Tensor NodeTask::Labels(const Step& batch, const torch::Device& device) const {
  const torch::Tensor labels = LabelsOf(batch, device);
  return rule_.kind == NodeTaskKind::kClassification ? labels : labels.view({-1, rule_.columns});
}

BatchLoss NodeTask::Loss(const std::vector<torch::Tensor>& outputs, const Step& batch) {
  const torch::Tensor scores = Scores(outputs, batch);
  return {.sum = SumOfLosses(scores, Labels(batch, scores.device()),
                             RowWeightsOf(batch, scores.device())),
          .scores = {scores.detach()}};
}

void NodeTask::Measure(const std::vector<torch::Tensor>& found, const Step& batch,
                       std::span<double> sums) const {
  torch::Tensor scores = found.front();
  torch::Tensor labels = Labels(batch);
  const torch::Tensor labelled = Labelled(labels);
  if (!labelled.all().item<bool>()) {
    const torch::Tensor rows = labelled.nonzero().view(-1);
    scores = scores.index_select(0, rows);
    labels = labels.index_select(0, rows);
  }
  if (labels.size(0) == 0) return;
  ForEach(metrics_, sums, [&](const NodeMetric& metric, std::span<double> own) {
    metric.Measure(scores, labels, own);
  });
}

double NodeTask::MetricOf(std::span<const double> sums) const {
  const NodeMetric& first = *metrics_.front();
  return first.Of(sums.first(first.metric().sums));
}

std::vector<MetricValue> NodeTask::MoreMetrics(std::span<const double> sums) const {
  std::vector<MetricValue> values;
  ForEach(metrics_, sums, [&](const NodeMetric& metric, std::span<const double> own) {
    values.push_back({metric.metric().key, metric.Of(own)});
  });
  values.erase(values.begin());
  return values;
}

StatusOr<std::unique_ptr<TrainingTask>> OpenNodeTask(const Stores& stores,
                                                     const TaskOptions& options,
                                                     const std::string& name, RankOfWorld who) {
  const NodeTaskOptions& asked = options.node;
  HG_ASSIGN_OR_RETURN(NodeTaskRows rows, ReadNodeTask(stores, name, asked.kind, who));
  const NodeTaskKind kind = rows.rule.kind;
  const int64_t columns =
      kind == NodeTaskKind::kClassification ? rows.rule.classes : rows.rule.columns;
  HG_ASSIGN_OR_RETURN(auto metrics, MakeNodeMetrics(asked.metrics, kind, columns, rows.name));
  HG_ASSIGN_OR_RETURN(const auto weights, WeightsOf(stores, rows, asked.class_weights));
  if (who.rank == 0 && Asks(asked, "roc-auc")) HG_RETURN_IF_ERROR(WarnOfOneClass(stores, rows));
  std::vector<NodesOfType> whole;
  if (asked.full_batch) {
    HG_ASSIGN_OR_RETURN(const int index, ChooseTask(stores.graph->info().schema, name));
    whole = NodesOfParts(stores.graph->info(), index, rows.node_types, who);
  }
  std::unique_ptr<NodeTask> task;
  switch (kind) {
    case NodeTaskKind::kClassification:
      task = MakeClassification(std::move(rows), std::move(metrics), weights);
      break;
    case NodeTaskKind::kMultiLabel:
      task = MakeMultiLabel(std::move(rows), std::move(metrics));
      break;
    case NodeTaskKind::kRegression:
      task = MakeRegression(std::move(rows), std::move(metrics));
      break;
  }
  if (asked.full_batch) task->AddWholeParts(std::move(whole));
  return task;
}

}  // namespace halograph
