#include "trainer/inference/exact.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "common/base/progress.h"
#include "common/base/stopwatch.h"
#include "trainer/inference/chunk_pass.h"
#include "trainer/inference/kept_rows.h"
#include "trainer/inference/source_degrees.h"
#include "trainer/models/registry.h"
#include "trainer/training/batch_feed.h"

namespace halograph {
namespace {

ModelNeeds NeedsOf(const Session& session) {
  ModelNeeds needs =
      session.options.model_options->NeedsOf((*FindModelKind(session.options.model))->needs);
  // A device aggregates rows as they are by itself.
  if (!session.device.is_cpu()) needs.input_rows = InputRows::kNodes;
  return needs;
}

std::vector<ExactPass> PassesOf(const Session& session, ExactRows what,
                                std::span<const int> types) {
  const BatchRecipe& recipe = session.eval_maker->recipe();
  const std::vector<int64_t>& dims = session.input_dims;
  return PlanPasses(*session.model, NeedsOf(session),
                    {.schema = &session.stores.graph->info().schema,
                     .evaluation = &recipe.sampling,
                     .dim = *std::max_element(dims.begin(), dims.end()),
                     .input_rows = recipe.input_rows,
                     .precision = session.options.precision},
                    what, types);
}

class ExactRun {
 public:
  ExactRun(Session& session, const ExactOptions& options, ExactRows what,
           std::span<const int> types, ScratchSpace& scratch)
      : session_(session),
        schema_(session.stores.graph->info().schema),
        options_(options),
        scratch_(scratch),
        passes_(PassesOf(session, what, types)) {}

  Status Run(const SeedSource& nodes, const UseChunk& use) {
    if (NeedsOf(session_).source_degrees) HG_RETURN_IF_ERROR(CountDegrees());
    HG_RETURN_IF_ERROR(CheckScratch());
    progress_.emplace("inferring, nodes", RowsToMake(nodes));
    for (size_t at = 0; !last(at); ++at) HG_RETURN_IF_ERROR(MakeRows(at));
    const ExactPass& pass = passes_.back();
    ExactLayerFigures figures;
    const Stopwatch watch;
    const auto use_here = [&](const std::vector<torch::Tensor>& rows, Step& chunk) {
      return use(session_.device.Home(rows), chunk);
    };
    HG_RETURN_IF_ERROR(Go(passes_.size() - 1, nodes, MeanDegreeOfAll(pass), use_here, &figures));
    figures.seconds = watch.Seconds();
    figures_.layers.push_back(figures);
    figures_.scratch_file_bytes = scratch_.bytes_in_files();
    return OkStatus();
  }

  ExactFigures TakeFigures() { return std::move(figures_); }

 private:
  [[nodiscard]] bool last(size_t at) const { return at + 1 == passes_.size(); }
  [[nodiscard]] NodeRange AllOf(size_t type) const {
    return NodeRange(static_cast<int>(type),
                     session_.stores.graph->info().book.NodeBoundaries(static_cast<int>(type)));
  }
  [[nodiscard]] int64_t CountOf(size_t type) const { return schema_.node_types[type].count; }
  [[nodiscard]] double MeanDegreeOfAll(const ExactPass& pass) const {
    double most = 0;
    for (size_t type = 0; type < schema_.node_types.size(); ++type) {
      if (!pass.over.types[type]) continue;
      most = std::max(most, MeanInDegree(schema_, pass.over, static_cast<int>(type)));
    }
    return most;
  }
  [[nodiscard]] int64_t RowsToMake(const SeedSource& nodes) const {
    int64_t rows = nodes.rows();
    for (size_t at = 0; !last(at); ++at) {
      for (size_t type = 0; type < schema_.node_types.size(); ++type) {
        if (passes_[at].over.types[type]) rows += CountOf(type);
      }
    }
    return rows;
  }
  [[nodiscard]] ChunkMemory MemoryOfChunks() const {
    return {.bytes = options_.memory - ScratchMemory(options_.memory),
            .nodes = options_.chunk_nodes};
  }

  // Before the work, rather than in its midst.
  Status CheckScratch() const {
    std::vector<int64_t> sizes;
    for (size_t at = 0; !last(at); ++at) {
      int64_t bytes = 0;
      for (size_t type = 0; type < schema_.node_types.size(); ++type) {
        if (!passes_[at].over.types[type]) continue;
        bytes += KeptTable::BytesOf(CountOf(type), passes_[at].keeps.shared) +
                 KeptTable::BytesOf(CountOf(type), passes_[at].keeps.own);
      }
      sizes.push_back(bytes);
    }
    sizes.push_back(options_.scratch_after);
    return Annotate(scratch_.Check(sizes), "rows between layers");
  }

  Status CountDegrees() {
    const Stopwatch watch;
    HG_ASSIGN_OR_RETURN(degrees_, SourceDegrees::Count(session_, MemoryOfChunks(), scratch_));
    figures_.degree_seconds = watch.Seconds();
    return OkStatus();
  }

  // What stores give: what all of a chunk needs in the first pass, else the edges alone.
  [[nodiscard]] BatchRecipe RecipeOf(size_t at) const {
    BatchRecipe recipe = session_.eval_maker->recipe();
    recipe.sampling = passes_[at].over.sampling;
    // On the CPU models make the rest of a chunk themselves.
    if (session_.device.is_cpu()) recipe.form = BlockForm::kSampled;
    recipe.by_source = BySource::kNone;
    recipe.input_rows = at == 0 ? passes_[at].input_rows : InputRows::kNodes;
    if (at > 0) {
      recipe.inputs.clear();
      recipe.held = nullptr;
    }
    return recipe;
  }

