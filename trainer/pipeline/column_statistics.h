// Means and deviations of a feature's columns, out of the rows of some nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/row_store.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/graph/tensor_ref.h"
#include "trainer/pipeline/column_scales.h"

namespace halograph {

// Takes rows one after the other, and keeps mean and squared distance from it in float64 (Welford):
// the result depends on the rows and their order alone, not on how many come at once.
class ColumnStatistics {
 public:
  explicit ColumnStatistics(int64_t columns)
      : mean_(static_cast<size_t>(columns)), squares_(static_cast<size_t>(columns)) {}

  void Add(std::span<const float> row);
  // Of the rows so far; of none, means and deviations are 0.
  [[nodiscard]] ColumnScales Scales() const;

 private:
  double rows_ = 0;
  std::vector<double> mean_, squares_;
};

// Of the rows of `nodes`, in their order, as the model gets them without normalisation: float32.
// At most kStatisticsBytes of them are held at a time.
//   FailedPrecondition  a column has a value that is not finite, or that overflows float32
//   else                as RowStore::Pull
inline constexpr int64_t kStatisticsBytes = int64_t{4} << 20;
[[nodiscard]] StatusOr<ColumnScales> ReadColumnScales(RowStore& rows, const TensorRef& feature,
                                                      const TensorSpec& spec,
                                                      std::span<const int64_t> nodes,
                                                      CallContext& context);

}  // namespace halograph
