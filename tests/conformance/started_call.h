// A call that a test starts and another line of it waits for, by one thread.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "client/call_context.h"
#include "client/started.h"
#include "common/base/status.h"

namespace halograph {

// `Result`: what `done` is given. Neither copied nor moved: the call borrows `context`.
template <typename Result>
class StartedCall {
 public:
  explicit StartedCall(PostedWork* work) : work_(work) {
    context.post = [work](std::function<void()> piece) { work->Post(std::move(piece)); };
  }
  StartedCall(const StartedCall&) = delete;
  StartedCall& operator=(const StartedCall&) = delete;

  [[nodiscard]] std::function<void(Result)> Done() {
    return [this](Result result) {
      result_.emplace(std::move(result));
      ++ends_;
    };
  }
  // Runs what is posted, of all calls, until this one has ended.
  [[nodiscard]] const Result& Await() {
    while (!result_.has_value()) work_->RunOne();
    return *result_;
  }
  [[nodiscard]] int ends() const { return ends_; }

  CallContext context;

 private:
  PostedWork* const work_;
  std::optional<Result> result_;
  int ends_ = 0;
};

}  // namespace halograph
