#include "partitioner/readers/format_clues.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include <fmt/format.h>
#include <strings.h>

#include "partitioner/readers/edge_columns.h"
#include "partitioner/readers/line_reader.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

// How a file of another format starts, and what to do with it.
struct Start {
  std::string_view bytes;
  std::string_view what;
  std::string_view advice;
};

constexpr std::string_view kWriteAList = "write one edge a line, `source destination`";
constexpr std::string_view kDecompress = "decompress it first, or compress it with gzip";
constexpr std::string_view kAsInput =
    "it is read as the whole --input, with --format matrixmarket or none, and not as a relation";
constexpr Start kStarts[] = {
    {"\xef\xbb\xbf"sv, "text behind a byte order mark (the bytes EF BB BF)",
     "remove the mark: sed -i '1s/^\\xEF\\xBB\\xBF//' FILE"},
    {"\xff\xfe"sv, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff"sv, "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"},
    {"\x1f\x8b"sv, "gzip within gzip", "decompress it once: gunzip"},
    {"BZh"sv, "a bzip2 file", kDecompress},
    {"\xfd"
     "7zXZ"sv,
     "an xz file", kDecompress},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file", kDecompress},
    {"\x04\x22\x4d\x18"sv, "an lz4 file", kDecompress},
    {"PK\x03\x04"sv, "a zip archive (.zip, .npz, .pt)", "take the edges out of it"},
    {"\x93NUMPY"sv, "a .npy array",
     "name it in the metadata.yaml of a GraphBolt folder, with `format: numpy`"},
    {"PAR1"sv, "a Parquet file", kWriteAList},
    {"\x89HDF"sv, "an HDF5 file", kWriteAList},
    {"MATLAB"sv, "a MATLAB file", kWriteAList},
    {"\x80\x02"sv, "a Python pickle (.pkl, .pt)", kWriteAList},
    {"%%MatrixMarket"sv, "a MatrixMarket file", kAsInput},
    {"<"sv, "XML (GraphML, GEXF) or RDF", kWriteAList},
    {"{"sv, "JSON", kWriteAList},
    {"["sv, "JSON", kWriteAList},
    {"*"sv, "a Pajek file", kWriteAList},
    {"graph"sv, "GML or DOT", kWriteAList},
    {"digraph"sv, "DOT", kWriteAList},
    {"Creator"sv, "GML", kWriteAList},
    {"p "sv, "a DIMACS file", kWriteAList},
    {"c "sv, "a DIMACS file", kWriteAList},
};

const Start* StartOf(std::string_view text) {
  const auto* const found =
      std::find_if(std::begin(kStarts), std::end(kStarts), [text](const Start& start) {
        return text.size() >= start.bytes.size() &&
               text.substr(0, start.bytes.size()) == start.bytes;
      });
  return found == std::end(kStarts) ? nullptr : found;
}

template <typename T>
bool IsNumber(std::string_view cell) {
  T value = 0;
  const char* const end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, value);
  return error == std::errc() && stop == end;
}

bool IsDigits(std::string_view cell) {
  return !cell.empty() &&
         std::all_of(cell.begin(), cell.end(), [](char c) { return c >= '0' && c <= '9'; });
}

enum class CellKind { kWhole, kTooLarge, kReal, kText };

CellKind KindOf(std::string_view cell) {
  if (IsNumber<int64_t>(cell)) return CellKind::kWhole;
  if (IsDigits(cell)) return CellKind::kTooLarge;
  return IsNumber<double>(cell) ? CellKind::kReal : CellKind::kText;
}

// Of the first two cells, the one that keeps them from being two ids; null if both are.
const std::string_view* OddCell(const std::vector<std::string_view>& cells) {
  for (size_t i = 0; i < std::min<size_t>(cells.size(), 2); ++i) {
    if (KindOf(cells[i]) != CellKind::kWhole) return &cells[i];
  }
  return nullptr;
}

bool IsEdge(std::string_view line) {
  const std::vector<std::string_view> cells = CellsOf(line);
  return cells.size() >= 2 && OddCell(cells) == nullptr;
}

