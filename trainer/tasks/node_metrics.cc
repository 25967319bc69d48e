#include "trainer/tasks/node_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/program/options.h"

namespace halograph {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void AddTo(std::span<double> sums, const torch::Tensor& values) {
  const torch::Tensor doubles = values.to(torch::kFloat64).contiguous();
  const auto* const from = doubles.data_ptr<double>();
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += from[i];
}

// ---- one class a node --------------------------------------------------------------------------

// Share of right rows: the accuracy, and the micro F1.
class ShareRight final : public NodeMetric {
 public:
  using NodeMetric::NodeMetric;
  void Measure(const torch::Tensor& scores, const torch::Tensor& labels,
               std::span<double> sums) const override {
    sums[0] += scores.argmax(1).eq(labels).sum().item<double>();
    sums[1] += static_cast<double>(labels.numel());
  }
  double Of(std::span<const double> sums) const override { return sums[0] / sums[1]; }
};

// ---- F1 ----------------------------------------------------------------------------------------

// True positives, false positives and false negatives: of each column, int64 [3, columns].
torch::Tensor CountsOfClasses(const torch::Tensor& scores, const torch::Tensor& labels) {
  const int64_t classes = scores.size(1);
  const torch::Tensor predicted = scores.argmax(1);
  const torch::Tensor right = predicted.eq(labels);
  const torch::Tensor wrong = right.logical_not();
  const auto count = [&](const torch::Tensor& of, const torch::Tensor& where) {
    return torch::bincount(of.masked_select(where), {}, classes);
  };
  return torch::stack({count(labels, right), count(predicted, wrong), count(labels, wrong)});
}

torch::Tensor CountsOfLabels(const torch::Tensor& scores, const torch::Tensor& labels) {
  const torch::Tensor predicted = scores.gt(0);
  const torch::Tensor one = labels.eq(1), zero = labels.eq(0);
  return torch::stack({predicted.logical_and(one).sum(0), predicted.logical_and(zero).sum(0),
                       predicted.logical_not().logical_and(one).sum(0)});
}

double F1(double both, double predicted_only, double labelled_only) {
  return 2 * both / (2 * both + predicted_only + labelled_only);
}

// Sums: the three counts, and the labels that are known.
class MicroF1OfLabels final : public NodeMetric {
 public:
  using NodeMetric::NodeMetric;
  void Measure(const torch::Tensor& scores, const torch::Tensor& labels,
               std::span<double> sums) const override {
    AddTo(sums.first(3), CountsOfLabels(scores, labels).sum(1));
    sums[3] += labels.ne(kUnlabelled).sum().item<double>();
  }
  double Of(std::span<const double> sums) const override {
    if (sums[3] == 0) return kNan;
    return sums[0] == 0 ? 0 : F1(sums[0], sums[1], sums[2]);
  }
};

// Sums: the three counts of every column.
class MacroF1 final : public NodeMetric {
 public:
  MacroF1(const Metric& metric, bool several_labels, int64_t columns)
      : NodeMetric(metric),
        several_labels_(several_labels),
        columns_(static_cast<size_t>(columns)) {}
  void Measure(const torch::Tensor& scores, const torch::Tensor& labels,
               std::span<double> sums) const override {
    AddTo(sums, several_labels_ ? CountsOfLabels(scores, labels) : CountsOfClasses(scores, labels));
  }
  double Of(std::span<const double> sums) const override {
    double sum = 0, occurring = 0;
    for (size_t i = 0; i < columns_; ++i) {
      const double both = sums[i], predicted = sums[columns_ + i],
                   labelled = sums[2 * columns_ + i];
      if (both + predicted + labelled == 0) continue;
      sum += F1(both, predicted, labelled);
      ++occurring;
    }
    return sum / occurring;
  }