  // Pass `at` over the nodes of `source`.
  Status Go(size_t at, const SeedSource& source, double mean_in_degree, const UseChunk& use,
            ExactLayerFigures* figures) {
    const ExactPass& pass = passes_[at];
    const BatchMaker maker(session_.stores.graph.get(), session_.stores.rows.get(), RecipeOf(at));
    const ChunkCost cost = ChunkCost::Of(pass.reads.shared, pass.makes, pass.input_rows,
                                         at > 0 || maker.reads_in_place());
    const auto fill = [&](Step* chunk) -> Status {
      if (at == 0) {
        HG_RETURN_IF_ERROR(maker.PullRows({.cancel = &session_.cancel}, chunk));
        return session_.learnt == nullptr ? OkStatus()
                                          : PullLearnt(session_, &session_.cancel, chunk);
      }
      const Stopwatch watch;
      rows_.Fill(maker.recipe(), pass.input_rows, chunk);
      chunk->pull_seconds = watch.Seconds();
      return OkStatus();
    };
    ChunkOptions chunks =
        ChunkOptionsOf(session_, MemoryOfChunks(), cost, mean_in_degree, source.rows());
    if (session_.copier != nullptr) {
      chunks.move = [this](Step* chunk) { return MoveToDevice(session_, chunk); };
    }
    ChunkFeed feed(&maker, &source, std::move(chunks), fill);
    const auto use_one = [&](Step& chunk) -> Status {
      HG_RETURN_IF_ERROR(UseAsInput(at, chunk, use));
      figures->nodes += chunk.rows;
      figures->edges += chunk.minibatch.sampled_edges;
      figures->sample_seconds += chunk.sample_seconds;
      figures->pull_seconds += chunk.pull_seconds;
      ++figures->chunks;
      progress_->Advance(chunk.rows);
      return OkStatus();
    };
    HG_RETURN_IF_ERROR(ForEachChunk(session_, feed, use_one));
    figures->cut += feed.cut();
    return OkStatus();
  }

  Status UseAsInput(size_t at, Step& chunk, const UseChunk& use) {
    ModelInput made = at == 0 ? EvaluationInputOf(session_, chunk) : InputOf(chunk, {});
    LayerInput input{.layer = &chunk.minibatch.layers.front(),
                     .nodes = std::move(made.nodes),
                     .self_and_mean = std::move(made.self_and_mean)};
    if (made.blocks != nullptr) input.made = &made.blocks->layers.front();
    SampledLayer outer;
    LayerOnDevice outer_on_device;
    if (degrees_.has_value()) {
      outer = degrees_->OuterOf(chunk.minibatch);
      input.outer = &outer;
    }
    if (made.on_device != nullptr) input.on_device = &made.on_device->front();
    if (made.on_device != nullptr && input.outer != nullptr) {
      outer_on_device = DegreesOnDevice(outer);
      input.outer_on_device = &outer_on_device;
    }
    return use(passes_[at].forward(input), chunk);
  }

  // In int64: all edges of the graph may lead into the sources of a chunk.
  [[nodiscard]] LayerOnDevice DegreesOnDevice(const SampledLayer& outer) const {
    const std::vector<int64_t>& indptr = outer.blocks.front().indptr;
    const torch::Tensor host = session_.device.HostTensor({std::ssize(indptr)}, torch::kInt64);
    std::copy(indptr.begin(), indptr.end(), host.data_ptr<int64_t>());
    LayerOnDevice layer;
    layer.blocks.emplace_back().indptr = session_.device.Copy(host);
    return layer;
  }

  // What pass `at` keeps of all nodes, in the place of what the one before kept.
  Status MakeRows(size_t at) {
    const ExactPass& pass = passes_[at];
    const Stopwatch watch;
    KeptRows made;
    made.shared.resize(schema_.node_types.size());
    made.own.resize(schema_.node_types.size());
    ExactLayerFigures figures;
    for (size_t type = 0; type < made.shared.size(); ++type) {
      const int64_t count = CountOf(type);
      if (!pass.over.types[type] || count == 0) continue;
      const std::string what = pass.layer.has_value()
                                   ? fmt::format("rows of layer {}", *pass.layer + 1)
                                   : "projected inputs";
      HG_ASSIGN_OR_RETURN(made.shared[type],
                          KeptTable::Make(count, pass.keeps.shared, scratch_, what));
      HG_ASSIGN_OR_RETURN(made.own[type], KeptTable::Make(count, pass.keeps.own, scratch_, what));
      const auto keep = [&](const std::vector<torch::Tensor>& rows, Step& chunk) {
        const LayerReads kept = pass.keep(rows[type]);
        const int64_t first = chunk.minibatch.nodes[type].front();
        made.shared[type].Put(first, session_.device.Home(kept.shared));
        if (kept.own.defined()) made.own[type].Put(first, session_.device.Home(kept.own));
        return OkStatus();
      };
      const double degree = MeanInDegree(schema_, pass.over, static_cast<int>(type));
      HG_RETURN_IF_ERROR(Go(at, AllOf(type), degree, keep, &figures));
    }
    rows_ = std::move(made);
    figures.seconds = watch.Seconds();
    if (pass.layer.has_value()) {
      figures_.layers.push_back(figures);
    } else {
      figures_.projection_seconds = figures.seconds;
    }
    return OkStatus();
  }

  Session& session_;
  const Schema& schema_;
  const ExactOptions options_;
  ScratchSpace& scratch_;
  const std::vector<ExactPass> passes_;
  KeptRows rows_;  // of the pass before
  std::optional<SourceDegrees> degrees_;
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
                    {"seconds", layer.seconds},
                    {"sample_seconds", layer.sample_seconds},
                    {"pull_seconds", layer.pull_seconds}});
  }
  return {{"layers", std::move(list)},
          {"degree_seconds", degree_seconds},
          {"projection_seconds", projection_seconds},
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
