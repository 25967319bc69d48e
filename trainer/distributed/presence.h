// How the processes of a run know of each other while their ranks compute: a thread that counts up
// in the store where they meet, so that who is busy is not taken for dead, and that hears why
// another one stopped, so that this can be said when the store is gone. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "common/base/mutex.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

class Presence {
 public:
  using StorePtr = c10::intrusive_ptr<::c10d::Store>;
  static constexpr std::chrono::milliseconds kInterval{250};

  // `connect`: gives a connection that nobody else uses, as calls of others may wait in theirs, and
  // whose answers and failures take a few seconds at most; throws if there is none. Called by the
  // thread, again after each failure: a store that stood still for a while may answer again.
  Presence(std::function<StorePtr()> connect, int process);
  // Returns when a call of the store that is under way has ended.
  ~Presence();

  // How often a process has counted so far; larger after two intervals if it runs.
  [[nodiscard]] static int64_t CountOf(::c10d::Store& store, int process);
  // Tells all others why this process stops. The first reason of a run stays.
  static void Tell(::c10d::Store& store, int process, std::string_view reason);

  // That the process knows why the first one stopped, or has found out itself.
  static void SetKnows(::c10d::Store& store, int process);
  [[nodiscard]] static bool Knows(::c10d::Store& store, int process);

  // What this process has heard so far of the first to stop; empty: nothing. Its own reason is not
  // heard.
  [[nodiscard]] std::string Heard();

 private:
  void Run();
  void Listen(::c10d::Store& store);
  // Waits for an interval. Whether to go on.
  [[nodiscard]] bool Pause();

  const std::function<StorePtr()> connect_;
  const int process_;
  Mutex mutex_;
  CondVar changed_;
  bool end_ HG_GUARDED_BY(mutex_) = false;
  std::string heard_ HG_GUARDED_BY(mutex_);
  std::thread thread_;  // the last: it uses the others
};

}  // namespace halograph
