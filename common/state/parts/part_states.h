// The mutable tensors of the partitions that one process has: a StateStore a partition, in a folder
// of its own below one state folder, and what they are together. A server has those of its parts, a
// trainer without servers those of all.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition.h"
#include "common/graph/row_source.h"
#include "common/state/mutable_catalog.h"
#include "common/state/state_store.h"

namespace halograph {

// What a process that was started without a state folder answers to a call about mutable tensors;
// `what`: "node paper / emb".
[[nodiscard]] Status NoStateFolder(std::string_view what);

class PartStates {
 public:
  // Opens the state of every part of `parts` in <options.folder>/part-XXXX; memory_bytes is shared
  // out to them equally, max_waiting_bytes is of all together. The log says what was there.
  // Requires parts opened with features: their original ids. `fixed`: the graph's features. All
  // references outlive it. Errors as StateStore::Open.
  [[nodiscard]] static StatusOr<std::unique_ptr<PartStates>> Open(const StateOptions& options,
                                                                  const PartitionSet& parts,
                                                                  const TensorCatalog& fixed,
                                                                  Env& env);

  // Features and mutable tensors.
  [[nodiscard]] const MutableCatalog& catalog() const { return catalog_; }
  // By part.
  [[nodiscard]] const std::map<int, std::unique_ptr<StateStore>>& stores() const { return stores_; }
  // Null: the part is not here.
  [[nodiscard]] StateStore* Find(int64_t part) const;

  // In all parts; errors and what may be left as TensorAdmin::Create and Drop. A tensor's
  // import mark is dropped with it.
  // DeadlineExceeded, Cancelled: by `limits`; some parts may have done it.
  [[nodiscard]] Status Create(const MutableTensorSpec& spec, const WorkLimits& limits = {});
  [[nodiscard]] Status Drop(const TensorRef& ref, const WorkLimits& limits = {});

  // Whether pushes of this kind are taken: while a tensor is being imported (import_mark.h) only
  // what an import sends. FailedPrecondition naming the tensor and what to do.
  [[nodiscard]] Status CheckPush(const TensorRef& ref, PushKind kind) const;

  // The part that owns all of `ids`; -1: there are none, or several own some.
  [[nodiscard]] int OnlyPart(const MutableTensor& tensor, std::span<const int64_t> ids) const;

  // Rows as RowSource::Gather gives them, out of all parts here. `after`: by part, the LSN that its
  // rows wait for; empty: none.
  //   OutOfRange          an id outside the tensor, or of a part that is not here: named
  //   FailedPrecondition  the tensor is being imported
  //   else                as StateStore::Pull
  [[nodiscard]] Status Pull(const MutableTensor& tensor, std::span<const int64_t> ids,
                            std::span<const int64_t> positions, std::span<const int64_t> after,
                            std::byte* out, const WorkLimits& limits) const;

  // Whether a Pull of the tensor may wait for the disk: rows of it are beyond memory, or a snapshot
  // is being restored. Else it waits for `after` only, and for no longer than a push computes.
  [[nodiscard]] bool MayWaitForDisk(const MutableTensor& tensor) const;

  [[nodiscard]] std::map<int, StateStats> Stats() const;

  // As StateStore's, of all parts here, side by side: the moment after a step comes while the parts
  // are pushed to. After an error no part keeps a snapshot that this call
  // made. FailedPrecondition also while a tensor is being imported.
  [[nodiscard]] StatusOr<std::map<int, SnapshotInfo>> Snapshot(const std::string& name,
                                                               std::optional<int64_t> step,
                                                               const WorkLimits& limits);
  [[nodiscard]] std::map<int, std::vector<SnapshotInfo>> Snapshots(
      const SnapshotRange& range = {}) const;
  // OutOfRange: a part that is not here.
  [[nodiscard]] StatusOr<SnapshotPage> ReadSnapshot(int64_t part, const std::string& name,
                                                    const TensorRef& ref,
                                                    const SnapshotPlace& place,
                                                    size_t max_bytes) const;
  // NotFound if no part has it. Limits here and below as for Create.
  [[nodiscard]] Status DeleteSnapshot(const std::string& name, const WorkLimits& limits = {});
  // NotFound, and nothing changes, if a part has none of this name.
  [[nodiscard]] Status RestoreSnapshot(const std::string& name, const WorkLimits& limits = {});

 private:
  PartStates(const PartitionSet& parts, const TensorCatalog& fixed, Scheduler& scheduler)
      : parts_(parts), scheduler_(scheduler), catalog_(&fixed, &parts.schema(), &parts.book()) {}
  // FailedPrecondition: the tensor is being imported.
  [[nodiscard]] Status CheckWhole(const TensorRef& ref) const;
  // OutOfRange: what is asked for, of a part that is not here.
  [[nodiscard]] Status NotHere(const std::string& what, int64_t part) const;
  // In all parts: NotFound if none has what `remove` removes.
  [[nodiscard]] Status FromAll(const std::function<Status(StateStore&)>& remove) const;
  [[nodiscard]] Status DropOne(const TensorRef& ref, const WorkLimits& limits);
  // Makes the catalog what the stores have: after opening, and when a snapshot was restored.
  [[nodiscard]] Status ReadCatalog();

  const PartitionSet& parts_;
  Scheduler& scheduler_;
  MutableCatalog catalog_;
  std::map<int, std::unique_ptr<StateStore>> stores_;
  std::atomic<int> restoring_ = 0;  // calls of RestoreSnapshot
};

}  // namespace halograph
