// Sets of numbers as text: "1-3,7". Plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace halograph {

[[nodiscard]] std::string RangesOf(const std::set<uint32_t>& numbers);
// Null: the text is no such set.
[[nodiscard]] std::optional<std::set<uint32_t>> NumbersIn(std::string_view ranges);

}  // namespace halograph
