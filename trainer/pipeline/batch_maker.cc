#include "trainer/pipeline/batch_maker.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/stopwatch.h"
#include "trainer/pipeline/feature_pull.h"
#include "trainer/pipeline/weight_sums.h"

namespace halograph {
namespace {

std::vector<std::optional<RowsInPlace>> FindInPlace(const GraphStore& graph, const RowStore& rows,
                                                    const BatchRecipe& recipe) {
  std::vector<std::optional<RowsInPlace>> found(graph.info().schema.node_types.size());
  if (recipe.input_rows != InputRows::kSelfAndMean) return found;
  const std::vector<int64_t> columns = ColumnsOf(recipe, found.size());
  for (const NodeInput& input : recipe.inputs) {
    if (!TakenAsStored(input, columns[input.node_type])) continue;
    found[input.node_type] = rows.InPlace(input.feature);
  }
  return found;
}

// Where the row of each of some nodes is.
class StoredRows {
 public:
  StoredRows() = default;
  StoredRows(const RowsInPlace& in_place, std::span<const int64_t> nodes)
      : memory_(TakeFeatureMemory(nodes.size() * sizeof(const std::byte*)), GiveFeatureMemory),
        rows_(static_cast<const std::byte**>(memory_.get()), nodes.size()) {
    in_place.Find(nodes, rows_);
  }
  [[nodiscard]] std::span<const std::byte* const> rows() const { return rows_; }

 private:
  std::unique_ptr<void, void (*)(void*)> memory_ = {nullptr, GiveFeatureMemory};
  std::span<const std::byte*> rows_;
};

// Borrows from `seeds` and `recipe`.
SampleRequest RequestFor(const StepSeeds& seeds, uint64_t batch_seed, const BatchRecipe& recipe) {
  SampleRequest request{.batch_seed = batch_seed,
                        .spec = &recipe.sampling,
                        .edge_ids = recipe.asks_edge_ids(),
                        .weights = recipe.asks_weights(),
                        .source_degrees = recipe.source_degrees};
  for (const auto& list : seeds.seeds) request.seeds.push_back({list.type, list.ids});
  for (const auto& edges : seeds.exclude) {
    request.exclude.push_back({edges.relation, edges.sources, edges.destinations});
  }
  return request;
}

template <typename T>
int64_t BytesOf(const std::vector<T>& values) {
  return static_cast<int64_t>(values.size() * sizeof(T));
}

// What other forms of a block have, too. `weighed`: whether it is to have coefficients.
int64_t BytesOfBlock(const Block& block, bool weighed) {
  const auto coefficients = weighed ? std::ssize(block.indices) : std::ssize(block.coefficients);
  return BytesOf(block.indptr) + BytesOf(block.indices) +
         coefficients * static_cast<int64_t>(sizeof(float)) + BytesOf(block.degrees);
}

// What the block alone has; ids that weights are pulled by stay until these are there.
int64_t BytesBesideBlocks(const Minibatch& minibatch) {
  int64_t bytes = 0;
  for (const SampledLayer& layer : minibatch.layers) {
    for (const Block& block : layer.blocks) {
      bytes += BytesOf(block.edge_ids) + BytesOf(block.weights);
    }
  }
  return bytes;
}

int64_t BytesOfMinibatch(const Minibatch& minibatch, bool weighed) {
  int64_t bytes = 0;
  for (const SampledLayer& layer : minibatch.layers) {
    for (const Block& block : layer.blocks) bytes += BytesOfBlock(block, weighed);
  }
  for (const auto& nodes : minibatch.nodes) bytes += BytesOf(nodes);
  for (const auto& positions : minibatch.seed_positions) bytes += BytesOf(positions);
  return bytes;
}

int64_t BytesOfValue(Precision precision) {
  return precision == Precision::kBf16 ? sizeof(uint16_t) : sizeof(float);
}

Status PullingFeatures(const Status& status) {
  return Annotate(status, "pulling features of a minibatch");
}

// The weights are there: nobody asks by ids any more.
void DropEdgeIds(Minibatch* minibatch) {
  for (SampledLayer& layer : minibatch->layers) {
    for (Block& block : layer.blocks) block.edge_ids = {};
  }
}

// The positions of seeds that are not asked for tell nothing.
void KeepAsked(const StepSeeds& seeds, Minibatch* minibatch) {
  for (size_t i = 0; i < seeds.seeds.size(); ++i) {
    const int64_t asked = seeds.seeds[i].asked;
    if (asked >= 0) minibatch->seed_positions[i].resize(static_cast<size_t>(asked));
  }
}

}  // namespace

BatchMaker::BatchMaker(GraphStore* graph, RowStore* rows, BatchRecipe recipe)
    : graph_(graph),
      rows_(rows),
      recipe_(std::move(recipe)),
      takes_last_apart_(TakesLastApart(recipe_.sampling)),
      before_last_(compacts_apart() ? WithoutLast(recipe_.sampling) : SamplingSpec()),
      workspaces_(compacts_apart() ? std::make_unique<BuilderWorkspaces>(
                                         &graph->info().schema, graph->info().book.num_parts())
                                   : nullptr),
      in_place_(FindInPlace(*graph, *rows, recipe_)) {}

bool BatchMaker::reads_in_place() const {
  return std::all_of(recipe_.inputs.begin(), recipe_.inputs.end(), [&](const NodeInput& input) {
    return in_place_[input.node_type].has_value();
  });
}

Status BatchMaker::Sample(const StepSeeds& seeds, uint64_t batch_seed, const CallContext& like,
                          Step* step) const {
  CallContext context = InnerContext(like);
  HG_RETURN_IF_ERROR(StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
    StartSample({{seeds, batch_seed, step}}, inner, std::move(done));
  }));
  return compacts_apart() ? Compact(step) : Complete(step);
}

