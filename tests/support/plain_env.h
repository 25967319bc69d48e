// An Env of the machine's files and threads with a catalogue in memory, which lives as long as the
// Env, and with space for rows in memory: stores are opened and closed faster than with RocksDB,
// and without it.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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

  using Values = std::map<std::string, std::string, std::less<>>;

  // What the catalogue in `folder` holds; sets it.
  [[nodiscard]] Values Kept(const std::filesystem::path& folder) {
    const std::lock_guard lock(mutex_);
    return kept_[folder.string()].values;
  }
  void Restore(const std::filesystem::path& folder, const Values& values) {
    const std::lock_guard lock(mutex_);
    kept_[folder.string()].values = values;
  }

  [[nodiscard]] Scheduler& scheduler() override { return *scheduler_; }
  [[nodiscard]] FileSystem& files() override { return *files_; }
  [[nodiscard]] StatusOr<std::unique_ptr<Catalogue>> OpenCatalogue(
      const std::filesystem::path& folder) override {
    const std::lock_guard lock(mutex_);
    return std::make_unique<View>(&kept_[folder.string()]);
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
  struct Shared {
    std::mutex mutex;
    Values values;
  };

  class View : public Catalogue {
   public:
    explicit View(Shared* kept) : kept_(*kept) {}

    [[nodiscard]] Status Write(std::span<const Change> changes) override {
      const std::lock_guard lock(kept_.mutex);
      for (const Change& change : changes) {
        if (change.value.has_value()) {
          kept_.values[change.key] = *change.value;
        } else {
          kept_.values.erase(change.key);
        }
      }
      return OkStatus();
    }
    [[nodiscard]] StatusOr<std::optional<std::string>> Get(std::string_view key) override {
      const std::lock_guard lock(kept_.mutex);
      const auto found = kept_.values.find(key);
      if (found == kept_.values.end()) return std::optional<std::string>();
      return std::optional(found->second);
    }
    [[nodiscard]] StatusOr<std::vector<Entry>> Scan(std::string_view prefix) override {
      const std::lock_guard lock(kept_.mutex);
      std::vector<Entry> entries;
      for (auto at = kept_.values.lower_bound(prefix);
           at != kept_.values.end() && at->first.starts_with(prefix); ++at) {
        entries.push_back({at->first, at->second});
      }
      return entries;
    }

   private:
    Shared& kept_;
  };

  const std::unique_ptr<Scheduler> scheduler_ = MakeSystemScheduler();
  const std::unique_ptr<FileSystem> files_;
  std::unique_ptr<HelperThreads> helpers_;
  std::atomic<bool> row_space_fails_ = false;
  std::atomic<int> num_row_spaces_ = 0;
  std::mutex mutex_;
  std::map<std::string, Shared> kept_;
};

}  // namespace halograph
