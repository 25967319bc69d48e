// Predictions as the user gets them: by original id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/scratch.h"
#include "trainer/options/task_choices.h"

namespace halograph {

// Rows in any order, all of one kind.
struct Predictions {
  PredictWhat what = PredictWhat::kClass;
  int64_t columns = 1;  // of a row; rows stand one after the other
  std::vector<int64_t> original_ids = {};
  std::vector<int64_t> classes = {};  // kClass
  std::vector<float> values = {};     // else
  std::vector<int> types = {};        // node type of each row, where they are of several; or empty

  [[nodiscard]] int64_t rows() const { return static_cast<int64_t>(original_ids.size()); }
};

// The rows of one node type. Requires `types`.
[[nodiscard]] Predictions RowsOfType(const Predictions& predictions, int type);
// Where those of a node type go that is one of several: its name, percent-encoded, stands before
// the ending, p.author.csv for p.csv.
[[nodiscard]] std::string PredictionPathOf(const std::string& path, std::string_view type_name);

// Whether predictions can be written, asked before training: `rows` of `columns` columns, under ids
// below `rows` or not much longer.
//   FailedPrecondition  the folder of `path` is missing or not writable
//   ResourceExhausted   its file system has no room for them, or this machine no memory: both
//                       figures are named
[[nodiscard]] Status CheckPredictionPath(const std::string& path);
[[nodiscard]] Status CheckPredictionRoom(const std::string& path, PredictWhat what, int64_t rows,
                                         int64_t columns);
// Of the file system alone.
[[nodiscard]] Status CheckPredictionDisk(const std::string& path, PredictWhat what, int64_t rows,
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

// The same in bounded memory: rows as they come, held by scratch arrays until they are sorted. Not
// thread-safe.
class PredictionSpool {
 public:
  // Of at most so many rows. `scratch` must outlive it.
  PredictionSpool(PredictWhat what, int64_t columns, int64_t rows, ScratchSpace* scratch)
      : what_(what), columns_(columns), rows_(rows), scratch_(scratch) {}

  // Whether the file system of `path` has room for all rows. Errors as CheckPredictionDisk.
  [[nodiscard]] Status CheckDisk(const std::string& path) const {
    return CheckPredictionDisk(path, what_, rows_, columns_);
  }
  // What it takes of the scratch space, from the first row on.
  [[nodiscard]] int64_t bytes() const {
    return rows_ * static_cast<int64_t>(row_bytes() + 2 * sizeof(int64_t));
  }
  [[nodiscard]] size_t row_bytes() const {
    return static_cast<size_t>(columns_) *
           (what_ == PredictWhat::kClass ? sizeof(int64_t) : sizeof(float));
  }

  // `rows`: row_bytes() for each of the ids. Internal beyond the rows that were announced; else as
  // ScratchSpace::Take.
  [[nodiscard]] Status Append(std::span<const int64_t> original_ids,
                              std::span<const std::byte> rows);
  // As WritePredictions, of what was appended.
  [[nodiscard]] Status Write(const std::string& path);

 private:
  const PredictWhat what_;
  const int64_t columns_;
  const int64_t rows_;
  ScratchSpace* const scratch_;
  int64_t appended_ = 0;
  ScratchArray values_, ids_, order_;
};

}  // namespace halograph
