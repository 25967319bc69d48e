// Columns of an edge list that become edge features: the third column of every line and those
// after it. Written to the scratch folder while the lines are read, with bounded memory. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"
#include "partitioner/readers/line_reader.h"

namespace halograph {

// What stands between two columns: blanks, tabs and at most one comma.
[[nodiscard]] inline bool IsColumnSeparator(char c) { return c == ' ' || c == '\t' || c == ','; }

class EdgeColumns {
 public:
  // One column a name, in the order of the file. `scratch` must outlive the object.
  //   InvalidArgument  an empty name, one that starts with `@`, or one given twice
  [[nodiscard]] static StatusOr<EdgeColumns> Open(const std::vector<std::string>& names,
                                                  Scratch* scratch);

  // Takes the next edge's numbers from `rest`, which is its line after the second column. Columns
  // beyond the names are dropped; the first line that has some is kept in mind (first_dropped).
  // `blanks`: blanks or tabs stand between the first two columns, so a comma within a number is not
  // the end of a column.
  //   InvalidArgument  a column that is missing, empty, or no number, or `blanks` and a decimal
  //                    comma (file:line, column)
  [[nodiscard]] Status Take(const LineReader& reader, std::string_view rest, bool blanks);

  // Features in the order of the names, a number an edge: int64 if the column holds only whole
  // numbers, else float64. `path`: of the edge list, for messages. Called once, after the last
  // Take.
  [[nodiscard]] StatusOr<std::vector<InputTensor>> Finish(const std::filesystem::path& path);

  // "file:line" of the first line with more columns than names; empty if there is none.
  [[nodiscard]] const std::string& first_dropped() const { return first_dropped_; }

 private:
  struct Column {
    std::string name;
    NpyWriter writer;
    // 8 bytes an edge: an int64 before row `first_real`, a double from there on.
    std::vector<int64_t> block;
    int64_t rows = 0;
    int64_t first_real = -1;  // -1: none so far
    std::filesystem::path path;
  };

  explicit EdgeColumns(Scratch* scratch) : scratch_(scratch) {}
  [[nodiscard]] StatusOr<std::filesystem::path> RewriteAsReal(const Column& column) const;

  Scratch* scratch_;
  std::vector<Column> columns_;
  std::string first_dropped_;
};

}  // namespace halograph
