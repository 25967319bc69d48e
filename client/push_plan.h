// How the rows of one push are shared out to owners and messages: what each message holds is fixed
// by the push and the messages' size alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "client/row_store.h"
#include "common/state/mutable_catalog.h"

namespace halograph {

// What one message carries: ids[i] with row positions[i] of the push. Points into the plan.
struct PushMessage {
  int part = 0;
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;
  int32_t chunk = 0;  // of a push with a step
  int32_t chunks = 1;
};

// What is wrong with a push before anybody is asked: all that an owner would refuse of what is
// pushed, since other owners and messages would have applied theirs by then.
//   OutOfRange       an id outside the tensor: id, position and count are named
//   InvalidArgument  as CheckPushedRows, and of all but images CheckPushedValues
[[nodiscard]] Status CheckPush(const MutableTensor& tensor, const RowPush& push);

// Not thread-safe. Borrows the push.
class PushPlan {
 public:
  // Shares a valid push out (CheckPush). `rows_of_part`: how many rows one message to the owner of
  // a part may hold, at least 1. A push with a step has a message for every part, also without
  // rows; its rows stand in the messages of a part in their order. Without a step all rows of an id
  // are in one message, in their order.
  //   ResourceExhausted  without a step: an id that stands more often than fits into a message
  [[nodiscard]] Status Make(const MutableTensor& tensor, const RowPush& push,
                            const std::function<int64_t(int part)>& rows_of_part);

  // Of each part, in order: those of a step by chunk.
  [[nodiscard]] std::span<const std::vector<PushMessage>> messages() const { return messages_; }

 private:
  // Into messages of up to `most` rows, all rows of an id in one of them.
  [[nodiscard]] Status CutBetweenIds(const RowPush& push, int part, const IdShare& share,
                                     size_t most);
  // False: more than `most` rows fell together.
  [[nodiscard]] bool CutBetweenBuckets(int part, const IdShare& share, size_t most);
  void AddMessages(int part, std::span<const int64_t> ids, std::span<const int64_t> positions,
                   std::span<const size_t> ends);

  PartSplit split_;
  std::deque<std::vector<int64_t>> ordered_;  // ids and positions of shares that were reordered
  std::vector<std::vector<PushMessage>> messages_;
};

}  // namespace halograph
