#include "trainer/run/prepare.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "common/base/build_info.h"
#include "common/base/list_some.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/sampling/kernel/sampler_plan.h"
#include "trainer/device/host_memory.h"
#include "trainer/distributed/gradients.h"
#include "trainer/kernels/product_kernel.h"
#include "trainer/launch/auto_model.h"
#include "trainer/launch/blas.h"
#include "trainer/models/registry.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/run/feature_scales.h"
#include "trainer/run/infer_rows.h"
#include "trainer/run/open_choices.h"
#include "trainer/run/own_state.h"
#include "trainer/run/row_cache.h"
#include "trainer/run/sampling.h"
#include "trainer/run/stores.h"
#include "trainer/run/unread_parts.h"
#include "trainer/tasks/registry.h"
#include "trainer/torch/seeded_draws.h"
#include "trainer/torch/tensor_pool.h"
#include "trainer/torch/torch_log.h"
#include "trainer/training/device_cache.h"

namespace halograph {
namespace {

// Whether the first layer's rows are learnt, or made of features by weights: a model of several
// node types maps rows of other widths to one (models/input_projection.h).
bool InputsGetGradients(const RunInputs& inputs, const Schema& schema) {
  if (!inputs.learnt.empty()) return true;
  std::vector<int64_t> columns(schema.node_types.size());
  for (const NodeInput& input : inputs.features) columns[input.node_type] += input.spec.dim;
  return std::adjacent_find(columns.begin(), columns.end(), std::not_equal_to<>()) != columns.end();
}

StatusOr<BatchRecipe> RecipeOf(const Session& session, const ModelKind& kind,
                               const RunInputs& inputs, bool training) {
  const TrainOptions& options = session.options;
  BatchRecipe recipe;
  const ModelNeeds needs = session.options.model_options->NeedsOf(kind.needs);
  HG_ASSIGN_OR_RETURN(recipe.sampling, SamplingOf(session, needs, training));
  recipe.source_degrees = needs.source_degrees;
  HG_ASSIGN_OR_RETURN(recipe.edge_weights, ChooseEdgeWeights(session.stores.graph->info().schema,
                                                             options.edge_weight, recipe.sampling));
  if (training) {
    recipe.walks = session.tables.walks;
    recipe.edge_weights.sums = session.tables.weight_sums;
  }
  recipe.edge_ids = needs.edge_ids;
  recipe.weights = needs.weights;
  recipe.inputs = inputs.features;
  if (session.device_rows != nullptr) recipe.held = session.device_rows->held();
  // What is learnt is not there yet when a minibatch is prepared.
  recipe.input_rows = inputs.learnt.empty() ? needs.input_rows : InputRows::kNodes;
  recipe.precision = session.options.precision;
  recipe.form = needs.form;
  if (training) recipe.by_source = needs.by_source;
  if (recipe.by_source == BySource::kAboveFirst &&
      InputsGetGradients(inputs, session.stores.graph->info().schema)) {
    recipe.by_source = BySource::kAll;
  }
  recipe.pool = session.preparing.get();
  recipe.compact = session.compact;
  return session.device.is_cpu() ? recipe : ForDevice(std::move(recipe));
}

// By which kernel --precision bf16 makes products, and what it is not that one might expect.
Status ChooseProductsOf(const TrainOptions& options) {
  if (options.precision != Precision::kBf16) return OkStatus();
  const StatusOr<ProductChoice>& choice = ChosenProducts();
  if (!choice.ok()) return choice.status();
  if (!choice->denied.empty()) {
    spdlog::warn(
        "rank {}: --precision bf16: this processor has AMX, but the system does not permit it "
        "({}). "
        "Products are made by {}",
        options.rank, choice->denied, choice->kernel->name);
  } else if (!choice->kernel->has_pairs() && !choice->forced) {
    spdlog::warn(
        "rank {}: --precision bf16: this processor has no fast products of bfloat16 (AMX, or "
        "AVX512-BF16 of AMD). Rows are kept as bfloat16, and products are made of them in float32",
        options.rank);
  }
  return OkStatus();
}

void SayIfNothingTravels(const TrainOptions& options) {
  if (options.gradient_dtype == GradientDtype::kFloat32 || options.world_size > 1) return;
  spdlog::warn("--gradient-dtype bfloat16: there is one rank, whose gradients go nowhere");
}

void PlanSampling(Session& session) {
  const SamplerThreads threads = SamplerThreadsOf(session.options);
  session.sampler = PlanSampler(session.stores.graph->info().schema, threads);
  if (session.sampler.helpers > 0) {
    const auto helpers = static_cast<size_t>(session.sampler.helpers);
    session.preparing = std::make_unique<ThreadPool>("hg-rows", helpers, helpers * 4);
  }
  if (session.sampler.table_bytes <= threads.memory) return;
  spdlog::warn(
      "rank {}: sampling one minibatch needs tables of {}, more than --sampler-memory {}: "
      "sampling one minibatch at a time",
      session.options.rank, FormatBytes(session.sampler.table_bytes), FormatBytes(threads.memory));
}

Status JoinRanks(Session& session) {
  const TrainOptions& options = session.options;
  // While one rank waits for a server that went away, the others wait for it.
  const auto timeout = options.remote.timeout + options.remote.server_timeout;
  const GroupOptions group{.process = options.rank,
                           .num_processes = options.world_size,
                           .master_addr = options.master_addr,
                           .master_port = options.master_port,
                           .job = options.job,
                           .timeout = timeout,
                           .stop = session.stop->flag()};
  const bool alone = session.seat.host == nullptr;
  HG_ASSIGN_OR_RETURN(session.ranks,
                      alone ? Communicator::Join(group) : Communicator::Join(group, session.seat));
  return OkStatus();
}

// A row that cannot be learnt from is met by the rank that reads it alone: it joins the others
// before it fails, so that they are told why (Leave) and do not wait for it.
Status OpenTaskOf(Session& session) {
  const TrainOptions& options = session.options;
  auto task = [&] {
    const SeededDraws weights(TrainerKey(options.seed, TrainerStream::kTask, 0, 0));
    return OpenTask(session.stores, options.tasks, options.task,
                    {options.rank, options.world_size});
  }();
  if (!task.ok()) {
    if (task.status().code() == absl::StatusCode::kOutOfRange) {
      const Status joined = JoinRanks(session);
      if (!joined.ok()) spdlog::warn("{}", ToString(joined));
    }
    return task.status();
  }
  session.task = std::move(*task);
  session.task->MoveTo(session.device.torch());
  return OkStatus();
}

int64_t StepsPerEpoch(const Session& session) {
  const TrainOptions& options = session.options;
  const SeedSource& train = *session.task->source(BatchPurpose::kTrain);
  if (options.average_every == 0) return session.Shards(train).Steps(options.batch_size);
  int64_t most = 0;
  const std::span<const int64_t> rows = train.part_rows();
  for (size_t part = 0; part + 1 < rows.size(); ++part) {
    most = std::max(most, rows[part + 1] - rows[part]);
  }
  return (most + options.batch_size - 1) / options.batch_size;
}

void WarnOfLongWarmUp(const Session& session) {
  const TrainOptions& options = session.options;
  const RunLength length = LengthOf(session);
  if (options.control.warmup_steps < length.steps || options.control.warmup_steps == 0) return;
  spdlog::warn(
      "--warmup-steps {}: the run takes {} steps ({} epochs of {}), so the learning rate ends at "
      "{:.2g} and never comes to --lr {:g}: give fewer, or more --epochs",
      options.control.warmup_steps, length.steps, options.epochs, length.steps_per_epoch,
      LearningRate(options.control, options.learning_rate, length.steps - 1, length),
      options.learning_rate);
}

void WarnOfLargeBulk(const Session& session) {
  const int64_t steps = LengthOf(session).steps_per_epoch;
  if (session.options.bulk <= std::max<int64_t>(steps, 1)) return;
  spdlog::warn("--bulk {}: an epoch has {} steps, and so many are sampled together",
               session.options.bulk, steps);
}

// That rows of these tensors can be pulled: none is. `what` they are.
Status CheckRows(const Session& session, std::string_view what, std::vector<TensorRef> tensors) {
  std::vector<RowRequest> none;
  for (TensorRef& tensor : tensors) none.push_back({.tensor = std::move(tensor)});
  if (none.empty()) return OkStatus();
  CallContext context{.cancel = &session.cancel};
  return Annotate(session.stores.rows->Pull(none, context), what);
}

Status CheckFeatureRows(const Session& session, const RunInputs& inputs) {
  std::vector<TensorRef> tensors;
  for (const NodeInput& input : inputs.features) tensors.push_back(input.feature);
  return CheckRows(session, "features", std::move(tensors));
}

// Those of training are read by evaluation, too.
Status CheckEdgeWeightRows(const Session& session) {
  std::vector<TensorRef> tensors;
  for (const auto* const maker : {session.train_maker.get(), session.eval_maker.get()}) {
    for (const EdgeInput& weight : maker->recipe().edge_weights.pulled) {
      if (std::find(tensors.begin(), tensors.end(), weight.feature) == tensors.end()) {
        tensors.push_back(weight.feature);
      }
    }
  }
  return CheckRows(session, "--edge-weight", std::move(tensors));
}

Status MakeMakers(Session& session, const ModelKind& kind, const RunInputs& inputs) {
  for (auto* const maker : {&session.train_maker, &session.eval_maker}) {
    HG_ASSIGN_OR_RETURN(
        const BatchRecipe recipe,
        RecipeOf(session, kind, inputs, /*training=*/maker == &session.train_maker));
    // What no minibatch could be made of is an error now, not after the ranks have met.
    HG_RETURN_IF_ERROR(
        ValidateRequest(session.stores.graph->info().schema, {.spec = &recipe.sampling,
                                                              .edge_ids = recipe.asks_edge_ids(),
                                                              .weights = recipe.asks_weights()}));
    // What is evaluated is read once an epoch, and passes by the cache.
    RowStore* const rows = maker == &session.train_maker && session.cache != nullptr
                               ? session.cache.get()
                               : session.stores.rows.get();
    *maker = std::make_unique<BatchMaker>(session.stores.graph.get(), rows, recipe);
  }
  return OkStatus();
}

// Rows are gathered into memory that the device reads. Once for the process, whose ranks share the
// device.
void GatherFor(const Device& device) {
  static std::once_flag done;
  std::call_once(done, [&device] {
    auto* const blocks = new HostBlocks(device);  // rows outlive main
    SetFeatureMemory({.take = [blocks](size_t bytes) { return blocks->Take(bytes); },
                      .give = [blocks](void* data) { blocks->Give(data); }});
  });
}

// What stays on the device is not asked of the cache of remote rows.
Status OpenCaches(Session& session, const ModelKind& kind, const RunInputs& inputs) {
  // Its rows are those of minibatches, and so need the scales of features.
  const bool fills = session.options.device_cache_memory > 0;
  if (fills) HG_RETURN_IF_ERROR(MakeMakers(session, kind, inputs));
  HG_RETURN_IF_ERROR(OpenDeviceCache(session));
  return OpenRowCache(session, inputs);
}

// The device that --device names, and the memory that its copies are made from.
Status OpenDevice(Session& session) {
  TrainOptions& options = session.options;
  HG_ASSIGN_OR_RETURN(session.device, Device::Open(options.device, options.local_rank));
  options.device = session.device.name();
  if (session.device.is_cpu() && options.compact == CompactOn::kDevice) {
    return FailedPrecondition(
        "--compact device: --device auto found no device here, and the CPU computes; leave out "
        "--compact");
  }
  if (session.device.is_cpu()) return OkStatus();
  session.copier = std::make_unique<const BatchCopier>(session.device);
  if (options.compact == CompactOn::kDevice) {
    session.compact = CompactOnDevice(session.device, options.rank);
  }
  GatherFor(session.device);
  const auto memory = session.device.Memory();
  spdlog::info("rank {}: computing on {}{}", options.rank, options.device,
               memory.has_value()
                   ? fmt::format(", {} of {} of its memory free", FormatBytes(memory->free),
                                 FormatBytes(memory->total))
                   : "");
  return OkStatus();
}

// OpenBLAS tries for ever to get the buffer that it needs, from its first product of matrices on.
// It gets it here, or memory is out.
Status TakeBlasBuffer() {
  HG_RETURN_IF_ERROR(CheckBlasMemory(FastBlasName()));
  constexpr int64_t kEnough = 256;  // columns, for all its threads to share the product
  const torch::Tensor square = torch::zeros({kEnough, kEnough});
  static_cast<void>(torch::mm(square, square));
  return OkStatus();
}

}  // namespace

void SetUpComputation() {
  PoolTensors();
  TakeTorchLog();
  // One operation at a time: the pipeline's threads are the parallelism beside it.
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
}

void SetUpThread(const TrainOptions& options) { at::set_num_threads(options.threads); }

Status PrepareMinibatches(Session& session, RunInputs* inputs) {
  HG_ASSIGN_OR_RETURN(const ModelKind* const kind, FindModelKind(session.options.model));
  PlanSampling(session);
  HG_ASSIGN_OR_RETURN(*inputs, ChooseInputsOf(session, *kind));
  HG_RETURN_IF_ERROR(CheckFeatureRows(session, *inputs));
  HG_RETURN_IF_ERROR(OpenTaskOf(session));
  HG_RETURN_IF_ERROR(MakeMakers(session, *kind, *inputs));
  return CheckEdgeWeightRows(session);
}

Status Prepare(Session& session, RunInputs* inputs, const InferOptions* infer) {
  HG_RETURN_IF_ERROR(TakeBlasBuffer());
  const TrainOptions& options = session.options;
  // What this machine lacks is told before anybody is asked for anything.
  HG_RETURN_IF_ERROR(OpenDevice(session));
  if (session.device.is_cpu()) HG_RETURN_IF_ERROR(ChooseProductsOf(options));
  SayIfNothingTravels(options);
  HG_ASSIGN_OR_RETURN(session.stores,
                      OpenStoresOf(options,
                                   infer == nullptr ? ChooseStateOfTraining(options)
                                                    : ChooseStateOfInference(options, *infer),
                                   &session.cancel));
  HG_RETURN_IF_ERROR(ResolveModel(session.stores.graph->info().schema, &session.options));
  HG_ASSIGN_OR_RETURN(const ModelKind* const kind, FindModelKind(options.model));
  HG_RETURN_IF_ERROR(PrepareMinibatches(session, inputs));
  if (options.model_options->NeedsOf(kind->needs).neighbors && options.rank == 0) {
    WarnOfUnreadParts(session.stores.graph->info().schema, *session.task);
  }
  if (options.rank == 0 && infer == nullptr && !options.part_only) TellOfSubParts(options);
  if (options.rank == 0) {
    WarnOfUnreadEdgeFeatures(session.stores.graph->info().schema, options.sampling_weights,
                             options.edge_weight);
  }
  ResolveEpochs(session);
  ResolveChoices(session, *inputs);
  HG_RETURN_IF_ERROR(ResolvePredict(session));
  HG_RETURN_IF_ERROR(JoinRanks(session));
  Json facts = SharedFacts(options);
  facts["graph_identity"] = session.stores.graph->info().identity;
  facts["build"] = BuildVersion();
  facts["device"] = session.device.is_cpu() ? "cpu" : "cuda";
  if (!options.part_only) facts["outputs"] = session.task->output_dim();  // else CheckAveraged's
  HG_RETURN_IF_ERROR(session.ranks->Agree(facts));
  if (infer == nullptr) {
    HG_RETURN_IF_ERROR(PrepareSampler(session, options.model_options->NeedsOf(kind->needs)));
    if (options.rank == 0) WarnOfSampler(session, kind->needs);
  }
  HG_RETURN_IF_ERROR(
      FindFeatureScales(session, inputs->features, infer == nullptr ? "" : infer->checkpoint));
  TakeFeatureScales(session.feature_scales, &inputs->features);
  if (infer == nullptr) HG_RETURN_IF_ERROR(OpenCaches(session, *kind, *inputs));
  if (!session.feature_scales.empty() || session.cache != nullptr ||
      session.device_rows != nullptr || !session.tables.empty()) {
    HG_RETURN_IF_ERROR(MakeMakers(session, *kind, *inputs));
  }
  if (!options.model_options->NeedsOf(kind->needs).neighbors) return OkStatus();
  return session.task->CheckGraph(*session.stores.graph, *session.ranks, &session.cancel);
}

RunLength LengthOf(const Session& session) {
  return LengthOfRun(session.options.epochs, StepsPerEpoch(session),
                     session.options.control.max_steps);
}

Status CheckRows(Session& session, const RunInputs& inputs) {
  if (session.options.rank == 0) {
    WarnOfLongWarmUp(session);
    WarnOfLargeBulk(session);
  }
  if (session.options.part_only) return OkStatus();
  std::vector<int> learnt;
  for (const LearntType& type : inputs.learnt) learnt.push_back(type.node_type);
  return session.task->CheckRows(session.stores, *session.ranks, learnt, &session.cancel);
}

Status MakeModel(Session& session, const RunInputs& inputs) {
  const TrainOptions& options = session.options;
  HG_ASSIGN_OR_RETURN(const ModelKind* const kind, FindModelKind(options.model));
  ModelShape shape;
  shape.schema = &session.stores.graph->info().schema;
  shape.input_dims.resize(shape.schema->node_types.size());
  for (const NodeInput& input : inputs.features) {
    shape.input_dims[input.node_type] += input.spec.dim;
  }
  for (const LearntType& type : inputs.learnt) shape.input_dims[type.node_type] = type.dim;
  session.input_dims = shape.input_dims;
  shape.layers = options.layers;
  shape.output_dim = session.task->output_dim();
  shape.precision = options.precision;
  {
    const SeededDraws weights(TrainerKey(options.seed, TrainerStream::kInitialWeights, 0, 0));
    session.model = kind->make(*options.model_options, shape);
  }
  // Drawn on the CPU, the weights are the same for every device.
  HG_RETURN_IF_ERROR(BroadcastParameters(session.Parameters(), *session.ranks));
  if (!session.device.is_cpu()) session.model->to(session.device.torch());
  return OkStatus();
}

Status CheckLearns(const Session& session, const RunInputs& inputs) {
  if (!session.task->parameters().empty()) return OkStatus();
  const std::vector<NodeType>& types = session.stores.graph->info().schema.node_types;
  std::vector<std::string> names;
  for (const int type : session.task->seed_types()) {
    const bool learnt = std::any_of(inputs.learnt.begin(), inputs.learnt.end(),
                                    [&](const LearntType& of) { return of.node_type == type; });
    if (learnt || session.model->HasWeightsOf(type)) return OkStatus();
    names.push_back(types[type].name);
  }
  return FailedPrecondition(
      "--model {} has nothing to learn: the features of {} are {} wide, as the outputs of task "
      "'{}' are, so they are taken as they are. Learn rows with --embed {}, or give another "
      "--model",
      session.options.model, ListSomeNames(names, 5), session.task->output_dim(),
      session.task->name(), names.front());
}

Status OpenLearntInputs(Session& session, const RunInputs& inputs) {
  if (inputs.learnt.empty()) return OkStatus();
  const TrainOptions& options = session.options;
  const bool here = options.remote.servers.empty();
  if (here && session.stores.admin == nullptr) {
    const std::vector<NodeType>& types = session.stores.graph->info().schema.node_types;
    return FailedPrecondition(
        "the inputs of node type '{}' are learnt, and with --graph they are kept for one process "
        "of one rank: for {} ranks start halograph-server with --state DIR, and give --servers",
        types[inputs.learnt.front().node_type].name, options.world_size);
  }
  HG_ASSIGN_OR_RETURN(
      session.learnt,
      LearntInputs::Open(session.stores, options.embeddings, inputs.learnt,
                         TrainerKey(options.seed, TrainerStream::kLearntInputs, 0, 0),
                         session.ranks.get(), &session.cancel));
  return OkStatus();
}

}  // namespace halograph
