#include "trainer/distributed/gradients.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace halograph {
namespace {

constexpr bool StepAsks::*kAsks[] = {&StepAsks::stop, &StepAsks::checkpoint, &StepAsks::time_up};

// Floats in front of the gradients, so that these begin where a cache line does. The asks are the
// last of them, beside the first parameters, which travel last.
constexpr int64_t kInFront = 16;
constexpr int64_t kFirstAsk = kInFront - std::ssize(kAsks);
static_assert(kFirstAsk >= 0);

// Of the parameters that are on a device, which are the first.
int64_t ElementsOnDevice(const std::vector<torch::Tensor>& parameters) {
  int64_t elements = 0;
  bool host = false;
  for (const torch::Tensor& parameter : parameters) {
    host = host || parameter.device().is_cpu();
    TORCH_CHECK(host == parameter.device().is_cpu(), "parameters on a device must come first");
    if (!host) elements += parameter.numel();
  }
  return elements;
}

}  // namespace

// Ends in the reverse order: hooks, thread, connections.
struct GradientBuffer::Travel {
  const std::unique_ptr<Communicator> ranks;  // of the thread alone
  BucketThread thread;
  GradientWatch watch;
};

GradientBuffer::GradientBuffer(const std::vector<torch::Tensor>& parameters, CarriedAs carried)
    : parameters_(parameters), carried_(carried), buckets_(BucketsOf(parameters)) {
  int64_t count = 0;
  for (const torch::Tensor& parameter : parameters) count += parameter.numel();
  sent_ = torch::zeros({kInFront + count});
  flat_ = sent_.narrow(0, kInFront, count);
  const int64_t elsewhere = ElementsOnDevice(parameters);
  if (elsewhere > 0) on_device_ = torch::zeros({elsewhere}, parameters.front().options());
  int64_t offset = 0;
  for (const torch::Tensor& parameter : parameters) {
    const torch::Tensor& flat = offset < elsewhere ? on_device_ : flat_;
    torch::Tensor view = flat.narrow(0, offset, parameter.numel()).view(parameter.sizes());
    parameter.mutable_grad() = view;
    offset += parameter.numel();
  }
  for (const GradientBucket& bucket : buckets_) {
    pieces_.push_back(flat_.narrow(0, bucket.begin, bucket.count));
  }
  pieces_.back() = sent_.narrow(0, kFirstAsk, kInFront - kFirstAsk + buckets_.back().count);
}

GradientBuffer::~GradientBuffer() = default;

std::vector<torch::Tensor> GradientBuffer::parts() const {
  if (!on_device_.defined()) return {flat_};
  const int64_t there = on_device_.numel();
  return {on_device_, flat_.narrow(0, there, flat_.numel() - there)};
}

void GradientBuffer::Zero() {
  for (torch::Tensor& part : parts()) part.zero_();
}

std::unique_ptr<GradientBuffer::Travel> GradientBuffer::MakeTravel(
    std::unique_ptr<Communicator> beside) {
  Communicator* const ranks = beside.get();
  const auto send = [this, ranks](int bucket) {
    return ranks->AllReduceSum(pieces_[bucket], "all-reduce of gradients", carried_);
  };
  // The last one has the asks, and waits for them.
  const auto allow = [this](int final_buckets) {
    travel_->thread.Allow(std::min<int>(final_buckets, static_cast<int>(std::ssize(pieces_)) - 1));
  };
  return std::unique_ptr<Travel>(
      new Travel{.ranks = std::move(beside),
                 .thread = BucketThread(static_cast<int>(std::ssize(pieces_)), send),
                 .watch = GradientWatch(parameters_, buckets_, allow)});
}

Status GradientBuffer::BeginTravel(Communicator& communicator) {
  if (travel_ == nullptr) {
    HG_ASSIGN_OR_RETURN(auto beside, communicator.Beside("connecting ranks for gradients"));
    travel_ = MakeTravel(std::move(beside));
  }
  travel_->thread.Begin();
  begun_ = true;
  return OkStatus();
}

Status GradientBuffer::Begin(Communicator& communicator) {
  Zero();
  if (communicator.world_size() == 1) return OkStatus();
  HG_RETURN_IF_ERROR(BeginTravel(communicator));
  if (!on_device_.defined()) travel_->watch.Begin();
  return OkStatus();
}

Status GradientBuffer::AllReduce(Communicator& communicator, StepAsks* asks) {
  if (communicator.world_size() == 1) return OkStatus();
  if (!begun_) HG_RETURN_IF_ERROR(BeginTravel(communicator));
  const torch::NoGradGuard no_grad;
  torch::Tensor of_device;
  if (on_device_.defined()) {
    of_device = flat_.narrow(0, 0, on_device_.numel());
    of_device.copy_(on_device_);
  }
  const StepAsks own = asks == nullptr ? StepAsks() : *asks;
  float* const sent = sent_.data_ptr<float>() + kFirstAsk;
  for (size_t i = 0; i < std::size(kAsks); ++i) sent[i] = own.*kAsks[i] ? 1 : 0;
  begun_ = false;
  travel_->watch.End();
  travel_->thread.Allow(static_cast<int>(std::ssize(pieces_)));
  HG_RETURN_IF_ERROR(travel_->thread.Wait());
  if (of_device.defined()) on_device_.copy_(of_device);
  if (asks == nullptr) return OkStatus();
  for (size_t i = 0; i < std::size(kAsks); ++i) asks->*kAsks[i] = sent[i] > 0;
  return OkStatus();
}

Status BroadcastParameters(const std::vector<torch::Tensor>& parameters,
                           Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  for (const torch::Tensor& parameter : parameters) {
    HG_RETURN_IF_ERROR(
        communicator.Broadcast(parameter.detach(), "broadcast of the initial weights"));
  }
  return OkStatus();
}

}  // namespace halograph
