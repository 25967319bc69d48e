// Ends work from outside: a caller cancels a token; whoever works for it polls it or is called
// back.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "common/base/status.h"

namespace halograph {

// Thread-safe. It must outlive all work that goes by it.
class CancelToken {
 public:
  CancelToken() = default;
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  // Cancels for good. Only the first call runs the registered callbacks; it returns when all of
  // them have run. Later calls do nothing.
  void Cancel() { source_.request_stop(); }

  // One load: cheap enough for inner loops.
  [[nodiscard]] bool cancelled() const { return source_.stop_requested(); }

  // Cancelled after Cancel, else OK.
  [[nodiscard]] Status Check() const {
    return cancelled() ? Cancelled("the call was cancelled by its caller") : OkStatus();
  }

  // Runs `on_cancel` once when the token is cancelled, on the thread that cancels it; at once, on
  // this thread, if it is cancelled already. A null token is never cancelled. The destructor takes
  // `on_cancel` back, and waits for it if another thread runs it just now. `on_cancel` must not
  // throw, and must not wait for the thread that destroys the registration.
  class Registration {
   public:
    Registration(const CancelToken* token, std::function<void()> on_cancel) {
      if (token != nullptr) callback_.emplace(token->source_.get_token(), std::move(on_cancel));
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    std::optional<std::stop_callback<std::function<void()>>> callback_;
  };

 private:
  std::stop_source source_;
};

// Who and what ends work or a wait: a token, a deadline, both or neither.
struct WorkLimits {
  const CancelToken* cancel = nullptr;  // outlives the work
  std::optional<std::chrono::steady_clock::time_point> deadline = {};

  // Cancelled or DeadlineExceeded, whichever holds; else OK. Thread-safe.
  [[nodiscard]] Status Check() const {
    if (cancel != nullptr && cancel->cancelled()) return cancel->Check();
    if (deadline.has_value() && std::chrono::steady_clock::now() >= *deadline) {
      return DeadlineExceeded("the deadline of the call has passed");
    }
    return OkStatus();
  }
};

}  // namespace halograph
