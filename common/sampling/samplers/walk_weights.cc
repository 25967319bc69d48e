// Compiled without contraction: every machine gives the same weights.
#include "common/sampling/samplers/walk_weights.h"

#include <utility>

#include "common/graph/owner_split.h"

namespace halograph {
namespace {

Status CheckIds(const char* what, std::span<const int64_t> ids, int64_t count) {
  const size_t outside = FindOutside(ids, count);
  if (outside == ids.size()) return OkStatus();
  return Internal("a subgraph of walks has {} {}, but the graph has {}", what, ids[outside], count);
}

}  // namespace

Status CheckSubgraphIds(const Minibatch& minibatch, int type, int64_t nodes, int64_t edges) {
  if (minibatch.layers.empty() || minibatch.layers[0].blocks.size() != 1) {
    return Internal("a subgraph of walks has one block a layer, and this minibatch has not");
  }
  const Block& block = minibatch.layers[0].blocks[0];
  const std::vector<int64_t>& ids = minibatch.nodes[static_cast<size_t>(type)];
  if (block.edge_ids.size() != block.indices.size() || block.indptr.size() != ids.size() + 1) {
    return Internal("a subgraph of walks with {} nodes and {} edges has {} offsets and {} edge ids",
                    ids.size(), block.indices.size(), block.indptr.size(), block.edge_ids.size());
  }
  HG_RETURN_IF_ERROR(CheckIds("node", ids, nodes));
  return CheckIds("edge", block.edge_ids, edges);
}

WalkWeights::WalkWeights(int type, const SubgraphWeights& exact)
    : type_(type),
      num_nodes_(std::ssize(exact.chances)),
      num_edges_(std::ssize(exact.factors)),
      factors_(exact.factors.begin(), exact.factors.end()),
      presampled_(0, 0) {
  node_weights_.reserve(exact.chances.size());
  for (const double chance : exact.chances) node_weights_.push_back(static_cast<float>(1 / chance));
}

WalkWeights::WalkWeights(int type, PresampledChances presampled)
    : type_(type),
      num_nodes_(presampled.num_nodes()),
      num_edges_(presampled.num_edges()),
      presampled_(std::move(presampled)),
      error_(presampled_.NodeError()),
      unseen_(presampled_.unseen()) {}

float WalkWeights::WeightOf(int64_t node) const {
  if (exact()) return node_weights_[static_cast<size_t>(node)];
  return static_cast<float>(1 / presampled_.ChanceOfSeen(node));
}

float WalkWeights::FactorOf(int64_t node, int64_t edge) const {
  if (exact()) return factors_[static_cast<size_t>(edge)];
  return static_cast<float>(presampled_.FactorOfSeen(node, edge));
}

Status WalkWeights::Weigh(Minibatch* minibatch) const {
  HG_RETURN_IF_ERROR(CheckSubgraphIds(*minibatch, type_, num_nodes_, num_edges_));
  const Block& block = minibatch->layers[0].blocks[0];
  const std::vector<int64_t>& nodes = minibatch->nodes[static_cast<size_t>(type_)];
  minibatch->node_weights.clear();
  for (const int64_t node : nodes) minibatch->node_weights.push_back(WeightOf(node));
  std::vector<float> factors;
  factors.reserve(block.edge_ids.size());
  for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
    for (int64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
      factors.push_back(FactorOf(nodes[i], block.edge_ids[static_cast<size_t>(e)]));
    }
  }
  for (SampledLayer& layer : minibatch->layers) layer.blocks[0].coefficients = factors;
  return OkStatus();
}

}  // namespace halograph
