#include "trainer/output/train_log.h"

#include <cerrno>

namespace halograph {

StatusOr<TrainLog> TrainLog::Create(const std::string& path) {
  TrainLog log;
  log.path_ = path;
  if (path.empty()) return log;
  log.file_.reset(std::fopen(path.c_str(), "we"));
  if (log.file_ == nullptr) return ErrnoStatus(errno, "creating log", path);
  return log;
}

Status TrainLog::Write(const Json& line) {
  if (file_ == nullptr) return OkStatus();
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0) {
    return ErrnoStatus(errno, "writing log", path_);
  }
  return OkStatus();
}

}  // namespace halograph
