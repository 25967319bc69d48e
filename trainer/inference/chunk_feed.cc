#include "trainer/inference/chunk_feed.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "common/base/units.h"
#include "common/graph/tensor_ref.h"
#include "trainer/training/batch_feed.h"

namespace halograph {

namespace {

ChunkOptions WithMove(ChunkOptions options) {
  if (!options.move) options.move = MoveToTensors;
  return options;
}

}  // namespace

ChunkFeed::ChunkFeed(const BatchMaker* maker, const SeedSource* source, ChunkOptions options,
                     FillRows fill)
    : maker_(maker),
      source_(source),
      options_(WithMove(std::move(options))),
      fill_(std::move(fill)),
      pipeline_(Stages(), Bounds()) {}

std::vector<PipelineStage<ChunkFeed::Made>> ChunkFeed::Stages() const {
  const auto sample = [this](int64_t index, Made* made) {
    const int64_t begin = index * options_.nodes;
    made->rows = {begin, std::min(begin + options_.nodes, source_->rows())};
    return Sample(made);
  };
  const auto of_chunk = [](const FillRows& fill) {
    return [fill](int64_t, Made* made) {
      return made->chunk.has_value() ? fill(&*made->chunk) : OkStatus();
    };
  };
  std::vector<PipelineStage<Made>> stages(3);
  stages[0] = {.name = "sample", .run = sample, .threads = options_.threads};
  stages[1] = {.name = "gather", .run = of_chunk(fill_), .threads = options_.threads};
  stages[2] = {.name = "move", .run = of_chunk(options_.move)};
  return stages;
}

PipelineOptions<ChunkFeed::Made> ChunkFeed::Bounds() const {
  PipelineOptions<Made> bounds;
  bounds.count = (source_->rows() + options_.nodes - 1) / options_.nodes;
  bounds.ahead = static_cast<int64_t>(options_.ahead);
  bounds.ready = 0;  // a sampled chunk takes its share of the memory, too
  return bounds;
}

StatusOr<std::optional<Step>> ChunkFeed::Next() {
  for (;;) {
    Made made;
    if (halves_.empty()) {
      HG_ASSIGN_OR_RETURN(std::optional<Made> next, pipeline_.Next());
      if (!next.has_value()) return std::optional<Step>();
      made = *std::move(next);
    } else {
      const IdRange rows = halves_.back();
      halves_.pop_back();
      HG_ASSIGN_OR_RETURN(made, Make(rows));
    }
    if (made.chunk.has_value()) return std::optional<Step>(*std::move(made.chunk));
    const int64_t middle = made.rows.begin + made.rows.size() / 2;
    halves_.push_back({middle, made.rows.end});
    halves_.push_back({made.rows.begin, middle});
    ++cut_;
  }
}

StatusOr<ChunkFeed::Made> ChunkFeed::Make(IdRange rows) const {
  Made made{.rows = rows};
  HG_RETURN_IF_ERROR(Sample(&made));
  if (!made.chunk.has_value()) return made;
  HG_RETURN_IF_ERROR(fill_(&*made.chunk));
  HG_RETURN_IF_ERROR(options_.move(&*made.chunk));
  return made;
}

Status ChunkFeed::Sample(Made* made) const {
  const IdRange rows = made->rows;
  std::vector<int64_t> positions(static_cast<size_t>(rows.size()));
  std::iota(positions.begin(), positions.end(), rows.begin);
  StepSeeds seeds;
  HG_RETURN_IF_ERROR(source_->Collect(positions, 0, &seeds));
  Step chunk;
  chunk.rows = rows.size();
  const CallContext context{.cancel = options_.cancel};
  HG_RETURN_IF_ERROR(maker_->Sample(seeds, 0, context, &chunk));
  const int64_t bytes = options_.cost.Bytes(chunk.minibatch);
  if (bytes > options_.chunk_bytes) return rows.size() == 1 ? TooLarge(bytes, chunk) : OkStatus();
  chunk.labels = std::move(seeds.labels);
  made->chunk = std::move(chunk);
  return OkStatus();
}

Status ChunkFeed::TooLarge(int64_t bytes, const Step& chunk) const {
  const int type = chunk.seed_types.front();
  return ResourceExhausted(
      "{} takes {} with the rows of its {} in-edges: more than the {} that --memory leaves for a "
      "chunk; "
      "give {} times as much",
      NameOf(type, chunk.minibatch.nodes[type].front()), FormatBytes(bytes),
      chunk.minibatch.sampled_edges, FormatBytes(options_.chunk_bytes),
      bytes / options_.chunk_bytes + 1);
}

std::string ChunkFeed::NameOf(int type, int64_t global) const {
  if (options_.stores == nullptr) return fmt::format("the node with global id {}", global);
  const std::string& name = options_.stores->graph->info().schema.node_types[type].name;
  int64_t original = 0;
  CallContext context{.cancel = options_.cancel};
  const Status pulled =
      options_.stores->rows->Pull({.tensor = {false, name, kOriginalIdTensor},
                                   .ids = std::span(&global, 1),
                                   .out = std::as_writable_bytes(std::span(&original, 1))},
                                  context);
  if (pulled.ok()) return fmt::format("node {} (original id) of type '{}'", original, name);
  return fmt::format("the node of type '{}' with global id {}", name, global);
}

}  // namespace halograph
