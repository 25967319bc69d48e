#include "trainer/output/table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/base/units.h"

namespace halograph {
namespace {

// Of metrics that are no shares, these are parts of the metric itself.
// A metric that is higher by less has not been learnt.
constexpr double kLeastGain = 0.01;
// A run whose last quarter brought so much was still getting better.
constexpr double kLeastRise = 0.005;
// A model that is so much better on the nodes that it was trained on has learnt them by heart.
constexpr double kOverfit = 0.2;
// Of columns that vary so many times as much as others little but the former is learnt.
constexpr double kUnlike = 100;

std::string OrNone(const std::optional<double>& value) {
  return value.has_value() ? fmt::format("{:.4f}", *value) : "none";
}

std::string Line(std::string_view name, std::string_view value, std::string_view remark = {}) {
  return fmt::format("{:<28} {:>14}{}{}\n", name, value, remark.empty() ? "" : "   ", remark);
}

// How far two values of the metric are apart.
double Gap(const RunSummary& summary, double a, double b) {
  const double unit = summary.share ? 1 : std::max(std::abs(a), std::abs(b));
  return a == b ? 0 : std::abs(a - b) / unit;
}

std::string_view SetOfBaseline(const RunSummary& summary) {
  return summary.test.has_value() ? "test" : "validation";
}

bool LearntNothing(const RunSummary& summary) {
  const auto reached = summary.test.has_value() ? summary.test : summary.valid;
  return summary.most_frequent.has_value() && reached.has_value() &&
         *reached < *summary.most_frequent + kLeastGain;
}

// Why there are fewer epochs than asked for.
std::string EndRemark(const RunSummary& summary) {
  if (summary.stopped) return fmt::format("(of {}: stopped by a signal)", summary.epochs);
  if (summary.limit.empty()) return "";
  return fmt::format("(of {}: ended by --{})", summary.epochs, summary.limit);
}

}  // namespace

std::vector<std::string> Advice(const RunSummary& summary) {
  std::vector<std::string> advice;
  if (LearntNothing(summary)) {
    advice.push_back(fmt::format(
        "the {0} {1} is that of naming always the most frequent class: try --lr {2:.2g} (it was "
        "{3:g}), more --epochs{4}",
        SetOfBaseline(summary), summary.metric, summary.learning_rate / 3, summary.learning_rate,
        summary.normalized ? "" : ", or --normalize-features row"));
  }
  if (summary.unlike.has_value() && summary.unlike->ratio > kUnlike) {
    advice.push_back(fmt::format(
        "the inputs are of different scales: the standard deviation of column {} is {:.0f} times "
        "that of column {}: --normalize-features standard may help",
        summary.unlike->wide, summary.unlike->ratio, summary.unlike->narrow));
  }
  if (!summary.stopped && summary.valid.has_value() && summary.earlier.has_value() &&
      Gap(summary, *summary.valid, *summary.earlier) >= kLeastRise) {
    advice.push_back(fmt::format(
        "the validation {} was still getting better at the end: more --epochs may {} it",
        summary.metric, *summary.valid > *summary.earlier ? "raise" : "lower"));
  }
  if (summary.valid.has_value() && summary.weight_decay == 0 &&
      Gap(summary, summary.train, *summary.valid) >= kOverfit) {
    advice.push_back(
        fmt::format("the {0} is {1:.4f} on the training set and {2:.4f} on the validation set: "
                    "--weight-decay 0.005{3} may bring the two together",
                    summary.metric, summary.train, *summary.valid,
                    summary.normalized ? "" : ", or 0.0005 with --normalize-features row,"));
  }
  return advice;
}

std::string SummaryTable(const RunSummary& summary) {
  const auto per_epoch = [&](double seconds) {
    return fmt::format("{:.3f}",
                       seconds / static_cast<double>(std::max<int64_t>(1, summary.epochs_done)));
  };
  std::string table = Line("epochs", fmt::to_string(summary.epochs_done), EndRemark(summary)) +
                      Line("best epoch by validation", fmt::to_string(summary.best_epoch + 1),
                           "(the next three lines are its own)") +
                      Line("training loss", fmt::format("{:.4f}", summary.loss)) +
                      Line(fmt::format("validation {}", summary.metric), OrNone(summary.valid)) +
                      Line(fmt::format("test {}", summary.metric), OrNone(summary.test));
  if (summary.most_frequent.has_value()) {
    table += Line("most frequent class", OrNone(summary.most_frequent),
                  fmt::format("(its share of the {} set)", SetOfBaseline(summary)));
  }
  table +=
      Line("training seconds per epoch", per_epoch(summary.train_seconds)) +
      Line("evaluation seconds per epoch", per_epoch(summary.eval_seconds)) +
      Line("seconds in all", fmt::format("{:.3f}", summary.total_seconds)) +
      Line(
          "sampled edges per second",
          FormatCount(std::llround(summary.sampled_edges / std::max(summary.train_seconds, 1e-9))));
  for (const std::string& sentence : Advice(summary)) table += "advice: " + sentence + "\n";
  return table;
}

}  // namespace halograph
