// A checkpoint file (STATE.md): images of rows, pushes that wait for their step, the table of
// clients, and where each tensor stands; every section with its checksum. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/aligned_bytes.h"
#include "common/base/status.h"
#include "common/state/engine/log/record.h"
#include "common/state/engine/rows/live_tensor.h"
#include "common/state/engine/rows/row_capture.h"
#include "common/state/engine/steps/client_table.h"
#include "common/state/engine/steps/step_collector.h"
#include "common/state/env.h"

namespace halograph {

// Where a tensor stood at the moment of a checkpoint.
struct TensorMoment {
  uint32_t tensor = 0;
  int64_t lsn = 0;  // its rows show all pushes up to here that did not wait
  int64_t pushes = 0;
  int64_t pushed_rows = 0;
  StepCollector::Memory steps;
  std::vector<int64_t> complete;  // AppliedPushes
};

// Writes to "<path>.tmp", past the page cache where the file system can: what restarts alone read
// takes no memory from the machine, and a disk is not made to wait for the cache. Finish gives it
// its name. Dropped without Finish, the file is removed.
class CheckpointWriter {
 public:
  // `catalogue`: which write of it the file has seen. Errors of FileSystem, here and below.
  [[nodiscard]] static StatusOr<std::unique_ptr<CheckpointWriter>> Create(
      const std::filesystem::path& path, int64_t catalogue, FileSystem& files);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  [[nodiscard]] Status AddImages(uint32_t tensor, const RowImages& images);
  [[nodiscard]] Status AddWaiting(const WaitingPush& push);
  [[nodiscard]] Status AddClients(const ClientTable::Saved& table);
  [[nodiscard]] Status AddMoments(const std::vector<TensorMoment>& moments);
  // Durable, under its name. The file's bytes.
  [[nodiscard]] StatusOr<int64_t> Finish();

 private:
  CheckpointWriter(std::filesystem::path path, FileSystem& files)
      : path_(std::move(path)), files_(files), staging_(kStagedBytes) {}
  [[nodiscard]] std::filesystem::path TemporaryPath() const;
  [[nodiscard]] Status AddSection(uint32_t kind, uint32_t tensor, uint64_t count,
                                  std::span<const std::span<const std::byte>> parts);
  // Fills the file up to whole blocks.
  [[nodiscard]] Status AddEnd();
  [[nodiscard]] Status Append(std::span<const std::byte> bytes);
  [[nodiscard]] Status Flush();

  static constexpr size_t kStagedBytes = size_t{4} << 20;

  std::filesystem::path path_;
  FileSystem& files_;
  std::unique_ptr<WritableFile> file_;
  const AlignedBytes staging_;
  size_t staged_ = 0;  // bytes of staging_ that the file does not have yet
  int64_t bytes_ = 0;  // of the file and these
  uint64_t sections_ = 0;
};

// What a reader does with each section; null: nothing. What is borrowed lives until the function
// returns; its errors are passed on.
struct CheckpointVisitor {
  std::function<Status(uint32_t tensor, std::span<const int64_t> rows,
                       std::span<const std::byte> images)>
      images;
  std::function<Status(const LogRecord& waiting)> waiting;
  std::function<Status(std::span<const std::byte> table)> clients;  // ClientTable::Saved, drawn
  std::function<Status(std::span<const std::byte> table)> registered;
  std::function<Status(const std::vector<TensorMoment>& moments)> moments;
};

// Which write of the catalogue the file saw. Null: it is of an older build, or damaged where it
// says so. Errors of FileSystem.
[[nodiscard]] StatusOr<std::optional<int64_t>> CatalogueSeenByCheckpoint(
    const std::filesystem::path& path, FileSystem& files);

// DataLoss naming file and offset of what is damaged or missing, here and below.
[[nodiscard]] Status ReadCheckpoint(const std::filesystem::path& path, FileSystem& files,
                                    const CheckpointVisitor& visitor);

// A part of what a file has of one tensor.
struct CheckpointPage {
  RowImages images;
  std::optional<TensorMoment> moment;  // if it stands in this part
  bool at_end = false;                 // of the file, which is whole
};
// Reads on from `place`, whose `file` means nothing here, until there are `max_bytes` of rows and
// images, but one row at least; moves `place` behind them. Sections of other tensors are passed
// over unread.
[[nodiscard]] StatusOr<CheckpointPage> ReadCheckpointPage(const std::filesystem::path& path,
                                                          FileSystem& files, uint32_t tensor,
                                                          size_t image_bytes, size_t max_bytes,
                                                          SnapshotPlace* place);

}  // namespace halograph
