#include "partitioner/readers/edge_columns.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>
#include <utility>

#include "partitioner/readers/input_tensor.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

// Numbers of a column that are buffered before they are written.
constexpr size_t kColumnBlock = size_t{1} << 16;

// Takes the separator and the text up to the next one off `rest`; empty if there is none, or two
// commas with nothing between them.
std::string_view TakeColumn(std::string_view* rest) {
  int commas = 0;
  while (!rest->empty() && IsColumnSeparator(rest->front()) && commas < 2) {
    if (rest->front() == ',') ++commas;
    rest->remove_prefix(1);
  }
  if (commas > 1) return {};
  const auto* const end = std::find_if(rest->begin(), rest->end(), IsColumnSeparator);
  const std::string_view cell = rest->substr(0, static_cast<size_t>(end - rest->begin()));
  rest->remove_prefix(cell.size());
  return cell;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// `attached`: a number stands right before the word.
bool HasDecimalComma(std::string_view word, bool attached) {
  for (size_t i = 0; i + 1 < word.size(); ++i) {
    if (word[i] != ',' || !IsDigit(word[i + 1])) continue;
    if (i == 0 ? attached : IsDigit(word[i - 1])) return true;
  }
  return false;
}

// Of the first `columns` words of `rest`, the one with a comma within a number; empty if there is
// none. A number stands before `rest`.
std::string_view FindDecimalComma(std::string_view rest, size_t columns) {
  for (size_t i = 0; i < columns; ++i) {
    const size_t blanks = std::min(rest.find_first_not_of(" \t"), rest.size());
    rest.remove_prefix(blanks);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    if (HasDecimalComma(word, blanks == 0)) return word;
    rest.remove_prefix(word.size());
  }
  return {};
}

template <typename T>
bool ReadNumber(std::string_view text, T* value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return !text.empty() && error == std::errc() && stop == end;
}

Status CheckColumnNames(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].front() == '@') {
      return InvalidArgument(
          "--edge-columns: `{}` cannot be the name of a feature: it is empty or starts with `@`",
          names[i]);
    }
    if (std::count(names.begin(), names.begin() + static_cast<int64_t>(i), names[i]) > 0) {
      return InvalidArgument("--edge-columns: `{}` is given twice", names[i]);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<EdgeColumns> EdgeColumns::Open(const std::vector<std::string>& names, Scratch* scratch) {
  HG_RETURN_IF_ERROR(CheckColumnNames(names));
  EdgeColumns columns(scratch);
  for (const std::string& name : names) {
    HG_ASSIGN_OR_RETURN(const fs::path path, scratch->NewFile(name));
    HG_ASSIGN_OR_RETURN(NpyWriter writer, NpyWriter::Create(path, DType::kInt64, -1, 1, 1));
    columns.columns_.push_back(
        {.name = name, .writer = std::move(writer), .block = {}, .path = path});
  }
  return columns;
}

Status EdgeColumns::Take(const LineReader& reader, std::string_view rest, bool blanks) {
  const std::string_view odd = blanks ? FindDecimalComma(rest, columns_.size()) : "";
  if (!odd.empty()) {
    return InvalidArgument(
        "{}: `{}` has a comma within a number, while blanks stand between columns: write a decimal "
        "point, as 0.5, or put commas between all columns",
        reader.Place(), Excerpt(odd));
  }
  for (Column& column : columns_) {
    const std::string_view cell = TakeColumn(&rest);
    int64_t whole = 0;
    double real = 0;
    if (column.first_real < 0 && ReadNumber(cell, &whole)) {
      column.block.push_back(whole);
    } else if (ReadNumber(cell, &real)) {
      if (column.first_real < 0) column.first_real = column.rows;
      column.block.push_back(std::bit_cast<int64_t>(real));
    } else {
      const auto number = &column - columns_.data() + 3;
      return InvalidArgument("{}: column {} (`{}`) is {}, expected a number", reader.Place(),
                             number, column.name,
                             cell.empty() ? "missing" : fmt::format("`{}`", Excerpt(cell)));
    }
    ++column.rows;
    if (column.block.size() < kColumnBlock) continue;
    HG_RETURN_IF_ERROR(column.writer.Append(std::as_bytes(std::span(column.block))));
    column.block.clear();
  }
  if (first_dropped_.empty() && !std::all_of(rest.begin(), rest.end(), IsColumnSeparator)) {
    first_dropped_ = reader.Place();
  }
  return OkStatus();
}

StatusOr<fs::path> EdgeColumns::RewriteAsReal(const Column& column) const {
  HG_ASSIGN_OR_RETURN(const NpyArray array, NpyArray::Open(column.path));
  HG_ASSIGN_OR_RETURN(const std::span<const int64_t> values, array.As<int64_t>());
  HG_ASSIGN_OR_RETURN(const fs::path output, scratch_->NewFile(column.name));
  HG_ASSIGN_OR_RETURN(NpyWriter writer,
                      NpyWriter::Create(output, DType::kFloat64, array.rows(), 1, 1));
  std::vector<double> block;
  for (size_t begin = 0; begin < values.size(); begin += block.size()) {
    block.resize(std::min(kColumnBlock, values.size() - begin));
    for (size_t i = 0; i < block.size(); ++i) {
      const int64_t value = values[begin + i];
      block[i] = static_cast<int64_t>(begin + i) < column.first_real ? static_cast<double>(value)
                                                                     : std::bit_cast<double>(value);
    }
    HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(block))));
  }
  HG_RETURN_IF_ERROR(writer.Close());
  std::error_code ignored;
  fs::remove(column.path, ignored);  // the mapping keeps it readable until here
  return output;
}

StatusOr<std::vector<InputTensor>> EdgeColumns::Finish(const fs::path& path) {
  std::vector<InputTensor> tensors;
  for (Column& column : columns_) {
    HG_RETURN_IF_ERROR(column.writer.Append(std::as_bytes(std::span(column.block))));
    HG_RETURN_IF_ERROR(column.writer.Close());
    fs::path file = column.path;
    if (column.first_real >= 0) {
      HG_ASSIGN_OR_RETURN(file, RewriteAsReal(column));
    }
    HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(file));
    tensors.push_back(MakeTensor(column.name, path, std::move(array)));
  }
  return tensors;
}

}  // namespace halograph
