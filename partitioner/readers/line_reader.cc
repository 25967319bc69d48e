#include "partitioner/readers/line_reader.h"

#include <cstring>
#include <utility>

#include <unistd.h>

#include "common/storage/file.h"

namespace halograph {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr int64_t kProgressLines = 1 << 14;

// zlib knows the file by its descriptor, "<fd:5>: unexpected end of file", which no user does.
std::string_view WithoutDescriptor(std::string_view message) {
  const size_t end = message.find(">: ");
  return message.starts_with("<fd:") && end != std::string_view::npos ? message.substr(end + 3)
                                                                      : message;
}

}  // namespace

StatusOr<LineReader> LineReader::Open(const std::filesystem::path& path, std::string_view phase) {
  LineReader reader;
  reader.path_ = path;
  HG_ASSIGN_OR_RETURN(reader.stamp_, FileStamp::Of(path));
  HG_ASSIGN_OR_RETURN(const int descriptor, OpenToRead(path));
  reader.file_ = gzdopen(descriptor, "rb");
  if (reader.file_ == nullptr) {
    ::close(descriptor);
    return ResourceExhausted("{}: no memory to read it", path.string());
  }
  gzbuffer(reader.file_, 1 << 18);
  reader.buffer_.resize(kBufferBytes);
  reader.progress_ =
      std::make_unique<Progress>(fmt::format("{} {}", phase, path.filename().string()));
  return reader;
}

LineReader::~LineReader() {
  if (file_ != nullptr) gzclose_r(file_);
}

LineReader::LineReader(LineReader&& other) noexcept
    : path_(std::move(other.path_)),
      stamp_(other.stamp_),
      file_(std::exchange(other.file_, nullptr)),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      end_(other.end_),
      at_end_(other.at_end_),
      line_(other.line_),
      progress_(std::move(other.progress_)) {}

Status LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kMaxLine) {
      return InvalidArgument("{}:{}: a line longer than {} bytes", path_.string(), line_ + 1,
                             kMaxLine);
    }
    buffer_.resize(buffer_.size() * 2);
  }
  const int read =
      gzread(file_, buffer_.data() + end_, static_cast<unsigned>(buffer_.size() - end_));
  int code = Z_OK;
  const char* message = gzerror(file_, &code);
  // Z_BUF_ERROR: the gzip stream stops before its end.
  if (read < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR) {
    return DataLoss("{}: damaged or truncated gzip after line {}: {}", path_.string(), line_,
                    WithoutDescriptor(message));
  }
  end_ += static_cast<size_t>(read);
  at_end_ = read == 0;
  return OkStatus();
}

StatusOr<bool> LineReader::Next(std::string_view* line) {
  size_t searched = 0;
  while (true) {
    const char* start = buffer_.data() + begin_;
    const size_t length = end_ - begin_;
    const void* newline =
        length > searched ? std::memchr(start + searched, '\n', length - searched) : nullptr;
    if (newline == nullptr && !at_end_) {
      searched = length;
      HG_RETURN_IF_ERROR(Fill());
      continue;
    }
    if (newline == nullptr && length == 0) {
      progress_->Done();
      HG_RETURN_IF_ERROR(CheckUnchanged(path_, stamp_));
      return false;
    }
    size_t size = newline == nullptr ? length : static_cast<const char*>(newline) - start;
    begin_ += newline == nullptr ? size : size + 1;
    if (size > 0 && start[size - 1] == '\r') --size;
    *line = std::string_view(start, size);
    if (++line_ % kProgressLines == 0) progress_->Advance(kProgressLines);
    return true;
  }
}

std::string LineReader::Place() const { return fmt::format("{}:{}", path_.string(), line_); }

std::string Excerpt(std::string_view line) {
  std::string text(line.substr(0, 60));
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  if (line.size() > text.size()) text += "...";
  return text;
}

}  // namespace halograph
