// Threads that do something together: all come, the last one does it for all, and all go on.
//
//   ThreadMeeting meeting(3);
//   // on thread i of three:
//   Status met = meeting.Meet(i, &own, "adding up", timeout, [](auto all) { ... });
//
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph {

class ThreadMeeting {
 public:
  // What all have brought, by member.
  using Together = std::function<Status(std::span<void* const> brought)>;

  // Requires members > 0.
  explicit ThreadMeeting(int members);

  // Waits until every member is here; the last to come runs its `together` on what all have
  // brought, while the others wait for its end. All return its status. Every member calls it from
  // one thread, and all meet for the same things in the same order. What is brought may be changed
  // by `together` alone until Meet returns. After an error the members meet no more: each later
  // call returns that error at once. `together`'s are as it makes them; these begin with the
  // member's name and `what`:
  //   DeadlineExceeded  some did not come within `timeout`: they are named
  //   Unavailable       a member left: it and its reason are named
  //   Internal          `together` threw
  [[nodiscard]] Status Meet(int member, void* brought, std::string_view what,
                            std::chrono::nanoseconds timeout, const Together& together);

  // This member comes no more, and says why. Those who wait, or come, are told. Requires that it is
  // not in Meet.
  void Leave(int member, std::string_view reason);

  // How errors name member i; "thread i" at first. Before the first meeting.
  void SetNames(std::vector<std::string> names) { names_ = std::move(names); }

 private:
  [[nodiscard]] std::string Missing() const HG_REQUIRES(mutex_);
  [[nodiscard]] Status EndFor(int member, std::string_view what) const HG_REQUIRES(mutex_);

  std::vector<std::string> names_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<void*> brought_ HG_GUARDED_BY(mutex_);  // of those who came
  std::vector<bool> here_ HG_GUARDED_BY(mutex_);
  int num_here_ HG_GUARDED_BY(mutex_) = 0;
  int64_t meetings_ HG_GUARDED_BY(mutex_) = 0;  // that have ended
  // Why there is no further meeting, and whether `together` returned it.
  Status ended_ HG_GUARDED_BY(mutex_);
  bool by_together_ HG_GUARDED_BY(mutex_) = false;
};

}  // namespace halograph
