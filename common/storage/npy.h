// numpy's .npy format, versions 1.0 to 3.0: header parsing for any writer, and writing with data
// at a multiple of 64 bytes, so that mapped rows are aligned.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "common/base/status.h"
#include "common/storage/dtype.h"
#include "common/storage/file.h"

namespace halograph {

struct NpyHeader {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;  // rank 0 to 2 in what the project accepts
  bool fortran_order = false;
  bool big_endian = false;  // elements of more than one byte have their bytes the other way round
  size_t data_offset = 0;   // bytes from the start of the file

  // Elements; the product of the shape.
  [[nodiscard]] int64_t count() const;
};

// Parses the start of a file. Errors say the byte position and what was found:
//   DataLoss            no magic, truncated or malformed header
//   FailedPrecondition  a dtype (objects, strings, records) or format version that is not
//                       supported
[[nodiscard]] StatusOr<NpyHeader> ParseNpyHeader(std::span<const std::byte> file_start);

// The header's bytes, padded so that data starts at a multiple of 64. `minimum_bytes`: reserve at
// least so much, so that a header for a larger shape can be written over it later.
[[nodiscard]] std::string EncodeNpyHeader(DType dtype, std::span<const int64_t> shape,
                                          bool fortran_order = false, size_t minimum_bytes = 0);

// Whether a file was written by this project or by somebody else's numpy.
enum class NpyOrigin { kOwn, kForeign };

// A mapped .npy of rank 1 or 2, read-only. Movable; const methods are thread-safe; what they
// return lives as long as the object.
class NpyArray {
 public:
  NpyArray() = default;
  // Header errors as above with the path in front; DataLoss if the file is shorter or longer than
  // header plus data (both sizes named); FailedPrecondition for rank 0 or above 2, and, unless
  // `origin` is kForeign, for big-endian data and for data that does not start at a multiple of
  // 64.
  [[nodiscard]] static StatusOr<NpyArray> Open(const std::filesystem::path& path,
                                               NpyOrigin origin = NpyOrigin::kOwn);

  [[nodiscard]] DType dtype() const { return header_.dtype; }
  [[nodiscard]] const std::vector<int64_t>& shape() const { return header_.shape; }
  [[nodiscard]] bool fortran_order() const { return header_.fortran_order; }
  [[nodiscard]] bool big_endian() const { return header_.big_endian; }
  // Whether elements can be read in place: byte order and alignment are this machine's.
  [[nodiscard]] bool native() const;
  [[nodiscard]] int64_t rows() const { return header_.shape[0]; }
  [[nodiscard]] int64_t cols() const { return header_.shape.size() > 1 ? header_.shape[1] : 1; }
  [[nodiscard]] size_t row_bytes() const {
    return static_cast<size_t>(cols()) * DTypeSize(dtype());
  }
  [[nodiscard]] std::span<const std::byte> data() const;
  [[nodiscard]] const MappedFile& file() const { return file_; }

  // The elements as T. FailedPrecondition (path, dtype found and wanted) if T is another type, or
  // if the file's header ends where T is not aligned.
  template <typename T>
  [[nodiscard]] StatusOr<std::span<const T>> As() const;

 private:
  MappedFile file_;
  NpyHeader header_;
};

// T: float, double, int8_t ... int64_t, uint8_t ... uint64_t, bool.
template <typename T>
[[nodiscard]] constexpr DType DTypeOf();

// Writes a C-order .npy row by row. The number of rows may be unknown until Close if `rows` is -1
// (the header is then written again at the end). Not thread-safe.
class NpyWriter {
 public:
  // `rank` 1 makes shape [rows], 2 [rows, cols]. Creates the parent folders.
  [[nodiscard]] static StatusOr<NpyWriter> Create(const std::filesystem::path& path, DType dtype,
                                                  int64_t rows, int64_t cols, int rank);
  // Whole rows, C order; InvalidArgument for part of a row.
  [[nodiscard]] Status Append(std::span<const std::byte> rows);
  // So many rows of zeros, whose room on the disk is claimed: for Overwrite. ResourceExhausted.
  [[nodiscard]] Status AppendZeros(int64_t rows);
  // Whole rows over those appended before, from row `first` on. OutOfRange beyond them.
  [[nodiscard]] Status Overwrite(int64_t first, std::span<const std::byte> rows);
  // FailedPrecondition if the rows written are not those announced.
  [[nodiscard]] Status Close();
  [[nodiscard]] int64_t rows_written() const;

 private:
  NpyWriter() = default;
  [[nodiscard]] int64_t row_bytes() const {
    return cols_ * static_cast<int64_t>(DTypeSize(dtype_));
  }
  [[nodiscard]] Status CheckWholeRows(std::span<const std::byte> rows) const;

  FileWriter writer_;
  DType dtype_ = DType::kFloat32;
  int64_t announced_rows_ = -1;
  int64_t cols_ = 1;
  int rank_ = 1;
  size_t header_bytes_ = 0;
};

// Writes one array at once: rank 1, or rank 2 if cols > 0.
template <typename T>
[[nodiscard]] Status WriteNpy(const std::filesystem::path& path, std::span<const T> values,
                              int64_t cols = 0);

// ---- templates -------------------------------------------------------------------------------

template <typename T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_same_v<T, int8_t>) return DType::kInt8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::kInt16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kUInt8;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::kUInt16;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::kUInt32;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::kUInt64;
}

template <typename T>
StatusOr<std::span<const T>> NpyArray::As() const {
  if (dtype() != DTypeOf<T>()) {
    return FailedPrecondition("{}: holds {}, expected {}", file_.path().string(),
                              DTypeName(dtype()), DTypeName(DTypeOf<T>()));
  }
  if (header_.data_offset % alignof(T) != 0) {
    return FailedPrecondition("{}: data starts at byte {}, not aligned for {}; save it again",
                              file_.path().string(), header_.data_offset, DTypeName(dtype()));
  }
  return std::span<const T>(reinterpret_cast<const T*>(data().data()), data().size() / sizeof(T));
}

template <typename T>
Status WriteNpy(const std::filesystem::path& path, std::span<const T> values, int64_t cols) {
  const auto count = static_cast<int64_t>(values.size());
  HG_ASSIGN_OR_RETURN(NpyWriter writer,
                      NpyWriter::Create(path, DTypeOf<T>(), cols > 0 ? count / cols : count,
                                        cols > 0 ? cols : 1, cols > 0 ? 2 : 1));
  HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(values)));
  return writer.Close();
}

}  // namespace halograph
