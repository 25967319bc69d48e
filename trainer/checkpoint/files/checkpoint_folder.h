// Checkpoints as folders: DIR/step-NNNNNNNNN/ has the tensors of one moment as safetensors files,
// and a manifest with the checksum of each, which is written last (trainer/checkpoint/FORMAT.md).
// A folder of that name is whole or damaged, never half-written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/safetensors.h"
#include "trainer/checkpoint/files/manifest.h"

namespace halograph {

// All that is to be written of one moment. The tensors' bytes are borrowed from `owners`.
struct CheckpointImage {
  CheckpointManifest manifest;  // but for its files
  std::map<std::string, std::vector<TensorBytes>> files;
  std::vector<std::shared_ptr<const void>> owners;
  double copy_seconds = 0;  // that training stood still for
  // What must be durable besides, kept elsewhere; waits for it. Empty: nothing.
  std::function<Status()> rest;
};

// A whole checkpoint, read. Movable; const methods are thread-safe.
struct StoredCheckpoint {
  std::filesystem::path folder;  // DIR/step-NNNNNNNNN
  CheckpointManifest manifest;
  std::map<std::string, SafetensorsFile> files;  // by name; mapped

  // NotFound naming the folder and what it has.
  [[nodiscard]] StatusOr<const SafetensorsFile*> Find(std::string_view file) const;
};

// "step-000000042". The nine digits sort as numbers do; more digits sort behind them.
[[nodiscard]] std::string CheckpointName(int64_t steps_done);
// The checkpoints of a folder by steps done, ascending, damaged ones included; none if there is no
// such folder. One whose writer was killed before the new one had taken its place is there by the
// name that it had then (step-NNNNNNNNN.old-...). Errors as the system has them.
[[nodiscard]] StatusOr<std::map<int64_t, std::filesystem::path>> ListCheckpoints(
    const std::filesystem::path& dir);

// FailedPrecondition if `dir`, which a run was given as --checkpoint, is a checkpoint itself: the
// folder that it is in is named.
[[nodiscard]] Status CheckIsNoCheckpoint(const std::filesystem::path& dir);

// The manifest alone, whose checksum is verified. Errors as ReadStoredCheckpoint.
[[nodiscard]] StatusOr<CheckpointManifest> ReadCheckpointManifest(
    const std::filesystem::path& folder);

// Reads one checkpoint and verifies all checksums.
//   NotFound            no manifest, or a file of it is missing
//   DataLoss            damaged: file and rule are named
//   FailedPrecondition  of another format version, or it may not be read
//   else                as ErrnoStatus
[[nodiscard]] StatusOr<StoredCheckpoint> ReadStoredCheckpoint(const std::filesystem::path& folder);

// What else a checkpoint needs: NotFound or DataLoss if that is not there, or damaged.
using CheckpointNeeds = std::function<Status(const StoredCheckpoint& checkpoint)>;

// Whether a checkpoint that cannot be read is damaged or lacks something, so that the one before it
// will do. All else is not damage: it may be whole tomorrow, and a run that went on from an older
// one would remove it.
[[nodiscard]] bool IsDamage(const Status& status);

// Whether damaged checkpoints are warned of; who only looks at what another reader is about to read
// passes over them in silence.
enum class OnDamaged { kWarn, kPassOver };

// The newest whole checkpoint below `dir` that has what it needs, or the one that `dir` is itself.
// A damaged one is named in a warning with what is wrong, if `on_damaged` says so, and the one
// before it is taken; so is one whose `needs` are NotFound or DataLoss.
//   NotFound            there is none: whether any was there, and what is wrong with the newest; or
//                       what to give instead
//   FailedPrecondition  the newest that is not damaged is of another format version, or may not be
//                       read
//   else                as `needs` says; or as ErrnoStatus, of the newest that is not damaged
[[nodiscard]] StatusOr<StoredCheckpoint> ReadNewestCheckpoint(
    const std::filesystem::path& dir, const CheckpointNeeds& needs = {},
    OnDamaged on_damaged = OnDamaged::kWarn);

// The folder that a run writes checkpoints to. For one thread at a time; one run at a time has it.
class CheckpointFolder {
 public:
  // Makes `dir` if it is not there, locks it for this process, and removes what writers left behind
  // that were killed; a checkpoint that one of them was about to replace gets its name back. The
  // last `keep` checkpoints stay.
  //   FailedPrecondition  another run has it; no folder can be there; or as CheckIsNoCheckpoint
  //   else                as ErrnoStatus
  [[nodiscard]] static StatusOr<CheckpointFolder> Open(const std::filesystem::path& dir, int keep);
  ~CheckpointFolder();
  CheckpointFolder(CheckpointFolder&& other) noexcept;
  CheckpointFolder& operator=(CheckpointFolder&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }

  // Writes the checkpoint, durably, and returns its folder. Then removes the oldest but for the
  // last `keep`, and all that lie ahead of it: these are damaged, or of steps that were taken back.
  // What cannot be removed is named in a warning. After an error nothing of it is there.
  //   FailedPrecondition  a weight is not finite: nobody can go on from it, so that it takes no
  //                       place among those that are kept. The tensor is named
  //   ResourceExhausted   the disk is full
  //   else                as WriteSafetensors, TemporaryFolder and image.rest
  [[nodiscard]] StatusOr<std::filesystem::path> Write(const CheckpointImage& image) const;

 private:
  CheckpointFolder() = default;
  void RemoveOthers(int64_t newest) const;

  std::filesystem::path dir_;
  int keep_ = 1;
  int lock_fd_ = -1;
};

}  // namespace halograph
