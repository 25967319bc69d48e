// A snapshot as JSON, for a page and for other programs: an array of what the message `Metric` of
// the Stats call is in protobuf's JSON, but that integers are numbers:
//   {"name", "kind": "COUNTER" | "GAUGE" | "HISTOGRAM", "unit": "" | "seconds" | "bytes" | "ratio",
//   "help",
//    "bounds": [...], "series": [{"labels": [{"name", "value"}], "value", "count", "sum", "counts":
//    [...]}]}
// All fields are there. `bounds`, `count`, `sum` and `counts` (a bucket each, not cumulative, one
// more than bounds) are of histograms; `counts` is empty while `count` is 0. What is no finite
// number is a text, as protobuf has it: "NaN", "Infinity", "-Infinity". A pure function.
#pragma once

#include "common/metrics/snapshot.h"
#include "common/storage/json.h"

namespace halograph {

[[nodiscard]] Json MetricsJson(const MetricsSnapshot& snapshot);

}  // namespace halograph
