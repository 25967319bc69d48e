// Training whose stages stop at the end of each epoch, as where they are made anew for each: the
// first step of an epoch is not scheduled before the epoch before it was trained on. The
// constructor of a stream and the collective that ends an epoch are called here in the place of the
// project's own (--wrap, see CMakeLists.txt). How often the stages stopped is printed to stderr
// when the program ends: "used: 3 stops". For one rank a process.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "tests/bench/hybrid/end_report.h"
#include "trainer/distributed/communicator.h"
#include "trainer/pipeline/minibatch_stream.h"

namespace halograph {

// The project's own.
void OwnStream(MinibatchStream* stream, const BatchMaker* maker, const SeedSource* source,
               SeedShards shards, StreamOptions options,
               std::vector<StepStage> more) __asm__("__real_" HALOGRAPH_MAKE_STREAM);
Status OwnAllReduce(Communicator* ranks, torch::Tensor tensor, std::string_view what,
                    CarriedAs carried) __asm__("__real_" HALOGRAPH_ALL_REDUCE);

void StoppingStream(MinibatchStream* stream, const BatchMaker* maker, const SeedSource* source,
                    SeedShards shards, StreamOptions options,
                    std::vector<StepStage> more) __asm__("__wrap_" HALOGRAPH_MAKE_STREAM);
Status TellingAllReduce(Communicator* ranks, torch::Tensor tensor, std::string_view what,
                        CarriedAs carried) __asm__("__wrap_" HALOGRAPH_ALL_REDUCE);

namespace {

// As TrainingLoop::Reduce calls it.
constexpr std::string_view kEndOfEpoch = "all-reduce of an epoch's sums";
constexpr std::chrono::milliseconds kLookForCancel(20);

EndReport stops("stops");

// How many epochs were trained on, since the program began.
class Epochs {
 public:
  void End() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  void Await(int64_t epochs, const CancelToken* cancel) {
    std::unique_lock lock(mutex_);
    while (ended_ < epochs && (cancel == nullptr || !cancel->cancelled())) {
      changed_.wait_for(lock, kLookForCancel);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t ended_ = 0;
};

Epochs epochs;

}  // namespace

void StoppingStream(MinibatchStream* stream, const BatchMaker* maker, const SeedSource* source,
                    SeedShards shards, StreamOptions options, std::vector<StepStage> more) {
  if (options.purpose == BatchPurpose::kTrain) {
    options.on_stage = [first = options.first_epoch, cancel = options.cancel,
                        others = std::move(options.on_stage)](
                           std::string_view stage, const StepId& step, auto begin, auto end) {
      if (others) others(stage, step, begin, end);
      if (stage != "schedule" || step.step != 0 || step.epoch == first) return;
      stops.Add();
      epochs.Await(step.epoch - first, cancel);
    };
  }
  OwnStream(stream, maker, source, std::move(shards), std::move(options), std::move(more));
}

Status TellingAllReduce(Communicator* ranks, torch::Tensor tensor, std::string_view what,
                        CarriedAs carried) {
  Status summed = OwnAllReduce(ranks, std::move(tensor), what, carried);
  if (what == kEndOfEpoch) epochs.End();
  return summed;
}

}  // namespace halograph
