#include "trainer/pipeline/sample_bulks.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace halograph {
namespace {

Status Closed() { return Cancelled("the pipeline was closed before a bulk was whole"); }

}  // namespace

void SampleBulks::Bulk::End(const Status& status) {
  for (StatusDone& each : done) EndCall(std::move(each), status);
}

int64_t SampleBulks::SizeOf(int64_t bulk) const { return std::min(size_, count_ - bulk * size_); }

void SampleBulks::Start(int64_t index, StepToSample step, const CallContext& like,
                        StatusDone done) {
  const int64_t bulk = index / size_;
  const auto whole = std::make_shared<Bulk>();
  {
    MutexLock lock(mutex_);
    if (closed_) {
      lock.Unlock();
      return EndCall(std::move(done), Closed());
    }
    Bulk& waiting = waiting_[bulk];
    waiting.steps.push_back(std::move(step));
    waiting.done.push_back(std::move(done));
    if (std::ssize(waiting.steps) < SizeOf(bulk)) return;
    *whole = std::move(waiting);
    waiting_.erase(bulk);
  }
  try {
    maker_->StartSample(std::move(whole->steps), like,
                        [whole](const Status& status) { whole->End(status); });
  } catch (const std::exception& error) {  // nothing was begun
    whole->End(Internal("sampling {} minibatches: {}", whole->done.size(), error.what()));
  }
}

void SampleBulks::Close() {
  std::map<int64_t, Bulk> waiting;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    waiting = std::exchange(waiting_, {});
  }
  for (auto& [bulk, steps] : waiting) steps.End(Closed());
}

}  // namespace halograph
