// What a run is told of input rows that it learns: one row a node of some types, kept by the
// RowStore as a mutable tensor (common/state). Knows no libtorch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/program/options.h"
#include "common/state/mutable_tensor.h"

namespace halograph {

// What to do with rows that an earlier run has trained.
enum class EmbedBegin : uint8_t {
  kNew,       // refuse: nothing trained is lost by chance
  kFresh,     // drop them, and begin again
  kContinue,  // go on from them
};

struct EmbeddingOptions {
  // TYPE or TYPE:DIM; empty: every node type without features. A type named here takes its learnt
  // rows in place of its features. Digits alone are a width: of every type without features, and of
  // those named without one. (A type whose name is of digits is written with its width.)
  std::vector<std::string> types;
  std::string name = "embedding";  // of the tensors
  EmbedBegin begin = EmbedBegin::kNew;
  RowOptimizer::Kind optimizer = RowOptimizer::Kind::kAdam;
  double learning_rate = 0.01;
  // L2 term (RowOptimizer::weight_decay): of the rows that a step reads, and of no other.
  double weight_decay = 0;
  // How many steps a pulled row may be behind: a step reads after the pushes of the step that many
  // and one before it, and before the next push. 0: after those of the step before.
  int64_t staleness = 0;
};

inline constexpr int64_t kDefaultEmbeddingDim = 64;

// A node type whose input rows are learnt.
struct LearntType {
  int node_type = 0;  // index in the schema
  int64_t dim = kDefaultEmbeddingDim;
  // Rows begin uniform, within as much of 0. 0: so that a row's length is about 1, whatever `dim`.
  double bound = 0;
};

// In the order of the schema.
//   InvalidArgument  --embed: no such form, a width out of range, a type or a width alone twice; a
//                    width alone, and all types have features
//   NotFound         --embed: no such node type; what exists is named
[[nodiscard]] StatusOr<std::vector<LearntType>> ChooseLearntTypes(const EmbeddingOptions& options,
                                                                  const Schema& schema);

// The tensor of a type. `seed`: of the run.
[[nodiscard]] MutableTensorSpec TensorOf(const EmbeddingOptions& options, const LearntType& type,
                                         const Schema& schema, uint64_t seed);

// What training says of learnt inputs where none are learnt.
//   InvalidArgument  an option of their steps has another value than its default: named
[[nodiscard]] Status CheckLearntUse(const EmbeddingOptions& options,
                                    const std::vector<LearntType>& learnt);

void AddEmbeddingRows(OptionTable& rows, EmbeddingOptions* options);

}  // namespace halograph
