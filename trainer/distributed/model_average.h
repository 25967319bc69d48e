// One model out of several that were trained alone: the mean of their weights, each counted by the
// rows that it was trained on (CATGNN, arXiv 2404.02300, section 3.3).
//
//   ModelAverage average(values);          // parameters, then buffers, of one model object
//   for each part of this rank:
//     average.Restart();                   // the values of the last meeting
//     ... train ...
//     average.Add(rows);                   // the values as they are now
//   average.Meet(ranks, what, &stop);      // the values become the mean, on every rank
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "trainer/distributed/communicator.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

class ModelAverage {
 public:
  // The values are changed in place. They must be float32, of the same shapes on every rank, and
  // equal on all ranks now. Holds two copies of them. Those on a device are summed on the host.
  explicit ModelAverage(std::vector<torch::Tensor> values);

  // Takes the values as they are now for those of the last meeting, as the constructor does. They
  // must be equal on all ranks.
  void Begin();
  // Sets the values to what they were after the last meeting.
  void Restart();
  // Counts the values in, as they are now. Requires rows >= 0; 0: they do not count.
  void Add(int64_t rows);
  // Sets the values on all ranks to the mean of what all ranks counted in since the last meeting,
  // weighted by rows; to those of the last meeting if nobody counted any. Ranks may have added as
  // often as they like. `stop`: before, whether this rank wants to stop; after it, whether any
  // does: then the values are those of the last meeting. The same bits on every rank.
  // Errors as Communicator::AllReduceSum, with `what` as the purpose.
  [[nodiscard]] Status Meet(Communicator& ranks, std::string_view what, bool* stop);

 private:
  const std::vector<torch::Tensor> values_;
  torch::Tensor last_;  // of the last meeting, flat
  torch::Tensor sent_;  // values times rows, rows, ranks that want to stop
  torch::Tensor sum_;   // a view of the first of these
};

}  // namespace halograph
