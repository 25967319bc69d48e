#include "partitioner/write/npy_appender.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <fcntl.h>

#include "common/storage/npy.h"

namespace halograph {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;
// Pages that wait for the disk: a window is started when it is full, and the one before it must be
// done by then, so that no run leaves more than two behind.
constexpr int64_t kWindowBytes = int64_t{32} << 20;

}  // namespace

std::string NpyAppender::Header(int64_t rows) const {
  const std::array<int64_t, 1> shape = {rows};
  return EncodeNpyHeader(dtype_, shape, false, static_cast<size_t>(header_bytes_));
}

StatusOr<NpyAppender> NpyAppender::Create(const std::filesystem::path& path, DType dtype) {
  NpyAppender npy;
  npy.dtype_ = dtype;
  HG_ASSIGN_OR_RETURN(npy.file_, RawFile::Create(path));
  const std::string header = npy.Header(std::numeric_limits<int64_t>::max());
  npy.header_bytes_ = static_cast<int64_t>(header.size());
  HG_RETURN_IF_ERROR(npy.Append(std::as_bytes(std::span(header))));
  return npy;
}

Status NpyAppender::Append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) HG_RETURN_IF_ERROR(Flush());
  if (bytes.size() <= kBufferBytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return OkStatus();
  }
  return Put(bytes);
}

Status NpyAppender::Flush() {
  HG_RETURN_IF_ERROR(Put(buffer_));
  buffer_.clear();
  return OkStatus();
}

// At the end of the file.
Status NpyAppender::Put(std::span<const std::byte> bytes) {
  HG_RETURN_IF_ERROR(file_.WriteAt(flushed_, bytes));
  flushed_ += static_cast<int64_t>(bytes.size());
  if (flushed_ - started_ < kWindowBytes) return OkStatus();
  const int64_t before = std::max<int64_t>(0, started_ - kWindowBytes);
  file_.StartWriting(started_, flushed_ - started_);
  if (started_ > before) {  // where this cannot be had the kernel decides when to write
    static_cast<void>(
        ::sync_file_range(file_.fd(), before, started_ - before, SYNC_FILE_RANGE_WAIT_BEFORE));
  }
  started_ = flushed_;
  return OkStatus();
}

Status NpyAppender::Close() {
  const int64_t bytes = flushed_ + static_cast<int64_t>(buffer_.size());
  const std::string header =
      Header((bytes - header_bytes_) / static_cast<int64_t>(DTypeSize(dtype_)));
  if (flushed_ == 0) {  // small files take one write
    std::memcpy(buffer_.data(), header.data(), header.size());
  } else {
    HG_RETURN_IF_ERROR(file_.WriteAt(0, std::as_bytes(std::span(header))));
  }
  HG_RETURN_IF_ERROR(Flush());
  file_.StartWriting(0, 0);
  return file_.Close();
}

}  // namespace halograph
