#include "client/ctl/image_files.h"

#include <algorithm>

namespace halograph {
namespace {

// Rows that lie side by side go to a file together, so many bytes at a time.
constexpr size_t kRunBytes = size_t{1} << 20;

}  // namespace

StatusOr<ImageFiles> ImageFiles::Create(const std::filesystem::path& folder,
                                        std::vector<Column> columns, int64_t rows,
                                        size_t buffer_bytes) {
  ImageFiles images;
  for (const Column& column : columns) {
    HG_ASSIGN_OR_RETURN(NpyWriter file,
                        NpyWriter::Create(folder / column.file, column.stored.dtype, rows,
                                          column.stored.cols, column.stored.rank));
    HG_RETURN_IF_ERROR(file.AppendZeros(rows));
    images.files_.push_back(std::move(file));
    images.image_bytes_ += column.bytes;
  }
  images.columns_ = std::move(columns);
  images.most_ = std::max<size_t>(1, buffer_bytes / std::max<size_t>(1, images.image_bytes_));
  images.images_.reserve(std::min(images.most_, static_cast<size_t>(rows)) * images.image_bytes_);
  return images;
}

Status ImageFiles::Put(int64_t row, const std::byte* image) {
  if (rows_.size() == most_) HG_RETURN_IF_ERROR(Flush());
  rows_.emplace_back(row, rows_.size());
  images_.insert(images_.end(), image, image + image_bytes_);
  return OkStatus();
}

Status ImageFiles::Flush() {
  std::sort(rows_.begin(), rows_.end());
  size_t at = 0;  // of the column in an image
  for (size_t column = 0; column < columns_.size(); ++column) {
    HG_RETURN_IF_ERROR(WriteColumn(column, at));
    at += columns_[column].bytes;
  }
  rows_.clear();
  images_.clear();
  return OkStatus();
}

Status ImageFiles::WriteColumn(size_t column, size_t at) {
  const size_t bytes = columns_[column].bytes;
  int64_t first = 0;  // row of run_
  run_.clear();
  const auto write = [&] { return files_[column].Overwrite(first, run_); };
  for (size_t i = 0; i < rows_.size(); ++i) {
    const auto [row, image] = rows_[i];
    if (i + 1 < rows_.size() && rows_[i + 1].first == row) continue;  // comes again
    const int64_t next = first + static_cast<int64_t>(run_.size() / bytes);
    if (row != next || run_.size() + bytes > kRunBytes) {
      HG_RETURN_IF_ERROR(write());
      run_.clear();
    }
    if (run_.empty()) first = row;
    const std::byte* const from = images_.data() + image * image_bytes_ + at;
    run_.insert(run_.end(), from, from + bytes);
  }
  return write();
}

Status ImageFiles::Close() {
  HG_RETURN_IF_ERROR(Flush());
  for (NpyWriter& file : files_) HG_RETURN_IF_ERROR(file.Close());
  return OkStatus();
}

}  // namespace halograph
