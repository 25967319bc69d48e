// The moment that a checkpoint or snapshot shows of one tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/state/engine/checkpoint/checkpoint_file.h"
#include "common/state/engine/rows/live_tensor.h"

namespace halograph {

struct Moment {
  std::shared_ptr<LiveTensor> tensor;
  bool whole = false;  // all rows that were ever touched; else those since the last checkpoint

  // Of the store's monitor: set when the moment is known.
  bool reached = false;
  std::optional<int64_t> ticket;  // the turn in which the images are captured; null: in the turn of
                                  // the push that completed the step
  TensorMoment at;
  WaitingPushes waiting;
  // Without a ticket:
  bool claimed = false;    // that push is about to capture
  bool performed = false;  // it has done what its turn is for
  bool given_up = false;   // nobody wants the images: it must not capture

  // Within that turn.
  std::shared_ptr<RowCapture> capture;  // null: no image is wanted
};

}  // namespace halograph
