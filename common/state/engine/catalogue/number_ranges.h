// Sets of numbers as text: "1-3,7". Plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halograph {

[[nodiscard]] std::string RangesOf(const std::set<uint32_t>& numbers);
// Null: the text is no such set, here and below.
[[nodiscard]] std::optional<std::set<uint32_t>> NumbersIn(std::string_view ranges);

// First and last of each range, ascending, without the numbers between: for many of them.
using NumberRanges = std::vector<std::pair<uint32_t, uint32_t>>;
[[nodiscard]] std::optional<NumberRanges> RangesIn(std::string_view ranges);
[[nodiscard]] bool Contains(const NumberRanges& ranges, uint32_t number);

}  // namespace halograph
