#include "trainer/distributed/model_average.h"

#include <utility>

namespace halograph {
namespace {

// What goes along behind the values.
enum Beside { kRows, kStopping, kBeside };

// Calls use(value, its place in `flat`) for each.
template <typename Use>
void ForEach(const std::vector<torch::Tensor>& values, const torch::Tensor& flat, const Use& use) {
  const torch::NoGradGuard no_grad;
  int64_t offset = 0;
  for (const torch::Tensor& value : values) {
    torch::Tensor changed = value.detach();  // shares the memory
    use(changed, flat.narrow(0, offset, value.numel()).view(value.sizes()));
    offset += value.numel();
  }
}

}  // namespace

ModelAverage::ModelAverage(std::vector<torch::Tensor> values) : values_(std::move(values)) {
  int64_t count = 0;
  for (const torch::Tensor& value : values_) count += value.numel();
  last_ = torch::empty({count});
  sent_ = torch::zeros({count + kBeside});
  sum_ = sent_.narrow(0, 0, count);
  Begin();
}

void ModelAverage::Begin() {
  ForEach(values_, last_, [](torch::Tensor& value, torch::Tensor kept) { kept.copy_(value); });
}

void ModelAverage::Restart() {
  ForEach(values_, last_,
          [](torch::Tensor& value, const torch::Tensor& kept) { value.copy_(kept); });
}

void ModelAverage::Add(int64_t rows) {
  if (rows == 0) return;
  const auto weight = static_cast<double>(rows);
  ForEach(values_, sum_, [weight](const torch::Tensor& value, torch::Tensor sum) {
    sum.add_(value.to(torch::kCPU), weight);
  });
  sent_[sum_.numel() + kRows] += weight;
}

Status ModelAverage::Meet(Communicator& ranks, std::string_view what, bool* stop) {
  auto* const beside = sent_.data_ptr<float>() + sum_.numel();
  beside[kStopping] = *stop ? 1 : 0;
  HG_RETURN_IF_ERROR(ranks.AllReduceSum(sent_, what));
  *stop = beside[kStopping] > 0;
  if (!*stop && beside[kRows] > 0) last_ = sum_ / beside[kRows];
  sent_.zero_();
  Restart();
  return OkStatus();
}

}  // namespace halograph
