// Reads text line by line, plain or gzip (recognised by its content). Memory is bounded by the
// longest line. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

#include "common/base/progress.h"
#include "common/base/status.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

class LineReader {
 public:
  // Shows a progress line "<phase> <file name>" while reading. NotFound, FailedPrecondition.
  [[nodiscard]] static StatusOr<LineReader> Open(const std::filesystem::path& path,
                                                 std::string_view phase);
  ~LineReader();
  LineReader(LineReader&& other) noexcept;
  LineReader& operator=(LineReader&&) = delete;

  // The next line without its end (LF or CRLF), valid until the next call; false after the last.
  //   DataLoss         damaged or truncated gzip, or the file changed while it was read
  //   InvalidArgument  a line longer than kMaxLine
  [[nodiscard]] StatusOr<bool> Next(std::string_view* line);

  // "file:line" of the line last given; lines count from 1.
  [[nodiscard]] std::string Place() const;
  [[nodiscard]] int64_t line() const { return line_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  static constexpr size_t kMaxLine = size_t{64} << 20;

 private:
  LineReader() = default;
  // Reads on into the buffer; at_end_ if there is nothing more.
  [[nodiscard]] Status Fill();

  std::filesystem::path path_;
  FileStamp stamp_;
  gzFile file_ = nullptr;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what has not been given yet
  size_t end_ = 0;
  bool at_end_ = false;
  int64_t line_ = 0;
  std::unique_ptr<Progress> progress_;
};

// What a message shows of a line: at most 60 bytes, unprintable ones as '?'.
[[nodiscard]] std::string Excerpt(std::string_view line);

}  // namespace halograph
