#include "trainer/training/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "common/graph/tensor_ref.h"
#include "trainer/training/late_tensors.h"

namespace halograph {
namespace {

// Ranks meet so often, so that a slow one makes no collective of the others run into its timeout,
// and that all stop at the same step.
constexpr int64_t kStepsBetweenMeetings = 16;

// Whether any rank wants to stop.
StatusOr<bool> AnyStops(Session& session, bool stop) {
  torch::Tensor stopping = torch::full({1}, stop ? 1.0 : 0.0);
  HG_RETURN_IF_ERROR(session.ranks->AllReduceSum(stopping, "meeting during evaluation"));
  return stopping.item<float>() > 0;
}

using Forward = std::function<std::vector<torch::Tensor>(const ModelInput& input)>;

// The next minibatch; what `forward` makes of it, nothing of one without rows, is taken while the
// one behind it is computed.
Status PassNext(Session& session, BatchFeed& feed, const Forward& forward, LateTensors& late) {
  FeedWaits waits;
  HG_ASSIGN_OR_RETURN(Step taken, feed.Next(&waits));
  const auto batch = std::make_shared<Step>(std::move(taken));
  std::vector<torch::Tensor> made;
  if (batch->rows > 0) made = forward(EvaluationInputOf(session, *batch));
  late.Begin(batch, made);
  made.clear();
  batch->tensors.reset();  // all of the step has been given to the device
  return late.TakeAllBut(1);
}

// One pass over this rank's rows of `source`: the model's outputs of every minibatch with rows.
// Whether a rank has to stop, which then all do.
StatusOr<bool> GoThrough(Session& session, BatchPurpose purpose, const SeedSource& source,
                         const UseOutputs& use) {
  BatchFeed feed(session, purpose, source);
  const Forward forward = [&](const ModelInput& input) { return session.model->Forward(input); };
  LateTensors late(session.device, [&](const Step& batch, const auto& outputs) {
    if (batch.rows > 0) use(outputs, batch);
    return OkStatus();
  });
  bool stop = false;
  for (int64_t step = 0; step < feed.steps_per_epoch(); ++step) {
    // A rank that is to stop goes on to the next meeting without minibatches.
    if (!stop) {
      const Status passed = PassNext(session, feed, forward, late);
      stop = !passed.ok() && session.stop->requested();
      if (!stop) HG_RETURN_IF_ERROR(passed);
    }
    if ((step + 1) % kStepsBetweenMeetings == 0) {
      HG_ASSIGN_OR_RETURN(const bool all_stop, AnyStops(session, stop));
      if (all_stop) return true;
    }
  }
  if (!stop) HG_RETURN_IF_ERROR(late.TakeAllBut(0));
  return AnyStops(session, stop);
}

// One message of a rank's predictions for a step: how many rows, their original ids, their node
// types, then the rows, `columns` of int64 (classes) or float32 each; the rest unused.
class StepMessage {
 public:
  StepMessage(PredictWhat what, int64_t columns, int64_t capacity)
      : capacity_(capacity),
        row_bytes_(static_cast<size_t>(columns) *
                   (what == PredictWhat::kClass ? sizeof(int64_t) : sizeof(float))),
        tensor_(torch::zeros({1 + 2 * capacity + RowWords()}, torch::kInt64)) {}

  [[nodiscard]] const torch::Tensor& tensor() const { return tensor_; }
  // Where the ids of the rows of a batch go. Their types are set.
  [[nodiscard]] std::span<int64_t> SetRows(const Step& batch) {
    *words() = batch.rows;
    int64_t* type = words() + 1 + capacity_;
    for (size_t list = 0; list < batch.seed_types.size(); ++list) {
      const auto count = std::ssize(batch.minibatch.seed_positions[list]);
      type = std::fill_n(type, count, int64_t{batch.seed_types[list]});
    }
    return {words() + 1, static_cast<size_t>(batch.rows)};
  }
  void SetValues(const torch::Tensor& values) {
    const torch::Tensor whole = values.contiguous();
    std::memcpy(words() + 1 + 2 * capacity_, whole.data_ptr(), whole.nbytes());
  }

  // Hands over the rows of what a rank sent.
  Status Unpack(const torch::Tensor& sent, const TakePredictions& take) const {
    const auto* const sent_words = sent.data_ptr<int64_t>();
    const auto rows = static_cast<size_t>(sent_words[0]);
    const int64_t* const types = sent_words + 1 + capacity_;
    const auto* const values = reinterpret_cast<const std::byte*>(types + capacity_);
    return take({sent_words + 1, rows}, {types, rows}, {values, rows * row_bytes_});
  }

 private:
  [[nodiscard]] int64_t* words() { return tensor_.data_ptr<int64_t>(); }
  [[nodiscard]] int64_t RowWords() const {
    const size_t bytes = static_cast<size_t>(capacity_) * row_bytes_;
    return static_cast<int64_t>((bytes + sizeof(int64_t) - 1) / sizeof(int64_t));
  }

