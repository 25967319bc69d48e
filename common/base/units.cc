#include "common/base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

namespace halograph {
namespace {

constexpr std::array<std::pair<std::string_view, int64_t>, 10> kByteUnits = {{
    {"", 1},
    {"b", 1},
    {"kib", int64_t{1} << 10},
    {"mib", int64_t{1} << 20},
    {"gib", int64_t{1} << 30},
    {"tib", int64_t{1} << 40},
    {"kb", 1'000},
    {"mb", 1'000'000},
    {"gb", 1'000'000'000},
    {"tb", 1'000'000'000'000},
}};

constexpr std::array<std::pair<std::string_view, double>, 5> kTimeUnits = {{
    {"", 1e9},
    {"ms", 1e6},
    {"s", 1e9},
    {"m", 60e9},
    {"h", 3600e9},
}};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The factor that `suffix` stands for.
template <typename Units>
auto FindUnit(const Units& units, std::string_view suffix)
    -> std::optional<decltype(units[0].second)> {
  const std::string lower = Lower(suffix);
  for (const auto& [name, factor] : units) {
    if (name == lower) return factor;
  }
  return std::nullopt;
}

std::string_view Rest(std::string_view text, const char* from) {
  return text.substr(static_cast<size_t>(from - text.data()));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

StatusOr<int64_t> ParseBytes(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto factor = FindUnit(kByteUnits, Rest(text, end));
  int64_t bytes = 0;
  if (error != std::errc() || text.empty() || !IsDigit(text[0]) || !factor ||
      __builtin_mul_overflow(number, *factor, &bytes)) {
    return InvalidArgument(
        "'{}' is no size: write a whole number of bytes below 2^63, or with a unit as in 64KiB, "
        "8GiB, 10MB",
        text);
  }
  return bytes;
}

StatusOr<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const auto factor = FindUnit(kTimeUnits, Rest(text, end));
  const double nanoseconds = number * factor.value_or(1);
  constexpr auto kTooLong = static_cast<double>(std::numeric_limits<int64_t>::max());
  if (error != std::errc() || text.empty() || !(IsDigit(text[0]) || text[0] == '.') || !factor ||
      !(nanoseconds < kTooLong)) {
    return InvalidArgument(
        "'{}' is no duration: write seconds, or a number with a unit as in 500ms, 30s, 2m, 1h",
        text);
  }
  return std::chrono::nanoseconds(std::llround(nanoseconds));
}

std::string FormatBytes(int64_t bytes) {
  constexpr std::array<std::string_view, 6> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would already show as 1024.0.
  for (; std::abs(value) >= 1023.95 && unit + 1 < kNames.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string FormatCount(int64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string FormatSeconds(double seconds) {
  if (!(seconds >= 0)) seconds = 0;
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  if (seconds > 1e15) return fmt::format("{:.1e} s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace halograph
