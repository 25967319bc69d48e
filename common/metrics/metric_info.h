// What a metric is: its name as Prometheus has it, its unit, its help and its labels; and the rules
// that they keep. Values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/base/status.h"

namespace halograph {

enum class MetricKind { kCounter, kGauge, kHistogram };

// The base unit of the values. The name says it: `..._seconds`, `..._bytes`, `..._ratio`, and
// behind that `_total` of a counter. What is counted (calls, rows) has none.
enum class MetricUnit { kNone, kSeconds, kBytes, kRatio };

struct MetricInfo {
  std::string name;  // "halograph_pull_bytes_total"
  MetricUnit unit = MetricUnit::kNone;
  std::string help;  // one line: what is counted, and when
};

struct MetricLabel {
  std::string name;
  std::string value;

  friend bool operator==(const MetricLabel&, const MetricLabel&) = default;
  friend bool operator<(const MetricLabel& a, const MetricLabel& b) {
    return std::tie(a.name, a.value) < std::tie(b.name, b.value);
  }
};
using Labels = std::vector<MetricLabel>;

// Bytes of a label's value that are kept. More is cut, and ends with "..."; control characters and
// bytes that are no UTF-8 stand there as \xNN (common/base/printable.h).
inline constexpr size_t kLabelValueBytes = 128;
// The label value of all series beyond those that a family may have.
inline constexpr std::string_view kOtherLabel = "other";

[[nodiscard]] std::string_view KindName(MetricKind kind);  // "COUNTER", "GAUGE", "HISTOGRAM"
[[nodiscard]] std::string_view UnitName(MetricUnit unit);  // "", "seconds", "bytes", "ratio"

// InvalidArgument with the rule that is broken: the name is lower-case words, ends in its unit and
// only a counter's in `_total`, and has no suffix that the text format adds itself; the help is one
// line.
[[nodiscard]] Status CheckMetricInfo(const MetricInfo& info, MetricKind kind);

// InvalidArgument naming the label that is no lower-case word, is kept for the text format ("le"),
// or stands there twice. `names` ascend.
[[nodiscard]] Status CheckLabelNames(const std::vector<std::string>& names);

}  // namespace halograph
