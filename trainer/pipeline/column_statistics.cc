#include "trainer/pipeline/column_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/storage/widen_rows.h"

namespace halograph {
namespace {

bool FitsFloat(double value) {
  return std::abs(value) <= double{std::numeric_limits<float>::max()};
}

}  // namespace

void ColumnStatistics::Add(std::span<const float> row) {
  rows_ += 1;
  const double share = 1 / rows_;
  double* const mean = mean_.data();
  double* const squares = squares_.data();
  for (size_t column = 0; column < row.size(); ++column) {
    const double distance = row[column] - mean[column];
    mean[column] += distance * share;
    squares[column] += distance * (row[column] - mean[column]);
  }
}

ColumnScales ColumnStatistics::Scales() const {
  ColumnScales scales{.mean = mean_, .deviation = squares_};
  for (double& value : scales.deviation) value = std::sqrt(value / std::max(1.0, rows_));
  return scales;
}

StatusOr<ColumnScales> ReadColumnScales(RowStore& rows, const TensorRef& feature,
                                        const TensorSpec& spec, std::span<const int64_t> nodes,
                                        CallContext& context) {
  const auto row_bytes = static_cast<int64_t>(
      std::max(spec.row_bytes(), static_cast<size_t>(spec.dim) * sizeof(float)));
  const auto at_once = static_cast<size_t>(std::max<int64_t>(1, kStatisticsBytes / row_bytes));
  const auto dim = static_cast<size_t>(spec.dim);
  std::vector<std::byte> stored;
  std::vector<float> values;
  ColumnStatistics statistics(spec.dim);
  for (size_t begin = 0; begin < nodes.size(); begin += at_once) {
    const std::span<const int64_t> some =
        nodes.subspan(begin, std::min(at_once, nodes.size() - begin));
    stored.resize(some.size() * spec.row_bytes());
    values.resize(some.size() * dim);
    HG_RETURN_IF_ERROR(rows.Pull({.tensor = feature, .ids = some, .out = stored}, context));
    WidenRows({spec.dtype, spec.dim, stored.data()}, std::ssize(some), values.data(), spec.dim);
    for (size_t i = 0; i < some.size(); ++i) {
      statistics.Add(std::span(values).subspan(i * dim, dim));
    }
  }
  ColumnScales scales = statistics.Scales();
  for (size_t column = 0; column < dim; ++column) {
    if (FitsFloat(scales.mean[column]) && FitsFloat(scales.deviation[column])) continue;
    return FailedPrecondition(
        "feature '{}' of node type '{}': column {} (from 0) has no mean and deviation: a value is "
        "not finite, or as large as no float32. Replace such values, and partition the graph again",
        feature.name, feature.type, column);
  }
  return scales;
}

}  // namespace halograph
