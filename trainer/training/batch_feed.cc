#include "trainer/training/batch_feed.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "common/base/log.h"
#include "common/base/stopwatch.h"
#include "common/base/units.h"
#include "trainer/device/compaction.h"
#include "trainer/pipeline/trace_ids.h"
#include "trainer/training/step_trace.h"
#include "trainer/training/torch_error.h"

namespace halograph {
namespace {

// Steps beside the one that is trained on whose rows must be there: as many as a push waits for.
int64_t StalenessOf(const Session& session, BatchPurpose purpose) {
  const bool learns = session.learnt != nullptr && purpose == BatchPurpose::kTrain;
  return learns ? session.learnt->staleness() : -1;
}

// Bytes of the learnt rows of a step.
std::function<int64_t(const Minibatch& minibatch)> LearntBytes(const Session& session) {
  if (session.learnt == nullptr) return {};
  return [types = session.learnt->types()](const Minibatch& minibatch) {
    int64_t bytes = 0;
    for (const LearntType& type : types) {
      if (minibatch.nodes.empty()) continue;
      bytes += std::ssize(minibatch.nodes[type.node_type]) * type.dim *
               static_cast<int64_t>(sizeof(float));
    }
    return bytes;
  };
}

// Once a run, whatever its feeds are.
std::function<void(int64_t bytes, int64_t bulk)> SayOfLittleMemory(const Session& session) {
  return [rank = session.options.rank, memory = session.options.prefetch_memory,
          told = session.told_of_memory](int64_t bytes, int64_t bulk) {
    if (told->exchange(true)) return;
    if (bulk > 1) {
      spdlog::warn(
          "rank {}: --bulk {} needs --prefetch-memory {}, and has {}: its steps are made ready one "
          "at a time; give that much, or less --bulk",
          rank, bulk, FormatBytes(bytes), FormatBytes(memory));
      return;
    }
    spdlog::warn(
        "rank {}: a step needs --prefetch-memory {}, and has {}: steps are prepared one at a time; "
        "give {} for each step that is to be prepared ahead",
        rank, FormatBytes(bytes), FormatBytes(memory), FormatBytes(bytes));
  };
}

std::function<void(int64_t rows, int64_t room)> SayOfSmallCache(const Session& session) {
  return [rank = session.options.rank, memory = session.options.MemoryOfCache()](int64_t rows,
                                                                                 int64_t room) {
    spdlog::warn(
        "rank {}: a step reads {} remote rows, and the cache has room for {} in its {}: give "
        "--cache-memory {} at least, or --cache off",
        rank, rows, room, FormatBytes(memory),
        FormatBytes(static_cast<int64_t>(static_cast<double>(memory) / static_cast<double>(room) *
                                         static_cast<double>(rows))));
  };
}

StreamOptions StreamOptionsOf(const Session& session, BatchPurpose purpose, int64_t first_epoch,
                              int64_t first_step, std::optional<int64_t> ahead,
                              const CancelToken* cancel) {
  const TrainOptions& options = session.options;
  const bool train = purpose == BatchPurpose::kTrain;
  StreamOptions stream;
  stream.purpose = purpose;
  stream.seed = options.seed;
  stream.rank = options.rank;
  stream.world_size = options.world_size;
  stream.batch_size = train ? options.batch_size : options.eval_batch_size;
  stream.epochs = train ? options.epochs : 1;
  stream.max_steps = train ? options.control.max_steps : 0;
  stream.first_epoch = first_epoch;
  stream.first_step = first_step;
  stream.threads = static_cast<size_t>(session.sampler.minibatches);
  const int64_t staleness = std::max<int64_t>(0, StalenessOf(session, purpose));
  stream.prefetch = static_cast<size_t>(std::max<int64_t>(options.prefetch, staleness));
  stream.always = std::max<int64_t>(1, staleness);
  stream.sampled = ahead.value_or(-1);
  if (options.prefetch_memory > 0) stream.memory = options.prefetch_memory;
  stream.more_bytes = LearntBytes(session);
  if (train) stream.bulk = options.bulk;
  stream.too_large = SayOfLittleMemory(session);
  if (train) {
    stream.cache = session.cache.get();
    stream.small_cache = SayOfSmallCache(session);
  }
  stream.on_stage = StageTracer(session);
  stream.pulled = session.metrics.get();
  stream.cancel = cancel;
  return stream;
}

// Its first `cols` columns; the room behind them goes along.
torch::Tensor TakeMatrix(FeatureMatrix& matrix, int64_t cols) {
  const int64_t rows = matrix.rows();
  const int64_t stride = matrix.cols();
  const auto type = matrix.precision() == Precision::kBf16 ? torch::kBFloat16 : torch::kFloat32;
  return torch::from_blob(matrix.Release(), {rows, stride}, FeatureMatrix::Free, type)
      .narrow(1, 0, cols);
}

// The stages behind those of the stream: `learn`, where rows are learnt, stands first.
std::vector<StepStage> StagesOf(const Session& session, int64_t staleness,
                                const CancelToken* cancel) {
  std::vector<StepStage> stages;
  if (session.learnt != nullptr) {
    stages.push_back({.name = "learn",
                      .run = [&session, cancel](
                                 int64_t, Step* step) { return PullLearnt(session, cancel, step); },
                      // Those that read what is there when training begins.
                      .admitted = staleness < 0 ? -1 : staleness + 1});
  }
  const auto move = [&session](int64_t, Step* step) {
    return session.copier == nullptr ? MoveToTensors(step) : MoveToDevice(session, step);
  };
  stages.push_back({.name = "move", .run = move});
  return stages;
}

// The rows of TakeMatrix with the room behind them, which is contiguous.
torch::Tensor WithTheirRoom(const torch::Tensor& rows) {
  return rows.as_strided({rows.size(0), rows.stride(0)}, {rows.stride(0), 1});
}

MovedRows& RowsOf(Step* step) {
  if (step->tensors == nullptr) step->tensors = std::make_unique<MovedRows>();
  return static_cast<MovedRows&>(*step->tensors);
}

// The rows of the host that are learnt get their gradients there.
void GiveLearnt(Session& session, const Step& step, bool training, ModelInput* input) {
  if (session.learnt == nullptr) return;
  session.learnt->Give(LearntOf(step), training, input);
  for (torch::Tensor& rows : input->nodes) {
    if (rows.defined()) rows = rows.to(session.device.torch());
  }
}

// What makes rows of all nodes, on the device, of those that are gathered, which begin at position
// `first` of `host`; null: these are all. What it needs it puts behind `host`.
BatchCopier::Then JoinHeldRows(const Session& session, const Step& step, size_t first,
                               std::vector<torch::Tensor>* host) {
  if (session.device_rows == nullptr || step.split.places.empty()) return {};
  session.device_rows->AddPlaces(session.device, step.split, host);
  return [&session, &step, first](std::vector<torch::Tensor>* there) {
    session.device_rows->Join(step.split, first, there);
  };
}

// Blocks on a device count in int32.
Status CheckBlocks(const Session& session, const Minibatch& minibatch) {
  for (const SampledLayer& layer : minibatch.layers) {
    for (const Block& block : layer.blocks) {
      // Self loops add an edge a destination.
      const int64_t edges = std::ssize(block.indices) + std::ssize(block.indptr);
      if (edges <= std::numeric_limits<int32_t>::max()) continue;
      return InvalidArgument(
          "rank {}: a layer of a minibatch has {} edges, and one on a device may have 2^31: lower "
          "--batch-size, --eval-batch-size, --fanouts, or with --exact --memory",
          session.options.rank, std::ssize(block.indices));
    }
  }
  return OkStatus();
}

// In host memory from which the device copies by itself.
torch::Tensor LabelsToMove(const Device& device, const Step& step) {
  const torch::Tensor labels = LabelsOf(step);
  return device.HostTensor(labels.sizes(), labels.scalar_type()).copy_(labels);
}

torch::Tensor WeightsToMove(const Device& device, const Step& step) {
  const torch::Tensor weights = RowWeightsOf(step, torch::kCPU);
  return device.HostTensor(weights.sizes(), torch::kFloat32).copy_(weights);
}

// Of all lists, one after the other.
torch::Tensor PositionsToMove(const Device& device, const Step& step) {
  const std::vector<std::vector<int32_t>>& lists = step.minibatch.seed_positions;
  int64_t count = 0;
  for (const std::vector<int32_t>& list : lists) count += std::ssize(list);
  const torch::Tensor all = device.HostTensor({count}, torch::kInt32);
  auto* to = all.data_ptr<int32_t>();
  for (const std::vector<int32_t>& list : lists) to = std::copy(list.begin(), list.end(), to);
  return all;
}

std::vector<torch::Tensor> ListsOf(const Minibatch& minibatch, const torch::Tensor& positions) {
  std::vector<torch::Tensor> lists;
  int64_t begin = 0;
  for (const std::vector<int32_t>& list : minibatch.seed_positions) {
    lists.push_back(positions.narrow(0, begin, std::ssize(list)));
    begin += std::ssize(list);
  }
  return lists;
}

}  // namespace

Status PullLearnt(const Session& session, const CancelToken* cancel, Step* step) {
  const Stopwatch watch;
  const CallContext like{.cancel = cancel,
                         .trace_id = TraceIdOf(session.options.rank, step->key),
                         .pulled = session.metrics.get()};
  HG_ASSIGN_OR_RETURN(LearntRows rows, session.learnt->Pull(step->minibatch, like));
  step->learnt = rows.stats;
  step->learn_seconds = watch.Seconds();
  RowsOf(step).learnt = std::move(rows);
  return OkStatus();
}

Status MoveToTensors(Step* step) {
  MovedRows& moved = RowsOf(step);
  for (FeatureMatrix& features : step->features) {
    moved.nodes.push_back(features.cols() > 0 ? TakeMatrix(features, features.cols())
                                              : torch::Tensor());
  }
  for (SelfAndMean& block : step->self_and_mean) {
    moved.self_and_mean.push_back(TakeMatrix(block.rows, block.cols));
  }
  return OkStatus();
}

BatchRecipe ForDevice(BatchRecipe recipe) {
  recipe.input_rows = InputRows::kNodes;
  recipe.precision = Precision::kFloat32;
  // Forms of all relations at once are of the CPU's kernels.
  if (recipe.form != BlockForm::kSelfLoops) recipe.form = BlockForm::kSampled;
  return recipe;
}

CompactIds CompactOnDevice(const Device& device, int rank) {
  return [compaction = std::make_shared<const DeviceCompaction>(device), name = device.name(),
          rank](std::span<const IdsToCompact> types) -> Status {
    try {
      compaction->Compact(types);
      return OkStatus();
    } catch (const std::exception& error) {
      return TorchError(rank, "compacting a minibatch on " + name, error);
    }
  };
}

Status MoveToDevice(const Session& session, Step* step) {
  HG_RETURN_IF_ERROR(CheckBlocks(session, step->minibatch));
  HG_RETURN_IF_ERROR(MoveToTensors(step));
  MovedRows& moved = RowsOf(step);
  const Device& device = session.device;
  try {
    const BlockLayout layout(step->minibatch, step->blocks);
    const torch::Tensor blocks = device.HostTensor({layout.size()}, torch::kInt32);
    layout.Write(blocks.data_ptr<int32_t>());
    std::vector<torch::Tensor> host = {blocks, PositionsToMove(device, *step),
                                       LabelsToMove(device, *step)};
    const bool weighs_rows = !step->row_weights.empty();
    if (weighs_rows) host.push_back(WeightsToMove(device, *step));
    const size_t first_nodes = host.size();
    host.insert(host.end(), moved.nodes.begin(), moved.nodes.end());
    for (const torch::Tensor& rows : moved.self_and_mean) host.push_back(WithTheirRoom(rows));
    const BatchCopier::Then join = JoinHeldRows(session, *step, first_nodes, &host);
    moved.batch = session.copier->Copy(std::move(host), join);
    const std::vector<torch::Tensor>& there = moved.batch->tensors();
    auto next = there.begin();
    moved.blocks = layout.Views(*next++);
    moved.positions = ListsOf(step->minibatch, *next++);
    moved.labels = *next++;
    if (weighs_rows) moved.row_weights = *next++;
    for (torch::Tensor& rows : moved.nodes) rows = *next++;
    for (torch::Tensor& rows : moved.self_and_mean) rows = next++->narrow(1, 0, rows.size(1));
    return OkStatus();
  } catch (const std::exception& error) {
    return TorchError(session.options.rank, "copying a minibatch to " + device.name(), error);
  }
}

BatchFeed::BatchFeed(const Session& session, BatchPurpose purpose, const SeedSource& source,
                     int64_t first_epoch, int64_t first_step, OnSignal on_signal,
                     std::optional<int64_t> ahead)
    : session_(session),
      stoppable_(on_signal == OnSignal::kEnd),
      shards_(session.Shards(source)),
      staleness_(StalenessOf(session, purpose)),
      on_run_cancel_(stoppable_ ? &session.cancel : nullptr, [this] { cancel_.Cancel(); }),
      ahead_(ahead.has_value() ? std::optional(std::max(*ahead, staleness_ + session.options.bulk))
                               : std::nullopt),
      stream_(
          purpose == BatchPurpose::kTrain ? session.train_maker.get() : session.eval_maker.get(),
          &source, shards_,
          StreamOptionsOf(session, purpose, first_epoch, first_step, ahead_, &cancel_),
          StagesOf(session, staleness_, &cancel_)) {}

BatchFeed::~BatchFeed() { cancel_.Cancel(); }

void BatchFeed::End() {
  cancel_.Cancel();
  stream_.Close();
}

StatusOr<Step> BatchFeed::Next(FeedWaits* waits) {
  HG_RETURN_IF_ERROR(CheckStop());
  const Stopwatch watch;
  // Where rows are learnt, what the loop waits for behind this is their pull.
  if (staleness_ >= 0) stream_.AwaitStage(stream_.more() - 1, taken_);
  const double shared = watch.Seconds();
  auto next = stream_.Next();
  const double waited = watch.Seconds();
  // A signal cancels the calls; what they then say is not the reason.
  if (!next.ok()) HG_RETURN_IF_ERROR(CheckStop());
  HG_ASSIGN_OR_RETURN(std::optional<Step> step, std::move(next));
  if (!step.has_value()) return Internal("a minibatch was asked for after the last");
  ++taken_;
  if (ahead_.has_value()) stream_.Admit(stream_.sample_stage(), taken_ + *ahead_);
  const double prepared = step->sample_seconds + step->pull_seconds + step->learn_seconds;
  const double sampling = prepared > 0 ? step->sample_seconds / prepared : 0.0;
  const double of_sampling = (staleness_ >= 0 ? shared : waited) * sampling;
  waits->sample_s += of_sampling;
  waits->feature_s += waited - of_sampling;
  return std::move(*step);
}

void BatchFeed::AwaitPulls() {
  if (staleness_ > 0) stream_.AwaitStage(stream_.more(), taken_ - 1 + staleness_);
}

void BatchFeed::Pushed() {
  if (staleness_ >= 0) stream_.Admit(stream_.more(), taken_ + staleness_ + 1);
}

// The next step, those that are pulled before a push, with the rest of the bulk of the last of
// them, and those that are at servers.
int64_t BatchFeed::LeastAhead() const {
  return std::max({int64_t{1}, staleness_ + stream_.bulk(), stream_.least_ahead()});
}

ThreadLimits BatchFeed::Limits(int processors) const {
  return {.processors = processors,
          .sample = static_cast<int>(stream_.threads(stream_.sample_stage())),
          .gather = static_cast<int>(stream_.threads(stream_.gather_stage())),
          .ahead = static_cast<int>(LeastAhead())};
}

void BatchFeed::Limit(const ThreadSplit& split) {
  stream_.Limit(stream_.sample_stage(), static_cast<size_t>(split.sample));
  stream_.Limit(stream_.gather_stage(), static_cast<size_t>(split.gather));
}

void BatchFeed::KeepAhead(std::optional<int64_t> steps) {
  ahead_ = steps.has_value() ? std::optional(std::max(*steps, LeastAhead())) : std::nullopt;
  stream_.Admit(stream_.sample_stage(), ahead_.has_value() ? taken_ + *ahead_ : kNoBound);
}

std::vector<BatchFeed::StageTime> BatchFeed::StageTimes() const {
  std::vector<StageTime> times;
  const std::vector<StageSeconds> seconds = stream_.Seconds();
  for (size_t stage = 0; stage < seconds.size(); ++stage) {
    times.push_back({stream_.stages()[stage].name, seconds[stage]});
  }
  return times;
}

std::map<std::string, StageSeconds> BatchFeed::ThreadTimes() const {
  std::map<std::string, StageSeconds> times;
  const std::vector<StageSeconds> seconds = stream_.ThreadSeconds();
  for (size_t stage = 0; stage < seconds.size(); ++stage) {
    times[stream_.stages()[stage].name] = seconds[stage];
  }
  return times;
}

const LearntRows& LearntOf(const Step& step) {
  static const LearntRows none;
  return step.tensors == nullptr ? none : static_cast<const MovedRows&>(*step.tensors).learnt;
}

ModelInput InputOf(Step& step, std::optional<uint64_t> draws) {
  ModelInput input{.minibatch = &step.minibatch, .nodes = {}, .draws = draws};
  MovedRows& rows = RowsOf(&step);
  input.nodes = std::exchange(rows.nodes, {});
  input.self_and_mean = std::exchange(rows.self_and_mean, {});
  if (!step.blocks.layers.empty()) input.blocks = &step.blocks;
  if (rows.batch == nullptr) return input;
  rows.batch->Use();
  input.on_device = &rows.blocks;
  return input;
}

ModelInput TrainingInputOf(Session& session, Step& step, uint64_t draws) {
  ModelInput input = InputOf(step, draws);
  GiveLearnt(session, step, true, &input);
  return input;
}

ModelInput EvaluationInputOf(Session& session, Step& step) {
  ModelInput input = InputOf(step, {});
  GiveLearnt(session, step, false, &input);
  return input;
}

}  // namespace halograph
