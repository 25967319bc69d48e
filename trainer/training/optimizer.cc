#include "trainer/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

namespace halograph {
namespace {

std::unique_ptr<torch::optim::Optimizer> Make(OptimizerKind kind,
                                              std::vector<torch::Tensor> parameters, double rate,
                                              double decay) {
  using torch::optim::Adam, torch::optim::AdamOptions, torch::optim::SGD, torch::optim::SGDOptions;
  if (kind == OptimizerKind::kSgd) {
    return std::make_unique<SGD>(std::move(parameters), SGDOptions(rate).weight_decay(decay));
  }
  return std::make_unique<Adam>(std::move(parameters), AdamOptions(rate).weight_decay(decay));
}

double SumOfSquares(const float* values, int64_t count) {
  constexpr int64_t kLanes = 8;  // for the compiler to keep side by side
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      lanes[lane] += value * value;
    }
  }
  for (; i < count; ++i) lanes[0] += static_cast<double>(values[i]) * values[i];
  return std::accumulate(std::begin(lanes), std::end(lanes), 0.0);
}

}  // namespace

Optimizer::Optimizer(OptimizerKind kind, std::vector<torch::Tensor> parameters,
                     double learning_rate, double weight_decay)
    : optimizer_(Make(kind, std::move(parameters), learning_rate, weight_decay)) {}

void Optimizer::SetLearningRate(double rate) {
  for (torch::optim::OptimizerParamGroup& group : optimizer_->param_groups()) {
    group.options().set_lr(rate);
  }
}

std::string Optimizer::SaveState() const {
  torch::serialize::OutputArchive archive;
  optimizer_->save(archive);
  std::ostringstream stream;
  archive.save_to(stream);
  return std::move(stream).str();
}

void Optimizer::RestoreState(const std::string& state) {
  std::istringstream stream(state);
  torch::serialize::InputArchive archive;
  archive.load_from(stream);
  optimizer_->load(archive);
}

double ClipToNorm(torch::Tensor& gradients, double limit) {
  constexpr int64_t kPiece = 1 << 16;
  const int64_t count = gradients.numel();
  const auto* const values = gradients.data_ptr<float>();
  std::vector<double> pieces(static_cast<size_t>((count + kPiece - 1) / kPiece));
  at::parallel_for(0, std::ssize(pieces), 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * kPiece;
      pieces[static_cast<size_t>(piece)] =
          SumOfSquares(values + first, std::min(kPiece, count - first));
    }
  });
  const double norm = std::sqrt(std::accumulate(pieces.begin(), pieces.end(), 0.0));
  if (std::isfinite(norm) && norm > limit) gradients.mul_(limit / norm);
  return norm;
}

}  // namespace halograph
