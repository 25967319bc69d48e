#include "partitioner/readers/matrix_market.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "partitioner/readers/edge_array.h"
#include "partitioner/readers/format_clues.h"
#include "partitioner/readers/input_tensor.h"
#include "partitioner/readers/line_reader.h"
#include "partitioner/readers/numbered_nodes.h"
#include "partitioner/readers/row_writer.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr char kValueFeature[] = "value";

enum class ValueKind { kNone, kInteger, kReal };

struct Banner {
  ValueKind values = ValueKind::kNone;
  bool symmetric = false;
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

Status CannotRead(const LineReader& reader, std::string_view what, std::string_view word,
                  std::string_view advice) {
  return Unimplemented("{}: the {} of the MatrixMarket file is `{}`, which cannot be read: {}",
                       reader.Place(), what, Excerpt(word), advice);
}

// "%%MatrixMarket matrix coordinate real symmetric", in any case.
StatusOr<Banner> ParseBanner(const LineReader& reader, std::string_view line) {
  const std::vector<std::string_view> cells = CellsOf(line);
  if (!IsMatrixMarketBanner(line) || cells.size() != 5) {
    return InvalidArgument(
        "{}: expected the banner of a MatrixMarket file, as `%%MatrixMarket matrix coordinate real "
        "general`; found `{}`{}",
        reader.Place(), Excerpt(line),
        IsMatrixMarketBanner(line) ? "" : WhyNoEdge(reader.path(), reader.line(), true));
  }
  if (Lower(cells[1]) != "matrix") {
    return CannotRead(reader, "object", cells[1], "a graph is a `matrix`");
  }
  if (Lower(cells[2]) != "coordinate") {
    return CannotRead(reader, "format", cells[2],
                      "write the matrix as `coordinate`, an entry a line");
  }
  Banner banner;
  const std::string field = Lower(cells[3]), symmetry = Lower(cells[4]);
  if (field == "real" || field == "double") {
    banner.values = ValueKind::kReal;
  } else if (field == "integer" || field == "unsigned-integer") {
    banner.values = ValueKind::kInteger;
  } else if (field != "pattern") {
    return CannotRead(reader, "field", cells[3], "write it as `pattern`, `integer` or `real`");
  }
  if (symmetry != "general" && symmetry != "symmetric") {
    return CannotRead(reader, "symmetry", cells[4],
                      "write all its entries, as `general`, or the lower triangle, as `symmetric`");
  }
  banner.symmetric = symmetry == "symmetric";
  return banner;
}

template <typename T>
bool ReadCell(std::string_view cell, T* value) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  const char* const end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, *value);
  return !cell.empty() && error == std::errc() && stop == end;
}

bool IsBlank(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t'; });
}

class MatrixMarketReader {
 public:
  MatrixMarketReader(fs::path path, LineReader reader, Scratch* scratch)
      : path_(std::move(path)), reader_(std::move(reader)), scratch_(scratch) {}

