// An open file that records are appended to, each of them whole or not at all: what a full disk
// took of one is taken back, so that the records before it and after it can be read. Not
// thread-safe.
#pragma once

#include <cstddef>
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

  // Opens the file that the option (`--log`) names, and keeps other runs from it until this is
  // dropped. It is begun anew, or with `go_on` the lines that are there stay, and what a killed run
  // left of one is removed. What is no regular file takes what comes.
  //   FailedPrecondition  another run is writing it; what is there stays. Or a FIFO without reader
  //   NotFound            there is no such folder
  //   else                as ErrnoStatus, with option and path
  [[nodiscard]] static StatusOr<RecordFile> Open(std::string_view option, const std::string& path,
                                                 bool go_on);

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] bool is_regular() const;
  // Requires an open file. ResourceExhausted and such with the path (ErrnoStatus). What is no
  // regular file may have got a part of the record then.
  [[nodiscard]] Status Append(std::string_view record);
  // Requires a regular file that has as many: removes its last `bytes`. Errors as ErrnoStatus.
  [[nodiscard]] Status TakeBack(size_t bytes);

 private:
  int fd_ = -1;
  std::string path_;
};

}  // namespace halograph
