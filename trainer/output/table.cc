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

// Whether the first value of the metric is better.
bool Better(const RunSummary& summary, double a, double b) {
  return summary.higher_is_better ? a > b : a < b;
}

std::string_view SetOfBaseline(const RunSummary& summary) {
  return summary.test.has_value() ? "test" : "validation";
}

// Where a model is right nearly always there is nothing more to be had.
bool LearntNothing(const RunSummary& summary) {
  const auto reached = summary.test.has_value() ? summary.test : summary.valid;
  return summary.most_frequent.has_value() && reached.has_value() && *reached + kLeastGain <= 1 &&
         *reached < *summary.most_frequent + kLeastGain;
}

std::string AdviceToLearn(const RunSummary& summary) {
  const std::string found =
      fmt::format("the {} {} is that of naming always the most frequent class",
                  SetOfBaseline(summary), summary.metric);
  if (summary.warming_up) {
    return fmt::format(
        "{}, and the run ended before the learning rate came to --lr {:g}: give fewer "
        "--warmup-steps, or more --epochs",
        found, summary.learning_rate);
  }
  return fmt::format("{}: try --lr {:.2g} (it was {:g}), more --epochs{}", found,
                     summary.learning_rate / 3, summary.learning_rate,
                     summary.normalized ? "" : ", or --normalize-features row");
}

// What is not tried yet against a model that is far better on the nodes that it was trained on;
// empty: nothing that is known here.
std::string AgainstOverfitting(const RunSummary& summary) {
  const bool free = summary.weight_decay == 0;
  if (!summary.embed_weight_decay.has_value()) {
    if (!free) return "";
    return fmt::format("--weight-decay 0.005{}",
                       summary.normalized ? "" : ", or 0.0005 with --normalize-features row,");
  }
  std::string options = free ? "--weight-decay 0.0005" : "";
  const auto add = [&](std::string_view between, std::string_view option) {
    options += fmt::format("{}{}", options.empty() ? "" : between, option);
  };
  // --weight-decay does not reach rows that are learnt.
  if (*summary.embed_weight_decay == 0) add(" and ", "--embed-weight-decay 0.0005");
  if (!summary.own_inputs_by.empty()) add(", or ", summary.own_inputs_by);
  return options;
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
  if (LearntNothing(summary)) advice.push_back(AdviceToLearn(summary));
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
  const std::string remedy = AgainstOverfitting(summary);
  if (summary.valid.has_value() && !remedy.empty() &&
      Better(summary, summary.train, *summary.valid) &&
      Gap(summary, summary.train, *summary.valid) >= kOverfit) {
    advice.push_back(
        fmt::format("the {} is {:.4f} on the training set and {:.4f} on the validation set: {} may "
                    "bring the two together",
                    summary.metric, summary.train, *summary.valid, remedy));
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
