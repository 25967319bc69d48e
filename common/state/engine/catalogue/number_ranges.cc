#include "common/state/engine/catalogue/number_ranges.h"

#include <charconv>

#include <fmt/format.h>

namespace halograph {
namespace {

constexpr uint32_t kMostOfARange = 10'000'000;  // damage does not take all memory

bool TakeNumber(std::string_view* text, uint32_t* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

bool TakeSign(std::string_view* text, char sign) {
  if (!text->starts_with(sign)) return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

std::string RangesOf(const std::set<uint32_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const uint32_t first = *at;
    uint32_t last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    text += text.empty() ? "" : ",";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

std::optional<std::set<uint32_t>> NumbersIn(std::string_view ranges) {
  std::set<uint32_t> numbers;
  while (!ranges.empty()) {
    uint32_t first = 0;
    if (!TakeNumber(&ranges, &first)) return std::nullopt;
    uint32_t last = first;
    if (TakeSign(&ranges, '-') && !TakeNumber(&ranges, &last)) return std::nullopt;
    if (last < first || last - first > kMostOfARange) return std::nullopt;
    for (uint64_t number = first; number <= last; ++number) {
      numbers.insert(numbers.end(), static_cast<uint32_t>(number));
    }
    if (!ranges.empty() && (!TakeSign(&ranges, ',') || ranges.empty())) return std::nullopt;
  }
  return numbers;
}

}  // namespace halograph
