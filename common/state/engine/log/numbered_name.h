// Names of files that end with their number: "segment-000007". A plain function.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace halograph {

// The number behind `prefix`, which is all of the rest. Null: the name is another one.
[[nodiscard]] inline std::optional<int64_t> NumberBehind(std::string_view prefix,
                                                         std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace halograph
