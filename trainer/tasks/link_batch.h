// What a minibatch of edges asks: which rows of the model's outputs are the ends of which edges,
// and of the negatives drawn for them. Reads the layout that EdgeSeeds collected the seeds by. Pure
// functions.
#pragma once

#include <vector>

#include "common/graph/schema.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/seeds/edge_layout.h"
#include "trainer/tasks/link_ranking.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// The rows of a run that one end is asked for, with its negatives.
struct Asked {
  bool tails = true;
  int given_type = 0, candidate_type = 0;
  torch::Tensor relations;           // int64 [n]
  torch::Tensor given, truth;        // rows of both ends: [n, dim]
  torch::Tensor given_at, truth_at;  // their nodes' positions in the minibatch, int32 [n]
  // As they were drawn; not defined where none were.
  torch::Tensor negatives = {}, negatives_at = {};
};

// Of a batch that was collected with `spec`: run by run, of each the tails, then the heads, as far
// as they are asked for. `outputs`: by node type. Borrows positions: lives with the batch.
[[nodiscard]] std::vector<Asked> AskedOf(const Schema& schema, const NegativeSpec& spec,
                                         const std::vector<torch::Tensor>& outputs,
                                         const Step& batch);

// Appends a query of each row.
void AddQueries(const Asked& asked, const Minibatch& minibatch, std::vector<LinkQuery>* queries);

}  // namespace halograph
