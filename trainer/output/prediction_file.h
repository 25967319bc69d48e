// Predictions as the user gets them: by original id.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace halograph {

struct Prediction {
  int64_t original_id = 0;
  int64_t label = 0;
};

// FailedPrecondition if the folder of `path` is missing or not writable: asked before training.
[[nodiscard]] Status CheckPredictionPath(const std::string& path);

// Sorts by original id and writes, by a temporary sibling and rename, replacing what was there:
// `.npy`: int64 [n, 2]; `.csv`: header `original_id,prediction`. InvalidArgument for another
// ending.
[[nodiscard]] Status WritePredictions(const std::string& path, std::vector<Prediction> predictions);

}  // namespace halograph
