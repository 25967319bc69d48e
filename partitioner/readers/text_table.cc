#include "partitioner/readers/text_table.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "common/base/log.h"
#include "partitioner/readers/format_clues.h"
#include "partitioner/readers/input_tensor.h"
#include "partitioner/readers/line_reader.h"
#include "partitioner/readers/row_writer.h"

namespace halograph {
namespace {

// Without blanks around it, and without the quotes that writers put around an empty cell.
std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

// Takes the text up to the next comma off `line`; false after the last cell.
bool NextCell(std::optional<std::string_view>* line, std::string_view* cell) {
  if (!line->has_value()) return false;
  const size_t comma = (*line)->find(',');
  *cell = Trim((*line)->substr(0, comma));
  if (comma == std::string_view::npos) {
    line->reset();
  } else {
    (*line)->remove_prefix(comma + 1);
  }
  return true;
}

template <typename T>
bool ParseNumber(std::string_view text, T* value) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

bool ParseCell(std::string_view cell, int64_t* value) { return ParseNumber(cell, value); }

// Of numbers too small for float32, 0.
bool ParseCell(std::string_view cell, float* value) {
  *value = std::numeric_limits<float>::quiet_NaN();
  if (cell.empty() || ParseNumber(cell, value)) return true;
  double wide = 0;
  if (!ParseNumber(cell, &wide) || std::abs(wide) > std::numeric_limits<float>::max()) return false;
  *value = static_cast<float>(wide);
  return true;
}

// Why a cell that is not empty is no float32.
std::string_view WhyNoFloat(std::string_view cell) {
  double wide = 0;
  return ParseNumber(cell, &wide) ? "is beyond float32, whose largest number is 3.4e38: scale it"
                                  : "is not a number";
}

// Whether float32 takes a whole number for another one.
bool LosesDigits(std::string_view cell, float value) {
  int64_t whole = 0;
  return ParseNumber(cell, &whole) && static_cast<double>(value) != static_cast<double>(whole);
}

// Warns of the first whole number of a table that float32 takes for another one.
class DigitsWatch {
 public:
  // `column`: from 0.
  void Look(const LineReader& reader, size_t column, std::string_view cell, float value) {
    if (warned_ || std::abs(value) < kExact || !LosesDigits(cell, value)) return;
    warned_ = true;
    spdlog::warn(
        "{}: column {}: `{}` is taken as {:.0f}: a table with fractions is read as float32, "
        "which holds whole numbers up to 16777216; scale the column, or write it into a file of "
        "its own",
        reader.Place(), column, Excerpt(cell), value);
  }

 private:
  static constexpr float kExact = 1 << 24;
  bool warned_ = false;
};

// Writes the table as T; false (and an unfinished file) at the first cell that is no T, but maybe
// a number of another type.
template <typename T>
StatusOr<bool> ConvertAs(const std::filesystem::path& path, const std::filesystem::path& output) {
  HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path, "reading"));
  RowWriter<T> writer;
  DigitsWatch digits;
  std::string_view line;
  int64_t columns = 0;
  while (true) {
    HG_ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
    if (!more) break;
    const size_t before = writer.block()->size();
    std::optional<std::string_view> rest = line;
    std::string_view cell;
    while (NextCell(&rest, &cell)) {
      if (ParseCell(cell, &writer.block()->emplace_back())) {
        if constexpr (std::is_same_v<T, float>) {
          digits.Look(reader, writer.block()->size() - before - 1, cell, writer.block()->back());
        }
        continue;
      }
      if constexpr (std::is_same_v<T, int64_t>) return false;
      return InvalidArgument("{}: `{}` {}", reader.Place(), Excerpt(cell), WhyNoFloat(cell));
    }
    const auto found = static_cast<int64_t>(writer.block()->size() - before);
    if (!writer.is_open()) {
      columns = found;
      HG_RETURN_IF_ERROR(writer.Open(output, columns));
    } else if (found != columns) {
      return InvalidArgument("{}: {} cells, but the lines before have {}", reader.Place(), found,
                             columns);
    }
    HG_RETURN_IF_ERROR(writer.FlushIfFull());
  }
  if (!writer.is_open()) HG_RETURN_IF_ERROR(writer.Open(output, 1));  // an empty file: no rows
  HG_RETURN_IF_ERROR(writer.Close());
  return true;
}