 private:
  const bool several_labels_;
  const size_t columns_;
};

// ---- ROC-AUC -----------------------------------------------------------------------------------

size_t BinOf(double score) {
  if (std::isnan(score)) return kAucBins / 2;
  const double place = (std::clamp(score, -kAucRange, kAucRange) + kAucRange) / (2 * kAucRange);
  return static_cast<size_t>(
      std::min<int64_t>(kAucBins - 1, static_cast<int64_t>(place * static_cast<double>(kAucBins))));
}

// `negative`, `positive`: rows in each bin, scores ascending.
double AreaOf(std::span<const double> negative, std::span<const double> positive) {
  double below = 0, pairs = 0, positives = 0;
  for (size_t bin = 0; bin < negative.size(); ++bin) {
    pairs += positive[bin] * (below + negative[bin] / 2);
    below += negative[bin];
    positives += positive[bin];
  }
  return pairs / (below * positives);
}

// Sums: of every column the bins of its negative rows, then those of its positive ones.
class RocAuc final : public NodeMetric {
 public:
  RocAuc(const Metric& metric, bool several_labels, int64_t columns)
      : NodeMetric(metric), several_labels_(several_labels), columns_(columns) {}
  void Measure(const torch::Tensor& scores, const torch::Tensor& labels,
               std::span<double> sums) const override {
    const torch::Tensor logits = LogitsOf(scores).contiguous();
    const torch::Tensor wanted = labels.to(torch::kInt64).contiguous();
    const auto* const score = logits.data_ptr<double>();
    const auto* const label = wanted.data_ptr<int64_t>();
    for (int64_t row = 0; row < scores.size(0); ++row) {
      for (int64_t column = 0; column < columns_; ++column) {
        const int64_t at = row * columns_ + column;
        // Two classes have one column: that of the second.
        const int64_t positive = several_labels_ ? label[at]
                                 : columns_ == 1 ? label[row]
                                                 : int64_t{label[row] == column};
        if (positive == kUnlabelled) continue;
        const auto first = static_cast<size_t>((2 * column + positive) * kAucBins);
        ++sums[first + BinOf(score[at])];
      }
    }
  }
  double Of(std::span<const double> sums) const override {
    double sum = 0, known = 0;
    for (int64_t column = 0; column < columns_; ++column) {
      const auto bins = sums.subspan(static_cast<size_t>(2 * column * kAucBins), 2 * kAucBins);
      const double area = AreaOf(bins.first(kAucBins), bins.last(kAucBins));
      if (std::isnan(area)) continue;  // of one kind only
      sum += area;
      ++known;
    }
    return sum / known;
  }

 private:
  // Of each column, what is for it less what is for all others.
  [[nodiscard]] torch::Tensor LogitsOf(const torch::Tensor& scores) const {
    const torch::Tensor wide = scores.to(torch::kFloat64);
    if (several_labels_) return wide;
    if (scores.size(1) == 2) return wide.select(1, 1) - wide.select(1, 0);
    const torch::Tensor log_share = wide.log_softmax(1);
    return log_share - (-log_share.expm1()).log();
  }

  const bool several_labels_;
  const int64_t columns_;
};

// ---- values ------------------------------------------------------------------------------------

// Sums: the errors, and how many.
class MeanError final : public NodeMetric {
 public:
  MeanError(const Metric& metric, bool squared) : NodeMetric(metric), squared_(squared) {}
  void Measure(const torch::Tensor& scores, const torch::Tensor& labels,
               std::span<double> sums) const override {
    const torch::Tensor errors = scores.to(torch::kFloat64) - labels.to(torch::kFloat64);
    sums[0] += (squared_ ? errors.square() : errors.abs()).sum().item<double>();
    sums[1] += static_cast<double>(errors.numel());
  }
  double Of(std::span<const double> sums) const override {
    const double mean = sums[0] / sums[1];
    return squared_ ? std::sqrt(mean) : mean;
  }

