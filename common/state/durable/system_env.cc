#include "common/state/durable/system_env.h"

#include "common/state/durable/rocksdb_catalogue.h"
#include "common/state/durable/rocksdb_rows.h"
#include "common/state/durable/system_files.h"
#include "common/state/durable/system_scheduler.h"
#include "common/state/helper_threads.h"

namespace halograph {
namespace {

class SystemEnv : public Env {
 public:
  explicit SystemEnv(int threads) : helpers_(HelperThreads::Make(threads)) {}

  [[nodiscard]] Scheduler& scheduler() override { return *scheduler_; }
  [[nodiscard]] FileSystem& files() override { return *files_; }
  [[nodiscard]] StatusOr<std::map<std::string, std::string>> ReadOldCatalogue(
      const std::filesystem::path& folder) override {
    return ReadRocksDbCatalogue(folder);
  }
  [[nodiscard]] StatusOr<std::unique_ptr<RowSpace>> OpenRowSpace(
      const std::filesystem::path& folder, int64_t cache_bytes) override {
    return OpenRocksDbRows(folder, cache_bytes);
  }
  [[nodiscard]] Status RemoveRowSpace(const std::filesystem::path& folder) override {
    return RemoveRocksDbRows(folder);
  }
  [[nodiscard]] HelperThreads* helpers() override { return helpers_.get(); }

 private:
  const std::unique_ptr<Scheduler> scheduler_ = MakeSystemScheduler();
  const std::unique_ptr<FileSystem> files_ = MakeSystemFiles();
  const std::unique_ptr<HelperThreads> helpers_;
};

}  // namespace

std::unique_ptr<Env> MakeSystemEnv(int threads) { return std::make_unique<SystemEnv>(threads); }

}  // namespace halograph