  const int64_t capacity_;
  const size_t row_bytes_;
  torch::Tensor tensor_;
};

NodeRange AllNodes(const Session& session, int type) {
  return NodeRange(type, session.stores.graph->info().book.NodeBoundaries(type));
}

// The second pass of a sweep. Whether a rank has to stop.
StatusOr<bool> SweepNodes(Session& session, const PassOverRows& pass, NodeSweep& sweep) {
  HG_RETURN_IF_ERROR(sweep.Meet(*session.ranks));
  for (const int type : sweep.node_types()) {
    const UseOutputs use = [&](const std::vector<torch::Tensor>& outputs, const Step& batch) {
      sweep.AddNodes(type, outputs, batch);
    };
    HG_ASSIGN_OR_RETURN(const bool stopped, pass(AllNodes(session, type), use));
    if (stopped) return true;
  }
  return false;
}

}  // namespace

SetSums::SetSums(TrainingTask& task)
    : task_(task),
      sums_(torch::zeros({static_cast<int64_t>(task.metric().sums) + kMore}, torch::kFloat64)) {}

std::vector<torch::Tensor> SetSums::AddLoss(TrainingTask& task,
                                            const std::vector<torch::Tensor>& outputs,
                                            const Step& batch) {
  BatchLoss loss = task.Loss(outputs, batch);
  more()[kLoss] += loss.sum.item<double>();
  more()[kWeight] += task.LossWeight(batch);
  return std::move(loss.scores);
}

StatusOr<bool> SetSums::AddRows(Session& session, BatchPurpose purpose) {
  const SeedSource* const source = session.task->source(purpose);
  if (source == nullptr) return false;
  const torch::NoGradGuard no_grad;
  session.model->eval();
  return GoThrough(session, purpose, *source,
                   [&](const std::vector<torch::Tensor>& outputs, const Step& batch) {
                     const auto scores = AddLoss(*session.task, outputs, batch);
                     session.task->Measure(scores, batch, metric());
                   });
}

StatusOr<Evaluation> SetSums::OverRanks(Communicator& ranks) {
  HG_RETURN_IF_ERROR(
      ranks.AllReduceSum(sums_, fmt::format("all-reduce of {}", task_.metric().label)));
  SetFigures figures{.metric = task_.MetricOf(metric()),
                     .loss = more()[kLoss] / more()[kWeight],
                     .more = task_.MoreMetrics(metric())};
  const bool tells = !std::isnan(figures.metric) ||
                     std::any_of(figures.more.begin(), figures.more.end(),
                                 [](const MetricValue& more) { return !std::isnan(more.value); });
  if (!tells) return Evaluation{};
  return Evaluation{.figures = std::move(figures)};
}

StatusOr<Evaluation> Evaluate(Session& session, BatchPurpose purpose) {
  return EvaluateBy(session, purpose, [&](const SeedSource& source, const UseOutputs& use) {
    return GoThrough(session, purpose, source, use);
  });
}

StatusOr<Evaluation> EvaluateBy(Session& session, BatchPurpose purpose, const PassOverRows& pass) {
  TrainingTask& task = *session.task;
  const SeedSource* const source = task.source(purpose);
  if (source == nullptr) return Evaluation{};
  const torch::NoGradGuard no_grad;
  session.model->eval();
  SetSums sums(task);
  const std::unique_ptr<NodeSweep> sweep = task.StartSweep(purpose);
  const UseOutputs use = [&](const std::vector<torch::Tensor>& outputs, const Step& batch) {
    const auto scores = sums.AddLoss(task, outputs, batch);
    if (sweep != nullptr) {
      sweep->AddRows(outputs, batch);
    } else {
      task.Measure(scores, batch, sums.metric());
    }
  };
  HG_ASSIGN_OR_RETURN(bool stopped, pass(*source, use));
  if (!stopped && sweep != nullptr) {
    HG_ASSIGN_OR_RETURN(stopped, SweepNodes(session, pass, *sweep));
    if (!stopped) HG_RETURN_IF_ERROR(sweep->Finish(*session.ranks, sums.metric()));
  }
  if (stopped) return Evaluation{.stopped = true};
  return sums.OverRanks(*session.ranks);
}

StatusOr<std::optional<double>> MostFrequentShare(Session& session, BatchPurpose set) {
  return MostFrequentOf(session.task->ClassCounts(set), *session.ranks);
}

StatusOr<std::optional<double>> MostFrequentOf(const std::vector<double>& own,
                                               Communicator& ranks) {
  if (own.empty()) return std::optional<double>();
  torch::Tensor counts = torch::tensor(own, torch::kFloat64);
  HG_RETURN_IF_ERROR(ranks.AllReduceSum(counts, "all-reduce of class counts"));
  const auto rows = counts.sum().item<double>();
  if (rows == 0) return std::optional<double>();
  return std::optional<double>(counts.max().item<double>() / rows);
}

int64_t PredictionColumns(const Session& session) {
  if (session.task->predicts_outputs()) return session.task->output_dim();
  const PredictWhat what = session.options.predict_what;
  return what == PredictWhat::kEmbeddings ? session.model->embedding_dim()
                                          : session.task->PredictionColumns(what);
}

int64_t PredictionRows(const Session& session) {
  if (session.options.predict_nodes == PredictNodes::kAll) {
    int64_t rows = 0;
    for (const int type : session.task->predicted_types()) {
      rows += session.stores.graph->info().book.NodeBoundaries(type).back();
    }
    return rows;
  }
  const SeedSource* const test = session.task->source(BatchPurpose::kTest);
  return test == nullptr ? 0 : test->rows();
}

bool PredictsOfEmbed(const Session& session) {
  return !session.task->predicts_outputs() &&
         session.options.predict_what == PredictWhat::kEmbeddings;
}

torch::Tensor PredictionsOf(Session& session, const std::vector<torch::Tensor>& made,
                            const Step& batch) {
  const PredictWhat what = session.options.predict_what;
  if (session.task->predicts_outputs() || what == PredictWhat::kEmbeddings) {
    return RowsOfLists(made, batch);
  }
  return session.task->Predict(what, made, batch);
}

Status PullOriginalIds(Session& session, const Step& batch, const CancelToken* cancel,
                       std::span<int64_t> originals) {
  for (size_t list = 0; list < batch.seed_types.size(); ++list) {
    const int type = batch.seed_types[list];
    const std::vector<int64_t>& nodes = batch.minibatch.nodes[type];
    std::vector<int64_t> ids;
    for (int32_t position : batch.minibatch.seed_positions[list]) ids.push_back(nodes[position]);
    const TensorRef original{false, session.stores.graph->info().schema.node_types[type].name,
                             kOriginalIdTensor};
    const auto out = originals.first(ids.size());
    originals = originals.subspan(ids.size());
    CallContext context{.cancel = cancel};
    HG_RETURN_IF_ERROR(session.stores.rows->Pull(
        {.tensor = original, .ids = ids, .out = std::as_writable_bytes(out)}, context));
  }
  return OkStatus();
}

Status Predict(Session& session, const SeedSource& nodes, const TakePredictions& take,
               OnSignal on_signal) {
  const torch::NoGradGuard no_grad;
  session.model->eval();
  BatchFeed feed(session, BatchPurpose::kPredict, nodes, 0, 0, on_signal);
  // All ranks meet once a step, in the order of the steps.
  const auto send = [&](const Step& batch, const std::vector<torch::Tensor>& made) -> Status {
    StepMessage message(session.options.predict_what, PredictionColumns(session),
                        std::min(session.options.eval_batch_size, feed.shards().Largest()));
    if (batch.rows > 0) {
      HG_RETURN_IF_ERROR(PullOriginalIds(session, batch, feed.cancel(), message.SetRows(batch)));
      message.SetValues(PredictionsOf(session, made, batch));
    }
    HG_ASSIGN_OR_RETURN(const auto gathered,
                        session.ranks->Gather(message.tensor(), "gathering predictions"));
    for (const torch::Tensor& sent : gathered) HG_RETURN_IF_ERROR(message.Unpack(sent, take));
    return OkStatus();
  };
  const Forward forward = [&](const ModelInput& input) {
    return PredictsOfEmbed(session) ? session.model->Embed(input) : session.model->Forward(input);
  };
  LateTensors late(session.device, send);
  for (int64_t step = 0; step < feed.steps_per_epoch(); ++step) {
    HG_RETURN_IF_ERROR(PassNext(session, feed, forward, late));
  }
  return late.TakeAllBut(0);
}

StatusOr<Predictions> Predict(Session& session) {
  Predictions predictions{.what = session.options.predict_what,
                          .columns = PredictionColumns(session)};
  const auto take = [&](std::span<const int64_t> ids, std::span<const int64_t> types,
                        std::span<const std::byte> rows) -> Status {
    predictions.original_ids.insert(predictions.original_ids.end(), ids.begin(), ids.end());
    predictions.types.insert(predictions.types.end(), types.begin(), types.end());
    const auto append = [&](auto* to) {
      using T = typename std::remove_pointer_t<decltype(to)>::value_type;
      const auto* const values = reinterpret_cast<const T*>(rows.data());
      to->insert(to->end(), values, values + rows.size() / sizeof(T));
    };
    if (predictions.what == PredictWhat::kClass) {
      append(&predictions.classes);
    } else {
      append(&predictions.values);
    }
    return OkStatus();
  };
  const std::vector<int> types = session.task->predicted_types();
  if (session.options.predict_nodes == PredictNodes::kAll) {
    for (const int type : types) {
      HG_RETURN_IF_ERROR(Predict(session, AllNodes(session, type), take, OnSignal::kFinish));
    }
  } else if (const SeedSource* const test = session.task->source(BatchPurpose::kTest);
             test != nullptr) {
    HG_RETURN_IF_ERROR(Predict(session, *test, take, OnSignal::kFinish));
  }
  if (types.size() == 1) predictions.types.clear();
  return predictions;
}

}  // namespace halograph