Status BatchMaker::PullRows(const CallContext& like, Step* step) const {
  CallContext context = InnerContext(like);
  return StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
    StartPull(inner, step, std::move(done));
  });
}

// Of steps that have rows.
struct BatchMaker::SampleCall {
  std::vector<StepToSample> steps;
  CallContext context;
  std::vector<SampleRequest> requests = {};
  std::vector<Minibatch> minibatches = {};
  Stopwatch watch = {};
  TopologyQuestions last = {};  // of the last layer, if it is compacted apart
  TopologyAnswers answers = {};
};

void BatchMaker::StartSample(std::vector<StepToSample> steps, const CallContext& like,
                             StatusDone done) const {
  std::erase_if(steps, [](const StepToSample& each) { return each.step->rows == 0; });
  if (steps.empty()) return EndCall(std::move(done), OkStatus());
  const auto call = std::make_shared<SampleCall>(SampleCall{std::move(steps), InnerContext(like)});
  for (const StepToSample& each : call->steps) {
    for (const StepSeeds::List& list : each.seeds.seeds) each.step->seed_types.push_back(list.type);
    call->requests.push_back(RequestFor(each.seeds, each.batch_seed, recipe_));
  }
  call->minibatches.resize(call->requests.size());
  StatusDone end = [call, done = std::move(done)](Status status) mutable {
    if (status.ok()) {
      TakeMinibatches(call.get());
    } else {
      status = Annotate(status, "sampling a minibatch");
    }
    for (const StepToSample& each : call->steps) {
      each.step->sample_seconds = call->watch.Seconds() / static_cast<double>(call->steps.size());
    }
    call->steps.front().step->sampled = std::move(call->context.stats);
    EndCall(std::move(done), std::move(status));
  };
  if (compacts_apart()) return StartLastApart(call, std::move(end));
  graph_->StartSample(call->requests, call->context, call->minibatches, std::move(end));
}

void BatchMaker::TakeMinibatches(SampleCall* call) {
  for (size_t i = 0; i < call->steps.size(); ++i) {
    const StepToSample& of = call->steps[i];
    of.step->minibatch = std::move(call->minibatches[i]);
    KeepAsked(of.seeds, &of.step->minibatch);
  }
}

Status BatchMaker::Complete(Step* step) const {
  if (step->rows == 0) return OkStatus();
  const Stopwatch watch;
  HG_RETURN_IF_ERROR(FollowUp(step));
  step->sample_seconds += watch.Seconds();
  return OkStatus();
}

// The layers before the last, then its answers, as they come.
void BatchMaker::StartLastApart(const std::shared_ptr<SampleCall>& call, StatusDone done) const {
  SampleRequest& request = call->requests.front();
  Minibatch& minibatch = call->minibatches.front();
  request.spec = &before_last_;
  const auto take = [this, call, &request, &minibatch]() -> Status {
    HG_ASSIGN_OR_RETURN(
        call->steps.front().step->raw,
        TakeLast(graph_->info().schema, request, call->last.draws, std::move(call->answers.draws),
                 workspaces_.get(), call->context.limits(), &minibatch));
    return OkStatus();
  };
  StartSampleByAsking(
      *graph_, workspaces_.get(), {&request, 1}, call->context, {&minibatch, 1},
      [this, call, &request, &minibatch, take, done = std::move(done)](Status status) mutable {
        if (status.ok()) {
          status = RunCaught([&] {
            request.spec = &recipe_.sampling;
            call->last.draws = AskLast(graph_->info().schema, request, minibatch);
            return OkStatus();
          });
        }
        if (!status.ok()) return EndCall(std::move(done), std::move(status));
        graph_->StartAsk(call->last, call->context, &call->answers,
                         [take, done = std::move(done)](Status answered) mutable {
                           if (answered.ok()) answered = RunCaught(take);
                           EndCall(std::move(done), std::move(answered));
                         });
      });
}

