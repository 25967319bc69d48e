// HTML as text: what others wrote is escaped, always. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halograph::ui {

// `text` as HTML text and as the value of a quoted attribute: & < > " ' become references. Control
// characters and bytes that are no UTF-8 become \xNN; what takes more than kMessageShown bytes is
// cut.
[[nodiscard]] std::string Escape(std::string_view text);

enum class CellKind {
  kText,
  kCode,    // an id or an address
  kNumber,  // stands at the right
  kGood,    // a word in words that says that all is well
  kWarn,    // something that an operator should look at: with a mark, not by colour alone
};

struct Cell {
  std::string text;
  CellKind kind = CellKind::kText;
};

struct Column {
  std::string_view title;
  bool number = false;
};

struct Table {
  std::string_view id;     // of the section; "servers"
  std::string_view title;  // "Servers"
  std::string note = {};   // a line below the title; may be empty
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};  // a cell a column; the first names the row
  std::string_view empty;                    // what stands there instead of rows
  size_t left_out = 0;                       // rows that are not shown
};

// A section with its heading, its note and its table, which scrolls sideways within itself. What
// changes from poll to poll is in elements that have an id and the attribute data-live.
[[nodiscard]] std::string RenderTable(const Table& table);

// `name="value"` with a space before it.
[[nodiscard]] std::string Attribute(std::string_view name, std::string_view value);

// A count as people read it: "950", "12,345", "1.23 M".
[[nodiscard]] std::string ShowCount(double count);
[[nodiscard]] std::string ShowBytes(double bytes);
// "840 us", "12.5 ms", "3.1 s", "2 h 05 min".
[[nodiscard]] std::string ShowSeconds(double seconds);

[[nodiscard]] Cell Number(std::string text);
[[nodiscard]] Cell Count(int64_t count);
[[nodiscard]] Cell Bytes(int64_t bytes);     // "-" below 0: unknown
[[nodiscard]] Cell Seconds(double seconds);  // "-" below 0: unknown

}  // namespace halograph::ui
