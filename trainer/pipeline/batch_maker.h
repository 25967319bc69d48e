// From seeds to all that a training step needs: sample, pull the features of every node type that
// the model takes in and the weights of edges, convert and normalise them, and make of them what
// its layers read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/graph_store.h"
#include "client/row_store.h"
#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "common/sampling/samplers/last_layer.h"
#include "common/sampling/samplers/walk_weights.h"
#include "trainer/pipeline/column_scales.h"
#include "trainer/pipeline/edge_weights.h"
#include "trainer/pipeline/feature_matrix.h"
#include "trainer/pipeline/held_rows.h"
#include "trainer/pipeline/layer_blocks.h"
#include "trainer/pipeline/layer_inputs.h"
#include "trainer/pipeline/step.h"
#include "trainer/seeds/seed_source.h"

namespace halograph {

// A tensor of a node type that goes into a model's input; several of one type stand side by side,
// in the order that they are listed in.
struct NodeInput {
  int node_type = 0;  // index in the schema
  TensorRef feature;
  TensorSpec spec;
  FeatureNormalization normalization = FeatureNormalization::kNone;
  std::shared_ptr<const Standardizer> standardizer =
      nullptr;  // of kStandard: before rows are pulled
};

// What the minibatches of one purpose have in common.
struct BatchRecipe {
  SamplingSpec sampling;
  bool edge_ids = false;  // as SampleRequest's
  bool weights = false;
  bool source_degrees = false;
  EdgeWeighing edge_weights = {};  // what fills Block::coefficients
  // Of subgraphs of walks, whose chances are of the whole run: the same, and node_weights. Else
  // null.
  std::shared_ptr<const WalkWeights> walks = nullptr;
  std::vector<NodeInput> inputs;  // none of types that are not pulled
  // Rows that are not gathered, since whoever computes has them; null: none. Only with
  // InputRows::kNodes.
  std::shared_ptr<const HeldRows> held = nullptr;
  InputRows input_rows = InputRows::kNodes;
  Precision precision = Precision::kFloat32;  // of these rows
  BlockForm form = BlockForm::kSampled;
  BySource by_source = BySource::kNone;  // for the backward pass
  // Of the last layer's sources, where servers answer them; null: as they are sampled.
  CompactIds compact = {};
  ThreadPool* pool = nullptr;  // shares the work on self_and_mean; not owned; null: none

  // What a request asks for: besides what is wanted, what coefficients are made of.
  [[nodiscard]] bool asks_edge_ids() const {
    return edge_ids || !edge_weights.pulled.empty() || walks != nullptr;
  }
  [[nodiscard]] bool asks_weights() const { return weights || edge_weights.drawn_by; }
};

// A step that is to be sampled: whatever is not known of it yet.
struct StepToSample {
  StepSeeds seeds;
  uint64_t batch_seed = 0;
  Step* step = nullptr;  // of which the rows of the task are known
};

// Thread-safe: any number of threads may call at once. The stores are not owned.
class BatchMaker {
 public:
  BatchMaker(GraphStore* graph, RowStore* rows, BatchRecipe recipe);

  // What `seeds` ask for: minibatch, blocks and types of a step whose rows of the task are known.
  // Then, in another call, the rows of its nodes. What is sampled lacks its last layer's indices,
  // and blocks, until Compact where compacts_apart(); where weights of edges are pulled, it lacks
  // them, and blocks, until the rows are there. A step without rows stays as it is, and the
  // stores are not asked. Calls of the stores go by the token, deadline and ids of `like`.
  // Errors are those of the stores, with what was being done in front, and
  //   OutOfRange  a value that is no weight (RefuseWeight, WeighByDraw)
  [[nodiscard]] Status Sample(const StepSeeds& seeds, uint64_t batch_seed, const CallContext& like,
                              Step* step) const;
  [[nodiscard]] Status PullRows(const CallContext& like, Step* step) const;
  // The same, not waited for (client/started.h), and by the ticket of `like`, too: it is not used
  // once they return, and `step` is the call's until `done`.
  // Several steps make one call of the store, whose figures are the first step's that has rows; an
  // error is that of all. What has been sampled lacks what Complete makes of it. Requires one step
  // where compacts_apart().
  void StartSample(std::vector<StepToSample> steps, const CallContext& like, StatusDone done) const;
  void StartPull(const CallContext& like, Step* step, StatusDone done) const;
  // Blocks and the rest of a step whose minibatch StartSample has sampled, unless compacts_apart():
  // then Compact makes them. A step without rows stays as it is.
  [[nodiscard]] Status Complete(Step* step) const;
  // Waits for recipe().compact. Errors are those, and CompactLast's. Requires compacts_apart().
  [[nodiscard]] Status Compact(Step* step) const;
  // What a sampled step comes to, and its rows besides, in bytes.
  [[nodiscard]] int64_t BytesOf(const Step& step) const;
  [[nodiscard]] int64_t RowBytesOf(const Step& step) const;

  [[nodiscard]] const BatchRecipe& recipe() const { return recipe_; }
  // Whether sampling asks nobody.
  [[nodiscard]] bool samples_here() const { return graph_->whole_topology() != nullptr; }
  // Whether a sampled step is to go through Compact.
  [[nodiscard]] bool compacts_apart() const {
    return recipe_.compact && !samples_here() && takes_last_apart_;
  }
  // Whether no row is pulled: InputRows::kSelfAndMean is made straight from what is stored.
  [[nodiscard]] bool reads_in_place() const;

 private:
  // What StartSample keeps while it asks.
  struct SampleCall;
  void StartLastApart(const std::shared_ptr<SampleCall>& call, StatusDone done) const;
  static void TakeMinibatches(SampleCall* call);
  // What StartPull keeps while it asks.
  struct PullCall;
  void TakeRows(const std::shared_ptr<PullCall>& call, const Status& pulled) const;
  // Makes the request for the original id of an edge whose value is no weight.
  static void AskForOriginal(PullCall* call);
  // Sends it, and ends the call.
  void RefuseEdge(const std::shared_ptr<PullCall>& call) const;
  static void EndPull(PullCall& call, Status status);
  // What follows from a whole minibatch: which rows are held, and blocks where nothing of edges is
  // pulled.
  [[nodiscard]] Status FollowUp(Step* step) const;
  [[nodiscard]] Status MakeBlocks(Step* step) const;
  void SplitRowsOf(Step* step) const;
  void MakeInputRows(std::vector<FeatureMatrix> features, Step* step) const;

  GraphStore* const graph_;
  RowStore* const rows_;
  const BatchRecipe recipe_;
  const bool takes_last_apart_;
  const SamplingSpec before_last_;                       // where the last layer is compacted apart
  const std::unique_ptr<BuilderWorkspaces> workspaces_;  // the same
  // Per node type, where rows of the first layer are made straight from what is stored.
  const std::vector<std::optional<RowsInPlace>> in_place_;
};

}  // namespace halograph
