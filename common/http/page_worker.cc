#include "common/http/page_worker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/stopwatch.h"

namespace halograph {

PageWorker::PageWorker() : thread_([this] { Run(); }) {}

bool PageWorker::Submit(std::string key, Make make, Done done) {
  const MutexLock lock(mutex_);
  if (ending_) return false;
  jobs_.push_back({std::move(key), std::move(make), std::move(done)});
  changed_.NotifyAll();
  return true;
}

size_t PageWorker::waiting() const {
  const MutexLock lock(mutex_);
  return jobs_.size();
}

void PageWorker::Stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
  std::vector<Job> left;
  {
    const MutexLock lock(mutex_);
    left.swap(jobs_);
  }
  for (const Job& job : left) job.done(nullptr);
}

std::chrono::nanoseconds PageWorker::RestAfter(std::chrono::nanoseconds processor) {
  constexpr int kTimes = 3;
  constexpr std::chrono::nanoseconds kMost = std::chrono::milliseconds(500);
  return std::min(kTimes * processor, kMost);
}

std::vector<PageWorker::Job> PageWorker::TakeFirst() {
  const std::string key = jobs_.front().key;
  const auto others = std::stable_partition(jobs_.begin(), jobs_.end(),
                                            [&](const Job& job) { return job.key == key; });
  std::vector<Job> taken(std::make_move_iterator(jobs_.begin()), std::make_move_iterator(others));
  jobs_.erase(jobs_.begin(), others);
  return taken;
}

void PageWorker::Run() {
  while (true) {
    std::vector<Job> taken;
    {
      const MutexLock lock(mutex_);
      changed_.Wait(mutex_, [this]() HG_REQUIRES(mutex_) { return ending_ || !jobs_.empty(); });
      if (ending_) return;
      taken = TakeFirst();
    }
    const auto before = ProcessorTimeOfThread();
    const Reply reply = taken.front().make();
    for (const Job& job : taken) job.done(reply);
    const auto rest = RestAfter(ProcessorTimeOfThread() - before);
    const MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, rest, [this]() HG_REQUIRES(mutex_) { return ending_; });
  }
}

}  // namespace halograph
