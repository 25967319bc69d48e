// KVStore: rows of tensors by global id, and task sets, wherever they are. Implementations: local/
// (mapped partition folder), remote/ (partition servers), own_part/ (some partitions mapped, the
// rest behind another store) and part_alone/ (one part and its halo).
//
// Thread-safe: any number of threads may call at once, each with a context of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/graph_store.h"
#include "common/base/status.h"
#include "common/graph/row_source.h"
#include "common/graph/tensor_ref.h"
#include "common/state/state_store.h"

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

// A mutable tensor, over all partitions.
struct MutableTensorState {
  MutableTensorSpec spec;
  int64_t step = -1;       // the last step that a partition has applied; -1: none
  bool importing = false;  // in a partition at least: its rows are not whole (import_mark.h)
};

// Takes rows that a snapshot has of a tensor: ids, and RowLayout::image_bytes for each.
using TakeImages =
    std::function<Status(std::span<const int64_t> ids, std::span<const std::byte> images)>;

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

struct TaskSetRef {
  std::string task;
  std::string set;   // "train", "valid" or "test"
  std::string type;  // node type name or relation triple
};

// One array of a task set, rows in C order.
struct TaskArray {
  TensorSpec spec;
  std::vector<std::byte> data;
};

// Rows of a task set.
struct TaskSet {
  TaskSetSpec spec;               // of the whole set
  IdRange rows;                   // which of it these are
  std::vector<TaskArray> arrays;  // as spec.arrays: "seeds" first

  // Seeds as global ids: rows.size() * dim values. Requires the set to have them (readers see to
  // it).
  [[nodiscard]] std::span<const int64_t> seeds() const;
  // NotFound naming task array and what exists.
  [[nodiscard]] StatusOr<const TaskArray*> Find(std::string_view name) const;
};

class KVStore {
 public:
  virtual ~KVStore() = default;

  [[nodiscard]] virtual const GraphInfo& info() const = 0;

  // Rows of several tensors in one exchange: rounds do not grow with their number. All requests are
  // checked before anything is asked. Their outputs must not overlap. After an error they hold
  // anything. The message names the request if there are several.
  //   NotFound         unknown type or tensor
  //   OutOfRange       an id outside the tensor: id, position and count are named
  //   InvalidArgument  `out` is not as long as its rows, or positions do not fit ids or `out`, or
  //                    `after` is not of all partitions
  //   ResourceExhausted, Unavailable, DeadlineExceeded, Cancelled  as GraphStore::Sample
  //   else             what a source of rows says (RowSource)
  [[nodiscard]] virtual Status Pull(std::span<const RowRequest> requests, CallContext& context) = 0;
  // One tensor.
  [[nodiscard]] Status Pull(const RowRequest& request, CallContext& context) {
    return Pull({&request, 1}, context);
  }

  // What Pull would copy, to be read where it is for as long as this store lives. Nothing unless
  // all rows of the tensor are mapped here: stores that ask others have nothing, nor has a tensor
  // that there is not, or that changes.
  [[nodiscard]] virtual std::optional<RowsInPlace> InPlace(const TensorRef& /*tensor*/) const {
    return std::nullopt;
  }

  // Rows [rows.begin, rows.end) of the whole set, in the order of info().task_rows.
  //   NotFound    no such set: what exists is named
  //   OutOfRange  rows outside the set: its count is named
  //   else        as Pull
  [[nodiscard]] virtual StatusOr<TaskSet> ReadTaskSet(const TaskSetRef& set, IdRange rows,
                                                      CallContext& context) = 0;

  // Mutable tensors (common/state/state_store.h says what each call means and how it fails). A
  // store without them answers FailedPrecondition, and says what to start it with.

  // On all partitions; done twice it changes nothing. After an error some partitions may have it:
  // repeat the call.
  [[nodiscard]] virtual Status CreateTensor(const MutableTensorSpec& spec, CallContext& context);
  [[nodiscard]] virtual Status DropTensor(const TensorRef& ref, CallContext& context);
  // Of all partitions together; DataLoss if they differ: which, and in what.
  [[nodiscard]] virtual StatusOr<std::vector<MutableTensorState>> ListTensors(CallContext& context);
  // Splits the rows by owner and pushes each share once: the store repeats what an owner could not
  // take until the deadline, also over its restart, and it is applied once. With a step every owner
  // is told, also one without rows. Returns when all owners have acknowledged. After an error some
  // shares may have been applied, or be applied yet. DataLoss: an owner lost acknowledged pushes.
  [[nodiscard]] virtual StatusOr<PushMark> Push(const RowPush& push, CallContext& context);
  // One moment of all partitions: after `step`; null: each partition's own now. After an error what
  // some of them made is deleted, as far as they answer.
  [[nodiscard]] virtual Status SnapshotTensors(const std::string& name, std::optional<int64_t> step,
                                               CallContext& context);
  // By partition, each in the order of names.
  [[nodiscard]] virtual StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(
      CallContext& context);
  // Gives `take` what a snapshot has of a tensor, as StateStore::ReadSnapshot says, of all
  // partitions in any order, by global ids; one call of it at a time, on any thread. Returns the
  // last step that a partition had applied then; -1: none. NotFound if a partition lacks the
  // snapshot or the tensor.
  [[nodiscard]] virtual StatusOr<int64_t> ReadSnapshot(const std::string& name,
                                                       const MutableTensorSpec& spec,
                                                       const TakeImages& take,
                                                       CallContext& context);
  // From all partitions that have it; NotFound if none does.
  [[nodiscard]] virtual Status DeleteSnapshot(const std::string& name, CallContext& context);
  // Sets all tensors of all partitions to what they were at the snapshot, durably, also those that
  // others use; steps that wait for ranks are given up, and steps go on from that moment's.
  // NotFound, and nothing changes, if a partition lacks the snapshot. After another error repeat
  // the call: some partitions may have gone back.
  [[nodiscard]] virtual Status RestoreSnapshot(const std::string& name, CallContext& context);
};

// What partitions have of tensors, put together: by name. `states`: of all, by partition.
// Import marks are not among them.
//   DataLoss  a partition lacks a tensor, or has another one of its name: which, and in what
[[nodiscard]] StatusOr<std::vector<MutableTensorState>> MergeTensors(
    const std::map<int, StateStats>& states);

// What every store checks of a Pull before it asks or reads anything: the tensor of every request.
// Errors: the first three of KVStore::Pull.
[[nodiscard]] StatusOr<std::vector<const CatalogTensor*>> CheckPull(
    const TensorCatalog& tensors, std::span<const RowRequest> requests);

// The same of a ReadTaskSet: where the set stands in info.schema. Errors: the first two of
// KVStore::ReadTaskSet.
[[nodiscard]] StatusOr<TaskSetIndex> CheckTaskSet(const GraphInfo& info, const TaskSetRef& set,
                                                  IdRange rows);

// Calls read(part, rows of the part) for each part that has some of `rows`, in order, and returns
// its first error. `boundaries`: of info.task_rows.
[[nodiscard]] Status ForEachPart(std::span<const int64_t> boundaries, IdRange rows,
                                 const std::function<Status(int part, IdRange of_part)>& read);

}  // namespace halograph
