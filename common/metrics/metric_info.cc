#include "common/metrics/metric_info.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace halograph {
namespace {

constexpr std::string_view kTotal = "_total";
// Units that are not base units, and what only the text format may add.
constexpr std::array<std::string_view, 14> kBadWords = {
    "ms",    "us",        "ns",        "milliseconds", "microseconds", "nanoseconds", "minutes",
    "hours", "kilobytes", "megabytes", "gigabytes",    "kb",           "mb",          "gb"};
constexpr std::array<std::string_view, 4> kOfTheFormat = {"_bucket", "_count", "_sum",
                                                          "_info_total"};

bool IsWord(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// The word of `name` that is a unit other than a base unit; empty if there is none.
std::string_view BadWord(std::string_view name) {
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find('_'));
    if (std::find(kBadWords.begin(), kBadWords.end(), word) != kBadWords.end()) return word;
    name.remove_prefix(std::min(name.size(), word.size() + 1));
  }
  return {};
}

}  // namespace

std::string_view KindName(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "COUNTER";
    case MetricKind::kGauge:
      return "GAUGE";
    case MetricKind::kHistogram:
      return "HISTOGRAM";
  }
  return "unknown";
}

std::string_view UnitName(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kNone:
      return "";
    case MetricUnit::kSeconds:
      return "seconds";
    case MetricUnit::kBytes:
      return "bytes";
    case MetricUnit::kRatio:
      return "ratio";
  }
  return "unknown";
}

Status CheckMetricInfo(const MetricInfo& info, MetricKind kind) {
  std::string_view stem = info.name;
  if (!IsWord(stem)) {
    return InvalidArgument("metric '{}': a name is of a-z, 0-9 and _, and begins with a letter",
                           stem);
  }
  if (stem.ends_with(kTotal) != (kind == MetricKind::kCounter)) {
    return InvalidArgument("metric {}: the names of counters, and no others, end in {}", stem,
                           kTotal);
  }
  if (kind == MetricKind::kCounter) stem.remove_suffix(kTotal.size());
  for (const std::string_view suffix : kOfTheFormat) {
    if (stem.ends_with(suffix)) {
      return InvalidArgument("metric {}: the text format itself adds {}", info.name, suffix);
    }
  }
  if (const std::string_view word = BadWord(stem); !word.empty()) {
    return InvalidArgument("metric {}: '{}' is no base unit; use seconds or bytes", info.name,
                           word);
  }
  for (const MetricUnit unit : {MetricUnit::kSeconds, MetricUnit::kBytes, MetricUnit::kRatio}) {
    const std::string suffix = fmt::format("_{}", UnitName(unit));
    if (stem.ends_with(suffix) != (unit == info.unit)) {
      return InvalidArgument(
          "metric {}: a name ends in {} exactly if that is its unit, which is '{}'", info.name,
          suffix, UnitName(info.unit));
    }
  }
  const auto odd = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\\'; };
  if (info.help.empty() || std::any_of(info.help.begin(), info.help.end(), odd)) {
    return InvalidArgument("metric {}: the help is one line of text without backslashes",
                           info.name);
  }
  return OkStatus();
}

Status CheckLabelNames(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (!IsWord(names[i]) || names[i].starts_with("__") || names[i] == "le" ||
        names[i] == "quantile") {
      return InvalidArgument("label '{}': a name is of a-z, 0-9 and _, and neither le nor quantile",
                             names[i]);
    }
    if (i > 0 && names[i] == names[i - 1])
      return InvalidArgument("label {} is there twice", names[i]);
  }
  return OkStatus();
}

}  // namespace halograph