Status BatchMaker::Compact(Step* step) const {
  if (step->rows == 0) return OkStatus();
  const Stopwatch watch;
  HG_RETURN_IF_ERROR(CompactLast(graph_->info().schema, recipe_.compact,
                                 std::exchange(step->raw, {}), &step->minibatch));
  HG_RETURN_IF_ERROR(FollowUp(step));
  step->sample_seconds += watch.Seconds();
  return OkStatus();
}

struct BatchMaker::PullCall {
  Step* step;
  CallContext context;
  StatusDone done;
  Stopwatch watch = {};
  std::shared_ptr<FeaturePull> features = nullptr;
  EdgeWeightPull weights = {};
  std::vector<RowRequest> requests = {};  // of both, if there are weights; or for the edge's id
  std::optional<WrongWeight> wrong = {};
  int64_t original = 0;  // id of its edge
};

void BatchMaker::StartPull(const CallContext& like, Step* step, StatusDone done) const {
  if (step->rows == 0) return EndCall(std::move(done), OkStatus());
  const auto call = std::make_shared<PullCall>(PullCall{step, InnerContext(like), std::move(done)});
  auto features = FeaturePull::Create(recipe_, in_place_, step->nodes_to_gather());
  if (!features.ok()) return EndPull(*call, PullingFeatures(features.status()));
  call->features = *std::move(features);
  call->features->CountInPlace(&call->context);
  call->weights = EdgeWeightPull(recipe_.edge_weights, step->minibatch);
  std::span<const RowRequest> asked = call->features->requests();
  if (const auto of_edges = call->weights.requests(); !of_edges.empty()) {
    call->requests.assign(asked.begin(), asked.end());
    call->requests.insert(call->requests.end(), of_edges.begin(), of_edges.end());
    asked = call->requests;
  }
  const auto take = [this, call](const Status& pulled) { TakeRows(call, pulled); };
  if (asked.empty()) return take(call->context.Check());
  rows_->StartPull(asked, call->context, take);
}

void BatchMaker::TakeRows(const std::shared_ptr<PullCall>& call, const Status& pulled) const {
  if (!pulled.ok()) return EndPull(*call, PullingFeatures(pulled));
  Status made = RunCaught([&]() -> Status {
    if (!recipe_.edge_weights.pulled.empty()) {
      call->wrong = call->weights.Take(&call->step->minibatch);
      if (call->wrong.has_value()) {
        AskForOriginal(call.get());
        return OkStatus();
      }
      if (!recipe_.edge_ids) DropEdgeIds(&call->step->minibatch);
      if (const auto& sums = recipe_.edge_weights.sums; sums != nullptr) {
        sums->SetDegrees(&call->step->minibatch);
      }
      HG_RETURN_IF_ERROR(MakeBlocks(call->step));
    }
    MakeInputRows(call->features->Take(), call->step);
    return OkStatus();
  });
  if (made.ok() && call->wrong.has_value()) return RefuseEdge(call);
  EndPull(*call, std::move(made));
}

void BatchMaker::AskForOriginal(PullCall* call) {
  call->context.ticket.reset();  // its pull has been
  call->requests = {{.tensor = {true, call->wrong->feature.type, kOriginalIdTensor},
                     .ids = std::span(&call->wrong->edge, 1),
                     .out = std::as_writable_bytes(std::span(&call->original, 1))}};
}

void BatchMaker::EndPull(PullCall& call, Status status) {
  call.step->pulled = std::move(call.context.stats);
  call.step->pull_seconds = call.watch.Seconds();
  EndCall(std::move(call.done), std::move(status));
}

void BatchMaker::RefuseEdge(const std::shared_ptr<PullCall>& call) const {
  rows_->StartPull(call->requests, call->context, [call](const Status& pulled) {
    EndPull(*call,
            RefuseWeight(*call->wrong, pulled.ok() ? std::optional(call->original) : std::nullopt));
  });
}

