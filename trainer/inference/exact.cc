#include "trainer/inference/exact.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/progress.h"
#include "common/base/stopwatch.h"
#include "common/storage/row_gather.h"
#include "trainer/inference/chunk_feed.h"
#include "trainer/inference/layer_plan.h"
#include "trainer/models/registry.h"
#include "trainer/training/batch_feed.h"

namespace halograph {
namespace {

// Rows of one layer of all nodes, float32.
struct LayerRows {
  int64_t cols = 0;
  std::vector<ScratchArray> of_type;  // empty of types that no layer reads

  [[nodiscard]] const std::byte* Row(size_t type, int64_t node) const {
    return of_type[type].bytes().data() + static_cast<size_t>(node) * row_bytes();
  }
  [[nodiscard]] size_t row_bytes() const { return static_cast<size_t>(cols) * sizeof(float); }
};

// The rows of a chunk out of those of the layer before, as `input_rows` says.
void FillFrom(const LayerRows& before, const BatchRecipe& recipe, InputRows input_rows,
              PreparedBatch* chunk) {
  const auto& nodes = chunk->minibatch.nodes;
  chunk->features.clear();
  if (input_rows == InputRows::kSelfAndMean) {  // of one node type
    std::vector<const std::byte*> stored;
    stored.reserve(nodes.front().size());
    for (const int64_t node : nodes.front()) stored.push_back(before.Row(0, node));
    const NodeRows rows(stored, before.cols, Precision::kFloat32);
    chunk->self_and_mean.push_back(MakeSelfAndMean(chunk->minibatch.layers.front().blocks.front(),
                                                   rows, rows, recipe.precision, recipe.pool));
    chunk->features.resize(nodes.size());
    return;
  }
  for (size_t type = 0; type < nodes.size(); ++type) {
    if (nodes[type].empty()) {
      chunk->features.emplace_back();
      continue;
    }
    FeatureMatrix matrix(std::ssize(nodes[type]), before.cols);
    GatherRows(before.of_type[type].bytes(), before.row_bytes(), 0, nodes[type],
               matrix.bytes().data());
    chunk->features.push_back(std::move(matrix));
  }
}

class ExactRun {
 public:
  ExactRun(Session& session, const ExactOptions& options, ExactRows what,
           std::span<const int> types, ScratchSpace& scratch)
      : session_(session),
        schema_(session.stores.graph->info().schema),
        options_(options),
        what_(what),
        scratch_(scratch),
        needs_(
            session.options.model_options->NeedsOf((*FindModelKind(session.options.model))->needs)),
        plan_(PlanLayers(schema_, session.eval_maker->recipe().sampling, types,
                         what == ExactRows::kOutputs || session.model->embeds_neighbors(),
                         needs_.weights)) {}

  Status Run(const SeedSource& nodes, const UseChunk& use) {
    if (needs_.source_degrees) HG_RETURN_IF_ERROR(CountDegrees());
    HG_RETURN_IF_ERROR(CheckScratch());
    progress_.emplace("inferring, nodes", RowsToMake(nodes));
    for (size_t layer = 0; layer + 1 < plan_.size(); ++layer) {
      HG_RETURN_IF_ERROR(MakeRows(layer));
    }
    const auto use_last = [&](const LayerInput& input, PreparedBatch& chunk) {
      return use(what_ == ExactRows::kOutputs
                     ? session_.model->ForwardLayer(plan_.size() - 1, input)
                     : session_.model->EmbedLayer(input),
                 chunk);
    };
    ExactLayerFigures& figures = NewFigures();
    const Stopwatch watch;
    const double degree = MeanDegreeOfAll(plan_.size() - 1);
    HG_RETURN_IF_ERROR(Pass(plan_.size() - 1, nodes, degree, use_last, &figures));
    figures.seconds = watch.Seconds();
    figures_.scratch_file_bytes = scratch_.bytes_in_files();
    return OkStatus();
  }

  ExactFigures TakeFigures() { return std::move(figures_); }

 private:
  using UseInput = std::function<Status(const LayerInput& input, PreparedBatch& chunk)>;

