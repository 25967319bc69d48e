// The metrics of link prediction: means over one number of answers, each a sum over them, and
// behind these sums how many answers there are. Immutable.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/tasks/task.h"

namespace halograph {

class LinkFigures {
 public:
  // `keys`: of each, the one first that says which epoch is best; `label`: that one for people.
  LinkFigures(std::vector<std::string> keys, std::string label)
      : keys_(std::move(keys)),
        label_(std::move(label)),
        metric_{
            .key = keys_.front(), .label = label_, .sums = keys_.size() + 1, .comparable = false} {}
  LinkFigures(const LinkFigures&) = delete;
  LinkFigures& operator=(const LinkFigures&) = delete;

  [[nodiscard]] const Metric& metric() const { return metric_; }
  // Out of metric().sums sums: the first, and the others. NaN where there is no answer.
  [[nodiscard]] double First(std::span<const double> sums) const { return Of(sums, 0); }
  [[nodiscard]] std::vector<MetricValue> Others(std::span<const double> sums) const {
    std::vector<MetricValue> values;
    for (size_t i = 1; i < keys_.size(); ++i) values.push_back({keys_[i], Of(sums, i)});
    return values;
  }

 private:
  [[nodiscard]] double Of(std::span<const double> sums, size_t i) const {
    return sums[i] / sums[keys_.size()];
  }

  const std::vector<std::string> keys_;
  const std::string label_;
  const Metric metric_;
};

}  // namespace halograph