  StatusOr<Dataset> Read(bool undirected) {
    HG_RETURN_IF_ERROR(ReadHead());
    if (undirected && banner_.symmetric) {
      return InvalidArgument(
          "{}: the matrix is symmetric, so each edge is there in both directions already: leave "
          "out --undirected",
          path_.string());
    }
    HG_ASSIGN_OR_RETURN(Dataset dataset, NumberedNodes(path_, nodes_, scratch_));
    dataset.format = "matrixmarket";
    InputRelation& relation = dataset.relations.front();
    relation.symmetric = banner_.symmetric;
    HG_ASSIGN_OR_RETURN(const fs::path edges, scratch_->NewFile("edges"));
    HG_RETURN_IF_ERROR(edges_.Open(edges, 2));
    HG_ASSIGN_OR_RETURN(const fs::path values, OpenValues());
    HG_RETURN_IF_ERROR(ReadEntries());
    HG_RETURN_IF_ERROR(edges_.Close());
    HG_ASSIGN_OR_RETURN(relation.edges, OpenEdgeArray(edges, EdgeArrayForm::kPairs,
                                                      EndsOf(dataset, relation), scratch_));
    if (banner_.values == ValueKind::kNone) return dataset;
    HG_RETURN_IF_ERROR(integers_.is_open() ? integers_.Close() : reals_.Close());
    HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(values));
    relation.features.push_back(MakeTensor(kValueFeature, path_, std::move(array)));
    return dataset;
  }

 private:
  // The next line that is neither blank nor a comment; false at the end.
  StatusOr<bool> Next(std::string_view* line) {
    while (true) {
      HG_ASSIGN_OR_RETURN(const bool more, reader_.Next(line));
      if (!more || (!IsBlank(*line) && !line->starts_with('%'))) return more;
    }
  }

  // The banner and the size line.
  Status ReadHead() {
    std::string_view line;
    HG_ASSIGN_OR_RETURN(bool more, reader_.Next(&line));
    HG_ASSIGN_OR_RETURN(banner_, ParseBanner(reader_, more ? line : ""));
    HG_ASSIGN_OR_RETURN(more, Next(&line));
    const std::vector<std::string_view> cells = CellsOf(more ? line : "");
    int64_t columns = 0;
    if (cells.size() != 3 || !ReadCell(cells[0], &nodes_) || !ReadCell(cells[1], &columns) ||
        !ReadCell(cells[2], &entries_) || nodes_ < 0 || columns < 0 || entries_ < 0) {
      return InvalidArgument("{}: expected the size line, `rows columns entries`; found `{}`",
                             reader_.Place(), Excerpt(more ? line : ""));
    }
    if (nodes_ == columns) return OkStatus();
    return InvalidArgument(
        "{}: the matrix is not square: {} rows and {} columns; a graph has a row and a column for "
        "each node",
        reader_.Place(), nodes_, columns);
  }

  StatusOr<fs::path> OpenValues() {
    if (banner_.values == ValueKind::kNone) return fs::path();
    HG_ASSIGN_OR_RETURN(fs::path path, scratch_->NewFile(kValueFeature));
    HG_RETURN_IF_ERROR(banner_.values == ValueKind::kInteger ? integers_.Open(path, 1)
                                                             : reals_.Open(path, 1));
    return path;
  }

  Status ReadEntries() {
    std::string_view line;
    int64_t read = 0;
    while (true) {
      HG_ASSIGN_OR_RETURN(const bool more, Next(&line));
      if (!more) break;
      if (++read > entries_) {
        return InvalidArgument("{}: `{}` follows the {} entries that the size line gives",
                               reader_.Place(), Excerpt(line), entries_);
      }
      HG_RETURN_IF_ERROR(TakeEntry(line));
    }
    if (read == entries_) return OkStatus();
    return InvalidArgument(
        "{}: the file ends after {} entries, but the size line gives {}: it was cut off, or its "
        "size line is wrong",
        reader_.Place(), read, entries_);
  }

  Status TakeEntry(std::string_view line) {
    const bool valued = banner_.values != ValueKind::kNone;
    SplitCells(line, &cells_);
    int64_t row = 0, column = 0;
    if (cells_.size() != (valued ? 3 : 2) || !ReadCell(cells_[0], &row) ||
        !ReadCell(cells_[1], &column)) {
      return InvalidArgument("{}: expected an entry, `{}`; found `{}`", reader_.Place(),
                             valued ? "row column value" : "row column", Excerpt(line));
    }
    for (const int64_t id : {row, column}) {
      if (id >= 1 && id <= nodes_) continue;
      return OutOfRange("{}: id {} is not within the {} nodes of the size line, 1 to {}",
                        reader_.Place(), id, nodes_, nodes_);
    }
    if (banner_.symmetric && column > row) {
      return InvalidArgument(
          "{}: entry ({}, {}) lies above the diagonal, but the file of a symmetric matrix holds "
          "the lower triangle: exchange row and column, or write both halves, as `general`",
          reader_.Place(), row, column);
    }
    const std::array<int64_t, 2> edge = {row - 1, column - 1};
    edges_.block()->insert(edges_.block()->end(), edge.begin(), edge.end());
    HG_RETURN_IF_ERROR(edges_.FlushIfFull());
    return valued ? TakeValue(cells_[2]) : OkStatus();
  }

  Status TakeValue(std::string_view cell) {
    if (banner_.values == ValueKind::kReal) {
      if (ReadCell(cell, &reals_.block()->emplace_back())) return reals_.FlushIfFull();
    } else {
      if (ReadCell(cell, &integers_.block()->emplace_back())) return integers_.FlushIfFull();
    }
    return InvalidArgument(
        "{}: the value `{}` is no {}", reader_.Place(), Excerpt(cell),
        banner_.values == ValueKind::kReal ? "number of float64" : "whole number of 64 bits");
  }

  const fs::path path_;
  LineReader reader_;
  Scratch* const scratch_;
  Banner banner_;
  int64_t nodes_ = 0, entries_ = 0;
  std::vector<std::string_view> cells_;  // of the entry that is taken
  RowWriter<int64_t> edges_;
  // Of the values: the one of their kind is open.
  RowWriter<int64_t> integers_;
  RowWriter<double> reals_;
};

}  // namespace

StatusOr<Dataset> ReadMatrixMarket(const fs::path& path, bool undirected, Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path, "reading"));
  return MatrixMarketReader(path, std::move(reader), scratch).Read(undirected);
}

}  // namespace halograph
