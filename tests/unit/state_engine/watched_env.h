// A PlainEnv that tells when threads wait, and may hold some back.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/support/plain_env.h"

namespace halograph {

// Tells when a thread waits with a deadline.
class WatchedEnv : public PlainEnv {
 public:
  // Threads that are called `held_back` do nothing before Release; nobody is: "".
  explicit WatchedEnv(std::string held_back = "",
                      std::unique_ptr<FileSystem> files = MakeSystemFiles())
      : PlainEnv(std::move(files)), held_back_(std::move(held_back)) {}

  [[nodiscard]] Scheduler& scheduler() override { return watched_; }
  void AwaitTimedWait() const {
    while (!timed_wait_.load()) std::this_thread::yield();
  }
  void ForgetTimedWaits() { timed_wait_ = false; }
  void Release() { released_.set_value(); }
  void AddWallSeconds(int64_t seconds) { wall_ahead_s_ += seconds; }

 private:
  class Watched : public Scheduler {
   public:
    Watched(Scheduler& scheduler, WatchedEnv* env)
        : scheduler_(scheduler), timed_wait_(env->timed_wait_), env_(*env) {}
    [[nodiscard]] int64_t NowNs() const override { return scheduler_.NowNs(); }
    [[nodiscard]] int64_t WallSeconds() const override {
      return scheduler_.WallSeconds() + env_.wall_ahead_s_;
    }
    [[nodiscard]] std::unique_ptr<Monitor> NewMonitor() override {
      return std::make_unique<Watch>(scheduler_.NewMonitor(), &timed_wait_);
    }
    void Yield() override { scheduler_.Yield(); }
    [[nodiscard]] std::unique_ptr<RunningThread> Start(std::string_view name,
                                                       std::function<void()> body) override {
      if (name != env_.held_back_) return scheduler_.Start(name, std::move(body));
      return scheduler_.Start(name, [body = std::move(body), released = env_.is_released_] {
        released.wait();
        body();
      });
    }

   private:
    class Watch : public Monitor {
     public:
      Watch(std::unique_ptr<Monitor> monitor, std::atomic<bool>* timed_wait)
          : monitor_(std::move(monitor)), timed_wait_(*timed_wait) {}
      void Lock() override { monitor_->Lock(); }
      void Unlock() override { monitor_->Unlock(); }
      void Wait(int64_t until_ns) override {
        if (until_ns != kForever) timed_wait_ = true;
        monitor_->Wait(until_ns);
      }
      void NotifyAll() override { monitor_->NotifyAll(); }

     private:
      std::unique_ptr<Monitor> monitor_;
      std::atomic<bool>& timed_wait_;
    };

    Scheduler& scheduler_;
    std::atomic<bool>& timed_wait_;
    WatchedEnv& env_;
  };

  const std::string held_back_;
  std::promise<void> released_;
  const std::shared_future<void> is_released_ = released_.get_future().share();
  std::atomic<bool> timed_wait_ = false;
  std::atomic<int64_t> wall_ahead_s_ = 0;
  Watched watched_{PlainEnv::scheduler(), this};
};

}  // namespace halograph
