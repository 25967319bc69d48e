// The file of option --log (LOG.md): one JSON object a line, each written at once and whole or not
// at all, so that what is there is always valid. Not thread-safe.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "trainer/output/record_file.h"

namespace halograph {

class TrainLog {
 public:
  // Nothing is written if `path` is empty.
  TrainLog() = default;
  // Begins the file anew, and keeps other runs from it until this is dropped.
  //   FailedPrecondition  another run is writing it; what is there stays. Or a FIFO without reader
  //   else                as ErrnoStatus, with the path
  [[nodiscard]] static StatusOr<TrainLog> Create(const std::string& path);
  // As Create, but the lines that are there stay; what a killed run left of a line is removed.
  [[nodiscard]] static StatusOr<TrainLog> GoOn(const std::string& path);

  // Errors as RecordFile::Append.
  [[nodiscard]] Status Write(const Json& line);

 private:
  [[nodiscard]] static StatusOr<TrainLog> Open(const std::string& path, bool go_on);
  RecordFile file_;
};

}  // namespace halograph
