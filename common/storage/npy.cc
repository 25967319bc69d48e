#include "common/storage/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace halograph {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kVersionEnd = 8;  // magic, major, minor
constexpr size_t kAlignment = 64;
constexpr size_t kMaxVersion1Length = 65535;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

size_t LittleEndian(std::span<const std::byte> bytes) {
  size_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<size_t>(bytes[i]);
  return value;
}

// True if the bytes of an array can be counted in 63 bits, empty extents left out: so can then
// those of a row, and the elements.
bool IsCountable(const std::vector<int64_t>& shape, DType dtype) {
  auto product = static_cast<int64_t>(DTypeSize(dtype));
  return std::none_of(shape.begin(), shape.end(), [&product](int64_t extent) {
    return __builtin_mul_overflow(product, std::max<int64_t>(extent, 1), &product);
  });
}

// Reads the header's text: the literal of a Python dictionary with three known keys.
class HeaderParser {
 public:
  // `position`: where in the file `text` starts.
  HeaderParser(std::string_view text, size_t position) : text_(text), start_(position) {}

  StatusOr<NpyHeader> Parse() {
    NpyHeader header;
    bool have_descr = false, have_order = false, have_shape = false;
    HG_RETURN_IF_ERROR(Expect('{'));
    while (!Take('}')) {
      HG_ASSIGN_OR_RETURN(const std::string_view key, ParseString());
      HG_RETURN_IF_ERROR(Expect(':'));
      if (key == "descr") {
        HG_RETURN_IF_ERROR(ParseDescr(&header));
        have_descr = true;
      } else if (key == "fortran_order") {
        HG_ASSIGN_OR_RETURN(header.fortran_order, ParseBool());
        have_order = true;
      } else if (key == "shape") {
        HG_ASSIGN_OR_RETURN(header.shape, ParseShape());
        have_shape = true;
      } else {
        return Malformed("a key descr, fortran_order or shape");
      }
      if (!Take(',') && Peek() != '}') return Malformed("',' or '}'");
    }
    if (!have_descr || !have_order || !have_shape) {
      return Malformed("all of the keys descr, fortran_order and shape");
    }
    if (Peek() != '\0' || at_ < text_.size()) return Malformed("nothing after the header");
    if (!IsCountable(header.shape, header.dtype)) return Malformed("a shape below 2^63 bytes");
    return header;
  }

 private:
  // The next character that is no white space; 0 at the end.
  char Peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char wanted) {
    if (Peek() != wanted) return false;
    ++at_;
    return true;
  }
  Status Expect(char wanted) {
    if (Take(wanted)) return OkStatus();
    return Malformed(fmt::format("'{}'", wanted));
  }
  Status Malformed(std::string_view expected) const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    return DataLoss("malformed .npy header at byte {}: expected {}, found '{}'", start_ + at_,
                    expected, rest.substr(0, 24));
  }

  StatusOr<std::string_view> ParseString() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return Malformed("a quoted string");
    const size_t begin = at_ + 1;
    const size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) return Malformed("a string that ends");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  Status ParseDescr(NpyHeader* header) {
    const char first = Peek();
    const size_t position = start_ + at_;
    if (first == '[') {
      return FailedPrecondition(
          ".npy header at byte {}: records (structured dtypes) are not supported", position);
    }
    HG_ASSIGN_OR_RETURN(const std::string_view descr, ParseString());
    for (int i = static_cast<int>(DType::kFloat32); i <= static_cast<int>(DType::kBool); ++i) {
      const auto dtype = static_cast<DType>(i);
      if (dtype == DType::kBFloat16 || !Matches(descr, dtype)) continue;
      header->dtype = dtype;
      header->big_endian = descr[0] == '>' && DTypeSize(dtype) > 1;
      return OkStatus();
    }
    return FailedPrecondition(
        ".npy header at byte {}: dtype '{}' is not supported; use bool, integers or floats",
        position, descr);
  }

  // The byte order says nothing where an element has one byte.
  static bool Matches(std::string_view descr, DType dtype) {
    const std::string_view known = NpyDescr(dtype);
    if (descr.size() != known.size() || descr.substr(1) != known.substr(1)) return false;
    if (descr[0] == '<' || descr[0] == '>' || descr[0] == '=') return true;
    return descr[0] == '|' && DTypeSize(dtype) == 1;
  }

  StatusOr<bool> ParseBool() {
    Peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true},
                                      std::pair<std::string_view, bool>{"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    return Malformed("True or False");
  }

  StatusOr<std::vector<int64_t>> ParseShape() {
    std::vector<int64_t> shape;
    HG_RETURN_IF_ERROR(Expect('('));
    while (!Take(')')) {
      Peek();
      int64_t extent = 0;
      const char* const end = text_.data() + text_.size();
      const auto read = std::from_chars(text_.data() + at_, end, extent);
      if (read.ec != std::errc() || extent < 0) return Malformed("a size from 0 to 2^63 - 1");
      at_ = static_cast<size_t>(read.ptr - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote long integers
      shape.push_back(extent);
      if (!Take(',') && Peek() != ')') return Malformed("',' or ')'");
    }
    return shape;
  }

  const std::string_view text_;
  const size_t start_;
  size_t at_ = 0;
};

