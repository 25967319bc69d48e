// RowStore: rows of tensors by global id, wherever they are. Implementations: local/ (mapped
// partition folder), remote/ (partition servers), own_part/ (some partitions mapped, the rest
// behind another store), part_alone/ (one part and its halo) and cached/ (remote rows that are
// kept). A store over another one, such as that cache, is this interface alone: it holds the other,
// and hands on what is not its matter.
//
// Thread-safe: any number of threads may call at once, each with a context of its own. No call
// belongs to a thread: what one thread pushed another may pull, with the mark.
//
// A call borrows its requests, what they point to and its context until it ends, and no longer:
// nobody changes them meanwhile but the store, which writes `out` and the context's figures, on any
// of its threads. One context is of one call at a time. So a call may as well be begun by one
// thread and end on another: Pull and Push are StartPull and StartPush (started.h) and a wait,
// where others are asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/call_context.h"
#include "client/started.h"
#include "common/base/status.h"
#include "common/graph/row_source.h"
#include "common/graph/tensor_ref.h"
#include "common/state/row_push.h"

namespace halograph {

// Rows of one tensor. Ids, positions and memory are borrowed.
struct RowRequest {
  TensorRef tensor;
  std::span<const int64_t> ids = {};  // global, any order, repeats allowed
  // Row ids[i] goes to row positions[i] of `out`; empty: to row i.
  std::span<const int64_t> positions = {};
  std::span<std::byte> out = {};  // rows of row_bytes bytes, in the stored dtype
  // Of a mutable tensor: pushes to it that the rows must show, as Push returned it; empty: none.
  std::span<const int64_t> after = {};
};

// By partition: the log sequence number up to which pulls must wait to see a push; 0: not at all.
using PushMark = std::vector<int64_t>;

// All rows of a tensor where they are stored, in the memory of this process.
struct RowsInPlace {
  std::span<const int64_t> boundaries;    // of its ids, parts + 1
  std::vector<const std::byte*> by_part;  // the rows of each, one after the other
  size_t row_bytes = 0;

  // Fills `rows` with where the row of each of `ids` is. Requires ids within the tensor.
  void Find(std::span<const int64_t> ids, std::span<const std::byte*> rows) const;
};

class RowStore {
 public:
  virtual ~RowStore() = default;

  // Rows of several tensors in one exchange: rounds do not grow with their number. All requests are
  // checked before anything is asked: one without ids asks whether its tensor's rows can be pulled
  // at all, from any owner. Their outputs must not overlap. After an error they hold anything. The
  // message names the request if there are several.
  //   NotFound         unknown type or tensor
  //   OutOfRange       an id outside the tensor: id, position and count are named
  //   InvalidArgument  `out` is not as long as its rows, or positions do not fit ids or `out`, or
  //                    `after` is not of all partitions
  //   ResourceExhausted  a row does not fit into a message: its bytes and the option are named
  //   ResourceExhausted, Unavailable, DeadlineExceeded, Cancelled  as GraphStore::Sample
  //   else             what a source of rows says (RowSource)
  [[nodiscard]] virtual Status Pull(std::span<const RowRequest> requests, CallContext& context) = 0;
  // Pull, not waited for. What is not known of a mutable tensor is asked for before it returns.
  virtual void StartPull(std::span<const RowRequest> requests, CallContext& context,
                         StatusDone done) {
    EndCall(std::move(done), Pull(requests, context));
  }
  // One tensor.
  [[nodiscard]] Status Pull(const RowRequest& request, CallContext& context) {
    return Pull({&request, 1}, context);
  }

  // Rows for several tensors, each named once: gives the mark of each push, in their order. Splits
  // the rows by owner and pushes each share once: the store repeats what an owner could not take
  // until the deadline, also over its restart, and it is applied once. With a step every owner is
  // told, also one without rows. The first messages of all pushes go to an owner in one exchange,
  // and an owner may make what it gets of several durable by one sync; what does not fit into one
  // message each comes in the next exchanges.
  //
  // All pushes are checked before anything is sent: one without ids and step asks whether its
  // tensor takes pushes of its kind and dtype at all. Returns when all owners have acknowledged.
  // After an error some shares of a push that failed may have been applied, or be applied yet. An
  // error of one push ends that one alone: it is returned, the first of several, when all others
  // were acknowledged or have failed, too, so that each is as after a call of its own. What ends
  // the call (Cancelled, DeadlineExceeded) is an error of all that were under way. The message
  // names the push if there are several.
  //   FailedPrecondition  this store keeps no mutable tensors (NoMutableTensors); an owner of an
  //                       older version that does not know PushKind::kBits: named
  //   InvalidArgument     two pushes to one tensor
  //   DataLoss            an owner lost acknowledged pushes
  //   else                as StateStore::Push says
  [[nodiscard]] virtual StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                                             CallContext& context) = 0;
  using PushDone = std::function<void(StatusOr<std::vector<PushMark>>)>;
  // Push, not waited for. It, and what it posts, may wait for pushes before it, of which no more
  // than a window is under way: so the context has `post`.
  virtual void StartPush(std::span<const RowPush> pushes, CallContext& context, PushDone done) {
    EndCall(std::move(done), Push(pushes, context));
  }

  // What Pull would copy, to be read where it is for as long as this store lives. Nothing unless
  // all rows of the tensor are mapped here: stores that ask others have nothing, nor has a tensor
  // that there is not, or that changes.
  [[nodiscard]] virtual std::optional<RowsInPlace> InPlace(const TensorRef& /*tensor*/) const {
    return std::nullopt;
  }
};

// Push of a store that keeps no mutable tensors.
[[nodiscard]] Status RefusePushes(std::span<const RowPush> pushes);

// Of one request, for rows of `row_bytes` bytes of a tensor that has `count`:
//   InvalidArgument  `out`, `positions` and `ids` do not fit each other, or the rows
//   OutOfRange       an id
[[nodiscard]] Status CheckRows(const RowRequest& request, int64_t count, size_t row_bytes);

// What every store checks of a Pull before it asks or reads anything: the tensor of every request.
// Errors: the first three of RowStore::Pull.
[[nodiscard]] StatusOr<std::vector<const CatalogTensor*>> CheckPull(
    const TensorCatalog& tensors, std::span<const RowRequest> requests);

}  // namespace halograph
