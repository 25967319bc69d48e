#include "trainer/models/hidden_layer.h"

#include "trainer/kernels/linear_layer.h"
#include "trainer/torch/rows_seen.h"

namespace halograph {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;  // of the running mean and variance

}  // namespace

HiddenLayerImpl::HiddenLayerImpl(const LayerOptions& options, Activation activation,
                                 Precision precision, int64_t in, int64_t out, uint64_t layer)
    : activation_(activation),
      precision_(precision),
      norm_(options.norm),
      residual_(options.residual),
      dropout_(options.dropout),
      layer_(layer),
      dense_(register_module("dense", torch::nn::ModuleList())) {
  for (int64_t k = 0; k < options.ngnn; ++k) dense_->push_back(torch::nn::Linear(out, out));
  if (norm_ != Normalization::kNone) {
    weight_ = register_parameter("weight", torch::ones({out}));
    bias_ = register_parameter("bias", torch::zeros({out}));
  }
  if (norm_ == Normalization::kBatch) {
    running_mean_ = register_buffer("running_mean", torch::zeros({out}));
    running_variance_ = register_buffer("running_variance", torch::ones({out}));
    rows_seen_ = register_buffer(kRowsSeen, torch::zeros({1}));
  }
  if (residual_ && in != out) {
    projection_ = register_module("projection",
                                  torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false)));
  }
}

LayerOutput HiddenLayerImpl::Last(const std::optional<uint64_t>& draws) const {
  if (!fused()) return {};
  return {.relu = true, .dropout = Dropout::Of(dropout_, draws, kLayerDraws + layer_)};
}

LayerOutput HiddenLayerImpl::OfFormula(const std::optional<uint64_t>& draws) const {
  if (dense_->is_empty()) return Last(draws);
  return {.relu = activation_ == Activation::kRelu, .dropout = {}};
}

torch::Tensor HiddenLayerImpl::Finish(torch::Tensor z, const torch::Tensor& own,
                                      const std::optional<uint64_t>& draws) {
  for (size_t k = 0; k < dense_->size(); ++k) {
    if (activation_ == Activation::kElu) z = torch::elu(z);
    const auto* dense = dense_[k]->as<torch::nn::Linear>();
    const LayerOutput inner = {.relu = activation_ == Activation::kRelu, .dropout = {}};
    const LayerOutput output = k + 1 == dense_->size() ? Last(draws) : inner;
    z = LinearLayer(z, dense->weight, dense->bias, output, precision_);
  }
  if (!fused()) {
    z = norm_ == Normalization::kNone ? z : Normalize(z);
    z = activation_ == Activation::kElu ? torch::elu(z) : torch::relu(z);
    z = Drop(z, Dropout::Of(dropout_, draws, kLayerDraws + layer_));
  }
  if (!residual_) return z;
  if (projection_.is_empty()) return z + own.to(torch::kFloat32);
  return z + LinearLayer(own, projection_->weight, torch::Tensor(), {}, precision_);
}

torch::Tensor HiddenLayerImpl::Normalize(const torch::Tensor& z) {
  const bool rows = norm_ == Normalization::kLayer;
  // One row alone has no variance by column: the running one stands in.
  if (!rows && !(is_training() && z.size(0) > 1)) {
    return Scaled(z - running_mean_, running_variance_);
  }
  const torch::Tensor mean = z.mean(rows ? 1 : 0, /*keepdim=*/true);
  const torch::Tensor centred = z - mean;
  const torch::Tensor variance = centred.square().mean(rows ? 1 : 0, /*keepdim=*/true);
  if (!rows) FollowColumns(mean, variance, z.size(0));
  return Scaled(centred, variance);
}

torch::Tensor HiddenLayerImpl::Scaled(const torch::Tensor& centred,
                                      const torch::Tensor& variance) const {
  return centred * torch::rsqrt(variance + kEpsilon) * weight_ + bias_;
}

void HiddenLayerImpl::FollowColumns(const torch::Tensor& mean, const torch::Tensor& variance,
                                    int64_t rows) {
  const torch::NoGradGuard no_grad;
  const double unbiased = static_cast<double>(rows) / static_cast<double>(rows - 1);
  running_mean_.lerp_(mean.squeeze(0), kMomentum);
  running_variance_.lerp_(variance.squeeze(0) * unbiased, kMomentum);
  rows_seen_ += static_cast<double>(rows);
}

}  // namespace halograph
