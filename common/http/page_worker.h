// The thread that makes pages which take their time, beside the one that serves connections: a
// health probe does not wait for a page of metrics, or for a page that asks other servers.
//
// Requests of one page that wait together get one reply, which is made after all of them came: a
// thousand scrapers cost two pages, and none is older than its request. After a page the thread
// rests three times the processor time that the page took, half a second at most, so that scrapers
// take a quarter of a processor, or more only for pages of more than 167 ms.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/http/http_message.h"

namespace halograph {

// Thread-safe. Who submits bounds the number of requests that wait.
class PageWorker {
 public:
  using Reply = std::shared_ptr<const HttpReply>;  // shared by all who asked for it
  using Make = std::function<Reply()>;
  // Called in the worker's thread; null: the worker has ended, and there is no reply.
  using Done = std::function<void(const Reply&)>;

  PageWorker();
  ~PageWorker() { Stop(); }
  PageWorker(const PageWorker&) = delete;
  PageWorker& operator=(const PageWorker&) = delete;

  // `key`: requests of the same key get the same reply. Neither function may throw. False, and
  // `done` is not called: it has ended.
  [[nodiscard]] bool Submit(std::string key, Make make, Done done) HG_EXCLUDES(mutex_);
  [[nodiscard]] size_t waiting() const HG_EXCLUDES(mutex_);
  // Waits for the page that is being made; all others that wait get null. Idempotent, from one
  // thread.
  void Stop() HG_EXCLUDES(mutex_);

  // How long it rests after a page that took so much of a processor; half a second at most.
  [[nodiscard]] static std::chrono::nanoseconds RestAfter(std::chrono::nanoseconds processor);

 private:
  struct Job {
    std::string key;
    Make make;
    Done done;
  };
  void Run();
  // The first job and all of its key, out of those that wait.
  [[nodiscard]] std::vector<Job> TakeFirst() HG_REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  bool ending_ HG_GUARDED_BY(mutex_) = false;
  std::vector<Job> jobs_ HG_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace halograph
