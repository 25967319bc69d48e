// Names of files that are a prefix and a number of so many digits, or more: "segment-000007".
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace halograph {

struct NumberedName {
  std::string_view prefix;
  int digits = 0;

  [[nodiscard]] std::string Of(int64_t number) const {
    return fmt::format("{}{:0{}}", prefix, number, digits);
  }
  // Null: Of gives no such name.
  [[nodiscard]] std::optional<int64_t> Number(std::string_view name) const {
    if (!name.starts_with(prefix)) return std::nullopt;
    const std::string_view rest = name.substr(prefix.size());
    int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const bool whole = error == std::errc() && end == rest.data() + rest.size();
    return whole && number >= 0 && Of(number) == name ? std::optional(number) : std::nullopt;
  }
};

}  // namespace halograph
