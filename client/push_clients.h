// Who a store is to the owners it pushes to: a client id drawn by chance and numbers counted from 1
// for each partition, so that a push is applied once however often it is sent
// (common/state/state_store.h). Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
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
  };
  // Waits while pushes kPushWindow before these are not answered. Requires 0 < count <=
  // kPushWindow. Cancelled, DeadlineExceeded: by `limits`.
  [[nodiscard]] StatusOr<Numbers> Take(int part, int count, const WorkLimits& limits);
  // All of them were answered for good.
  void Answered(const Numbers& numbers);
  // One was refused, or may be under way yet: the partition gets another client id from here on.
  void GiveUp(const Numbers& numbers);

 private:
  struct Part {
    uint64_t client = 0;           // 0: none was drawn yet
    uint64_t next = 1;             // number
    std::set<uint64_t> open = {};  // first numbers of those that are not answered
  };

  Mutex mutex_;
  CondVar answered_;
  std::vector<Part> parts_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
