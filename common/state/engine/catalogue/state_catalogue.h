// What a store keeps in its catalogue, by key (STATE.md). Thread-safe as Catalogue is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/state/env.h"
#include "common/state/mutable_tensor.h"
#include "common/state/state_store.h"

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

class StateCatalogue {
 public:
  explicit StateCatalogue(std::unique_ptr<Catalogue> catalogue)
      : catalogue_(std::move(catalogue)) {}

  // Writes whose state it is, or checks it.
  //   FailedPrecondition  of another graph or partition: both are named; of a newer format
  [[nodiscard]] Status Claim(const StateGraph& graph);

  // All tensors, by number. DataLoss naming a key whose value makes no sense (here and below).
  [[nodiscard]] StatusOr<std::vector<CatalogueTensor>> Tensors();
  [[nodiscard]] StatusOr<uint32_t> NextNumber();
  // The tensor's number was NextNumber().
  [[nodiscard]] Status AddTensor(const CatalogueTensor& tensor);
  [[nodiscard]] Status RemoveTensor(uint32_t number);

  [[nodiscard]] StatusOr<CheckpointInfo> Checkpoint();
  [[nodiscard]] StatusOr<std::vector<CatalogueSnapshot>> Snapshots();
  // All at once: the checkpoint that counts from now on; with `snapshot`, a new one; with
  // `tensors`, these instead of those that were there.
  [[nodiscard]] Status SetCheckpoint(const CheckpointInfo& checkpoint,
                                     const CatalogueSnapshot* snapshot,
                                     const std::vector<CatalogueTensor>* tensors);
  [[nodiscard]] Status RemoveSnapshot(const std::string& name);

  // A number above all epochs of the log that any process has used, whatever became of the files
  // that it wrote. The caller may use 2^32 from it on.
  [[nodiscard]] StatusOr<uint64_t> TakeEpochs();

  // Up to here the log was synced when the store was closed; 0: never.
  [[nodiscard]] StatusOr<int64_t> ClosedLsn();
  [[nodiscard]] Status SetClosedLsn(int64_t lsn);

 private:
  [[nodiscard]] StatusOr<Json> Get(const std::string& key);  // null: no such key

  std::unique_ptr<Catalogue> catalogue_;
};

}  // namespace halograph
