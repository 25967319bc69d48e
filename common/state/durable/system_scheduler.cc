#include "common/state/durable/system_scheduler.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <pthread.h>

namespace halograph {
namespace {

class SystemMonitor : public Monitor {
 public:
  void Lock() override { mutex_.lock(); }
  void Unlock() override { mutex_.unlock(); }
  void Wait(int64_t until_ns) override {
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    if (until_ns == kForever) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(
          lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until_ns)));
    }
    lock.release();
  }
  void NotifyAll() override { changed_.notify_all(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class SystemThread : public RunningThread {
 public:
  SystemThread(std::string name, std::function<void()> body)
      : thread_([name = std::move(name), body = std::move(body)] {
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
          body();
        }) {}
  ~SystemThread() override { thread_.join(); }

 private:
  std::thread thread_;
};

class SystemScheduler : public Scheduler {
 public:
  [[nodiscard]] int64_t NowNs() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  [[nodiscard]] int64_t WallSeconds() const override {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  [[nodiscard]] std::unique_ptr<Monitor> NewMonitor() override {
    return std::make_unique<SystemMonitor>();
  }
  void Yield() override { std::this_thread::yield(); }
  [[nodiscard]] std::unique_ptr<RunningThread> Start(std::string_view name,
                                                     std::function<void()> body) override {
    return std::make_unique<SystemThread>(std::string(name), std::move(body));
  }
};

}  // namespace

std::unique_ptr<Scheduler> MakeSystemScheduler() { return std::make_unique<SystemScheduler>(); }

}  // namespace halograph
