#include "trainer/distributed/gradient_buckets.h"

#include <utility>

#include "common/base/log.h"

namespace halograph {

std::vector<GradientBucket> BucketsOf(const std::vector<torch::Tensor>& parameters) {
  constexpr int64_t kMost = kBucketBytes / static_cast<int64_t>(sizeof(float));
  int64_t begin = 0;
  for (const torch::Tensor& parameter : parameters) begin += parameter.numel();
  std::vector<GradientBucket> buckets{{.begin = begin}};
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    const int64_t count = parameter->numel();
    begin -= count;
    GradientBucket& last = buckets.back();
    if (last.parameters == 0 || last.count + count <= kMost) {
      last = {begin, last.count + count, last.parameters + 1};
    } else {
      buckets.push_back({begin, count, 1});
    }
  }
  return buckets;
}

struct GradientWatch::Watched {
  const OnFinal on_final;
  std::vector<size_t> bucket_of;  // each parameter that has a hook
  std::vector<int> hooked;        // parameters of each bucket
  bool watching = false;
  std::vector<bool> is_final;  // each parameter
  std::vector<int> open;       // parameters of each bucket
  size_t final_buckets = 0;

  void TakeFinal(size_t parameter) {
    if (!watching || is_final[parameter]) return;
    is_final[parameter] = true;
    --open[bucket_of[parameter]];
    const size_t before = final_buckets;
    while (final_buckets < open.size() && open[final_buckets] == 0) ++final_buckets;
    if (final_buckets > before) on_final(static_cast<int>(final_buckets));
  }
};

namespace {

// Tells that a gradient is final, once it has been added to the parameter's.
template <typename Watched>
class FinalHook : public torch::autograd::FunctionPostHook {
 public:
  FinalHook(std::weak_ptr<Watched> watched, size_t parameter)
      : watched_(std::move(watched)), parameter_(parameter) {}

  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    try {
      if (const auto watched = watched_.lock(); watched != nullptr) watched->TakeFinal(parameter_);
    } catch (const std::exception& error) {  // its bucket goes after backward
      spdlog::debug("a gradient that is final was not told: {}", error.what());
    }
    return outputs;
  }

 private:
  const std::weak_ptr<Watched> watched_;
  const size_t parameter_;
};

}  // namespace

GradientWatch::GradientWatch(const std::vector<torch::Tensor>& parameters,
                             const std::vector<GradientBucket>& buckets, OnFinal on_final)
    : watched_(new Watched{.on_final = std::move(on_final),
                           .bucket_of = {},
                           .hooked = std::vector<int>(buckets.size()),
                           .is_final = {},
                           .open = {}}) {
  auto parameter = parameters.rbegin();
  for (size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    for (int i = 0; i < buckets[bucket].parameters; ++i, ++parameter) {
      if (!parameter->requires_grad()) continue;
      const size_t index = watched_->bucket_of.size();
      watched_->bucket_of.push_back(bucket);
      ++watched_->hooked[bucket];
      std::shared_ptr<torch::autograd::Node> node =
          torch::autograd::impl::grad_accumulator(*parameter);
      const uintptr_t key =
          node->add_post_hook(std::make_unique<FinalHook<Watched>>(watched_, index));
      hooks_.push_back({std::move(node), key});
    }
  }
}

GradientWatch::~GradientWatch() {
  for (const Hook& hook : hooks_) hook.node->del_post_hook(hook.key);
}

void GradientWatch::Begin() {
  watched_->is_final.assign(watched_->bucket_of.size(), false);
  watched_->open = watched_->hooked;
  watched_->final_buckets = 0;
  watched_->watching = true;
}

void GradientWatch::End() { watched_->watching = false; }

}  // namespace halograph
