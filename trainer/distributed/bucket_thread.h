// A thread that sends the buckets of a step one after the other, in their order, while whoever
// fills them goes on with the next:
//
//   BucketThread thread(3, [](int bucket) { return Send(bucket); });
//   thread.Begin();
//   thread.Allow(2);  // buckets 0 and 1 are full
//   thread.Allow(3);
//   Status sent = thread.Wait();
//
// Called by one thread at a time.
#pragma once

#include <functional>
#include <thread>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph {

class BucketThread {
 public:
  // Called on the thread, for each bucket once a step. Throws nothing but std::exception.
  using Send = std::function<Status(int bucket)>;

  // Requires buckets > 0.
  BucketThread(int buckets, Send send);
  // Waits for the bucket that is being sent, if one is, and sends no other.
  ~BucketThread();
  BucketThread(const BucketThread&) = delete;
  BucketThread& operator=(const BucketThread&) = delete;

  // A new step, none of whose buckets may be sent yet. Requires that the last one was waited for.
  void Begin();
  // Buckets [0, count) may be sent; never takes a bucket back. What was written to them before is
  // seen by the thread, which alone touches them until Wait has returned.
  void Allow(int count);
  // Until all buckets are sent. Requires that all are allowed. The error of the first one that
  // failed, after which none was sent nor will be: every later Wait returns it. Internal if `send`
  // threw.
  [[nodiscard]] Status Wait();

 private:
  void Run();
  [[nodiscard]] Status SendOne(int bucket) const;

  const int buckets_;
  const Send send_;
  Mutex mutex_;
  CondVar more_, done_;
  int allowed_ HG_GUARDED_BY(mutex_) = 0;
  int sent_ HG_GUARDED_BY(mutex_) = 0;
  Status failed_ HG_GUARDED_BY(mutex_);
  bool end_ HG_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace halograph
