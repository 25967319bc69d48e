// The chunks of one pass over nodes, sampled, filled with rows and made tensors in stages
// (trainer/pipeline/stage_pipeline.h), in order, each within a bound of memory. A chunk that turns
// out to take more, as its nodes have more neighbours than others, is cut in two, and its halves
// again.
//
// A chunk is a minibatch of one layer: its seeds with all their neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/call_context.h"
#include "client/stores.h"
#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "trainer/inference/layer_plan.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/stage_pipeline.h"
#include "trainer/seeds/seed_source.h"

namespace halograph {

struct ChunkOptions {
  int64_t nodes = 1;        // of a chunk; the last one may have fewer
  ChunkCost cost = {};      // of its memory
  int64_t chunk_bytes = 0;  // that a chunk may take
  size_t threads = 1;       // that sample, and as many that fill
  size_t ahead = 1;         // chunks made or in the making at most, besides the one in use
  // Ends the calls that make chunks; null: nobody does. Outlives the feed.
  const CancelToken* cancel = nullptr;
  const Stores* stores = nullptr;  // with the nodes' original ids, for errors. Outlives the feed
  // Makes tensors of a chunk that has its rows, where they are to be: MoveToTensors, if it is not
  // given. By one thread at a time of the feed's, and by the consumer's.
  std::function<Status(Step* chunk)> move = {};
};

// For one consumer thread.
class ChunkFeed {
 public:
  // Gives a sampled chunk its rows. Called by several threads at once.
  using FillRows = std::function<Status(Step* chunk)>;

  // Over rows 0, 1, ... of `source`. `maker` and `source` must outlive the feed; `maker` samples
  // one layer.
  ChunkFeed(const BatchMaker* maker, const SeedSource* source, ChunkOptions options, FillRows fill);

  // The next chunk; nullopt after the last.
  //   ResourceExhausted  a node's neighbours alone take more than a chunk may: it is named, by its
  //                      original id, with what it takes
  //   else               as StagePipeline::Next, GraphStore::Sample, `fill` and `move`
  [[nodiscard]] StatusOr<std::optional<Step>> Next();

  // Chunks that were cut, so far.
  [[nodiscard]] int64_t cut() const { return cut_; }

 private:
  // A chunk, or where it would take too much, only which rows it is of.
  struct Made {
    IdRange rows = {};
    std::optional<Step> chunk = {};
  };
  [[nodiscard]] std::vector<PipelineStage<Made>> Stages() const;
  [[nodiscard]] PipelineOptions<Made> Bounds() const;
  [[nodiscard]] StatusOr<Made> Make(IdRange rows) const;
  [[nodiscard]] Status Sample(Made* made) const;
  [[nodiscard]] Status TooLarge(int64_t bytes, const Step& chunk) const;
  // As the user knows it, if its store says how.
  [[nodiscard]] std::string NameOf(int type, int64_t global) const;

  const BatchMaker* const maker_;
  const SeedSource* const source_;
  const ChunkOptions options_;
  const FillRows fill_;
  std::vector<IdRange> halves_;  // of chunks that were cut, the next one last
  int64_t cut_ = 0;
  StagePipeline<Made> pipeline_;  // last: its threads use all of the above
};

}  // namespace halograph
