#include "partitioner/readers/input_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "common/base/progress.h"
#include "common/storage/disk_space.h"
#include "common/storage/integers.h"

namespace halograph {
namespace {

constexpr int64_t kBlockBytes = int64_t{8} << 20;
constexpr int64_t kMostId = std::numeric_limits<int64_t>::max();

// Copies element (row, column) of a Fortran-order matrix to its place in C order, for a block of
// rows: each column's piece is read in one go.
void TransposeBlock(const NpyArray& array, int64_t begin, int64_t rows,
                    std::vector<std::byte>* block) {
  const size_t size = DTypeSize(array.dtype());
  const size_t row_bytes = array.row_bytes();
  for (int64_t column = 0; column < array.cols(); ++column) {
    const std::byte* source = array.data().data() + (column * array.rows() + begin) * size;
    std::byte* destination = block->data() + column * size;
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(destination + row * row_bytes, source + row * size, size);
    }
  }
}

StatusOr<NpyArray> RewriteInCOrder(const NpyArray& array, std::string_view name, Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(const std::filesystem::path path, scratch->NewFile(name));
  HG_RETURN_IF_ERROR(CheckDiskSpace(path.parent_path(), static_cast<int64_t>(array.data().size())));
  HG_ASSIGN_OR_RETURN(NpyWriter writer,
                      NpyWriter::Create(path, array.dtype(), array.rows(), array.cols(), 2));
  const int64_t step = std::max<int64_t>(1, kBlockBytes / static_cast<int64_t>(array.row_bytes()));
  std::vector<std::byte> block;
  Progress progress(fmt::format("transposing {}", array.file().path().filename().string()),
                    array.rows());
  for (int64_t begin = 0; begin < array.rows(); begin += step) {
    const int64_t rows = std::min(step, array.rows() - begin);
    block.resize(static_cast<size_t>(rows) * array.row_bytes());
    TransposeBlock(array, begin, rows, &block);
    HG_RETURN_IF_ERROR(writer.Append(block));
    progress.Advance(rows);
  }
  HG_RETURN_IF_ERROR(writer.Close());
  return NpyArray::Open(path);
}

// OutOfRange (file, row) for the first of `values` that no int64 holds; they begin at element
// `first`.
Status CheckFitsInt64(const NpyArray& array, int64_t first, std::span<const uint64_t> values) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [](uint64_t value) { return std::cmp_greater(value, kMostId); });
  if (found == values.end()) return OkStatus();
  return OutOfRange("{}: row {}: id {} is beyond {}, the largest that a node can have",
                    array.file().path().string(), (first + (found - values.begin())) / array.cols(),
                    *found, kMostId);
}

StatusOr<NpyArray> RewriteAsInt64(const NpyArray& array, std::string_view name, Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(const std::filesystem::path path, scratch->NewFile(name));
  HG_ASSIGN_OR_RETURN(NpyWriter writer,
                      NpyWriter::Create(path, DType::kInt64, array.rows(), array.cols(),
                                        static_cast<int>(array.shape().size())));
  const int64_t step = std::max<int64_t>(1, kBlockBytes / 8 / array.cols());
  std::vector<int64_t> block;
  for (int64_t begin = 0; begin < array.rows(); begin += step) {
    const int64_t first = begin * array.cols();
    block.resize(static_cast<size_t>(std::min(step, array.rows() - begin) * array.cols()));
    if (array.dtype() == DType::kUInt64) {
      const auto* const ids = reinterpret_cast<const uint64_t*>(array.data().data()) + first;
      HG_RETURN_IF_ERROR(CheckFitsInt64(array, first, {ids, block.size()}));
    }
    WithIntegerType(array.dtype(), [&](auto zero) {
      const auto* source = reinterpret_cast<const decltype(zero)*>(array.data().data()) + first;
      for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<int64_t>(source[i]);
    });
    HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(block))));
  }
  HG_RETURN_IF_ERROR(writer.Close());
  return NpyArray::Open(path);
}

