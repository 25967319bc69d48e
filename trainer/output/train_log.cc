#include "trainer/output/train_log.h"

namespace halograph {

StatusOr<TrainLog> TrainLog::Create(const std::string& path) { return Open(path, false); }

StatusOr<TrainLog> TrainLog::GoOn(const std::string& path) { return Open(path, true); }

StatusOr<TrainLog> TrainLog::Open(const std::string& path, bool go_on) {
  TrainLog log;
  if (path.empty()) return log;
  HG_ASSIGN_OR_RETURN(log.file_, RecordFile::Open("--log", path, go_on));
  return log;
}

Status TrainLog::Write(const Json& line) {
  if (!file_.is_open()) return OkStatus();
  return file_.Append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace halograph
