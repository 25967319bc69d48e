// Images of a tensor's rows, in any order, into the files of its folder (tensor_folder.h): each
// column of a row is written where it stands. Takes bounded memory, however many rows there are.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "client/ctl/tensor_folder.h"
#include "common/storage/npy.h"

namespace halograph {

class ImageFiles {
 public:
  // Makes the files of `columns`, each of `rows` rows, which hold zeros until they are put; what
  // they take of the disk is claimed. `buffer_bytes`: of images that wait until they are written;
  // one row at least.
  //   ResourceExhausted  the disk is full: here, but maybe also below
  [[nodiscard]] static StatusOr<ImageFiles> Create(const std::filesystem::path& folder,
                                                   std::vector<Column> columns, int64_t rows,
                                                   size_t buffer_bytes);

  [[nodiscard]] size_t image_bytes() const { return image_bytes_; }
  // `image`: image_bytes(), the columns' one after the other. Of a row that is put several times
  // the last one counts. Requires 0 <= row < rows.
  [[nodiscard]] Status Put(int64_t row, const std::byte* image);
  // All that was put is in the files, synced.
  [[nodiscard]] Status Close();

 private:
  ImageFiles() = default;
  [[nodiscard]] Status Flush();
  [[nodiscard]] Status WriteColumn(size_t column, size_t at);

  std::vector<Column> columns_;
  std::vector<NpyWriter> files_;
  size_t image_bytes_ = 0;
  size_t most_ = 1;                               // images that wait
  std::vector<std::byte> images_;                 // that wait, in the order of coming
  std::vector<std::pair<int64_t, size_t>> rows_;  // of images_, and which
  std::vector<std::byte> run_;                    // of one column
};

}  // namespace halograph