// `first`: no edge stands before it.
Status ParseEdge(const LineReader& reader, std::string_view line, bool first,
                 std::array<int64_t, 2>* edge) {
  std::optional<std::string_view> rest = line;
  std::string_view source, destination, more;
  if (NextCell(&rest, &source) && NextCell(&rest, &destination) && !NextCell(&rest, &more) &&
      ParseNumber(source, &(*edge)[0]) && ParseNumber(destination, &(*edge)[1])) {
    return OkStatus();
  }
  return InvalidArgument("{}: expected `source,destination`, two integers; found `{}`{}",
                         reader.Place(), Excerpt(line),
                         WhyNoEdge(reader.path(), reader.line(), first, EdgeText::kTable));
}

}  // namespace

bool ParseInteger(std::string_view text, int64_t* value) { return ParseNumber(Trim(text), value); }

StatusOr<std::shared_ptr<const EdgeSource>> ConvertEdgeTable(const std::filesystem::path& path,
                                                             EdgeEnds ends, Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path, "reading"));
  HG_ASSIGN_OR_RETURN(const std::filesystem::path output, scratch->NewFile("edges"));
  RowWriter<int64_t> writer;
  HG_RETURN_IF_ERROR(writer.Open(output, 2));
  std::string_view line;
  int64_t edges = 0;
  while (true) {
    HG_ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
    if (!more) break;
    if (Trim(line).empty()) continue;
    std::array<int64_t, 2> edge = {};
    HG_RETURN_IF_ERROR(ParseEdge(reader, line, edges == 0, &edge));
    ++edges;
    if (static_cast<uint64_t>(edge[0]) >= static_cast<uint64_t>(ends.sources) ||
        static_cast<uint64_t>(edge[1]) >= static_cast<uint64_t>(ends.destinations)) {
      return CheckEdge(ends, edge[0], edge[1], reader.Place());
    }
    writer.block()->insert(writer.block()->end(), edge.begin(), edge.end());
    HG_RETURN_IF_ERROR(writer.FlushIfFull());
  }
  HG_RETURN_IF_ERROR(writer.Close());
  return OpenEdgeArray(output, EdgeArrayForm::kPairs, std::move(ends), scratch);
}

StatusOr<InputTensor> ConvertMatrix(const std::filesystem::path& path, std::string name,
                                    Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(std::filesystem::path output, scratch->NewFile(name));
  HG_ASSIGN_OR_RETURN(const bool integers, ConvertAs<int64_t>(path, output));
  if (!integers) {
    std::error_code ignored;
    std::filesystem::remove(output, ignored);
    HG_ASSIGN_OR_RETURN(output, scratch->NewFile(name));
    HG_RETURN_IF_ERROR(ConvertAs<float>(path, output).status());
  }
  HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(output));
  return MakeTensor(std::move(name), path, std::move(array));
}

StatusOr<std::vector<std::vector<std::string>>> ReadTextTable(const std::filesystem::path& path,
                                                              size_t max_rows) {
  HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path, "reading"));
  std::vector<std::vector<std::string>> rows;
  std::string_view line;
  while (true) {
    HG_ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
    if (!more) return rows;
    if (Trim(line).empty()) continue;
    if (rows.size() == max_rows) {
      return InvalidArgument("{}: more than {} lines", reader.Place(), max_rows);
    }
    std::optional<std::string_view> rest = line;
    std::string_view cell;
    std::vector<std::string>& row = rows.emplace_back();
    while (NextCell(&rest, &cell)) row.emplace_back(cell);
  }
}

}  // namespace halograph
