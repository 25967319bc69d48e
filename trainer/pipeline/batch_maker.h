// From seeds to all that a training step needs: sample, pull features, convert and normalise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/graph_store.h"
#include "client/kv_store.h"
#include "common/base/status.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "trainer/pipeline/feature_matrix.h"

namespace halograph {

// A minibatch ready for the model. Plain values; torch knows nothing of it yet.
struct PreparedBatch {
  Minibatch minibatch;
  FeatureMatrix features;       // of the input nodes, minibatch.nodes[seed type], in that order
  std::vector<int64_t> labels;  // one a listed seed; empty for prediction
  CallStats sampled;
  CallStats pulled;
  double sample_seconds = 0;  // spent in GraphStore::Sample
  double pull_seconds = 0;    // spent in KVStore::Pull and conversion

  [[nodiscard]] int64_t num_seeds() const {
    return minibatch.seed_positions.empty() ? 0 : std::ssize(minibatch.seed_positions.front());
  }
};

// What the minibatches of one purpose have in common.
struct BatchRecipe {
  int node_type = 0;  // of seeds and of all that they reach
  SamplingSpec sampling;
  TensorRef feature;
  TensorSpec feature_spec;
  FeatureNormalization normalization = FeatureNormalization::kNone;
};

// Thread-safe: any number of threads may Make at once. The stores are not owned.
class BatchMaker {
 public:
  BatchMaker(GraphStore* graph, KVStore* kv, BatchRecipe recipe);

  // Errors are those of the stores, with what was being done in front. No seeds give a batch of
  // no rows without asking the stores.
  [[nodiscard]] StatusOr<PreparedBatch> Make(std::span<const int64_t> seeds,
                                             uint64_t batch_seed) const;

 private:
  [[nodiscard]] Status PullFeatures(std::span<const int64_t> ids, PreparedBatch* batch) const;

  GraphStore* const graph_;
  KVStore* const kv_;
  const BatchRecipe recipe_;
};

}  // namespace halograph
