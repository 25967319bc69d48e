// An open file that records are appended to, each of them whole or not at all: what a full disk
// took of one is taken back, so that the records before it and after it can be read. Not
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"

namespace halograph {

class RecordFile {
 public:
  RecordFile() = default;  // of no file
  // Takes over `fd`, which stands where the first record is to go. `path` is for errors.
  RecordFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~RecordFile();
  RecordFile(RecordFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  RecordFile& operator=(RecordFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(path_, other.path_);
    return *this;
  }

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  // Requires an open file. ResourceExhausted and such with the path (ErrnoStatus). What is no
  // regular file may have got a part of the record then.
  [[nodiscard]] Status Append(std::string_view record);

 private:
  int fd_ = -1;
  std::string path_;
};

}  // namespace halograph