Status BatchMaker::FollowUp(Step* step) const {
  SplitRowsOf(step);
  const EdgeWeighing& weights = recipe_.edge_weights;
  if (recipe_.walks != nullptr) {
    HG_RETURN_IF_ERROR(recipe_.walks->Weigh(&step->minibatch));
    if (!recipe_.edge_ids && weights.pulled.empty()) DropEdgeIds(&step->minibatch);
  }
  if (!weights.pulled.empty()) return OkStatus();
  if (weights.drawn_by) {
    HG_RETURN_IF_ERROR(
        WeighByDraw(graph_->info().schema, weights, recipe_.weights, &step->minibatch));
  }
  return MakeBlocks(step);
}

Status BatchMaker::MakeBlocks(Step* step) const {
  HG_ASSIGN_OR_RETURN(step->blocks, MakeLayerBlocks(graph_->info().schema, step->minibatch,
                                                    recipe_.form, recipe_.by_source));
  return OkStatus();
}

void BatchMaker::SplitRowsOf(Step* step) const {
  if (recipe_.held == nullptr || step->rows == 0) return;
  step->split = RowSplit(*recipe_.held, step->minibatch.nodes);
  const std::vector<int64_t> columns = ColumnsOf(recipe_, step->minibatch.nodes.size());
  step->held_bytes = 0;
  for (size_t type = 0; type < columns.size(); ++type) {
    step->held_bytes += step->split.held(type) * columns[type] * BytesOfValue(recipe_.precision);
  }
}

int64_t BatchMaker::BytesOf(const Step& step) const {
  const Minibatch& minibatch = step.minibatch;
  if (minibatch.nodes.empty()) return 0;  // no rows
  // Each other form of a block is about as large as the block.
  const int64_t forms = (recipe_.form == BlockForm::kSampled ? 0 : 1) +
                        (recipe_.by_source == BySource::kNone ? 0 : 1);
  return (1 + forms) * BytesOfMinibatch(minibatch, !recipe_.edge_weights.empty()) +
         BytesBesideBlocks(minibatch) + BytesToPull(recipe_.edge_weights, minibatch) +
         step.split.bytes();
}

int64_t BatchMaker::RowBytesOf(const Step& step) const {
  const Minibatch& minibatch = step.minibatch;
  if (minibatch.nodes.empty()) return 0;  // no rows
  int64_t bytes = 0;
  const int64_t value = BytesOfValue(recipe_.precision);
  const std::vector<int64_t> columns = ColumnsOf(recipe_, minibatch.nodes.size());
  if (recipe_.input_rows == InputRows::kNodes) {
    const std::vector<std::vector<int64_t>>& nodes = step.nodes_to_gather();
    for (size_t type = 0; type < nodes.size(); ++type) {
      bytes += std::ssize(nodes[type]) * columns[type] * value;
    }
    return bytes;
  }
  if (minibatch.layers.empty()) return bytes;
  const Schema& schema = graph_->info().schema;
  for (const Block& block : minibatch.layers.back().blocks) {
    const int64_t cols = columns[schema.DestinationType(block.relation)] +
                         columns[schema.SourceType(block.relation)];
    bytes += (std::ssize(block.indptr) - 1) * PaddedStride(cols, recipe_.precision) * value;
  }
  return bytes;
}

void BatchMaker::MakeInputRows(std::vector<FeatureMatrix> features, Step* step) const {
  if (recipe_.input_rows == InputRows::kNodes) {
    for (FeatureMatrix& matrix : features) {
      step->features.push_back(WithPrecision(std::move(matrix), recipe_.precision));
    }
    return;
  }
  const Schema& schema = graph_->info().schema;
  std::vector<NodeRows> rows(features.begin(), features.end());
  std::vector<StoredRows> stored(features.size());
  for (const NodeInput& input : recipe_.inputs) {
    const int type = input.node_type;
    if (!in_place_[type].has_value()) continue;
    stored[type] = StoredRows(*in_place_[type], step->minibatch.nodes[type]);
    rows[type] = NodeRows(stored[type].rows(), input.spec.dim, PrecisionOf(input.spec));
  }
  for (const Block& block : step->minibatch.layers.back().blocks) {
    const Relation& relation = schema.relations[block.relation];
    step->self_and_mean.push_back(MakeSelfAndMean(
        block, rows[*schema.NodeTypeIndex(relation.destination)],
        rows[*schema.NodeTypeIndex(relation.source)], recipe_.precision, recipe_.pool));
  }
  step->features.resize(features.size());
}

}  // namespace halograph
