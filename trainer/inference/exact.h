// Exact inference over a whole graph, layer by layer: layer 1 for all nodes, a chunk of them with
// all their neighbours at a time, then layer 2 over the rows that this gave, and so on. Each row of
// a layer is made once, where full-neighbourhood sampling makes it for every minibatch that reads
// it. (Inference by layers as GraphSAGE's authors and DGL's examples have it.) Where a layer's
// aggregation is linear and what it gives is narrower than what it reads, its weights are
// multiplied before it aggregates (exact_passes.h): each edge reads a narrower row.
//
// What comes out is what minibatches with fanouts of -1 give (relations of fanout 0 are left out),
// but for the order in which sums are taken: of models whose products are ours (sage, gcn, sgc,
// gat) no bit depends on how nodes are cut into chunks, nor on where rows lie; those of rgcn and
// embedding are libtorch's, which promise none. gcn and sgc divide by degrees: here by those of the
// graph, which a minibatch knows of its inner nodes only (trainer/kernels/normalized_sum.h), so
// that they are alike where a minibatch is of all nodes, or has one layer more.
//
// Memory: half of ExactOptions::memory for rows between layers, which go to files without names
// where they are more (common/storage/scratch.h), half for chunks. Besides come 4 bytes a node for
// each chunk in the making (--sampler-memory), what libtorch and the stores hold, and the edges of
// the chunks that are being sampled, before it is known how many they are.
//
// On a device chunks are moved there as minibatches are, computed by the layers' forms for devices,
// and rows between layers come home: they are kept, and of projected rows the means are made, in
// the host's memory. What a chunk takes there is about what it takes here; but attention and
// maximum write a row for each edge besides.
//
// One process: rows between layers are not exchanged between ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "common/storage/scratch.h"
#include "trainer/inference/exact_passes.h"
#include "trainer/training/session.h"

namespace halograph {

struct ExactOptions {
  int64_t memory = int64_t{1} << 30;
  int64_t chunk_nodes = 0;  // of a chunk; 0: as many as memory allows
  int64_t scratch_after =
      0;  // what the caller takes of the scratch space while the last layer runs
};

// What of the scratch space and of chunks `memory` leaves.
[[nodiscard]] constexpr int64_t ScratchMemory(int64_t memory) { return memory / 2; }

// Of one layer.
struct ExactLayerFigures {
  int64_t nodes = 0;  // whose rows were made
  int64_t edges = 0;  // that were read
  int64_t chunks = 0;
  int64_t cut = 0;  // chunks that were too large and cut in two
  double seconds = 0;
  // Of all threads that make chunks together, beside computing: in GraphStore::Sample, and in
  // getting rows, from the store in the first layer, else of the layer before.
  double sample_seconds = 0;
  double pull_seconds = 0;
};

struct ExactFigures {
  std::vector<ExactLayerFigures> layers;
  double degree_seconds = 0;       // for in-degrees of all nodes, where the model divides by them
  double projection_seconds = 0;   // of inputs, where the first layer reads projected rows
  int64_t scratch_file_bytes = 0;  // written to files, over all layers

  [[nodiscard]] Json ToJson() const;
};

// What becomes of the rows of a chunk: per node type, as Model::Forward gives them. An error ends
// the inference.
using UseChunk = std::function<Status(const std::vector<torch::Tensor>& rows, Step& chunk)>;

// Gives `use` the rows of all nodes of `nodes`, whose types are among `types`, chunk by chunk, in
// order. `scratch` is of ScratchMemory(options.memory). Requires session.model, which is put into
// evaluation, session.eval_maker and, where inputs are learnt, session.learnt.
//   InvalidArgument    more than one rank
//   ResourceExhausted  no room for rows, on the disk or in memory; or as ChunkFeed::Next
//   Cancelled          a stop signal came
//   else               as ChunkFeed::Next, PullLearnt and `use`
// Throws as libtorch does.
[[nodiscard]] StatusOr<ExactFigures> InferExactly(Session& session, const ExactOptions& options,
                                                  ExactRows what, const SeedSource& nodes,
                                                  std::span<const int> types, ScratchSpace& scratch,
                                                  const UseChunk& use);

}  // namespace halograph
