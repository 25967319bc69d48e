#include "trainer/checkpoint/files/checkpoint_thread.h"

#include <exception>
#include <utility>

#include "common/base/stopwatch.h"

namespace halograph {
namespace {

StatusOr<std::filesystem::path> WriteCaught(const CheckpointFolder& folder,
                                            const CheckpointImage& image) {
  try {
    return folder.Write(image);
  } catch (const std::exception& error) {  // memory ran out
    return Internal("writing a checkpoint: {}", error.what());
  }
}

}  // namespace

CheckpointThread::CheckpointThread(CheckpointFolder folder, std::function<void()> after_each)
    : folder_(std::move(folder)), after_each_(std::move(after_each)), thread_([this] { Work(); }) {}

CheckpointThread::~CheckpointThread() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

bool CheckpointThread::busy() const {
  const MutexLock lock(mutex_);
  return image_.has_value();
}

void CheckpointThread::Start(CheckpointImage image) {
  const MutexLock lock(mutex_);
  changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return !image_.has_value(); });
  image_ = std::move(image);
  changed_.NotifyAll();
}

void CheckpointThread::Wait() {
  const MutexLock lock(mutex_);
  changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return !image_.has_value(); });
}

bool CheckpointThread::WaitFor(std::chrono::nanoseconds at_most) {
  const MutexLock lock(mutex_);
  return changed_.WaitFor(mutex_, at_most,
                          [&]() HG_REQUIRES(mutex_) { return !image_.has_value(); });
}

std::vector<CheckpointOutcome> CheckpointThread::TakeOutcomes() {
  const MutexLock lock(mutex_);
  return std::exchange(outcomes_, {});
}

std::optional<std::filesystem::path> CheckpointThread::last() const {
  const MutexLock lock(mutex_);
  return last_;
}

void CheckpointThread::Work() {
  for (;;) {
    const CheckpointImage* image = nullptr;
    {
      const MutexLock lock(mutex_);
      changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return image_.has_value() || ended_; });
      if (!image_.has_value()) return;
      image = &*image_;  // stays: nobody but this thread takes it away
    }
    const Stopwatch watch;
    CheckpointOutcome outcome{.steps_done = image->manifest.place.steps_done,
                              .status = OkStatus(),
                              .folder = {},
                              .copy_seconds = image->copy_seconds,
                              .seconds = 0};
    auto written = WriteCaught(folder_, *image);
    outcome.status = written.status();
    if (written.ok()) outcome.folder = *std::move(written);
    outcome.seconds = watch.Seconds();
    if (after_each_) after_each_();
    std::optional<CheckpointImage> done;  // freed without the lock
    const MutexLock lock(mutex_);
    done = std::exchange(image_, std::nullopt);
    if (outcome.status.ok()) last_ = outcome.folder;
    if (outcomes_.size() == kMostOutcomes) outcomes_.erase(outcomes_.begin());
    outcomes_.push_back(std::move(outcome));
    changed_.NotifyAll();
  }
}

}  // namespace halograph
