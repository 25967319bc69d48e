#include "common/program/option_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "common/base/units.h"

namespace halograph::option_values {
namespace {

constexpr std::array<std::string_view, 4> kTrue = {"true", "yes", "on", "1"};
constexpr std::array<std::string_view, 4> kFalse = {"false", "no", "off", "0"};

// The whole of `text` as a number; `base` of whole ones.
template <typename T, typename... Base>
bool ReadWhole(std::string_view text, T* value, Base... base) {
  T read{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, read, base...);
  if (text.empty() || error != std::errc() || stopped != end) return false;
  *value = read;
  return true;
}

std::string_view WithoutPlus(std::string_view text) {
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+';
  return plus ? text.substr(1) : text;
}

template <typename T>
bool ReadInteger(std::string_view text, T* value) {
  text = WithoutPlus(text);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    return !text.starts_with('-') && ReadWhole(text, value, 16);
  }
  return ReadWhole(text, value, 10);
}

}  // namespace

bool Read(std::string_view text, NumberUnit /*unit*/, bool* value) {
  for (size_t i = 0; i < kTrue.size(); ++i) {
    if (text != kTrue[i] && text != kFalse[i]) continue;
    *value = text == kTrue[i];
    return true;
  }
  return false;
}

bool Read(std::string_view text, NumberUnit /*unit*/, int* value) {
  return ReadInteger(text, value);
}

bool Read(std::string_view text, NumberUnit unit, int64_t* value) {
  if (unit == NumberUnit::kNone) return ReadInteger(text, value);
  const StatusOr<int64_t> bytes = ParseBytes(text);
  if (bytes.ok()) *value = *bytes;
  return bytes.ok();
}

bool Read(std::string_view text, NumberUnit /*unit*/, uint64_t* value) {
  return ReadInteger(text, value);
}

bool Read(std::string_view text, NumberUnit /*unit*/, double* value) {
  double read = 0;
  if (!ReadWhole(WithoutPlus(text), &read) || !std::isfinite(read)) return false;
  *value = read;
  return true;
}

bool Read(std::string_view text, NumberUnit /*unit*/, std::string* value) {
  *value = text;
  return true;
}

bool Read(std::string_view text, NumberUnit /*unit*/, std::filesystem::path* value) {
  *value = text;
  return true;
}

bool Read(std::string_view text, NumberUnit /*unit*/, std::chrono::nanoseconds* value) {
  const StatusOr<std::chrono::nanoseconds> duration = ParseDuration(text);
  if (duration.ok()) *value = *duration;
  return duration.ok();
}

std::string Write(bool value, NumberUnit /*unit*/) { return value ? "true" : "false"; }

std::string Write(int value, NumberUnit /*unit*/) { return fmt::format("{}", value); }

std::string Write(int64_t value, NumberUnit unit) {
  if (unit == NumberUnit::kBytes && value > 0) {
    constexpr std::array<std::string_view, 4> kUnits = {"TiB", "GiB", "MiB", "KiB"};
    for (size_t i = 0; i < kUnits.size(); ++i) {
      const int64_t bytes = int64_t{1} << 10 * (kUnits.size() - i);
      if (value % bytes == 0) return fmt::format("{}{}", value / bytes, kUnits[i]);
    }
  }
  return fmt::format("{}", value);
}

std::string Write(uint64_t value, NumberUnit /*unit*/) { return fmt::format("{}", value); }

std::string Write(double value, NumberUnit /*unit*/) { return fmt::format("{}", value); }

std::string Write(const std::string& value, NumberUnit /*unit*/) { return value; }

std::string Write(const std::filesystem::path& value, NumberUnit /*unit*/) {
  return value.string();
}

std::string Write(std::chrono::nanoseconds value, NumberUnit /*unit*/) {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::seconds;
  if (duration_cast<seconds>(value) == value) {
    return fmt::format("{}s", duration_cast<seconds>(value).count());
  }
  if (duration_cast<milliseconds>(value) == value) {
    return fmt::format("{}ms", duration_cast<milliseconds>(value).count());
  }
  return fmt::format("{:.9f}s", std::chrono::duration<double>(value).count());
}

}  // namespace halograph::option_values
