#include "common/state/durable/rocksdb_status.h"

#include <array>
#include <cstdarg>
#include <cstdio>

#include "common/base/log.h"

namespace halograph {
namespace {

class ProcessLogger : public rocksdb::Logger {
 public:
  ProcessLogger() : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    std::array<char, 1000> text = {};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    spdlog::debug("RocksDB: {}", text.data());
  }
};

}  // namespace

Status FromRocksDb(const rocksdb::Status& status, const std::string& where) {
  if (status.ok()) return OkStatus();
  const std::string message = where + ": RocksDB: " + status.ToString();
  if (status.IsNoSpace()) return ResourceExhausted("{}", message);
  if (status.IsCorruption()) return DataLoss("{}", message);
  // RocksDB's words for a LOCK file that another process, or this one, holds.
  const bool held = message.find("While lock file: ") != std::string::npos ||
                    message.find(": lock hold by ") != std::string::npos;
  if (status.IsIOError() && held) return FailedPrecondition("{}", message);
  return Internal("{}", message);
}

std::shared_ptr<rocksdb::Logger> MakeRocksDbLogger() { return std::make_shared<ProcessLogger>(); }

}  // namespace halograph