std::string ShapeText(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::vector<int64_t> MakeShape(int rank, int64_t rows, int64_t cols) {
  return rank == 1 ? std::vector<int64_t>{rows} : std::vector<int64_t>{rows, cols};
}

}  // namespace

int64_t NpyHeader::count() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

StatusOr<NpyHeader> ParseNpyHeader(std::span<const std::byte> file_start) {
  const std::string_view text(reinterpret_cast<const char*>(file_start.data()), file_start.size());
  if (!text.starts_with(kMagic)) {
    return DataLoss("no .npy file: {} at byte 0", text.size() < kMagic.size()
                                                      ? fmt::format("only {} bytes", text.size())
                                                      : "wrong magic number");
  }
  if (text.size() < kVersionEnd) {
    return DataLoss(".npy header is truncated at byte {}: no version", text.size());
  }
  const int major = static_cast<unsigned char>(text[6]);
  const int minor = static_cast<unsigned char>(text[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return FailedPrecondition(".npy format version {}.{} at byte 6 is not supported (1.0 to 3.0)",
                              major, minor);
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = kVersionEnd + length_bytes;
  if (text.size() < begin) {
    return DataLoss(".npy header is truncated at byte {}: no length", text.size());
  }
  const size_t length = LittleEndian(file_start.subspan(kVersionEnd, length_bytes));
  if (length > text.size() - begin) {
    return DataLoss(".npy header is truncated: bytes {} to {} are announced, the file ends at {}",
                    begin, begin + length, text.size());
  }
  HG_ASSIGN_OR_RETURN(NpyHeader header, HeaderParser(text.substr(begin, length), begin).Parse());
  header.data_offset = begin + length;
  return header;
}

std::string EncodeNpyHeader(DType dtype, std::span<const int64_t> shape, bool fortran_order,
                            size_t minimum_bytes) {
  const std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", NpyDescr(dtype),
                  fortran_order ? "True" : "False", ShapeText(shape));
  const auto total_with = [&](size_t length_bytes) {
    const size_t needed = kVersionEnd + length_bytes + dictionary.size() + 1;  // 1: the line's end
    return RoundUp(std::max(needed, minimum_bytes), kAlignment);
  };
  const bool version1 = total_with(2) - kVersionEnd - 2 <= kMaxVersion1Length;
  const size_t length_bytes = version1 ? 2 : 4;
  const size_t total = total_with(length_bytes);
  const size_t length = total - kVersionEnd - length_bytes;

  std::string header(kMagic);
  header += static_cast<char>(version1 ? 1 : 2);
  header += '\0';
  for (size_t i = 0; i < length_bytes; ++i) header += static_cast<char>(length >> (8 * i) & 0xff);
  header += dictionary;
  header.append(total - header.size() - 1, ' ');
  header += '\n';
  return header;
}

StatusOr<NpyArray> NpyArray::Open(const std::filesystem::path& path, NpyOrigin origin) {
  NpyArray array;
  HG_ASSIGN_OR_RETURN(array.file_, MappedFile::Open(path));
  StatusOr<NpyHeader> header = ParseNpyHeader(array.file_.bytes());
  if (!header.ok()) return Annotate(header.status(), path.string());
  array.header_ = std::move(header).value();
  const size_t rank = array.shape().size();
  if (rank != 1 && rank != 2) {
    return FailedPrecondition("{}: has rank {} (shape {}), expected 1 or 2", path.string(), rank,
                              ShapeText(array.shape()));
  }
  if (array.big_endian() && origin == NpyOrigin::kOwn) {
    return FailedPrecondition("{}: is big-endian, expected little-endian", path.string());
  }
  if (array.header_.data_offset % kAlignment != 0 && origin == NpyOrigin::kOwn) {
    return FailedPrecondition(
        "{}: data starts at byte {}, expected a multiple of {}; write the file again",
        path.string(), array.header_.data_offset, kAlignment);
  }
  const size_t expected = array.header_.data_offset +
                          static_cast<size_t>(array.header_.count()) * DTypeSize(array.dtype());
  const size_t found = array.file_.bytes().size();
  if (found != expected) {
    return DataLoss("{}: has {} bytes, but shape {} of {} needs {}: the file is {}", path.string(),
                    found, ShapeText(array.shape()), DTypeName(array.dtype()), expected,
                    found < expected ? "truncated" : "too long");
  }
  return array;
}

bool NpyArray::native() const {
  return !big_endian() && header_.data_offset % DTypeSize(dtype()) == 0;
}

std::span<const std::byte> NpyArray::data() const {
  return file_.bytes().subspan(header_.data_offset);
}

StatusOr<NpyWriter> NpyWriter::Create(const std::filesystem::path& path, DType dtype, int64_t rows,
                                      int64_t cols, int rank) {
  if (rank < 1 || rank > 2 || rows < -1 || cols < 0 || (rank == 1 && cols != 1)) {
    return InvalidArgument("{}: cannot write an array of rank {}, {} rows and {} columns",
                           path.string(), rank, rows, cols);
  }
  if (path.has_parent_path()) HG_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  NpyWriter writer;
  HG_ASSIGN_OR_RETURN(writer.writer_, FileWriter::Create(path));
  writer.dtype_ = dtype;
  writer.announced_rows_ = rows;
  writer.cols_ = cols;
  writer.rank_ = rank;
  // With the number of rows unknown the header is made for the largest one.
  const int64_t shown_rows = rows >= 0 ? rows : std::numeric_limits<int64_t>::max();
  const std::string header = EncodeNpyHeader(dtype, MakeShape(rank, shown_rows, cols));
  writer.header_bytes_ = header.size();
  HG_RETURN_IF_ERROR(writer.writer_.Append(header));
  return writer;
}

Status NpyWriter::CheckWholeRows(std::span<const std::byte> rows) const {
  const auto bytes = static_cast<size_t>(row_bytes());
  if (bytes == 0 ? rows.empty() : rows.size() % bytes == 0) return OkStatus();
  return InvalidArgument("{}: {} bytes are no whole number of rows of {} bytes",
                         writer_.path().string(), rows.size(), bytes);
}

Status NpyWriter::Append(std::span<const std::byte> rows) {
  HG_RETURN_IF_ERROR(CheckWholeRows(rows));
  return writer_.Append(rows);
}

Status NpyWriter::AppendZeros(int64_t rows) { return writer_.AppendZeros(rows * row_bytes()); }

Status NpyWriter::Overwrite(int64_t first, std::span<const std::byte> rows) {
  HG_RETURN_IF_ERROR(CheckWholeRows(rows));
  if (first < 0) return OutOfRange("{}: row {}", writer_.path().string(), first);
  return writer_.Overwrite(
      static_cast<int64_t>(header_bytes_) + first * row_bytes(),
      std::string_view(reinterpret_cast<const char*>(rows.data()), rows.size()));
}

int64_t NpyWriter::rows_written() const {
  // Rows without columns leave no bytes to count.
  if (row_bytes() == 0) return std::max<int64_t>(announced_rows_, 0);
  return (writer_.bytes_written() - static_cast<int64_t>(header_bytes_)) / row_bytes();
}

Status NpyWriter::Close() {
  if (announced_rows_ >= 0 && rows_written() != announced_rows_) {
    return FailedPrecondition("{}: {} rows were announced, {} written", writer_.path().string(),
                              announced_rows_, rows_written());
  }
  if (announced_rows_ < 0) {
    HG_RETURN_IF_ERROR(writer_.Overwrite(
        0, EncodeNpyHeader(dtype_, MakeShape(rank_, rows_written(), cols_), false, header_bytes_)));
  }
  return writer_.Close();
}

}  // namespace halograph
