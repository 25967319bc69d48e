// What a store keeps in its catalogue, by key (STATE.md). Thread-safe: changes wait for each other,
// and for the disk; reads do not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/state/engine/catalogue/catalogue_file.h"
#include "common/state/engine/log/segment.h"
#include "common/state/mutable_tensor.h"
#include "common/state/state_store.h"
#include "common/storage/json.h"

namespace halograph {

// A checkpoint: files from the full one to the last increment, and where the log goes on.
struct CheckpointInfo {
  std::vector<int64_t> files;  // numbers; empty: no checkpoint
  int64_t lsn = 0;             // the table of clients shows this moment
  int64_t first_lsn = 1;       // the first record that a replay needs
  uint64_t first_epoch = 0;    // log segments before it are free
};

struct CatalogueTensor {
  uint32_t number = 0;
  MutableTensorSpec spec;
};

struct CatalogueSnapshot {
  SnapshotInfo info;
  std::vector<int64_t> files;
  std::vector<CatalogueTensor> tensors;
};

// Files of checkpoints that are not named by any, and why they may be there.
struct LeftFiles {
  bool known = true;  // not: an older build made the state, and did not say
  // From this number on they are of a process that ended before it could name them.
  int64_t next = 1;
  std::vector<int64_t> unused;  // that a checkpoint or a snapshot named once
};

class StateCatalogue : public SegmentNames {
 public:
  // Keys of `values`, which an older build's catalogue has, as this build has them. DataLoss naming
  // a key whose value makes no sense.
  [[nodiscard]] static StatusOr<CatalogueFile::Values> Converted(
      const std::map<std::string, std::string>& values);
  // Numbers of the files that `values` name, for the checkpoint and the snapshots. DataLoss,
  // likewise.
  [[nodiscard]] static StatusOr<std::set<int64_t>> FilesNamed(const CatalogueFile::Values& values);
  // As Check, of `values`.
  [[nodiscard]] static Status CheckWhose(const CatalogueFile::Values& values,
                                         const StateGraph& graph);
  // Of a new state.
  [[nodiscard]] static CatalogueFile::Values Empty(const StateGraph& graph);

  StateCatalogue(std::unique_ptr<CatalogueFile> file, Scheduler& scheduler)
      : change_monitor_(scheduler.NewMonitor()), file_(std::move(file)) {}

  // Checks whose state it is.
  //   FailedPrecondition  of another graph or partition: both are named; of a newer format
  //   DataLoss            it does not say
  [[nodiscard]] Status Check(const StateGraph& graph) const;
  // Of the last write.
  [[nodiscard]] int64_t generation() const override { return file_->generation(); }

  // As CatalogueFile's.
  [[nodiscard]] Status failure() const { return file_->failure(); }
  void Reserve();

  // All tensors, by number. DataLoss naming a key whose value makes no sense (here and below).
  [[nodiscard]] StatusOr<std::vector<CatalogueTensor>> Tensors() const;
  [[nodiscard]] StatusOr<uint32_t> NextNumber() const;
  // The tensor's number was NextNumber(). Errors of CatalogueFile::Write (here and below).
  [[nodiscard]] Status AddTensor(const CatalogueTensor& tensor);
  [[nodiscard]] Status RemoveTensor(uint32_t number);

  [[nodiscard]] StatusOr<CheckpointInfo> Checkpoint() const;
  // One after the other, by name: all at once may be large.
  [[nodiscard]] Status VisitSnapshots(
      const std::function<void(const CatalogueSnapshot&)>& visit) const;
  // All at once: the checkpoint that counts from now on, and the files that are not named any more;
  // the log was synced up to checkpoint.lsn; with `snapshot`, a new one; with `tensors`, these
  // instead of those that were there. Segments before checkpoint.first_epoch are no longer named.
  [[nodiscard]] Status SetCheckpoint(const CheckpointInfo& checkpoint, const LeftFiles& left,
                                     const CatalogueSnapshot* snapshot,
                                     const std::vector<CatalogueTensor>* tensors);
  [[nodiscard]] Status RemoveSnapshot(const std::string& name, const LeftFiles& left);
  [[nodiscard]] StatusOr<LeftFiles> Left() const;

  // Up to here the log was synced, as far as the catalogue knows; 0: not at all.
  [[nodiscard]] StatusOr<int64_t> SyncedLsn() const;
  [[nodiscard]] Status SetSyncedLsn(int64_t lsn);

  [[nodiscard]] StatusOr<NamedSegments> Segments() const;
  [[nodiscard]] Status NameSegment(const NamedSegment& segment, int64_t synced_lsn) override;
  [[nodiscard]] Status ForgetSegment(int64_t file) override;
  [[nodiscard]] Status SetSegments(const NamedSegments& segments, int64_t synced_lsn) override;

 private:
  using Change = CatalogueFile::Change;

  [[nodiscard]] StatusOr<Json> Get(const std::string& key) const;  // null: no such key
  [[nodiscard]] StatusOr<std::set<uint32_t>> Live() const;
  // Removes those of the tensors that neither `live` nor a snapshot but `without` has.
  [[nodiscard]] Status Forget(const std::set<uint32_t>& numbers, const std::set<uint32_t>& live,
                              const std::string& without, std::vector<Change>* changes) const;

  const std::unique_ptr<Monitor> change_monitor_;  // one change at a time
  const std::unique_ptr<CatalogueFile> file_;
};

}  // namespace halograph