// What the cells of a line say that is no edge; `next` is the line after it.
std::string WhatCellsSay(std::string_view line, std::string_view next, int64_t number, bool first,
                         EdgeText text) {
  const std::vector<std::string_view> cells = CellsOf(line);
  const std::string_view* odd = OddCell(cells);
  if (odd == nullptr) {
    const bool comma = line.find(',') != std::string_view::npos;
    return text == EdgeText::kTable && cells.size() == 2 && !comma ? "; put a comma between the ids"
                                                                   : "";
  }
  const CellKind kind = KindOf(*odd);
  const std::string shown = Excerpt(*odd);
  if (kind == CellKind::kTooLarge) {
    return fmt::format("; `{}` is beyond 9223372036854775807, the largest id: renumber the nodes",
                       shown);
  }
  if (kind == CellKind::kReal) {
    return fmt::format("; the node id `{}` is no whole number: write ids without a fraction, as 7",
                       shown);
  }
  if (line.find(';') != std::string_view::npos || line.find('|') != std::string_view::npos) {
    return "; the columns stand between `;` or `|`: put blanks, tabs or commas there";
  }
  if (odd->find('"') != std::string_view::npos || odd->find('\'') != std::string_view::npos) {
    if (!first || !IsEdge(next)) return "; the ids stand in quotes: remove them";
  }
  if (first && IsEdge(next)) {
    if (text == EdgeText::kTable) return "; this looks like a header: remove it";
    return fmt::format("; this looks like a header: skip it with --skip-lines {}", number);
  }
  // Below a header, the next line says more than its words.
  const std::vector<std::string_view> below = CellsOf(first ? next : "");
  if (const std::string_view* const cell = OddCell(below);
      cell != nullptr && KindOf(*cell) != CellKind::kText) {
    return WhatCellsSay(next, "", number + 1, /*first=*/false, text);
  }
  return fmt::format(
      "; the node id `{}` is text: number the nodes, and keep the names in a file of their own",
      shown);
}

// What a whole file of whole numbers holds, its first line apart.
struct NumberCounts {
  std::vector<int64_t> head;  // the numbers of the first line
  bool whole = true;          // nothing but whole numbers of 0 and more
  int64_t lines = 0;          // that are no comment with `%`, up to the last that is not blank
  int64_t full_lines = 0;     // that are neither blank nor a comment
  int64_t numbers = 0;
  int64_t largest_end = 0;  // of the first two numbers of a line
  // Of all numbers but those of the first line.
  int64_t smallest = std::numeric_limits<int64_t>::max(), largest = 0;
};

void CountLine(std::string_view line, int64_t* blank, NumberCounts* counts) {
  if (line.starts_with('%')) return;
  const std::vector<std::string_view> cells = CellsOf(line);
  if (cells.empty()) {
    if (!counts->head.empty()) ++*blank;
    return;
  }
  if (cells.front().front() == '#') return;
  const bool head = counts->head.empty();
  for (size_t i = 0; i < cells.size(); ++i) {
    int64_t value = 0;
    const char* const end = cells[i].data() + cells[i].size();
    const auto [stop, error] = std::from_chars(cells[i].data(), end, value);
    // What stands behind two ends may be any number.
    if ((error != std::errc() || stop != end || value < 0) && (head || i < 2)) {
      counts->whole = false;
      return;
    }
    if (head) counts->head.push_back(value);
    if (head) continue;
    if (i < 2) counts->largest_end = std::max(counts->largest_end, value);
    counts->smallest = std::min(counts->smallest, value);
    counts->largest = std::max(counts->largest, value);
  }
  if (head) return;
  counts->lines += *blank + 1;
  *blank = 0;
  ++counts->full_lines;
  counts->numbers += static_cast<int64_t>(cells.size());
}

StatusOr<NumberCounts> CountFile(const fs::path& path, int64_t skip_lines) {
  HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path, "looking at"));
  NumberCounts counts;
  int64_t blank = 0;  // since the last line that is not
  std::string_view line;
  while (counts.whole) {
    HG_ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
    if (!more) break;
    if (reader.line() > skip_lines) CountLine(line, &blank, &counts);
  }
  // The last nodes of a METIS file may have no edge: their lines are blank.
  if (!counts.head.empty() && counts.lines < counts.head[0]) {
    counts.lines = std::min(counts.head[0], counts.lines + blank);
  }
  return counts;
}