  ExactLayerFigures& NewFigures() { return figures_.layers.emplace_back(); }
  [[nodiscard]] bool last(size_t layer) const { return layer + 1 == plan_.size(); }
  [[nodiscard]] bool ReadsBlocks(size_t layer) const {
    return !plan_[layer].sampling.layers.front().empty();
  }
  [[nodiscard]] NodeRange AllOf(size_t type) const {
    return NodeRange(static_cast<int>(type),
                     session_.stores.graph->info().book.NodeBoundaries(static_cast<int>(type)));
  }
  [[nodiscard]] int64_t CountOf(size_t type) const { return schema_.node_types[type].count; }
  // What a layer reads.
  [[nodiscard]] int64_t InDim(size_t layer) const {
    const std::vector<int64_t>& dims = session_.input_dims;
    return layer > 0 ? session_.model->layer_dim(layer - 1)
                     : *std::max_element(dims.begin(), dims.end());
  }
  [[nodiscard]] double MeanDegreeOfAll(size_t layer) const {
    double most = 0;
    for (size_t type = 0; type < schema_.node_types.size(); ++type) {
      if (!plan_[layer].types[type]) continue;
      most = std::max(most, MeanInDegree(schema_, plan_[layer], static_cast<int>(type)));
    }
    return most;
  }
  [[nodiscard]] int64_t RowsOf(size_t layer) const {
    int64_t rows = 0;
    for (size_t type = 0; type < schema_.node_types.size(); ++type) {
      if (plan_[layer].types[type]) rows += CountOf(type);
    }
    return rows;
  }
  [[nodiscard]] int64_t RowsToMake(const SeedSource& nodes) const {
    int64_t rows = nodes.rows();
    for (size_t layer = 0; !last(layer); ++layer) rows += RowsOf(layer);
    return rows;
  }

  // Before the work, rather than in its midst.
  Status CheckScratch() const {
    std::vector<int64_t> sizes;
    for (size_t layer = 0; !last(layer); ++layer) {
      sizes.push_back(RowsOf(layer) * session_.model->layer_dim(layer) *
                      static_cast<int64_t>(sizeof(float)));
    }
    sizes.push_back(options_.scratch_after);
    return Annotate(scratch_.Check(sizes), "rows between layers");
  }

  [[nodiscard]] InputRows InputRowsOf(size_t layer) const {
    if (!ReadsBlocks(layer)) return InputRows::kNodes;
    if (layer == 0) return session_.eval_maker->recipe().input_rows;
    // Rounded rows of self would not do where a layer adds its input to its output.
    return session_.options.precision == Precision::kFloat32 ? needs_.input_rows
                                                             : InputRows::kNodes;
  }

  [[nodiscard]] BatchRecipe RecipeOf(size_t layer) const {
    BatchRecipe recipe = session_.eval_maker->recipe();
    recipe.sampling = plan_[layer].sampling;
    recipe.form = BlockForm::kSampled;  // models make the rest of a chunk themselves
    recipe.by_source = BySource::kNone;
    recipe.input_rows = layer == 0 ? InputRowsOf(layer) : InputRows::kNodes;
    if (layer > 0) recipe.inputs.clear();
    return recipe;
  }

  [[nodiscard]] ChunkOptions ChunkOptionsOf(const ChunkCost& cost, double mean_in_degree,
                                            int64_t nodes) const {
    ChunkOptions chunk;
    chunk.cost = cost;
    chunk.threads = static_cast<size_t>(std::max(1, session_.sampler.minibatches));
    chunk.ahead = std::min(static_cast<size_t>(session_.options.prefetch), chunk.threads + 1);
    chunk.chunk_bytes =
        (options_.memory - ScratchMemory(options_.memory)) / static_cast<int64_t>(chunk.ahead + 1);
    chunk.nodes = options_.chunk_nodes > 0
                      ? options_.chunk_nodes
                      : NodesOfChunk(cost, mean_in_degree, chunk.chunk_bytes, nodes);
    chunk.cancel = &session_.cancel;
    return chunk;
  }

