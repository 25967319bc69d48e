// What a hidden layer of a model does around its own formula, as --norm, --ngnn, --residual and
// --dropout say. With z what the formula gives for a node, h what it read of the node itself:
//
//   for each of K dense layers (NGNN, Song et al. 2021, section 3):  z <- W act(z) + b
//   --norm layer   z <- the row, less its mean, over its deviation, times a weight, plus a bias
//                       (Ba et al. 2016)
//   --norm batch   z <- the same by column, over the rows of the step; in evaluation by the running
//                       mean and variance (Ioffe and Szegedy 2015)
//   z <- act(z), then dropout
//   --residual     z <- z + h, or + P h where the widths differ (He et al. 2016)
#pragma once

#include <cstdint>
#include <optional>

#include "trainer/kernels/dense_layer.h"
#include "trainer/models/layer_options.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

enum class Activation : uint8_t { kRelu, kElu };

// What a model draws in a step, each under keys of its own (ModelInput::draws): the layer's number
// is added.
inline constexpr uint64_t kLayerDraws = 0;
inline constexpr uint64_t kInputDraws = uint64_t{1} << 32;
inline constexpr uint64_t kAttentionDraws = uint64_t{2} << 32;

// Not thread-safe. The running mean and variance are buffers, and so are the rows that they have
// followed (kRowsSeen): averaged over ranks before an evaluation, and kept with the best weights
// (trainer/training).
class HiddenLayerImpl : public torch::nn::Module {
 public:
  // `in`, `out`: widths of what the formula reads and gives. `layer`: from the inputs on.
  HiddenLayerImpl(const LayerOptions& options, Activation activation, Precision precision,
                  int64_t in, int64_t out, uint64_t layer);

  // What the formula itself is to finish its product with: activation and dropout if nothing comes
  // between, as a Function that does all at once is quicker. Only of a layer with ReLU.
  [[nodiscard]] LayerOutput OfFormula(const std::optional<uint64_t>& draws) const;
  // Does the rest. `z`: [rows, out], finished as OfFormula said. `own`: [rows, in], float32 or
  // bfloat16; looked at only if reads_own().
  [[nodiscard]] torch::Tensor Finish(torch::Tensor z, const torch::Tensor& own,
                                     const std::optional<uint64_t>& draws);
  [[nodiscard]] bool reads_own() const { return residual_; }
  // Whether the formula's rows are the layer's: nothing is left to do.
  [[nodiscard]] bool formula_is_all() const { return fused() && !residual_ && dense_->is_empty(); }

 private:
  [[nodiscard]] torch::Tensor Normalize(const torch::Tensor& z);
  // Over the deviation, times the weight, plus the bias.
  [[nodiscard]] torch::Tensor Scaled(const torch::Tensor& centred,
                                     const torch::Tensor& variance) const;
  // Moves the running mean and variance a step towards those of the columns of so many rows.
  void FollowColumns(const torch::Tensor& mean, const torch::Tensor& variance, int64_t rows);
  // Of a product that nothing but activation and dropout follows.
  [[nodiscard]] LayerOutput Last(const std::optional<uint64_t>& draws) const;
  [[nodiscard]] bool fused() const {
    return activation_ == Activation::kRelu && norm_ == Normalization::kNone;
  }

  const Activation activation_;
  const Precision precision_;
  const Normalization norm_;
  const bool residual_;
  const double dropout_;
  const uint64_t layer_;
  torch::nn::ModuleList dense_;            // torch::nn::Linear
  torch::nn::Linear projection_{nullptr};  // of the residual, where the widths differ
  // Of the norm, if there is one.
  torch::Tensor weight_, bias_, running_mean_, running_variance_, rows_seen_;
};
TORCH_MODULE(HiddenLayer);

}  // namespace halograph
