// Rows that somebody pushes to a tensor, as one value from the caller to the log, and what is wrong
// with them, whoever takes them: a client before it sends the first of several messages, and the
// store. Plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/status.h"
#include "common/graph/tensor_ref.h"
#include "common/state/mutable_tensor.h"
#include "common/state/row_layout.h"
#include "common/storage/dtype.h"

namespace halograph {

enum class PushKind : uint8_t {
  kGradient,  // the tensor's optimizer applies it
  kAdd,       // row += value
  kAssign,    // row = value; of duplicates the last position counts
  // Row and optimizer state = an image of ReadSnapshot, bit by bit, finite or not; of duplicates
  // the last position counts. The push's dtype is the tensor's.
  kImage,
  // Row = value, bit by bit, finite or not; the optimizer state stays. Else as kImage.
  kBits,
};

// A push of synchronous training: step s is applied when the pushes of all ranks are there, sums in
// (rank, position) order, each row updated once. A rank pushes a tensor once a step, and awaits the
// answer to its first push of a run before it sends the next one.
//
// A run is one start of the trainer: all ranks send the same number, drawn by chance. Within a run
// the steps of a tensor follow one another by 1, and the world size stays. The first push of
// another run to a tensor begins that run there: pushes of the run before whose step is not
// complete are given up for good, and the run before is refused from then on, until 65,536 others
// have followed it. Its first step may be any that is larger than the last one applied, by 2^32 at
// most; steps go back by RestoreSnapshot only. They end at 2^53.
inline constexpr int64_t kMaxSkippedSteps = int64_t{1} << 32;
struct SyncStep {
  int64_t step = 0;
  int32_t rank = 0;
  int32_t world_size = 1;
  uint64_t run = 0;
  // A rank's push that is too large for one message comes as `chunks` pushes, each with a sequence
  // number of its own: the step is complete when all chunks of all ranks are there, and its lists
  // are summed in (rank, chunk) order, as if each rank had sent one.
  int32_t chunk = 0;
  int32_t chunks = 1;
  bool operator==(const SyncStep&) const = default;
};

// Rows for one mutable tensor. Borrowed.
struct RowPush {
  TensorRef tensor = {};
  PushKind kind = PushKind::kGradient;
  // Every rank pushes once a step and tensor, maybe no rows. Null: asynchronous, applied in the
  // order of the log.
  std::optional<SyncStep> step = {};
  std::span<const int64_t> ids = {};     // global, any order, repeats allowed; may be empty
  DType dtype = DType::kFloat32;         // of rows: kFloat32, kFloat16 or kBFloat16
  std::span<const std::byte> rows = {};  // ids.size() rows of PushedRowBytes
};

// Who pushes, and its own count of pushes to this store from 1 upward. A push that was applied
// already is acknowledged again, and changes nothing. A push that was refused has not used its
// number: another push may have it, or nobody.
//
// The client's id was given to it (StateStore::RegisterClient), or it drew one by chance. Who has a
// given one says with each push up to which number all are answered for good, or given up: it sends
// none of them again, and numbers up to kPushWindow above that. Who drew its id sends number s when
// all up to s - kPushWindow have been answered for good.
struct PushId {
  uint64_t client = 0;
  uint64_t sequence = 0;
  bool registered = false;  // the id was given
  uint64_t answered = 0;    // of a given id; below `sequence`
};
inline constexpr int kPushWindow = 64;
// An id by chance, not 0.
[[nodiscard]] uint64_t DrawClientId();

// Why a push is refused (ReasonOf) of which the store knows no more whether it was applied: its
// client is not in the table, or its number is below those that are kept.
inline constexpr std::string_view kTooOldToTell = "too-old-to-tell";

// A push, who pushes it, and how long its memory is there.
struct StatePush {
  RowPush push;  // ids that the partition owns
  PushId id;
  // Owns what ids and rows point to: held on to for as long as the store reads it. Null: the caller
  // owns it, until Push returns. Where the rows begin on a boundary of 4096 bytes (AlignedBytes)
  // they are written from there at SyncLevel::kAlways, else they are copied.
  std::shared_ptr<const void> kept = nullptr;
};

// Of one row of a push to a tensor of this spec.
[[nodiscard]] inline size_t PushedRowBytes(const MutableTensorSpec& spec, PushKind kind,
                                           DType dtype) {
  return kind == PushKind::kImage ? RowLayout::Of(spec).image_bytes() : RowBytes(dtype, spec.dim);
}

// InvalidArgument naming the tensor, what was found and what fits:
//   a dtype that cannot be pushed, or that there is none of; an image or bits in another dtype than
//   the tensor's
//   rows that are not PushedRowBytes for each id
//   a gradient to a tensor without an optimizer
[[nodiscard]] Status CheckPushedRows(const MutableTensorSpec& spec, const RowPush& push);

// Requires what CheckPushedRows checks, of any kind. Of images InvalidArgument naming id, position
// and value of the first sum of squares below 0, which no optimizer makes; of bits nothing; else
// NotFiniteAt of the first value that is NaN or infinite.
[[nodiscard]] Status CheckPushedValues(const MutableTensorSpec& spec, const RowPush& push);
// Whether the values of a push of this kind must be finite.
[[nodiscard]] constexpr bool MustBeFinite(PushKind kind) {
  return kind != PushKind::kImage && kind != PushKind::kBits;
}
// InvalidArgument naming id, position, column and value of an element of the rows.
[[nodiscard]] Status NotFiniteAt(const MutableTensorSpec& spec, const RowPush& push,
                                 size_t element);

}  // namespace halograph
