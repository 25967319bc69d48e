#include "common/state/engine/catalogue/number_ranges.h"

#include <algorithm>
#include <charconv>
#include <iterator>

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

std::optional<NumberRanges> RangesIn(std::string_view text) {
  NumberRanges ranges;
  while (!text.empty()) {
    uint32_t first = 0;
    if (!TakeNumber(&text, &first)) return std::nullopt;
    uint32_t last = first;
    if (TakeSign(&text, '-') && !TakeNumber(&text, &last)) return std::nullopt;
    if (last < first || last - first > kMostOfARange) return std::nullopt;
    if (!ranges.empty() && ranges.back().second >= first) return std::nullopt;
    ranges.emplace_back(first, last);
    if (!text.empty() && (!TakeSign(&text, ',') || text.empty())) return std::nullopt;
  }
  return ranges;
}

std::optional<std::set<uint32_t>> NumbersIn(std::string_view text) {
  const std::optional<NumberRanges> ranges = RangesIn(text);
  if (!ranges.has_value()) return std::nullopt;
  std::set<uint32_t> numbers;
  for (const auto& [first, last] : *ranges) {
    for (uint64_t number = first; number <= last; ++number) {
      numbers.insert(numbers.end(), static_cast<uint32_t>(number));
    }
  }
  return numbers;
}

bool Contains(const NumberRanges& ranges, uint32_t number) {
  const auto behind =
      std::upper_bound(ranges.begin(), ranges.end(), number,
                       [](uint32_t of, const auto& range) { return of < range.first; });
  return behind != ranges.begin() && std::prev(behind)->second >= number;
}

}  // namespace halograph
