// What --normalize-features standard knows of features: the mean and the deviation of each column,
// and how rows are brought to a mean of 0 and a deviation of 1 by them. Plain values; pure
// functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"

namespace halograph {

// Of one feature, as many of each as it has columns; finite. A deviation is the root of the mean
// square distance from the mean, 0 of a column whose values are all alike.
struct ColumnScales {
  std::vector<double> mean, deviation;

  [[nodiscard]] int64_t columns() const { return static_cast<int64_t>(mean.size()); }
  bool operator==(const ColumnScales&) const = default;
};

// By node type, then feature.
using FeatureScales = std::map<std::string, std::map<std::string, ColumnScales>>;

// {type: {feature: {"mean": [...], "deviation": [...]}}}; every number is read back as it was.
[[nodiscard]] Json ToJson(const FeatureScales& scales);
// DataLoss naming `where`, node type and feature: a field is missing, no list of numbers, or not as
// long as the other; or a deviation is below 0.
[[nodiscard]] StatusOr<FeatureScales> FeatureScalesFromJson(const Json& json,
                                                            std::string_view where);

// x becomes (x - mean) * (1 / deviation) in float32, column by column: the same bits for the same
// scales. Where 1 / deviation is no float32, above all for a deviation of 0, it counts as 1.
// Immutable.
class Standardizer {
 public:
  explicit Standardizer(const ColumnScales& scales);

  // In place: row i begins at values + i * stride. Requires stride >= columns.
  void Apply(float* values, int64_t rows, int64_t stride) const;

 private:
  std::vector<float> mean_, factor_;
};

}  // namespace halograph
