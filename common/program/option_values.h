// Values of options as text, for options.cc. Pure functions, one of each kind a type of field.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/program/options.h"

namespace halograph::option_values {

// What `Read` takes: numbers in base 10, whole ones also as 0x1F, none that is infinite or no
// number; true, false, yes, no, on, off, 1, 0; sizes and durations as common/base/units.h has them.
// False, and `*value` is as before, for anything else.
[[nodiscard]] bool Read(std::string_view text, NumberUnit unit, bool* value);
[[nodiscard]] bool Read(std::string_view text, NumberUnit unit, int* value);
[[nodiscard]] bool Read(std::string_view text, NumberUnit unit, int64_t* value);
[[nodiscard]] bool Read(std::string_view text, NumberUnit unit, uint64_t* value);
[[nodiscard]] bool Read(std::string_view text, NumberUnit unit, double* value);
[[nodiscard]] bool Read(std::string_view text, NumberUnit unit, std::string* value);
[[nodiscard]] bool Read(std::string_view text, NumberUnit unit, std::filesystem::path* value);
[[nodiscard]] bool Read(std::string_view text, NumberUnit unit, std::chrono::nanoseconds* value);

// The words of a list, with commas between them. One that begins with a quote ("a,b") goes to the
// next quote, and two quotes in it are one. InvalidArgument: such a word has no end, or something
// other than a comma behind its end.
[[nodiscard]] StatusOr<std::vector<std::string>> SplitAtCommas(std::string_view text);
// A word as SplitAtCommas reads it: in quotes if it has a comma or begins with a quote.
[[nodiscard]] std::string QuotedIfNeedBe(std::string_view word);

// Text that Read takes for the value.
[[nodiscard]] std::string Write(bool value, NumberUnit unit);
[[nodiscard]] std::string Write(int value, NumberUnit unit);
[[nodiscard]] std::string Write(int64_t value, NumberUnit unit);
[[nodiscard]] std::string Write(uint64_t value, NumberUnit unit);
[[nodiscard]] std::string Write(double value, NumberUnit unit);
[[nodiscard]] std::string Write(const std::string& value, NumberUnit unit);
[[nodiscard]] std::string Write(const std::filesystem::path& value, NumberUnit unit);
[[nodiscard]] std::string Write(std::chrono::nanoseconds value, NumberUnit unit);

// Kind: "a whole number", for messages. Placeholder: "N", for --help.
struct Kind {
  std::string_view text;
  std::string_view placeholder;
};
template <typename T>
[[nodiscard]] constexpr Kind KindOf(NumberUnit unit) {
  if (unit == NumberUnit::kBytes) return {"a size such as 4096, 64KiB, 8GiB or 10MB", "SIZE"};
  if constexpr (std::is_same_v<T, bool>) return {"true or false", ""};
  if constexpr (std::is_same_v<T, uint64_t>) return {"a whole number of 0 or more", "N"};
  if constexpr (std::is_integral_v<T>) return {"a whole number", "N"};
  if constexpr (std::is_same_v<T, double>) return {"a number", "NUMBER"};
  if constexpr (std::is_same_v<T, std::filesystem::path>) return {"a path", "PATH"};
  if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
    return {"a duration such as 500ms, 30s, 2m or 1h", "TIME"};
  }
  return {"text", "NAME"};
}

}  // namespace halograph::option_values
