// Finds servers again that moved: a name stands for another address by now, or a file has another
// line. A server that is only down is found by gRPC, at the same address. Knows no gRPC.
//
// One thread, which sleeps until a call finds a server gone; then it asks at once where the servers
// are, and again after pauses that double from kFirstPause to kLongestPause, for as long as calls
// find one gone and none has moved. What cannot be read, or resolved, leaves all as it is; a
// warning says so once.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/server_list.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph {

class ServerFinder {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{250};
  static constexpr std::chrono::milliseconds kLongestPause{5000};

  // What it does, on its own thread.
  struct Hooks {
    // Where servers are now (ServerList::FindNumbers).
    std::function<StatusOr<std::vector<ServerPlace>>()> find;
    // Where this client has them, by their number.
    std::function<std::vector<ServerPlace>()> places;
    // Asks who is there, and moves server number `server` there if it serves the same; where it is
    // already, it stays. Unavailable, DeadlineExceeded: nobody answers. Other errors: it is another
    // one.
    std::function<Status(int server, const ServerPlace& place)> move;
    // Waits for `pause`, and no longer than this lives; tests have no real waits. Null: by the
    // machine's clock.
    std::function<void(std::chrono::milliseconds pause)> wait = nullptr;
  };

  // ResourceExhausted: no thread.
  [[nodiscard]] static StatusOr<std::unique_ptr<ServerFinder>> Start(Hooks hooks);
  // Waits for a hook that runs: it has to end soon.
  ~ServerFinder();
  ServerFinder(const ServerFinder&) = delete;
  ServerFinder& operator=(const ServerFinder&) = delete;

  // A call found that nobody answers where this server should be. Never blocks. Thread-safe.
  void Gone(int server);

 private:
  explicit ServerFinder(Hooks hooks) : hooks_(std::move(hooks)) {}
  void Run();
  // Those that calls found gone since the last time, until there is one; empty: the end.
  [[nodiscard]] std::set<int> WaitForGone();
  void Pause(std::chrono::milliseconds pause);
  // Whether one of them was moved.
  [[nodiscard]] bool Look(const std::set<int>& gone);
  [[nodiscard]] bool LookFor(int server, const std::set<int>& gone,
                             const std::vector<ServerPlace>& found);
  void WarnOnce(const Status& status);

  const Hooks hooks_;
  std::string warned_of_;  // of its thread
  Mutex mutex_;
  CondVar changed_;
  std::set<int> gone_ HG_GUARDED_BY(mutex_);
  bool stopping_ HG_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace halograph
