// The layers of R-GCN (rgcn.h), of the nodes of one type at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/blocks/relational_block.h"
#include "trainer/kernels/block_on_device.h"
#include "trainer/kernels/grouped_layer.h"
#include "trainer/models/rgcn.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// A relation's edges on a device; its sources are `sources` rows of the stacked inputs.
struct RelationOnDevice {
  const BlockOnDevice* block = nullptr;
  LayerNodes sources = {};
};

// The relations into one node type, of one layer of a minibatch.
struct EdgesInto {
  std::vector<int64_t> relations;    // indices in the schema
  std::vector<RelationEdges> edges;  // one each
  // What was made of them before the step; null: nothing.
  const RelationGroups* by_relation = nullptr;
  const RelationalBlock* by_destination = nullptr;
  const TransposedBlock* by_source = nullptr;
  // One each, where the inputs are on a device: nothing else is read then. Else none.
  std::vector<RelationOnDevice> on_device = {};
};

// The parameters of a layer: W_0, b, and W_r of every relation r of the schema.
class RgcnLayerImpl : public torch::nn::Module {
 public:
  RgcnLayerImpl(int64_t relations, int64_t in, int64_t out, const RgcnOptions& options,
                Precision precision);

  // `h`: what the layer reads of all nodes, stacked.
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& h, const LayerNodes& nodes,
                                      const EdgesInto& into, const LayerOutput& output);

 private:
  [[nodiscard]] torch::Tensor ByBases(const torch::Tensor& h, int64_t first, const EdgesInto& into,
                                      const LayerOutput& output);
  [[nodiscard]] torch::Tensor ByRelation(const torch::Tensor& h, const LayerNodes& nodes,
                                         const EdgesInto& into, const LayerOutput& output);
  // Composed of libtorch's operations, relation by relation.
  [[nodiscard]] torch::Tensor OnDevice(const torch::Tensor& h, const LayerNodes& nodes,
                                       const EdgesInto& into, const LayerOutput& output);

  const Precision precision_;
  torch::nn::Linear self_{nullptr};
  torch::Tensor coefficients_, bases_;  // [relations, bases], [bases, out, in]; or
  torch::Tensor matrices_;              // [relations, blocks, out / blocks, in / blocks]
};
TORCH_MODULE(RgcnLayer);

// The first layer where inputs are one-hot. The matrices' columns are the nodes' rows: it has the
// coefficients alone, and without bases no parameter.
class OneHotLayerImpl : public torch::nn::Module {
 public:
  // `cols`: of what it gives.
  OneHotLayerImpl(int64_t relations, int64_t cols, const RgcnOptions& options);

  // `rows`: the rows of all nodes, stacked (OwnInputs of the options).
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& rows, const LayerNodes& nodes,
                                      const EdgesInto& into, const LayerOutput& output);
  // What it gives of the nodes themselves, by no relation.
  [[nodiscard]] torch::Tensor Own(const torch::Tensor& rows, const LayerNodes& nodes) const {
    return rows.narrow(0, nodes.first, nodes.count).narrow(1, bases_ * cols_, cols_);
  }

 private:
  // What a relation takes of the rows of its sources: [sources, cols].
  [[nodiscard]] torch::Tensor OfRelation(const torch::Tensor& rows, int64_t relation) const;

  const int64_t bases_;
  const int64_t cols_;
  torch::Tensor coefficients_;  // [relations, bases]; none: each relation has a basis
};
TORCH_MODULE(OneHotLayer);

}  // namespace halograph
