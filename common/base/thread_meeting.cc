#include "common/base/thread_meeting.h"

#include <exception>

#include <fmt/ranges.h>

namespace halograph {

ThreadMeeting::ThreadMeeting(int members) : brought_(members), here_(members) {
  for (int i = 0; i < members; ++i) names_.push_back(fmt::format("thread {}", i));
}

Status ThreadMeeting::Meet(int member, void* brought, std::string_view what,
                           std::chrono::nanoseconds timeout, const Together& together) {
  MutexLock lock(mutex_);
  if (!ended_.ok()) return EndFor(member, what);
  brought_[member] = brought;
  here_[member] = true;
  if (++num_here_ < std::ssize(here_)) {
    const int64_t meeting = meetings_;
    const auto over = [&]() HG_REQUIRES(mutex_) { return meetings_ > meeting || !ended_.ok(); };
    const auto all_here = [&]() HG_REQUIRES(mutex_) { return num_here_ == std::ssize(here_); };
    const bool in_time = changed_.WaitFor(
        mutex_, timeout, [&]() HG_REQUIRES(mutex_) { return over() || all_here(); });
    if (!in_time) {
      ended_ = DeadlineExceeded("{} did not come in time", Missing());
      changed_.NotifyAll();
    }
    // What is done together has bounds of its own.
    changed_.Wait(mutex_, over);
    return meetings_ > meeting ? OkStatus() : EndFor(member, what);
  }
  // Nobody else changes anything while all are here.
  const std::vector<void*> all = brought_;
  changed_.NotifyAll();
  lock.Unlock();
  Status done;
  bool threw = false;
  try {
    done = together(all);
  } catch (const std::exception& error) {  // nobody must be left waiting
    threw = true;
    done = Internal("{}", error.what());
  }
  const MutexLock again(mutex_);
  num_here_ = 0;
  here_.assign(here_.size(), false);
  changed_.NotifyAll();
  if (done.ok()) {
    ++meetings_;
    return done;
  }
  ended_ = done;
  by_together_ = !threw;
  return EndFor(member, what);
}

Status ThreadMeeting::EndFor(int member, std::string_view what) const {
  return by_together_ ? ended_ : Annotate(ended_, fmt::format("{}: {}", names_[member], what));
}

void ThreadMeeting::Leave(int member, std::string_view reason) {
  const MutexLock lock(mutex_);
  if (ended_.ok()) ended_ = Unavailable("{} stopped: {}", names_[member], reason);
  changed_.NotifyAll();
}

std::string ThreadMeeting::Missing() const {
  std::vector<std::string> missing;
  for (size_t i = 0; i < here_.size(); ++i) {
    if (!here_[i]) missing.push_back(names_[i]);
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

}  // namespace halograph
