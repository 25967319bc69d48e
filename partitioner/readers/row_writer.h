// Rows of numbers that are appended to a temporary .npy in blocks, while text is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/storage/npy.h"

namespace halograph {

template <typename T>
class RowWriter {
 public:
  // Rank 1 where there is one column. Errors as NpyWriter.
  [[nodiscard]] Status Open(const std::filesystem::path& path, int64_t cols) {
    HG_ASSIGN_OR_RETURN(NpyWriter writer,
                        NpyWriter::Create(path, DTypeOf<T>(), -1, cols, cols > 1 ? 2 : 1));
    writer_.emplace(std::move(writer));
    return OkStatus();
  }
  [[nodiscard]] bool is_open() const { return writer_.has_value(); }
  // Numbers that wait to be written: add whole rows, then FlushIfFull.
  std::vector<T>* block() { return &block_; }
  [[nodiscard]] Status FlushIfFull() {
    return block_.size() * sizeof(T) < kBlockBytes ? OkStatus() : Flush();
  }
  [[nodiscard]] Status Close() {
    HG_RETURN_IF_ERROR(Flush());
    return writer_->Close();
  }

 private:
  static constexpr size_t kBlockBytes = size_t{1} << 20;

  [[nodiscard]] Status Flush() {
    HG_RETURN_IF_ERROR(writer_->Append(std::as_bytes(std::span(block_))));
    block_.clear();
    return OkStatus();
  }

  std::optional<NpyWriter> writer_;
  std::vector<T> block_;
};

}  // namespace halograph
