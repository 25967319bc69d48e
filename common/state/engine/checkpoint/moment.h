// The moment that a checkpoint or snapshot shows of one tensor, and one that is being made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/state/engine/checkpoint/checkpoint_file.h"
#include "common/state/engine/rows/live_tensor.h"

namespace halograph {

struct CheckpointUnderWay;

struct Moment {
  std::shared_ptr<LiveTensor> tensor;
  CheckpointUnderWay* of = nullptr;

  // Of the store's monitor: set when the moment is known.
  bool reached = false;
  bool whole = false;  // all rows that were ever touched; else those since the last checkpoint
  bool aside = false;  // no later one counts from it: it leaves `dirty` as it is
  // Of a snapshot that had begun to count anew, and whose rows this one has instead; or null.
  std::shared_ptr<Moment> taken_from;
  std::optional<int64_t> ticket;  // the turn in which the images are captured; null: in the turn of
                                  // the push that completed the step
  TensorMoment at;
  WaitingPushes waiting;
  // Where others capture:
  bool claimed = false;    // they are about to
  bool performed = false;  // they have done what the turn is for
  bool given_up = false;   // nobody wants the images: they must not capture

  // Within that turn.
  std::shared_ptr<RowCapture> capture;  // null: no image is wanted

  bool in_file = false;  // its images; of the thread that writes
};

// A checkpoint or snapshot that is being made. Of the store's monitor, but for what is constant.
//
// One at a time counts anew: its moments clear the tensors' `dirty` rows, and it will be the
// checkpoint that later ones come behind. A snapshot that waits for its step does so from its first
// moment on, if nobody else does then. A checkpoint that is made meanwhile takes that from it, and
// the rows of its moments with it; the moments that it has still to come are whole, and aside.
struct CheckpointUnderWay {
  std::string name;             // of a snapshot; empty: a checkpoint
  std::optional<int64_t> step;  // that it waits for
  int64_t number = 0;           // of its file

  bool chosen = false;        // what follows is known
  bool whole = false;         // so are its moments
  std::vector<int64_t> base;  // files that its own comes behind

  std::vector<std::shared_ptr<Moment>> moments;
  std::unordered_map<const LiveTensor*, std::shared_ptr<Moment>> by_tensor;  // the same, of a step
  std::vector<std::shared_ptr<Moment>> turns;  // taken, and not waited for yet; of its thread
  bool complete = false;                       // every tensor is at its moment
  int64_t complete_lsn = 0;                    // the last LSN then
  Status ended;                                // why it cannot go on
};

}  // namespace halograph
