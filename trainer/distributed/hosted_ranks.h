// The ranks of one process, each on a thread of its own: a run of V ranks gives the same bits in V
// processes, in one, and in any number between that divides V (--logical-ranks).
//
// Process p of W has ranks [p V / W, (p + 1) V / W). What they do together, the last one to come
// does for all, with the other processes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/mutex.h"
#include "common/base/thread_meeting.h"
#include "trainer/distributed/process_group.h"

namespace halograph {

// Thread-safe: called by the threads of its ranks.
class HostedRanks {
 public:
  // `count` ranks of process `process`; every process has as many.
  HostedRanks(int process, int num_processes, int count);

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int process() const { return process_; }
  [[nodiscard]] int num_processes() const { return num_processes_; }
  [[nodiscard]] int RankOf(int index) const { return process_ * count_ + index; }
  [[nodiscard]] int world_size() const { return num_processes_ * count_; }

  // All ranks of all processes meet. `index`: of the rank in this process. `options` without
  // process, num_processes and ranks_each. Errors as ProcessGroup::Join and Meet.
  [[nodiscard]] Status Join(int index, GroupOptions options);

  // GroupOptions::timeout. Requires Join.
  [[nodiscard]] std::chrono::nanoseconds timeout() const { return timeout_; }

  // What is done for all ranks of the process, with what each of them brings, in order.
  template <typename T>
  using Together = std::function<Status(std::span<T* const> brought, ProcessGroup& processes)>;
  // Requires Join. Errors as `together` and ThreadMeeting::Meet.
  template <typename T>
  [[nodiscard]] Status Meet(int index, T* brought, std::string_view what,
                            const Together<T>& together) {
    return meeting_.Meet(index, brought, what, timeout_, [&](std::span<void* const> all) {
      std::vector<T*> typed;
      for (void* const one : all) typed.push_back(static_cast<T*>(one));
      return together(typed, *processes_);
    });
  }

  // The same ranks once more, who meet there independently of here (ProcessGroup::Beside). Every
  // rank calls it, and later calls give the same one, which lives as long as this object. Its Leave
  // is this one's: nobody calls it there. Requires Join. Errors as ProcessGroup::Beside and Meet.
  [[nodiscard]] StatusOr<HostedRanks*> Beside(int index, std::string_view what);

  // Tells the ranks here, and the other processes, why this one stops. Requires that it is not in
  // Meet, Join or Beside, nor in Meet of the ranks beside. Later calls do nothing.
  void Leave(int index, std::string_view reason);
  // The first one here that has left, if one has.
  [[nodiscard]] std::optional<int> first_to_leave();

 private:
  const int process_, num_processes_, count_;
  ThreadMeeting meeting_;
  // Set by Join, by one thread while the others wait; used likewise.
  std::unique_ptr<ProcessGroup> processes_;
  std::unique_ptr<HostedRanks> beside_;  // null before Beside
  std::chrono::nanoseconds timeout_ = GroupOptions().timeout;
  Mutex leaving_;
  std::optional<int> first_to_leave_ HG_GUARDED_BY(leaving_);
};

// One of them.
struct RankSeat {
  HostedRanks* host = nullptr;  // outlives who sits there
  int index = 0;
};

}  // namespace halograph
