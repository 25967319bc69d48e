#include "trainer/training/optimizer.h"

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

}  // namespace

Optimizer::Optimizer(OptimizerKind kind, std::vector<torch::Tensor> parameters,
                     double learning_rate, double weight_decay)
    : optimizer_(Make(kind, std::move(parameters), learning_rate, weight_decay)) {}

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

}  // namespace halograph
