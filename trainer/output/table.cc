#include "trainer/output/table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/base/units.h"

namespace halograph {
namespace {

std::string OrNone(const std::optional<double>& value) {
  return value.has_value() ? fmt::format("{:.4f}", *value) : "none";
}

std::string Line(std::string_view name, std::string_view value, std::string_view remark = {}) {
  return fmt::format("{:<26} {:>14}{}{}\n", name, value, remark.empty() ? "" : "   ", remark);
}

}  // namespace

std::string SummaryTable(const RunSummary& summary) {
  const double seconds = std::max(summary.train_seconds, 1e-9);
  const auto epochs = static_cast<double>(summary.epochs);
  return Line("epochs", fmt::to_string(summary.epochs)) +
         Line("loss", fmt::format("{:.4f}", summary.loss)) +
         Line(fmt::format("validation {}", summary.metric), OrNone(summary.valid)) +
         Line(fmt::format("test {}", summary.metric), OrNone(summary.test),
              fmt::format("(of the best epoch by validation, {})", summary.best_epoch)) +
         Line("seconds per epoch", fmt::format("{:.3f}", seconds / epochs)) +
         Line("sampled edges per second",
              FormatCount(std::llround(summary.sampled_edges / seconds)));
}

}  // namespace halograph