// Reverses the bytes of every element of `size` bytes.
void SwapBytes(std::span<std::byte> elements, size_t size) {
  for (auto element = elements.begin(); element != elements.end(); element += size) {
    std::reverse(element, element + size);
  }
}

// The same array in the same storage order, elements as this machine reads them.
StatusOr<NpyArray> RewriteNative(const NpyArray& array, std::string_view name, Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(const std::filesystem::path path, scratch->NewFile(name));
  HG_RETURN_IF_ERROR(CheckDiskSpace(path.parent_path(), static_cast<int64_t>(array.data().size())));
  HG_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  HG_RETURN_IF_ERROR(
      writer.Append(EncodeNpyHeader(array.dtype(), array.shape(), array.fortran_order())));
  std::vector<std::byte> block;
  for (std::span<const std::byte> rest = array.data(); !rest.empty();) {
    const std::span<const std::byte> piece =
        rest.first(std::min(rest.size(), static_cast<size_t>(kBlockBytes)));
    rest = rest.subspan(piece.size());
    block.assign(piece.begin(), piece.end());
    if (array.big_endian()) SwapBytes(block, DTypeSize(array.dtype()));
    HG_RETURN_IF_ERROR(writer.Append(block));
  }
  HG_RETURN_IF_ERROR(writer.Close());
  return NpyArray::Open(path);
}

// Opens, checks the shape, and brings the array to C order.
StatusOr<NpyArray> OpenCOrder(const std::filesystem::path& path, std::string_view name,
                              Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(NpyArray array, OpenInputArray(path, name, scratch));
  if (array.shape().size() == 2 && array.cols() == 0) {
    return InvalidArgument("{}: shape ({}, 0) has no columns", path.string(), array.rows());
  }
  const bool same_layout = array.shape().size() == 1 || array.cols() == 1 || array.rows() <= 1;
  if (!array.fortran_order() || same_layout) return array;
  return RewriteInCOrder(array, name, scratch);
}

}  // namespace

StatusOr<NpyArray> OpenInputArray(const std::filesystem::path& path, std::string_view name,
                                  Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(path, NpyOrigin::kForeign));
  if (array.native()) return array;
  return RewriteNative(array, name, scratch);
}

InputTensor MakeTensor(std::string name, const std::filesystem::path& path, NpyArray array) {
  InputTensor tensor;
  tensor.spec.name = std::move(name);
  tensor.spec.dtype = array.dtype();
  tensor.spec.rank = static_cast<int>(array.shape().size());
  tensor.spec.dim = array.cols();
  tensor.path = path.string();
  tensor.array = std::make_shared<const NpyArray>(std::move(array));
  return tensor;
}

StatusOr<InputTensor> MapTensor(const std::filesystem::path& path, std::string name,
                                Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(NpyArray array, OpenCOrder(path, name, scratch));
  return MakeTensor(std::move(name), path, std::move(array));
}

StatusOr<InputTensor> MapIds(const std::filesystem::path& path, std::string name,
                             Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(NpyArray array, OpenCOrder(path, name, scratch));
  if (!IsInteger(array.dtype())) {
    return InvalidArgument("{}: `{}` holds {}, but ids are integers", path.string(), name,
                           DTypeName(array.dtype()));
  }
  if (array.dtype() != DType::kInt64) {
    HG_ASSIGN_OR_RETURN(array, RewriteAsInt64(array, name, scratch));
  }
  return MakeTensor(std::move(name), path, std::move(array));
}

Status CheckRows(const InputTensor& tensor, int64_t rows, std::string_view what) {
  if (tensor.array->rows() == rows) return OkStatus();
  return InvalidArgument("{}: {} rows, but there are {} {}", tensor.path, tensor.array->rows(),
                         rows, what);
}

}  // namespace halograph
