#include "trainer/pipeline/sample_bulks.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

namespace halograph {
namespace {

Status Closed() { return Cancelled("the pipeline was closed before a bulk was whole"); }

// What is left to do of a step goes to a thread of its own, where there are several.
template <typename Steps>
void EndAll(Steps& steps, const Status& status) {
  for (auto& each : steps) {
    if (!each.done) continue;  // it has ended
    if (steps.size() == 1 || !each.post) {
      EndCall(std::move(each.done), status);
    } else {
      each.post(
          [done = std::move(each.done), status]() mutable { EndCall(std::move(done), status); });
    }
  }
}

}  // namespace

int64_t SampleBulks::SizeOf(int64_t bulk) const { return std::min(size_, count_ - bulk * size_); }

void SampleBulks::Start(int64_t index, StepToSample step, const CallContext& like,
                        StatusDone done) {
  const int64_t number = index / size_;
  std::vector<Waiting> whole;
  Status failed;
  {
    const MutexLock lock(mutex_);
    failed = closed_ ? Closed() : bulks_[number].failed;
    if (failed.ok()) {
      Bulk& bulk = bulks_[number];
      bulk.steps.push_back({std::move(step), like.post, std::move(done)});
      if (std::ssize(bulk.steps) < SizeOf(number)) return;
      whole = std::move(bulk.steps);
      bulks_.erase(number);
    }
  }
  if (!failed.ok()) return EndCall(std::move(done), std::move(failed));
  Sample(std::move(whole), like);
}

void SampleBulks::Sample(std::vector<Waiting> steps, const CallContext& like) const {
  const auto all = std::make_shared<std::vector<Waiting>>(std::move(steps));
  try {
    std::vector<StepToSample> asked;
    asked.reserve(all->size());
    for (Waiting& each : *all) asked.push_back(std::move(each.step));
    maker_->StartSample(std::move(asked), like,
                        [all](const Status& status) { EndAll(*all, status); });
  } catch (const std::exception& error) {  // nothing was begun
    EndAll(*all, Internal("sampling {} minibatches: {}", all->size(), error.what()));
  }
}

void SampleBulks::Abort(int64_t index, const Status& reason) {
  std::vector<Waiting> waiting;
  {
    const MutexLock lock(mutex_);
    if (closed_) return;
    Bulk& bulk = bulks_[index / size_];
    bulk.failed = reason;
    waiting = std::exchange(bulk.steps, {});
  }
  EndAll(waiting, reason);
}

void SampleBulks::Close() {
  std::map<int64_t, Bulk> bulks;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    bulks = std::exchange(bulks_, {});
  }
  for (auto& [number, bulk] : bulks) EndAll(bulk.steps, Closed());
}

}  // namespace halograph
