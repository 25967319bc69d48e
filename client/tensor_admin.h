// TensorAdmin: which mutable tensors there are, and their snapshots (common/state/state_store.h
// says what each call means and how it fails). Implementations: local/ (the engine in this process)
// and remote/ (partition servers). Rows of tensors are pulled and pushed through a RowStore.
//
// Thread-safe: any number of threads may call at once, each with a context of its own. Everything
// is changed on all partitions, for all clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/call_context.h"
#include "common/base/status.h"
#include "common/graph/tensor_ref.h"
#include "common/state/state_store.h"

namespace halograph {

// A mutable tensor, over all partitions.
struct MutableTensorState {
  MutableTensorSpec spec;
  int64_t step = -1;       // the last step that a partition has applied; -1: none
  bool importing = false;  // in a partition at least: its rows are not whole (import_mark.h)
};

// Takes rows that a snapshot has of a tensor: ids, and RowLayout::image_bytes for each.
using TakeImages =
    std::function<Status(std::span<const int64_t> ids, std::span<const std::byte> images)>;

class TensorAdmin {
 public:
  virtual ~TensorAdmin() = default;

  // On all partitions; done twice it changes nothing. After an error some partitions may have it:
  // repeat the call.
  [[nodiscard]] virtual Status Create(const MutableTensorSpec& spec, CallContext& context) = 0;
  [[nodiscard]] virtual Status Drop(const TensorRef& ref, CallContext& context) = 0;
  // Of all partitions together; DataLoss if they differ: which, and in what.
  [[nodiscard]] virtual StatusOr<std::vector<MutableTensorState>> List(CallContext& context) = 0;

  // One moment of all partitions: after `step`; null: each partition's own now. After an error what
  // some of them made is deleted, as far as they answer.
  [[nodiscard]] virtual Status Snapshot(const std::string& name, std::optional<int64_t> step,
                                        CallContext& context) = 0;
  // By partition, each in the order of names; without what they have.
  [[nodiscard]] virtual StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(
      CallContext& context) = 0;
  // One snapshot with the tensors that it has, by partition: those that have it.
  [[nodiscard]] virtual StatusOr<std::map<int, SnapshotInfo>> DescribeSnapshot(
      const std::string& name, CallContext& context) = 0;
  // Gives `take` what a snapshot has of a tensor, as StateStore::ReadSnapshot says, of all
  // partitions in any order, by global ids; one call of it at a time, on any thread. Returns the
  // last step that a partition had applied then; -1: none. NotFound if a partition lacks the
  // snapshot or the tensor.
  [[nodiscard]] virtual StatusOr<int64_t> ReadSnapshot(const std::string& name,
                                                       const MutableTensorSpec& spec,
                                                       const TakeImages& take,
                                                       CallContext& context) = 0;
  // From all partitions that have it; NotFound if none does.
  [[nodiscard]] virtual Status DeleteSnapshot(const std::string& name, CallContext& context) = 0;
  // Sets all tensors of all partitions to what they were at the snapshot, durably, also those that
  // others use; steps that wait for ranks are given up, and steps go on from that moment's.
  // NotFound, and nothing changes, if a partition lacks the snapshot. After another error repeat
  // the call: some partitions may have gone back.
  [[nodiscard]] virtual Status RestoreSnapshot(const std::string& name, CallContext& context) = 0;
};

// What partitions have of tensors, put together: by name. `states`: of all, by partition.
// Import marks are not among them.
//   DataLoss  a partition lacks a tensor, or has another one of its name: which, and in what
[[nodiscard]] StatusOr<std::vector<MutableTensorState>> MergeTensors(
    const std::map<int, StateStats>& states);

// FailedPrecondition: `what`, a tensor or a snapshot, is asked of stores that keep no mutable
// tensors; says what to start them with.
[[nodiscard]] Status NoMutableTensors(std::string_view what);

}  // namespace halograph
