// Snapshots of mutable tensors that belong to the checkpoints of a run: one for each, in the store,
// under a name that the checkpoint's manifest has. A snapshot is made before its checkpoint, and
// deleted after it: what a killed run leaves is a snapshot that no checkpoint names, which the next
// DeleteUnused deletes.
//
// A store goes back to a snapshot with all its tensors. So a run that keeps checkpoints has the
// store's tensors for itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/call_context.h"
#include "client/tensor_admin.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/graph/tensor_ref.h"

namespace halograph {

// Whether a store with tensors of these states is a run's alone, whose own tensors are `tensors`,
// there or not. FailedPrecondition: it has another one, too, which is named.
[[nodiscard]] Status CheckAlone(std::span<const MutableTensorState> states,
                                std::span<const TensorRef> tensors);

// "checkpoints-<16 hex digits, of the folder>-<steps>-<8 hex digits>", so that no two are alike.
class RunSnapshots {
 public:
  // `dir`: the folder of the checkpoints, which is there and this process's alone; a file in it
  // keeps what its snapshots are named by. `tensors`: the run's own. `admin` outlives it.
  //   FailedPrecondition  as CheckAlone
  //   else                as TensorAdmin::List, ReadManifest and WriteManifest
  [[nodiscard]] static StatusOr<std::unique_ptr<RunSnapshots>> Open(
      TensorAdmin* admin, std::vector<TensorRef> tensors, const std::filesystem::path& dir);

  // For a snapshot of the tensors after so many steps; another one each time.
  [[nodiscard]] std::string NewName(int64_t steps_done) const;
  // Keeps the tensors durably: as they are after the pushes of `step`, for which the store waits;
  // null: as they are now, which requires that no push is under way, in any process of the run.
  // Errors as TensorAdmin::Snapshot.
  [[nodiscard]] Status Take(const std::string& name, std::optional<int64_t> step,
                            CallContext& context) const;

  // Sets the tensors back. Requires that nobody else uses them.
  //   FailedPrecondition  as Open
  //   else                as TensorAdmin::RestoreSnapshot
  [[nodiscard]] Status GoBackTo(const std::string& name, CallContext& context) const;

  // DeleteUnused spares this one, and the one before it no longer; "": none. Thread-safe.
  void Spare(std::string name);
  // Deletes those of the folder that none of its checkpoints names; a damaged checkpoint names
  // none. Not while one is taken whose checkpoint is not yet there. What cannot be deleted is named
  // in a warning, and tried again by the next call.
  void DeleteUnused() const;

 private:
  RunSnapshots(TensorAdmin* admin, std::vector<TensorRef> tensors, std::filesystem::path dir)
      : admin_(*admin), tensors_(std::move(tensors)), dir_(std::move(dir)) {}
  [[nodiscard]] Status ReadOrMakePrefix();
  [[nodiscard]] Status CheckStillAlone(CallContext& context) const;
  [[nodiscard]] Status TryDeleteUnused() const;

  TensorAdmin& admin_;
  const std::vector<TensorRef> tensors_;
  const std::filesystem::path dir_;
  std::string prefix_;  // of the names
  mutable Mutex mutex_;
  std::string spared_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
