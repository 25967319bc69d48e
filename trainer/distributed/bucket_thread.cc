#include "trainer/distributed/bucket_thread.h"

#include <utility>

#include <omp.h>

#include "trainer/torch/torch_api.h"

namespace halograph {

BucketThread::BucketThread(int buckets, Send send)
    : buckets_(buckets), send_(std::move(send)), sent_(buckets), thread_([this] { Run(); }) {}

BucketThread::~BucketThread() {
  {
    const MutexLock lock(mutex_);
    end_ = true;
    more_.NotifyAll();
  }
  thread_.join();
}

void BucketThread::Begin() {
  const MutexLock lock(mutex_);
  allowed_ = 0;
  sent_ = 0;
}

void BucketThread::Allow(int count) {
  const MutexLock lock(mutex_);
  if (count <= allowed_) return;
  allowed_ = count;
  more_.NotifyAll();
}

Status BucketThread::Wait() {
  const MutexLock lock(mutex_);
  done_.Wait(mutex_, [this]() HG_REQUIRES(mutex_) { return sent_ == buckets_ || !failed_.ok(); });
  return failed_;
}

void BucketThread::Run() {
  // Backward has the cores: one thread adds up. libtorch sets its number at the first question.
  static_cast<void>(at::get_num_threads());
  omp_set_num_threads(1);
  for (;;) {
    int bucket = 0;
    {
      const MutexLock lock(mutex_);
      const auto may_go = [this]() HG_REQUIRES(mutex_) {
        return end_ || (sent_ < allowed_ && failed_.ok());
      };
      more_.Wait(mutex_, may_go);
      if (end_) return;
      bucket = sent_;
    }
    Status status = SendOne(bucket);
    const MutexLock lock(mutex_);
    if (status.ok()) {
      ++sent_;
    } else {
      failed_ = std::move(status);
    }
    done_.NotifyAll();
  }
}

Status BucketThread::SendOne(int bucket) const {
  try {
    return send_(bucket);
  } catch (const std::exception& error) {
    return Internal("sending gradients: {}", TorchMessage(error));
  }
}

}  // namespace halograph
