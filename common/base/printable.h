// Text of others (names of graphs, paths, messages of servers) as it may go to a terminal or a log:
// what would move a cursor, change colours or turn the direction of writing stands there as \xNN.
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace halograph {

// What is shown of a name, and of a message, that somebody else wrote.
inline constexpr size_t kNameShown = 64;
inline constexpr size_t kMessageShown = 1024;

// `text` as one line: control characters, and bytes that are no UTF-8, become \xNN. What takes more
// than `limit` bytes is cut, and ends with "...".
[[nodiscard]] std::string Printable(std::string_view text, size_t limit);

// The same of several lines: line feeds and tabs stay, and nothing is cut.
[[nodiscard]] std::string PrintableLines(std::string_view text);

}  // namespace halograph
