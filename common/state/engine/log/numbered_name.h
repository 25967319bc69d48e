// Names of files that end with their number: "segment-000007". A plain value.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace halograph {

struct NumberedName {
  std::string_view prefix;
  int digits = 0;  // at least: zeros fill them

  [[nodiscard]] std::string Of(int64_t number) const {
    return fmt::format("{}{:0{}}", prefix, number, digits);
  }
  // Null: no number from 0 upward has this name.
  [[nodiscard]] std::optional<int64_t> Number(std::string_view name) const {
    if (!name.starts_with(prefix)) return std::nullopt;
    const std::string_view text = name.substr(prefix.size());
    int64_t number = 0;
    const auto error = std::from_chars(text.data(), text.data() + text.size(), number).ec;
    const bool fits = error == std::errc() && number >= 0 && Of(number) == name;
    return fits ? std::optional(number) : std::nullopt;
  }
};

}  // namespace halograph
