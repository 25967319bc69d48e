// Weights of edges (--edge-weight): from the name of an edge feature to Block::coefficients, by
// which the rows of neighbours are multiplied before they are summed.
//
// Where minibatches are drawn by the same feature, Block::weights has the values already. Else they
// are pulled by edge id: of a minibatch all in the call that pulls the features of its nodes.
//
// Functions throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/row_store.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"

namespace halograph {

class WeightSums;  // weight_sums.h

// A feature of the edges of a relation: one number an edge.
struct EdgeInput {
  int relation = 0;  // index in the schema
  TensorRef feature = {};
  TensorSpec spec = {};
};

// What minibatches of one recipe get their coefficients from; of nothing: they have none.
struct EdgeWeighing {
  std::string name = {};               // of the edge feature; empty: no edge is weighed
  bool drawn_by = false;               // Block::weights are its values
  std::vector<EdgeInput> pulled = {};  // else: of all relations that are drawn from, ascending
  // What degrees are where they are of all edges, whatever was drawn; null: numbers of edges.
  std::shared_ptr<const WeightSums> sums = nullptr;

  [[nodiscard]] bool empty() const { return name.empty(); }
};

// The weights that an edge feature of this name is; no name: none. `sampling` is valid.
//   NotFound         a relation that is drawn from has no such feature: what it has is named
//   InvalidArgument  a feature of several columns
[[nodiscard]] StatusOr<EdgeWeighing> ChooseEdgeWeights(const Schema& schema,
                                                       const std::string& name,
                                                       const SamplingSpec& sampling);

// Makes coefficients of what a minibatch was drawn by. `keep`: Block::weights stay, else they are
// given up. OutOfRange naming relation and node: a weight above 1e30.
[[nodiscard]] Status WeighByDraw(const Schema& schema, const EdgeWeighing& weights, bool keep,
                                 Minibatch* minibatch);

// A value that is no weight.
struct WrongWeight {
  TensorRef feature = {};
  int64_t edge = 0;  // global id
  double value = 0;
};
// OutOfRange saying what to do. `original`: the edge's original id, if that is known.
[[nodiscard]] Status RefuseWeight(const WrongWeight& wrong, std::optional<int64_t> original);

// What EdgeWeightPull takes beside the minibatch while it is under way.
[[nodiscard]] int64_t BytesToPull(const EdgeWeighing& weights, const Minibatch& minibatch);

// The weights of one minibatch's edges on their way: a request for each relation, of all its blocks
// together. Used by one thread at a time.
class EdgeWeightPull {
 public:
  EdgeWeightPull() = default;  // of no weights
  // Of a minibatch that has edge ids. `weights` outlives it.
  EdgeWeightPull(const EdgeWeighing& weights, const Minibatch& minibatch);
  EdgeWeightPull(EdgeWeightPull&&) = default;
  EdgeWeightPull& operator=(EdgeWeightPull&&) = default;

  // What to pull, into memory of its own; nothing where there are no edges.
  [[nodiscard]] std::span<const RowRequest> requests() const { return requests_; }
  // Once the rows are there: multiplies the coefficients of the same minibatch (1 where it has
  // none), or gives the first
  // value, in the order of its relations, layers and edges, that is negative, NaN or above
  // 1e30.
  [[nodiscard]] std::optional<WrongWeight> Take(Minibatch* minibatch) const;

 private:
  struct OfRelation {
    const EdgeInput* input = nullptr;
    std::vector<int64_t> ids;  // one layer after the other
    std::vector<std::byte> rows;
  };
  std::vector<OfRelation> relations_;
  std::vector<RowRequest> requests_;
};

}  // namespace halograph
