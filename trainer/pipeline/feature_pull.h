// The features of a minibatch's nodes on their way: which rows are pulled, where they go, and how
// they become the matrices that a step has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "client/row_store.h"
#include "common/base/status.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/feature_matrix.h"

namespace halograph {

// Columns of each of `types` node types, of all its inputs together.
[[nodiscard]] std::vector<int64_t> ColumnsOf(const BatchRecipe& recipe, size_t types);
// Whether a tensor's rows are, as they are stored, what layers' rows can be made of: those of other
// dtypes, and where several stand side by side, are converted to float32 first. `columns`: of its
// node type.
[[nodiscard]] bool TakenAsStored(const NodeInput& input, int64_t columns);
// Of rows that are taken as stored.
[[nodiscard]] Precision PrecisionOf(const TensorSpec& spec);

// Of one minibatch, all in one call. Used by one thread at a time.
class FeaturePull {
 public:
  using InPlace = std::vector<std::optional<RowsInPlace>>;  // by node type

  // `nodes`: by node type, those whose rows are pulled. Types that are in place have matrices of no
  // columns. All three outlive it.
  //   Internal  an input is to be standardized and has no means and deviations
  [[nodiscard]] static StatusOr<std::shared_ptr<FeaturePull>> Create(
      const BatchRecipe& recipe, const InPlace& in_place,
      std::span<const std::vector<int64_t>> nodes);
  FeaturePull(const FeaturePull&) = delete;
  FeaturePull& operator=(const FeaturePull&) = delete;
  ~FeaturePull();

  // What to pull; nothing where all types are in place.
  [[nodiscard]] std::span<const RowRequest> requests() const { return requests_; }
  // Adds to the context's figures the rows that are read where they are.
  void CountInPlace(CallContext* context) const;
  // Once the rows are there: by node type.
  [[nodiscard]] std::vector<FeatureMatrix> Take();

 private:
  class Incoming;  // rows of one tensor
  FeaturePull();

  struct InPlaceRows {
    TensorRef tensor;
    size_t rows = 0;
    size_t row_bytes = 0;
  };

  std::vector<FeatureMatrix> features_;
  std::vector<Incoming> incoming_;
  std::vector<RowRequest> requests_;
  std::vector<InPlaceRows> in_place_;
};

}  // namespace halograph
