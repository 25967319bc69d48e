#include "trainer/inference/chunk_feed.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "common/base/units.h"
#include "common/graph/tensor_ref.h"

namespace halograph {

ChunkFeed::ChunkFeed(const BatchMaker* maker, const SeedSource* source, ChunkOptions options,
                     FillRows fill)
    : maker_(maker),
      source_(source),
      options_(options),
      fill_(std::move(fill)),
      pipeline_((source->rows() + options.nodes - 1) / options.nodes, options.threads,
                options.ahead, [this](int64_t index) {
                  const int64_t begin = index * options_.nodes;
                  return Make({begin, std::min(begin + options_.nodes, source_->rows())});
                }) {}

StatusOr<std::optional<PreparedBatch>> ChunkFeed::Next() {
  for (;;) {
    Made made;
    if (halves_.empty()) {
      HG_ASSIGN_OR_RETURN(std::optional<Made> next, pipeline_.Next());
      if (!next.has_value()) return std::optional<PreparedBatch>();
      made = *std::move(next);
    } else {
      const IdRange rows = halves_.back();
      halves_.pop_back();
      HG_ASSIGN_OR_RETURN(made, Make(rows));
    }
    if (made.chunk.has_value()) return std::optional<PreparedBatch>(*std::move(made.chunk));
    const int64_t middle = made.rows.begin + made.rows.size() / 2;
    halves_.push_back({middle, made.rows.end});
    halves_.push_back({made.rows.begin, middle});
    ++cut_;
  }
}

StatusOr<ChunkFeed::Made> ChunkFeed::Make(IdRange rows) const {
  std::vector<int64_t> positions(static_cast<size_t>(rows.size()));
  std::iota(positions.begin(), positions.end(), rows.begin);
  StepSeeds seeds;
  HG_RETURN_IF_ERROR(source_->Collect(positions, 0, &seeds));
  Made made{.rows = rows};
  PreparedBatch chunk;
  chunk.rows = rows.size();
  const CallContext context{.cancel = options_.cancel};
  HG_RETURN_IF_ERROR(maker_->Sample(seeds, 0, context, &chunk));
  const int64_t bytes = options_.cost.Bytes(chunk.minibatch);
  if (bytes > options_.chunk_bytes) {
    if (rows.size() == 1) return TooLarge(bytes, chunk);
    return made;
  }
  chunk.labels = std::move(seeds.labels);
  HG_RETURN_IF_ERROR(fill_(&chunk));
  made.chunk = std::move(chunk);
  return made;
}

Status ChunkFeed::TooLarge(int64_t bytes, const PreparedBatch& chunk) const {
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
