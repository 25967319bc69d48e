#include "trainer/training/evaluation.h"

#include <numeric>

#include "common/graph/tensor_ref.h"
#include "trainer/training/batch_feed.h"

namespace halograph {
namespace {

// Ranks meet so often, so that a slow one makes no collective of the others run into its timeout.
constexpr int64_t kStepsBetweenMeetings = 16;

// One message of a rank's predictions for a step: count, original ids, classes; the rest unused.
StatusOr<torch::Tensor> PackStep(Session& session, PreparedBatch& batch, int64_t capacity) {
  torch::Tensor packed = torch::zeros({1 + 2 * capacity}, torch::kInt64);
  const int64_t count = batch.rows;
  if (count == 0) return packed;
  auto* values = packed.data_ptr<int64_t>();
  values[0] = count;
  const std::vector<int64_t>& nodes = batch.minibatch.nodes[session.task->node_type()];
  std::vector<int64_t> ids;
  for (int32_t position : batch.minibatch.seed_positions.front()) ids.push_back(nodes[position]);
  const Schema& schema = session.stores.kv->info().schema;
  const TensorRef original{false, schema.node_types[session.task->node_type()].name,
                           kOriginalIdTensor};
  CallContext context{.cancel = &session.cancel};
  HG_RETURN_IF_ERROR(
      session.stores.kv->Pull({.tensor = original,
                               .ids = ids,
                               .out = std::as_writable_bytes(std::span(values + 1, ids.size()))},
                              context));
  packed.narrow(0, 1 + capacity, count)
      .copy_(session.task->Predict(ModelOutputs(session, batch, {}), batch));
  return packed;
}

void Unpack(const torch::Tensor& packed, int64_t capacity, std::vector<Prediction>* predictions) {
  const auto* values = packed.data_ptr<int64_t>();
  for (int64_t i = 0; i < values[0]; ++i) {
    predictions->push_back({values[1 + i], values[1 + capacity + i]});
  }
}

// All nodes of the task's type.
NodeSeeds AllNodes(const Session& session) {
  const int type = session.task->node_type();
  const auto boundaries = session.stores.graph->info().book.NodeBoundaries(type);
  std::vector<int64_t> nodes(static_cast<size_t>(boundaries.back()));
  std::iota(nodes.begin(), nodes.end(), int64_t{0});
  return NodeSeeds(type, std::move(nodes), {}, {boundaries.begin(), boundaries.end()});
}

}  // namespace

StatusOr<std::optional<double>> Evaluate(Session& session, BatchPurpose purpose) {
  TrainingTask& task = *session.task;
  const SeedSource* const source = task.source(purpose);
  if (source == nullptr) return std::optional<double>();
  const torch::NoGradGuard no_grad;
  session.model->eval();
  BatchFeed feed(session, purpose, *source);
  torch::Tensor sums = torch::zeros({static_cast<int64_t>(task.metric().sums)}, torch::kFloat64);
  const std::span<double> values(sums.data_ptr<double>(), task.metric().sums);
  FeedWaits waits;
  for (int64_t step = 0; step < feed.steps_per_epoch(); ++step) {
    HG_ASSIGN_OR_RETURN(PreparedBatch batch, feed.Next(&waits));
    if (batch.rows > 0) task.Measure(ModelOutputs(session, batch, {}), batch, values);
    if ((step + 1) % kStepsBetweenMeetings == 0) {
      HG_RETURN_IF_ERROR(session.ranks->Barrier("meeting during evaluation"));
    }
  }
  HG_RETURN_IF_ERROR(
      session.ranks->AllReduceSum(sums, fmt::format("all-reduce of {}", task.metric().label)));
  return std::optional<double>(task.MetricOf(values));
}

StatusOr<std::vector<Prediction>> Predict(Session& session) {
  const torch::NoGradGuard no_grad;
  session.model->eval();
  const bool all = session.options.predict_nodes == PredictNodes::kAll;
  const SeedSource* const test = all ? nullptr : session.task->source(BatchPurpose::kTest);
  const NodeSeeds nodes = all ? AllNodes(session) : NodeSeeds(session.task->node_type(), {});
  const int64_t capacity = session.options.eval_batch_size;
  BatchFeed feed(session, BatchPurpose::kPredict, test != nullptr ? *test : nodes);
  std::vector<Prediction> predictions;
  FeedWaits waits;
  for (int64_t step = 0; step < feed.steps_per_epoch(); ++step) {
    HG_ASSIGN_OR_RETURN(PreparedBatch batch, feed.Next(&waits));
    HG_ASSIGN_OR_RETURN(const torch::Tensor packed, PackStep(session, batch, capacity));
    HG_ASSIGN_OR_RETURN(const auto gathered,
                        session.ranks->Gather(packed, "gathering predictions"));
    for (const torch::Tensor& part : gathered) Unpack(part, capacity, &predictions);
  }
  return predictions;
}

}  // namespace halograph
