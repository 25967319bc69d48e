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
constexpr int64_t kWaited = kFirstAsk - 1;  // StepAsks::waited
static_assert(kWaited >= 0);

int64_t ElementsOf(const std::vector<torch::Tensor>& parameters) {
  int64_t elements = 0;
  for (const torch::Tensor& parameter : parameters) elements += parameter.numel();
  return elements;
}

std::vector<HostImage::Piece> PiecesOf(const std::vector<GradientBucket>& buckets) {
  std::vector<HostImage::Piece> pieces;
  for (const GradientBucket& bucket : buckets) pieces.push_back({bucket.begin, bucket.count});
  return pieces;
}

}  // namespace

// Ends in the reverse order: hooks, thread, connections.
struct GradientBuffer::Travel {
  const std::unique_ptr<Communicator> ranks;  // of the thread alone
  BucketThread thread;
  GradientWatch watch;
};

GradientBuffer::GradientBuffer(const std::vector<torch::Tensor>& parameters, CarriedAs carried,
                               const Device& device)
    : parameters_(parameters),
      carried_(carried),
      buckets_(BucketsOf(parameters)),
      image_(device, kInFront, ElementsOf(parameters), PiecesOf(buckets_)) {
  int64_t offset = 0;
  for (const torch::Tensor& parameter : parameters) {
    TORCH_CHECK(parameter.device() == flat().device(), "a parameter is on another device");
    parameter.mutable_grad() = flat().narrow(0, offset, parameter.numel()).view(parameter.sizes());
    offset += parameter.numel();
  }
  for (const GradientBucket& bucket : buckets_) {
    pieces_.push_back(image_.host().narrow(0, kInFront + bucket.begin, bucket.count));
  }
  pieces_.back() = image_.host().narrow(0, kWaited, kInFront - kWaited + buckets_.back().count);
}

GradientBuffer::~GradientBuffer() = default;

void GradientBuffer::Zero() { flat().zero_(); }

std::unique_ptr<GradientBuffer::Travel> GradientBuffer::MakeTravel(
    std::unique_ptr<Communicator> beside) {
  Communicator* const ranks = beside.get();
  const auto send = [this, ranks](int bucket) -> Status {
    const auto piece = static_cast<size_t>(bucket);
    image_.AwaitHome(piece);
    HG_RETURN_IF_ERROR(ranks->AllReduceSum(pieces_[piece], "all-reduce of gradients", carried_));
    image_.BeginBack(piece);
    return OkStatus();
  };
  // The last one has the asks, and waits for them.
  const auto allow = [this](int final_buckets) {
    LetGo(std::min<int>(final_buckets, static_cast<int>(std::ssize(pieces_)) - 1));
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
  gone_ = 0;
  begun_ = true;
  return OkStatus();
}

Status GradientBuffer::Begin(Communicator& communicator) {
  Zero();
  if (communicator.world_size() == 1) return OkStatus();
  HG_RETURN_IF_ERROR(BeginTravel(communicator));
  travel_->watch.Begin();
  return OkStatus();
}

void GradientBuffer::LetGo(int count) {
  for (; gone_ < count; ++gone_) image_.BeginHome(static_cast<size_t>(gone_));
  travel_->thread.Allow(count);
}

Status GradientBuffer::AllReduce(Communicator& communicator, StepAsks* asks) {
  if (communicator.world_size() == 1) return OkStatus();
  if (!begun_) HG_RETURN_IF_ERROR(BeginTravel(communicator));
  const torch::NoGradGuard no_grad;
  const StepAsks own = asks == nullptr ? StepAsks() : *asks;
  float* const in_front = image_.host().data_ptr<float>();
  float* const sent = in_front + kFirstAsk;
  in_front[kWaited] = own.waited;
  for (size_t i = 0; i < std::size(kAsks); ++i) sent[i] = own.*kAsks[i] ? 1 : 0;
  begun_ = false;
  travel_->watch.End();
  LetGo(static_cast<int>(std::ssize(pieces_)));
  HG_RETURN_IF_ERROR(travel_->thread.Wait());
  image_.AwaitBack();
  if (asks == nullptr) return OkStatus();
  asks->waited = in_front[kWaited];
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
