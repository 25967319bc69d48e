// A step: what one rank reads in it, from its seeds to what the model takes in. It goes through the
// stages of a pipeline, each of which fills parts of it that no earlier one has touched:
//
//   schedule   key, seeds, labels, rows
//   sample     minibatch, blocks, seed_types, split; what `seeds` lists is given up; where rows are
//              found in the minibatch, rows, labels, weighs_rows and row_weights
//   compact    where the last layer is compacted apart: raw is given up for what minibatch still
//              lacks; blocks and split are made here
//   plan       ticket, where remote rows are cached
//   gather     features or self_and_mean; where weights of edges are pulled, the coefficients of
//              minibatch, and blocks only now
//   above      tensors: rows that are learnt, and what move makes of the rows
//
// Plain values; torch knows nothing of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/call_context.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "common/sampling/samplers/last_layer.h"
#include "trainer/pipeline/feature_matrix.h"
#include "trainer/pipeline/held_rows.h"
#include "trainer/pipeline/layer_blocks.h"
#include "trainer/pipeline/layer_inputs.h"
#include "trainer/pipeline/stage_progress.h"
#include "trainer/seeds/seed_source.h"

namespace halograph {

// Which step: of a rank and a run there is one of each.
struct StepId {
  BatchPurpose purpose = BatchPurpose::kTrain;
  int64_t epoch = 0;
  int64_t step = 0;         // in the epoch
  uint64_t batch_seed = 0;  // of what is sampled

  bool operator==(const StepId&) const = default;
};

// What stages above the pipeline make of a step: theirs alone to look into.
class StepTensors {
 public:
  virtual ~StepTensors() = default;
};

struct Step {
  StepId key;
  StepSeeds seeds;  // labels not: they stand below
  Minibatch minibatch;
  RawLayer raw;  // of its last layer, until that is compacted; else empty
  // Where the recipe has rows that are held: which of the nodes' these are, and what they come to
  // with the values that a step computes with. Else empty.
  RowSplit split = {};
  int64_t held_bytes = 0;
  // Per node type the features of nodes_to_gather()[type], in that order; of no columns for types
  // that the recipe has no features for, and of all types where the recipe asks for other rows.
  // Empty in a step without seeds.
  std::vector<FeatureMatrix> features;
  // Of InputRows::kSelfAndMean: one a block of the last layer; else empty.
  std::vector<SelfAndMean> self_and_mean;
  LayerBlocks blocks;  // as the recipe asks for them
  // Node type of each of minibatch.seed_positions, which are of the ids that are asked for.
  std::vector<int> seed_types;
  std::optional<int64_t> ticket = {};  // of the cache; empty: it was not told of the step
  LabelRows labels;                    // of the rows
  // Of a subgraph that was drawn by chance: what each row's loss counts stands for rows that were
  // not drawn, so that the step counts even without rows.
  bool weighs_rows = false;
  std::vector<float> row_weights = {};  // of the rows, if so; else all count alike
  int64_t rows = 0;                     // of the task that the step is about: seeds, or edges
  std::unique_ptr<StepTensors> tensors = nullptr;

  CallStats sampled;
  CallStats pulled;
  CallStats learnt;           // of the pull of rows that are learnt
  double sample_seconds = 0;  // spent in GraphStore::Sample and on `blocks`
  // Spent on rows: pulls, conversion and `self_and_mean`; where weights of edges are pulled, on
  // these and on `blocks`, too.
  double pull_seconds = 0;
  double learn_seconds = 0;  // spent on rows that are learnt
  // Of all parts once they are there, rows and what is made of them apart; known once it is
  // sampled.
  ItemBytes bytes = {};

  // Whether it has a share in the loss.
  [[nodiscard]] bool counts() const { return rows > 0 || weighs_rows; }
  // By node type: the nodes whose rows stores are asked for.
  [[nodiscard]] const std::vector<std::vector<int64_t>>& nodes_to_gather() const {
    return split.gathered.empty() ? minibatch.nodes : split.gathered;
  }
};

}  // namespace halograph
