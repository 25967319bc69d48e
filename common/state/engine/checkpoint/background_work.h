// A thread that does one kind of work each time it is wanted. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "common/state/env.h"

namespace halograph {

class BackgroundWork {
 public:
  // `work` must not throw.
  BackgroundWork(std::string_view name, Scheduler& scheduler, std::function<void()> work);
  // Waits for the work that goes on; what is wanted but has not begun is left.
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // The work begins soon, once for any number of calls before it.
  void Want();

 private:
  void Loop();

  const std::function<void()> work_;
  const std::unique_ptr<Monitor> monitor_;
  bool wanted_ = false;
  bool stopping_ = false;
  std::unique_ptr<RunningThread> thread_;
};

}  // namespace halograph