// "n m [fmt [ncon]]", then a line for each node.
bool HasCountsOfMetis(const NumberCounts& counts) {
  const std::vector<int64_t>& head = counts.head;
  if (head.size() < 2 || head.size() > 4 || counts.lines != head[0] || head[1] < 1) return false;
  const int64_t form = head.size() > 2 ? head[2] : 0;
  if (form > 111) return false;
  const bool sizes = form / 100 == 1, weights = form / 10 % 10 == 1, of_edges = form % 10 == 1;
  const int64_t at_node = (sizes ? 1 : 0) + (weights ? (head.size() > 3 ? head[3] : 1) : 0);
  if (form == 0 && (counts.smallest < 1 || counts.largest > head[0])) return false;
  // Neither product overflows: nodes are lines of the file.
  if (head[1] > counts.numbers || at_node > counts.numbers) return false;
  const int64_t expected = head[1] * (of_edges ? 4 : 2) + head[0] * at_node;
  return expected == counts.numbers;
}

// Fewer lines than these agree with some first line by chance.
constexpr int64_t kTellingLines = 4;

// Nodes (once or twice), then edges, then as many edges.
bool HasSizeLine(const NumberCounts& counts) {
  const std::vector<int64_t>& head = counts.head;
  if (head.size() != 2 && !(head.size() == 3 && head[0] == head[1])) return false;
  return head.back() == counts.full_lines && counts.full_lines >= kTellingLines &&
         counts.largest_end <= head[0];
}

}  // namespace

std::vector<std::string_view> CellsOf(std::string_view line) {
  std::vector<std::string_view> cells;
  SplitCells(line, &cells);
  return cells;
}

void SplitCells(std::string_view line, std::vector<std::string_view>* cells) {
  cells->clear();
  while (true) {
    const auto* const begin = std::find_if_not(line.begin(), line.end(), IsColumnSeparator);
    if (begin == line.end()) return;
    const auto* const end = std::find_if(begin, line.end(), IsColumnSeparator);
    cells->emplace_back(begin, static_cast<size_t>(end - begin));
    line.remove_prefix(static_cast<size_t>(end - line.begin()));
  }
}

bool IsBlankOrComment(std::string_view line) {
  const auto* const first = std::find_if_not(line.begin(), line.end(), IsColumnSeparator);
  return first == line.end() || *first == '#' || *first == '%';
}

bool IsMatrixMarketBanner(std::string_view line) {
  constexpr std::string_view kBanner = "%%MatrixMarket";
  return line.size() >= kBanner.size() &&
         ::strncasecmp(line.data(), kBanner.data(), kBanner.size()) == 0;
}

std::string WhyNoEdge(const fs::path& path, int64_t line, bool first, EdgeText text) {
  StatusOr<LineReader> reader = LineReader::Open(path, "looking at");
  if (!reader.ok()) return "";
  std::string found, next;
  std::string_view read;
  while (reader->line() < line) {
    const StatusOr<bool> more = reader->Next(&read);
    if (!more.ok() || !*more) return "";
  }
  found = read;
  while (next.empty()) {
    const StatusOr<bool> more = reader->Next(&read);
    if (!more.ok() || !*more) break;
    if (!IsBlankOrComment(read)) next = read;
  }
  if (const Start* const start = first ? StartOf(found) : nullptr; start != nullptr) {
    // A header's first word may be one of these.
    const bool word = std::isalpha(static_cast<unsigned char>(start->bytes.front())) != 0;
    if (!word || !IsEdge(next)) {
      return fmt::format("; this looks like {}: {}", start->what, start->advice);
    }
  }
  if (found.find('\0') != std::string::npos) {
    return fmt::format("; this looks like a binary file: {}", kWriteAList);
  }
  std::string said = WhatCellsSay(found, next, line, first, text);
  if (!said.empty() || text == EdgeText::kTable) return said;
  const StatusOr<std::optional<std::string>> counted = CountedFormat(path, 0);
  return counted.ok() && counted->has_value() ? fmt::format("; {}", **counted) : "";
}

StatusOr<std::optional<std::string>> CountedFormat(const fs::path& path, int64_t skip_lines) {
  HG_ASSIGN_OR_RETURN(const NumberCounts counts, CountFile(path, skip_lines));
  if (!counts.whole) return std::optional<std::string>();
  if (HasCountsOfMetis(counts)) {
    return std::optional<std::string>(
        fmt::format("this looks like a METIS graph of {} nodes and {} edges: give --format metis",
                    counts.head[0], counts.head[1]));
  }
  if (HasSizeLine(counts)) {
    return std::optional<std::string>(fmt::format(
        "its first line looks like its size, {} nodes and {} edges: skip it with --skip-lines, and "
        "give --num-nodes{}",
        counts.head[0], counts.head.back(),
        counts.head.size() == 3 ? "; or put back the banner of a MatrixMarket file" : ""));
  }
  return std::optional<std::string>();
}

}  // namespace halograph
