// How good a model is at nodes, as sums that add up over batches, steps and ranks.
//
// One class a node (classification):
//   accuracy  share of nodes classified correctly
//   micro-f1  2 TP / (2 TP + FP + FN) over all classes together: the accuracy, as every wrong node
//   is
//             an FP of one class and an FN of another
//   macro-f1  the mean of the classes' own F1, over the classes that occur as label or as
//   prediction roc-auc   of two classes: of the second one's probability. Of more: the mean over
//   classes of each
//             one's against the others'
// Several labels a node (multi-label), of all that are known; a label is predicted where its
// probability is above 1/2:
//   micro-f1  over all labels together
//   macro-f1  the mean over labels that occur as label or as prediction
//   roc-auc   the mean over labels
// Values (regression), over all columns:
//   rmse      root of the mean squared error
//   mae       mean absolute error
//
// ROC-AUC: the share of pairs of a positive and a negative row in which the positive one has the
// higher score, ties counting half. A rank keeps no scores but counts them in bins: kAucBins of
// equal width between -kAucRange and kAucRange on the scale of logits (what is beyond is in the
// last ones). Pairs within a bin count as ties, so the error is at most half of the share of pairs
// that are in one bin. Where scores spread over 1 or more on that scale, it is below 0.002. Classes
// and labels without a positive or without a negative row are left out of the mean; where none is
// left it is NaN.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "trainer/seeds/node_labels.h"
#include "trainer/tasks/task.h"

namespace halograph {

inline constexpr int64_t kAucBins = 4096;
inline constexpr double kAucRange = 16;
inline constexpr int64_t kMostAucColumns = 1024;  // sums of 64 KiB each

// Immutable.
class NodeMetric {
 public:
  explicit NodeMetric(const Metric& metric) : metric_(metric) {}
  virtual ~NodeMetric() = default;

  [[nodiscard]] const Metric& metric() const { return metric_; }
  // Adds what some rows contribute. `scores`: what the model gives for them, float32 [rows,
  // columns]. `labels`: int64 [rows], none of them kUnlabelled (classification); int8 [rows,
  // columns], 0, 1 or kUnlabelled (multi-label); float32 [rows, columns], finite (regression).
  virtual void Measure(const torch::Tensor& scores, const torch::Tensor& labels,
                       std::span<double> sums) const = 0;
  // NaN where the sums are of no row that tells.
  [[nodiscard]] virtual double Of(std::span<const double> sums) const = 0;

 private:
  const Metric metric_;
};

// Those named, or the default of the kind. `columns`: classes, labels or values of a row.
// InvalidArgument: a metric that the kind does not have (those that it has are named), or roc-auc
// of more than kMostAucColumns.
[[nodiscard]] StatusOr<std::vector<std::unique_ptr<NodeMetric>>> MakeNodeMetrics(
    const std::vector<std::string>& names, NodeTaskKind kind, int64_t columns,
    const std::string& task);

}  // namespace halograph
