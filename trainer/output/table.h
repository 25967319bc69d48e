// What a run prints at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace halograph {

struct RunSummary {
  int64_t epochs = 0;
  double loss = 0;              // of the last epoch
  std::string_view metric;      // "accuracy"
  std::optional<double> valid;  // the metric of the best epoch; none: no such set
  std::optional<double> test;
  int64_t best_epoch = 0;
  double train_seconds = 0;  // over epochs
  double sampled_edges = 0;
};

// As lines for people, each with its end of line.
[[nodiscard]] std::string SummaryTable(const RunSummary& summary);

}  // namespace halograph
