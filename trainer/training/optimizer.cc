#include "trainer/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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

using torch::optim::AdamParamState;

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

double SumOfSquares(const torch::Tensor& gradients) {
  if (!gradients.device().is_cpu()) {
    return gradients.to(torch::kFloat64).square().sum().item<double>();
  }
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
  return std::accumulate(pieces.begin(), pieces.end(), 0.0);
}

// The key of a parameter in libtorch's state.
auto StateKey(const torch::Tensor& parameter) {
#if TORCH_VERSION_MAJOR >= 2
  return static_cast<void*>(parameter.unsafeGetTensorImpl());
#else
  return c10::guts::to_string(parameter.unsafeGetTensorImpl());
#endif
}

constexpr const char* kStep = "step";
constexpr const char* kMean = "exp_avg";
constexpr const char* kSquares = "exp_avg_sq";

// A copy of the tensor that `state` has for this part of a parameter's state.
StatusOr<torch::Tensor> PartOf(const std::map<std::string, torch::Tensor>& state, size_t parameter,
                               const char* part, const torch::Tensor& like) {
  const std::string name = fmt::format("{}.{}", parameter, part);
  const auto found = state.find(name);
  if (found == state.end()) return FailedPrecondition("optimizer's state: '{}' is missing", name);
  if (found->second.sizes() == like.sizes() && found->second.scalar_type() == like.scalar_type()) {
    return found->second.to(like.options(), /*non_blocking=*/false, /*copy=*/true);
  }
  return FailedPrecondition("optimizer's state: '{}' is of another shape or dtype than its weights",
                            name);
}

}  // namespace

Optimizer::Optimizer(OptimizerKind kind, std::vector<torch::Tensor> parameters,
                     double learning_rate, double weight_decay)
    : kind_(kind),
      parameters_(parameters),
      optimizer_(Make(kind, std::move(parameters), learning_rate, weight_decay)) {}

std::vector<torch::Tensor> Optimizer::Moments() const {
  std::vector<torch::Tensor> moments;
  if (kind_ != OptimizerKind::kAdam) return moments;
  const torch::NoGradGuard no_grad;
  const auto& states = optimizer_->state();
  for (const torch::Tensor& parameter : parameters_) {
    const auto found = states.find(StateKey(parameter));
    if (found == states.end()) {
      moments.push_back(torch::zeros_like(parameter));
      moments.push_back(torch::zeros_like(parameter));
      moments.push_back(torch::zeros({1}));
      continue;
    }
    const auto& state = static_cast<const AdamParamState&>(*found->second);
    moments.push_back(state.exp_avg().clone());
    moments.push_back(state.exp_avg_sq().clone());
    moments.push_back(torch::full({1}, static_cast<float>(state.step())));
  }
  return moments;
}

void Optimizer::SetMoments(const std::vector<torch::Tensor>& moments) {
  if (kind_ != OptimizerKind::kAdam) return;
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    auto state = std::make_unique<AdamParamState>();
    state->exp_avg(moments[3 * i].clone());
    state->exp_avg_sq(moments[3 * i + 1].clone());
    state->step(std::llround(moments[3 * i + 2].item<float>()));
    optimizer_->state()[StateKey(parameters_[i])] = std::move(state);
  }
}

void Optimizer::SetLearningRate(double rate) {
  for (torch::optim::OptimizerParamGroup& group : optimizer_->param_groups()) {
    group.options().set_lr(rate);
  }
}

double ClipToNorm(torch::Tensor gradients, double limit) {
  const double norm = std::sqrt(SumOfSquares(gradients));
  if (std::isfinite(norm) && norm > limit) gradients.mul_(limit / norm);
  return norm;
}

std::map<std::string, torch::Tensor> Optimizer::StateTensors() const {
  std::map<std::string, torch::Tensor> named;
  const std::vector<torch::Tensor>& parameters = optimizer_->param_groups().front().params();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto found = optimizer_->state().find(StateKey(parameters[i]));
    if (found == optimizer_->state().end()) continue;
    // SGD without momentum keeps nothing.
    const auto* adam = dynamic_cast<const AdamParamState*>(found->second.get());
    if (adam == nullptr) continue;
    named[fmt::format("{}.{}", i, kStep)] = torch::full({}, adam->step(), torch::kInt64);
    named[fmt::format("{}.{}", i, kMean)] = adam->exp_avg();
    named[fmt::format("{}.{}", i, kSquares)] = adam->exp_avg_sq();
  }
  return named;
}

Status Optimizer::RestoreTensors(const std::map<std::string, torch::Tensor>& state) {
  const std::vector<torch::Tensor>& parameters = optimizer_->param_groups().front().params();
  const bool adam = dynamic_cast<const torch::optim::Adam*>(optimizer_.get()) != nullptr;
  size_t taken = 0;
  optimizer_->state().clear();
  for (size_t i = 0; adam && i < parameters.size(); ++i) {
    if (!state.contains(fmt::format("{}.{}", i, kStep))) continue;
    const torch::Tensor count = torch::zeros({}, torch::kInt64);
    HG_ASSIGN_OR_RETURN(const torch::Tensor step, PartOf(state, i, kStep, count));
    auto own = std::make_unique<AdamParamState>();
    own->step(step.item<int64_t>());
    HG_ASSIGN_OR_RETURN(torch::Tensor mean, PartOf(state, i, kMean, parameters[i]));
    HG_ASSIGN_OR_RETURN(torch::Tensor squares, PartOf(state, i, kSquares, parameters[i]));
    own->exp_avg(std::move(mean));
    own->exp_avg_sq(std::move(squares));
    optimizer_->state()[StateKey(parameters[i])] = std::move(own);
    taken += 3;
  }
  if (taken == state.size()) return OkStatus();
  return FailedPrecondition("optimizer's state: has {} tensors, {} belong to this optimizer",
                            state.size(), taken);
}

}  // namespace halograph