  // Goes through chunks until all are used, or one fails.
  template <typename Use>
  Status ForEachChunk(ChunkFeed& feed, const Use& use) {
    for (;;) {
      HG_RETURN_IF_ERROR(session_.CheckStop());
      auto next = feed.Next();
      if (!next.ok()) HG_RETURN_IF_ERROR(session_.CheckStop());
      HG_RETURN_IF_ERROR(next.status());
      if (!next->has_value()) return OkStatus();
      HG_RETURN_IF_ERROR(use(**next));
    }
  }

  Status Pass(size_t layer, const SeedSource& source, double mean_in_degree, const UseInput& use,
              ExactLayerFigures* figures) {
    const BatchMaker maker(session_.stores.graph.get(), session_.stores.kv.get(), RecipeOf(layer));
    const InputRows input_rows = InputRowsOf(layer);
    const bool in_place = layer > 0 || maker.reads_in_place();
    const ChunkCost cost =
        ChunkCost::Of(InDim(layer), session_.model->layer_dim(layer), input_rows, in_place);
    const auto fill = [&](PreparedBatch* chunk) -> Status {
      if (layer == 0) return maker.PullRows({.cancel = &session_.cancel}, chunk);
      FillFrom(rows_, maker.recipe(), input_rows, chunk);
      return OkStatus();
    };
    ChunkFeed feed(&maker, &source, ChunkOptionsOf(cost, mean_in_degree, source.rows()), fill);
    const auto use_one = [&](PreparedBatch& chunk) -> Status {
      HG_RETURN_IF_ERROR(UseAsInput(layer, chunk, use));
      figures->nodes += chunk.rows;
      figures->edges += chunk.minibatch.sampled_edges;
      ++figures->chunks;
      progress_->Advance(chunk.rows);
      return OkStatus();
    };
    HG_RETURN_IF_ERROR(ForEachChunk(feed, use_one));
    figures->cut += feed.cut();
    return OkStatus();
  }

  Status UseAsInput(size_t layer, PreparedBatch& chunk, const UseInput& use) {
    ModelInput made;
    if (layer == 0) {
      HG_ASSIGN_OR_RETURN(made, EvaluationInputOf(session_, chunk, &session_.cancel));
    } else {
      made = InputOf(chunk, {});
    }
    LayerInput input{.layer = &chunk.minibatch.layers.front(),
                     .nodes = std::move(made.nodes),
                     .self_and_mean = std::move(made.self_and_mean)};
    const SampledLayer outer = OuterOf(chunk);
    if (needs_.source_degrees) input.outer = &outer;
    return use(input, chunk);
  }

  // In-degrees of a chunk's nodes, as the layer that comes before this one would have them.
  [[nodiscard]] SampledLayer OuterOf(const PreparedBatch& chunk) const {
    SampledLayer outer;
    if (!needs_.source_degrees) return outer;
    const auto degrees = degrees_.As<const int32_t>();
    Block block{.relation = 0, .indptr = {0}, .indices = {}};
    for (const int64_t node : chunk.minibatch.nodes.front()) {
      block.indptr.push_back(block.indptr.back() + degrees[static_cast<size_t>(node)]);
    }
    outer.blocks.push_back(std::move(block));
    return outer;
  }

  // The rows of `layer` for all nodes, in the place of those of the layer before.
  Status MakeRows(size_t layer) {
    const Stopwatch watch;
    LayerRows made{.cols = session_.model->layer_dim(layer), .of_type = {}};
    made.of_type.resize(schema_.node_types.size());
    ExactLayerFigures& figures = NewFigures();
    for (size_t type = 0; type < made.of_type.size(); ++type) {
      if (!plan_[layer].types[type] || CountOf(type) == 0) continue;
      HG_ASSIGN_OR_RETURN(made.of_type[type],
                          scratch_.Take(CountOf(type) * static_cast<int64_t>(made.row_bytes()),
                                        fmt::format("rows of layer {}", layer + 1)));
      const auto store = [&](const LayerInput& input, PreparedBatch& chunk) -> Status {
        const torch::Tensor rows = session_.model->ForwardLayer(layer, input)[type];
        const int64_t first = chunk.minibatch.nodes[type].front();
        const auto all = made.of_type[type].As<float>();
        torch::from_blob(all.data() + first * made.cols, rows.sizes(), torch::kFloat32).copy_(rows);
        return OkStatus();
      };
      const double degree = MeanInDegree(schema_, plan_[layer], static_cast<int>(type));
      HG_RETURN_IF_ERROR(Pass(layer, AllOf(type), degree, store, &figures));
    }
    rows_ = std::move(made);
    figures.seconds = watch.Seconds();
    return OkStatus();
  }

