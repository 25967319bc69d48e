// Tells what a file is that is no edge list: what was found in it, and what to do. For messages;
// nothing here changes what is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace halograph {

// The cells of a line: what stands between blanks, tabs and commas. The second form keeps the room
// of `cells`.
[[nodiscard]] std::vector<std::string_view> CellsOf(std::string_view line);
void SplitCells(std::string_view line, std::vector<std::string_view>* cells);

// Nothing, or nothing but a comment (`#`, `%`).
[[nodiscard]] bool IsBlankOrComment(std::string_view line);

// Whether a file that starts with `line` is a MatrixMarket file.
[[nodiscard]] bool IsMatrixMarketBanner(std::string_view line);

// What edges are read from, which says what can be done about one that is none.
enum class EdgeText {
  kList,   // an edge list, which has --skip-lines and a --format of its own
  kTable,  // a file that a GraphBolt or OGB folder names, `source,destination` a line
};

// Why line `line` (from 1) of the file is no edge: "; <what was found>: <what to do>", or empty if
// that is not known. `first`: no edge stands before it. Reads the file up to the line after it, and
// all of it where its counts tell more.
[[nodiscard]] std::string WhyNoEdge(const std::filesystem::path& path, int64_t line, bool first,
                                    EdgeText text = EdgeText::kList);

// Whether the counts of a file of whole numbers, whose first `skip_lines` lines aside, are those of
// another format: its first line says how many nodes and edges follow, as in METIS and MatrixMarket
// files. What it looks like and what to do, or nothing. Reads the whole file.
//   as LineReader
[[nodiscard]] StatusOr<std::optional<std::string>> CountedFormat(const std::filesystem::path& path,
                                                                 int64_t skip_lines);

}  // namespace halograph
