#include "trainer/torch/torch_log.h"

#include <string_view>

#include <c10/util/Logging.h>

#include "common/base/log.h"

namespace halograph {
namespace {

#ifdef C10_USE_GLOG

class LogLines final : public google::LogSink {
 public:
  void send(google::LogSeverity severity, const char* /*path*/, const char* /*file*/, int /*line*/,
            const google::LogMessageTime& /*time*/, const char* message, size_t size) override {
    const std::string_view text(message, size);
    spdlog::log(LevelOf(severity, text), "libtorch: {}", text);
  }

 private:
  static spdlog::level::level_enum LevelOf(google::LogSeverity severity, std::string_view text) {
    if (severity < google::GLOG_WARNING || text.starts_with("[c10d")) return spdlog::level::debug;
    return severity == google::GLOG_WARNING ? spdlog::level::warn : spdlog::level::err;
  }
};

void TakeLog() {
  // Without a name for its files glog writes none; before it is initialised it writes all to
  // stderr.
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) {
    google::SetLogDestination(severity, "");
  }
  google::SetStderrLogging(google::GLOG_FATAL);
  if (!google::IsGoogleLoggingInitialized()) google::InitGoogleLogging("halograph");
  static LogLines lines;  // as long as the process: any thread may log
  google::AddLogSink(&lines);
}

#else

void TakeLog() { FLAGS_caffe2_log_level = c10::GLOG_ERROR; }

#endif

}  // namespace

void TakeTorchLog() {
  [[maybe_unused]] static const bool taken = [] {
    TakeLog();
    return true;
  }();
}

}  // namespace halograph