  // Of the graph's one relation.
  Status CountDegrees() {
    const Stopwatch watch;
    HG_ASSIGN_OR_RETURN(
        degrees_, scratch_.Take(CountOf(0) * static_cast<int64_t>(sizeof(int32_t)), "in-degrees"));
    BatchRecipe recipe = RecipeOf(0);
    recipe.sampling.layers = {{{.relation = 0, .fanout = kFullNeighborhood}}};
    recipe.inputs.clear();
    const BatchMaker maker(session_.stores.graph.get(), session_.stores.kv.get(), recipe);
    const NodeRange nodes = AllOf(0);
    const ChunkCost cost = ChunkCost::Of(0, 0, InputRows::kNodes, false);
    const double degree = static_cast<double>(schema_.relations.front().count) /
                          static_cast<double>(std::max<int64_t>(1, CountOf(0)));
    ChunkFeed feed(&maker, &nodes, ChunkOptionsOf(cost, degree, nodes.rows()),
                   [](PreparedBatch*) { return OkStatus(); });
    const auto degrees = degrees_.As<int32_t>();
    HG_RETURN_IF_ERROR(ForEachChunk(feed, [&](PreparedBatch& chunk) {
      const std::vector<int64_t>& indptr = chunk.minibatch.layers.front().blocks.front().indptr;
      auto* to = degrees.data() + chunk.minibatch.nodes.front().front();
      for (size_t v = 0; v + 1 < indptr.size(); ++v) {
        *to++ = static_cast<int32_t>(indptr[v + 1] - indptr[v]);
      }
      return OkStatus();
    }));
    figures_.degree_seconds = watch.Seconds();
    return OkStatus();
  }

  Session& session_;
  const Schema& schema_;
  const ExactOptions options_;
  const ExactRows what_;
  ScratchSpace& scratch_;
  const ModelNeeds needs_;
  const std::vector<ExactLayer> plan_;
  LayerRows rows_;        // of the layer before
  ScratchArray degrees_;  // int32; or empty
  ExactFigures figures_;
  std::optional<Progress> progress_;
};

}  // namespace

Json ExactFigures::ToJson() const {
  Json list = Json::array();
  for (const ExactLayerFigures& layer : layers) {
    list.push_back({{"nodes", layer.nodes},
                    {"edges", layer.edges},
                    {"chunks", layer.chunks},
                    {"chunks_cut", layer.cut},
                    {"seconds", layer.seconds}});
  }
  return {{"layers", std::move(list)},
          {"degree_seconds", degree_seconds},
          {"scratch_file_bytes", scratch_file_bytes}};
}

StatusOr<ExactFigures> InferExactly(Session& session, const ExactOptions& options, ExactRows what,
                                    const SeedSource& nodes, std::span<const int> types,
                                    ScratchSpace& scratch, const UseChunk& use) {
  if (session.options.world_size > 1) {
    return InvalidArgument(
        "exact inference is for one process: with --world-size {} rows between layers would have "
        "to be exchanged. Start one, or infer by sampling",
        session.options.world_size);
  }
  const torch::NoGradGuard no_grad;
  session.model->eval();
  ExactRun run(session, options, what, types, scratch);
  HG_RETURN_IF_ERROR(run.Run(nodes, use));
  return run.TakeFigures();
}

}  // namespace halograph
