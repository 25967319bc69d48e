#include "trainer/distributed/buffer_average.h"

#include <vector>

#include "trainer/torch/rows_seen.h"

namespace halograph {
namespace {

// The buffers of one module.
struct RunningFigures {
  torch::Tensor rows;
  std::vector<torch::Tensor> values;
};

std::vector<RunningFigures> FiguresOf(const torch::nn::Module& model) {
  std::vector<RunningFigures> all;
  for (const auto& module : model.modules()) {
    RunningFigures figures;
    for (const auto& buffer : module->named_buffers(/*recurse=*/false)) {
      if (buffer.key() == kRowsSeen) {
        figures.rows = buffer.value();
      } else {
        figures.values.push_back(buffer.value());
      }
    }
    TORCH_CHECK(figures.values.empty() || figures.rows.defined(), module->name(),
                " has buffers, but none named ", kRowsSeen);
    if (figures.rows.defined()) all.push_back(std::move(figures));
  }
  return all;
}

}  // namespace

Status AverageBuffers(const torch::nn::Module& model, Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  const std::vector<RunningFigures> all = FiguresOf(model);
  if (all.empty()) return OkStatus();
  if (communicator.world_size() > 1) {
    // In float64: products of rows and float32 are exact.
    std::vector<torch::Tensor> weighed;
    for (const RunningFigures& figures : all) {
      const torch::Tensor rows = figures.rows.to(torch::kFloat64).view(-1);
      weighed.push_back(rows);
      for (const torch::Tensor& value : figures.values) {
        weighed.push_back(value.to(torch::kFloat64).view(-1) * rows);
      }
    }
    const torch::Tensor sums = torch::cat(weighed).to(torch::kCPU);
    HG_RETURN_IF_ERROR(communicator.AllReduceSum(sums, "all-reduce of the model's buffers"));
    int64_t at = 0;
    for (const RunningFigures& figures : all) {
      const auto rows = sums[at++].item<double>();
      for (const torch::Tensor& value : figures.values) {
        const torch::Tensor sum = sums.narrow(0, at, value.numel());
        at += value.numel();
        if (rows > 0) value.detach().copy_((sum / rows).view(value.sizes()));
      }
    }
  }
  for (const RunningFigures& figures : all) figures.rows.detach().zero_();
  return OkStatus();
}

}  // namespace halograph
