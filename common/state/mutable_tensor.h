// What a mutable tensor is: the rows it has, how they begin, and what a pushed gradient does to
// them. Plain values; const use is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/status.h"
#include "common/graph/tensor_ref.h"
#include "common/storage/dtype.h"
#include "common/storage/json.h"

namespace halograph {

// Which rows a tensor has, and which partition owns each.
enum class Placement : uint8_t {
  kNodes,  // one row a node of ref.type, where the node is
  kEdges,  // one row an edge of ref.type, where the edge is
  kRange,  // `rows` rows of no graph object, in as many equal ranges as there are partitions
  kHash,   // the same, ids spread over the partitions by a fixed bijection
};

// How rows begin: values of a counter-based stream keyed by the seed and the *original* id of the
// row (for kRange and kHash its id), so that they do not depend on the partitioning.
struct Initializer {
  enum class Kind : uint8_t { kZeros, kConstant, kUniform, kNormal, kXavier };
  Kind kind = Kind::kZeros;
  double a = 0;  // kConstant: the value; kUniform: from a; kNormal: mean
  double b = 0;  // kUniform: to b (reached by rounding only); kNormal: standard deviation
  uint64_t seed = 0;
  // kXavier: uniform within +-sqrt(6 / (rows + dim)), of the whole tensor's rows.
  // A field that the kind does not use has its default.
  bool operator==(const Initializer&) const = default;
};

// What a pushed gradient g does to its row w; duplicates of an id were summed before. Rows that
// nobody pushed stay as they are (Adam too: its bias correction counts the row's own updates).
// Always first: g += weight_decay * w. Then, column by column in float32, rounded after every
// operation in the order of the formula; state begins with zeros:
//   kSgd         m = momentum * m + g;  w -= learning_rate * m          (no m if momentum is 0)
//   kAdagrad     s += g * g;  w -= (learning_rate * g) / (sqrt(s) + epsilon)
//   kRowAdagrad  s += (sum of g * g) / dim;  w -= (learning_rate / (sqrt(s) + epsilon)) * g;
//                one s a row; 16 sums, of every 16th column each, are added up in halves
//   kAdam        m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + ((1 - beta2) * g) * g;
//                w -= (rate * m) / (sqrt(v) * scale + epsilon) with, in float64,
//                rate = learning_rate / (1 - beta1^t), scale = 1 / sqrt(1 - beta2^t), t-th update
// A field that the kind does not use has its default.
struct RowOptimizer {
  enum class Kind : uint8_t { kNone, kSgd, kAdagrad, kRowAdagrad, kAdam };
  Kind kind = Kind::kNone;  // kNone: gradients are refused; add and assign are not
  double learning_rate = 0.01;
  double momentum = 0;     // kSgd; in [0, 1)
  double epsilon = 1e-10;  // kAdagrad, kRowAdagrad, kAdam; at least 1e-30
  double beta1 = 0.9;      // kAdam; in [0, 1)
  double beta2 = 0.999;    // kAdam; in [0, 1)
  double weight_decay = 0;
  bool operator==(const RowOptimizer&) const = default;
};

inline constexpr int64_t kMaxTensorDim = 65536;
inline constexpr int64_t kMaxTensorRows = int64_t{1} << 40;  // kRange, kHash
inline constexpr size_t kMaxTensorNameBytes = 200;           // percent-encoded, as files are named

struct MutableTensorSpec {
  TensorRef ref;  // kRange, kHash: ref.type is empty
  Placement placement = Placement::kNodes;
  int64_t rows = 0;  // kRange, kHash; else 0: the graph says
  int64_t dim = 1;
  // kFloat32, kFloat16 or kBFloat16. Rows are rounded to it, to nearest even, with each update: no
  // copy of more bits is kept. Optimizer state is float32.
  DType dtype = DType::kFloat32;
  Initializer initializer;
  RowOptimizer optimizer;

  // InvalidArgument naming the field, its value and what it may be. An initializer is not valid if
  // a value could be infinite in the dtype.
  [[nodiscard]] Status Validate() const;
  // InvalidArgument naming the first field in which they differ, with both values.
  [[nodiscard]] Status SameAs(const MutableTensorSpec& other) const;
  [[nodiscard]] Json ToJson() const;
  // DataLoss naming what is missing, unknown, of another kind, or not valid.
  [[nodiscard]] static StatusOr<MutableTensorSpec> FromJson(const Json& json);

  bool operator==(const MutableTensorSpec&) const = default;
};

}  // namespace halograph
