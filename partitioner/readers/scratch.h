// Temporary files of one opened dataset: made on demand in a folder of their own, removed with the
// object. Thread-safe.
#pragma once

#include <filesystem>
#include <mutex>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

class Scratch {
 public:
  // `parent` is looked at only when the first file is asked for.
  explicit Scratch(std::filesystem::path parent) : parent_(std::move(parent)) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // A path that no file has yet, with `hint` in its name.
  //   InvalidArgument  no scratch folder was given, or it does not exist
  [[nodiscard]] StatusOr<std::filesystem::path> NewFile(std::string_view hint);

 private:
  const std::filesystem::path parent_;
  std::mutex mutex_;
  std::filesystem::path folder_;  // empty until the first file
  int files_ = 0;
};

}  // namespace halograph
