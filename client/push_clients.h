// Who a store is to the owners it pushes to: for each partition a client id, which the partition
// gave it or which it drew by chance, and numbers counted from 1, so that a push is applied once
// however often it is sent (common/state/state_store.h). And what they acknowledged to it, so that
// it notices a partition that came back without that. Thread-safe.
//
// A partition's LSNs go on over restarts, restored snapshots and dropped tensors. So the answer to
// a push has a larger LSN than any that the partition had acknowledged before the push was sent. If
// it has not, acknowledged pushes are gone: the machine failed before they were on its disk, or the
// state folder is an older copy, or a new one. What is gone and was not followed by enough pushes
// of other clients is noticed so; else it is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/state/state_store.h"

namespace halograph {

class PushClients {
 public:
  explicit PushClients(int parts) : parts_(static_cast<size_t>(parts)) {}

  // Consecutive numbers for `count` pushes to one partition.
  struct Numbers {
    int part = 0;
    uint64_t client = 0;
    uint64_t first = 0;
    int count = 0;
    int64_t acknowledged = 0;  // the largest LSN by then; 0: none
    bool registered = false;   // the id was given
    uint64_t answered = 0;     // up to here all numbers are answered, or given up
  };

  // The partition is asked for an id, by one at a time: Take waits meanwhile. Destroyed when that
  // has ended, however it did.
  class Asking {
   public:
    Asking(PushClients* clients, int part, int64_t acknowledged)
        : clients_(*clients), part_(part), acknowledged_(acknowledged) {}
    ~Asking();
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;
    // It gave one at the moment of `lsn`, for all numbers from here on; one that came later than
    // another is not used. DataLoss: as Acknowledge.
    [[nodiscard]] Status Register(uint64_t client, int64_t lsn);

   private:
    PushClients& clients_;
    const int part_;
    const int64_t acknowledged_;  // the largest LSN, when it was asked
  };
  // Null: the next numbers of the partition have an id, or another one asks for it.
  [[nodiscard]] std::shared_ptr<Asking> AskForId(int part);

  // Draws an id if there is none and nobody asks for one. Waits while somebody does, and while
  // pushes kPushWindow before these are not answered. Requires 0 < count <= kPushWindow. Cancelled,
  // DeadlineExceeded: by `limits`. DataLoss: the partition came back without pushes that it had
  // acknowledged (Acknowledge).
  [[nodiscard]] StatusOr<Numbers> Take(int part, int count, const WorkLimits& limits);
  // All of them were answered for good.
  void Answered(const Numbers& numbers);
  // One was refused, or may be under way yet. A drawn id is not used any more; with one that was
  // given, none of these numbers is.
  void GiveUp(const Numbers& numbers);
  // The partition does not know the client: another id from here on.
  void Forgotten(const Numbers& numbers);

  // One of these pushes, to `tensor`, was acknowledged with `lsn`. DataLoss, also of every later
  // push to the partition, if it had acknowledged as large an LSN before: naming both.
  [[nodiscard]] Status Acknowledge(const Numbers& numbers, const TensorRef& tensor, int64_t lsn);
  // DataLoss if one of `after`, by partition, was acknowledged before its partition came back
  // without it; 0: none was. Empty: of no partition.
  [[nodiscard]] Status Check(std::span<const int64_t> after);
  // What was pushed to `tensor`, or to all of them, matters no more: it was dropped, or replaced by
  // a snapshot.
  void Forget(const TensorRef& tensor);
  void ForgetAll();

 private:
  struct Part {
    uint64_t client = 0;  // 0: none
    bool registered = false;
    bool asked_for = false;        // an id, under way
    uint64_t next = 1;             // number
    std::set<uint64_t> open = {};  // first numbers of those that are not answered
    std::map<std::string, int64_t> acknowledged = {};  // the largest LSN of each tensor
    int64_t again = 0;                                 // the least LSN that it gave twice; 0: none

    void NewClient(uint64_t id, bool given);
    // Notes that it gave `lsn` though it had acknowledged `before`; whether it did.
    [[nodiscard]] bool GaveAgain(int64_t lsn, int64_t before);
    [[nodiscard]] int64_t Largest() const;
    [[nodiscard]] Status Whole(size_t number) const;
  };

  Mutex mutex_;
  CondVar answered_;
  std::vector<Part> parts_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
