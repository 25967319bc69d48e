// What is checked of pushes before anybody is asked, and how the rows of one are shared out to
// owners and messages: what each message holds is fixed by the push and the messages' size alone.
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

// What one message carries: some ids of a push, its chunk of the step, and all rows of the push, of
// which ids[i] has the one at positions[i]. Points into the plan.
struct PushMessage {
  int part = 0;
  RowPush push;
  std::span<const int64_t> positions;
};

// What every store checks of a Push before it asks anybody: the tensor of every push, and all that
// an owner would refuse of what is pushed, since other owners and messages would have applied
// theirs by then. The message names the push if there are several.
//   NotFound         no mutable tensor of this name: those that there are
//   OutOfRange       an id outside the tensor: id, position and count are named
//   InvalidArgument  as CheckPushedRows and CheckPushedValues; or two pushes to one tensor
[[nodiscard]] StatusOr<std::vector<const MutableTensor*>> CheckPushes(
    const MutableCatalog& tensors, std::span<const RowPush> pushes);

// `status` of one of `pushes`, with the tensor in front if there are several.
[[nodiscard]] Status OfPush(const Status& status, std::span<const RowPush> pushes,
                            const RowPush& push);

// Not thread-safe. Borrows what the push points to.
class PushPlan {
 public:
  // Shares a valid push out (CheckPushes). `rows_of_part`: how many rows one message to the owner
  // of a part may hold, at least 1. A push with a step has a message for every part, also without
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
  [[nodiscard]] bool CutBetweenBuckets(const RowPush& push, int part, const IdShare& share,
                                       size_t most);
  void AddMessages(const RowPush& push, int part, std::span<const int64_t> ids,
                   std::span<const int64_t> positions, std::span<const size_t> ends);

  PartSplit split_;
  std::deque<std::vector<int64_t>> ordered_;  // ids and positions of shares that were reordered
  std::vector<std::vector<PushMessage>> messages_;
};

}  // namespace halograph
