// What a dense computation of a step cannot be faster than: the products of all layers, by the
// project's kernels, and the gathers of rows, both ways, over memory that is there already.
#pragma once

#include <vector>

#include "common/sampling/minibatch.h"
#include "tests/bench/step/bare_products.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/blocks/gather_rows.h"

namespace halograph {

class StepLimit {
 public:
  // `widths`: of the inputs and of every layer's outputs. `minibatch` must outlive this.
  StepLimit(const Minibatch& minibatch, const std::vector<int64_t>& widths) {
    for (size_t k = 0; k + 1 < widths.size(); ++k) {
      const SampledLayer& layer = minibatch.layers[minibatch.layers.size() - 1 - k];
      layers_.push_back(
          Make(layer.blocks.front(), layer.num_sources.front(), widths[k], widths[k + 1]));
    }
  }

  void Run() const {
    const torch::NoGradGuard no_grad;
    for (const Layer& layer : layers_) Forward(layer);
    for (size_t k = layers_.size(); k-- > 0;) Backward(layers_[k], k > 0);
  }

 private:
  struct Layer {
    const Block* block;
    torch::Tensor h, x, weights, transposed_weights, z, x_grad, h_grad, parts;
    TransposedBlock by_source;
  };

  static Layer Make(const Block& block, int64_t sources, int64_t in, int64_t out) {
    const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
    const auto ones = [](int64_t of, int64_t cols) { return RowsWithRoom(of, cols).fill_(1); };
    return {&block,
            torch::ones({sources, in}),
            ones(rows, 2 * in),
            ones(out, 2 * in),
            ones(2 * in, out),
            ones(rows, out),
            ones(rows, 2 * in),
            torch::ones({sources, in}),
            torch::ones({4, out, PaddedStride(2 * in)}).narrow(2, 0, 2 * in),
            Transpose(block.indptr.data(), rows, block.indices.data(), sources)};
  }

  static void Forward(const Layer& layer) {
    const PickedRows picked = {layer.block->indptr.data(), layer.block->indices.data(),
                               ConstRowsOf(layer.h), layer.h.size(1)};
    const MutableRows x = MutableRowsOf(layer.x);
    at::parallel_for(0, layer.x.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
      MeanOfRows(picked, begin, end, {x.data + picked.cols, x.stride});
    });
    BareProduct(layer.x, {}, layer.transposed_weights, layer.z);
  }

  static void Backward(const Layer& layer, bool inputs_too) {
    BareTransposedProduct(layer.z, {}, layer.x, layer.parts);
    if (!inputs_too) return;
    BareProduct(layer.z, {}, layer.weights, layer.x_grad);
    const ConstRows grad = ConstRowsOf(layer.x_grad);
    const int64_t cols = layer.h.size(1);
    const TransposedBlock& by_source = layer.by_source;
    const PickedRows picked = {by_source.indptr.data(),
                               by_source.destinations.data(),
                               {grad.data + cols, grad.stride},
                               cols};
    at::parallel_for(0, layer.h.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
      ScaledSumOfRows(picked, by_source.reciprocals.data(), grad, layer.x.size(0), begin, end,
                      MutableRowsOf(layer.h_grad));
    });
  }

  std::vector<Layer> layers_;
};

}  // namespace halograph
