#include "common/program/option_values.h"

#include <algorithm>
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

constexpr char kQuote = '"';

// Takes the word that `text` begins with off it, up to a comma or the end. One that begins with a
// quote goes to the next quote; two quotes in it are one.
StatusOr<std::string> TakeWord(std::string_view* text) {
  if (!text->starts_with(kQuote)) {
    const size_t end = std::min(text->find(','), text->size());
    std::string word(text->substr(0, end));
    text->remove_prefix(end);
    return word;
  }
  const std::string_view all = *text;
  std::string word;
  for (;;) {
    text->remove_prefix(1);
    const size_t quote = text->find(kQuote);
    if (quote == std::string_view::npos) return InvalidArgument("{}: a quote has no end", all);
    word += text->substr(0, quote);
    text->remove_prefix(quote + 1);
    if (!text->starts_with(kQuote)) break;
    word += kQuote;
  }
  if (text->empty() || text->starts_with(',')) return word;
  return InvalidArgument("{}: no comma after a quote's end", all);
}

}  // namespace

StatusOr<std::vector<std::string>> SplitAtCommas(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    HG_ASSIGN_OR_RETURN(words.emplace_back(), TakeWord(&text));
    if (text.empty()) return words;
    text.remove_prefix(1);
  }
}

std::string QuotedIfNeedBe(std::string_view word) {
  if (!word.starts_with(kQuote) && word.find(',') == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted(1, kQuote);
  for (const char letter : word) quoted.append(letter == kQuote ? 2 : 1, letter);
  return quoted + kQuote;
}

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
