#include "common/state/durable/system_env.h"

#include "common/state/durable/rocksdb_catalogue.h"
#include "common/state/durable/rocksdb_rows.h"
#include "common/state/durable/system_files.h"
#include "common/state/durable/system_scheduler.h"

namespace halograph {
namespace {

class SystemEnv : public Env {
 public:
  [[nodiscard]] Scheduler& scheduler() override { return *scheduler_; }
  [[nodiscard]] FileSystem& files() override { return *files_; }
  [[nodiscard]] StatusOr<std::unique_ptr<Catalogue>> OpenCatalogue(
      const std::filesystem::path& folder) override {
    return OpenRocksDbCatalogue(folder);
  }
  [[nodiscard]] StatusOr<std::unique_ptr<RowSpace>> OpenRowSpace(
      const std::filesystem::path& folder, int64_t cache_bytes) override {
    return OpenRocksDbRows(folder, cache_bytes);
  }

 private:
  const std::unique_ptr<Scheduler> scheduler_ = MakeSystemScheduler();
  const std::unique_ptr<FileSystem> files_ = MakeSystemFiles();
};

}  // namespace

std::unique_ptr<Env> MakeSystemEnv() { return std::make_unique<SystemEnv>(); }

}  // namespace halograph
