// An Env of the machine's files and threads with space for rows in memory: stores are opened and
// closed faster than with RocksDB, and without it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/state/durable/system_files.h"
#include "common/state/durable/system_scheduler.h"
#include "common/state/env.h"
#include "common/state/helper_threads.h"
#include "tests/support/plain_row_space.h"

namespace halograph {

class PlainEnv : public Env {
 public:
  PlainEnv() : PlainEnv(MakeSystemFiles()) {}
  explicit PlainEnv(std::unique_ptr<FileSystem> files) : files_(std::move(files)) {}

  [[nodiscard]] Scheduler& scheduler() override { return *scheduler_; }
  [[nodiscard]] FileSystem& files() override { return *files_; }
  [[nodiscard]] StatusOr<std::map<std::string, std::string>> ReadOldCatalogue(
      const std::filesystem::path& folder) override {
    return old_catalogue_ != nullptr ? old_catalogue_() : Env::ReadOldCatalogue(folder);
  }
  // What an older build's catalogue holds, in whatever folder.
  void SetOldCatalogue(std::function<StatusOr<std::map<std::string, std::string>>()> old) {
    old_catalogue_ = std::move(old);
  }
  [[nodiscard]] StatusOr<std::unique_ptr<RowSpace>> OpenRowSpace(
      const std::filesystem::path& /*folder*/, int64_t /*cache_bytes*/) override {
    ++num_row_spaces_;
    return std::make_unique<PlainRowSpace>(&row_space_fails_);
  }
  [[nodiscard]] HelperThreads* helpers() override { return helpers_.get(); }
  // None unless they are set, before stores are opened.
  void SetHelpers(std::unique_ptr<HelperThreads> helpers) { helpers_ = std::move(helpers); }
  // While it is set, spaces for rows fail.
  std::atomic<bool>& row_space_fails() { return row_space_fails_; }
  [[nodiscard]] int num_row_spaces() const { return num_row_spaces_; }  // that were opened

 private:
  const std::unique_ptr<Scheduler> scheduler_ = MakeSystemScheduler();
  const std::unique_ptr<FileSystem> files_;
  std::unique_ptr<HelperThreads> helpers_;
  std::atomic<bool> row_space_fails_ = false;
  std::atomic<int> num_row_spaces_ = 0;
  std::function<StatusOr<std::map<std::string, std::string>>()> old_catalogue_;
};

}  // namespace halograph
