// Predictions as the user gets them: by original id.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace halograph {

enum class PredictWhat {
  kClass,          // or, of several labels, 0 or 1 for each
  kProbabilities,  // of every class or label
  kLogits,         // what the probabilities are made of
  kValues,         // of a regression
  kEmbeddings,     // what the last layer of the model reads of a node itself
};

// Rows in any order, all of one kind.
struct Predictions {
  PredictWhat what = PredictWhat::kClass;
  int64_t columns = 1;  // of a row; rows stand one after the other
  std::vector<int64_t> original_ids = {};
  std::vector<int64_t> classes = {};  // kClass
  std::vector<float> values = {};     // else

  [[nodiscard]] int64_t rows() const { return static_cast<int64_t>(original_ids.size()); }
};

// Whether predictions can be written, asked before training: `rows` of `columns` columns, under ids
// below `rows` or not much longer.
//   FailedPrecondition  the folder of `path` is missing or not writable
//   ResourceExhausted   its file system has no room for them, or this machine no memory: both
//                       figures are named
[[nodiscard]] Status CheckPredictionPath(const std::string& path);
[[nodiscard]] Status CheckPredictionRoom(const std::string& path, PredictWhat what, int64_t rows,
                                         int64_t columns);

// Sorts by original id and writes, each file by a temporary sibling and rename, replacing what was
// there:
//   .csv  a header, `original_id,prediction` of one class, else `original_id,` and a name and
//   number
//         a column: prediction_0 (of several labels), probability_0, logit_0, value_0, embedding_0
//   .npy  of classes int64 [rows, 1 + columns]: original id, class, or 0 or 1 for each label. Else
//         float32 [rows, columns], and beside it NAME.ids.npy, int64 [rows]: the original id of
//         each row
// InvalidArgument for another ending.
[[nodiscard]] Status WritePredictions(const std::string& path, const Predictions& predictions);

}  // namespace halograph