 private:
  const bool squared_;
};

// ---- which there are ---------------------------------------------------------------------------

using MadeMetric = StatusOr<std::unique_ptr<NodeMetric>>;

Metric MetricOf(std::string_view key, std::string_view label, int64_t sums) {
  return {.key = key, .label = label, .sums = static_cast<size_t>(sums)};
}
Metric ErrorOf(std::string_view key, std::string_view label) {
  return {.key = key, .label = label, .sums = 2, .higher_is_better = false, .share = false};
}

MadeMetric MakeShare(NodeTaskKind /*kind*/, int64_t /*columns*/) {
  return std::make_unique<ShareRight>(MetricOf("acc", "accuracy", 2));
}
MadeMetric MakeMicroF1(NodeTaskKind kind, int64_t /*columns*/) {
  if (kind == NodeTaskKind::kClassification) {
    return std::make_unique<ShareRight>(MetricOf("micro_f1", "micro F1", 2));
  }
  return std::make_unique<MicroF1OfLabels>(MetricOf("micro_f1", "micro F1", 4));
}
MadeMetric MakeMacroF1(NodeTaskKind kind, int64_t columns) {
  return std::make_unique<MacroF1>(MetricOf("macro_f1", "macro F1", 3 * columns),
                                   kind == NodeTaskKind::kMultiLabel, columns);
}
MadeMetric MakeRocAuc(NodeTaskKind kind, int64_t columns) {
  const bool several_labels = kind == NodeTaskKind::kMultiLabel;
  if (!several_labels && columns == 2) columns = 1;
  if (columns > kMostAucColumns) {
    return InvalidArgument("takes too much memory for {} columns, expected at most {}", columns,
                           kMostAucColumns);
  }
  return std::make_unique<RocAuc>(MetricOf("roc_auc", "ROC-AUC", 2 * kAucBins * columns),
                                  several_labels, columns);
}
MadeMetric MakeRmse(NodeTaskKind /*kind*/, int64_t /*columns*/) {
  return std::make_unique<MeanError>(ErrorOf("rmse", "RMSE"), true);
}
MadeMetric MakeMae(NodeTaskKind /*kind*/, int64_t /*columns*/) {
  return std::make_unique<MeanError>(ErrorOf("mae", "MAE"), false);
}

struct MetricRow {
  std::string_view name;  // as --metric has it
  NodeTaskKind kind;
  MadeMetric (*make)(NodeTaskKind kind, int64_t columns);
};

// The first of a kind is its default.
constexpr MetricRow kRows[] = {
    {"accuracy", NodeTaskKind::kClassification, MakeShare},
    {"micro-f1", NodeTaskKind::kClassification, MakeMicroF1},
    {"macro-f1", NodeTaskKind::kClassification, MakeMacroF1},
    {"roc-auc", NodeTaskKind::kClassification, MakeRocAuc},
    {"micro-f1", NodeTaskKind::kMultiLabel, MakeMicroF1},
    {"macro-f1", NodeTaskKind::kMultiLabel, MakeMacroF1},
    {"roc-auc", NodeTaskKind::kMultiLabel, MakeRocAuc},
    {"rmse", NodeTaskKind::kRegression, MakeRmse},
    {"mae", NodeTaskKind::kRegression, MakeMae},
};

std::vector<std::string> NamesOf(NodeTaskKind kind) {
  std::vector<std::string> names;
  for (const MetricRow& row : kRows) {
    if (row.kind == kind) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace

StatusOr<std::vector<std::unique_ptr<NodeMetric>>> MakeNodeMetrics(
    const std::vector<std::string>& names, NodeTaskKind kind, int64_t columns,
    const std::string& task) {
  const std::vector<std::string> known = NamesOf(kind);
  std::vector<std::unique_ptr<NodeMetric>> metrics;
  for (const std::string& name : names.empty() ? std::vector{known.front()} : names) {
    const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const MetricRow& r) {
      return r.kind == kind && r.name == name;
    });
    if (row == std::end(kRows)) {
      return InvalidArgument("--metric {}: task '{}' is {}, which has {}", name, task,
                             ToString(kind), OrList(known));
    }
    auto metric = row->make(kind, columns);
    if (!metric.ok()) {
      return Annotate(metric.status(), fmt::format("--metric {}, task '{}'", name, task));
    }
    metrics.push_back(*std::move(metric));
  }
  return metrics;
}

}  // namespace halograph
