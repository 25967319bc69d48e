// The images that some rows of a tensor had at one moment, for a checkpoint that is written while
// pushes go on. A row's image is taken by the checkpoint, or by the push that changes the row
// before, whichever comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/state/engine/rows/row_set.h"
#include "common/state/engine/rows/state_rows.h"
#include "common/state/env.h"
#include "common/state/patience.h"

namespace halograph {

struct RowImages {
  std::vector<int64_t> rows;
  std::vector<std::byte> images;  // StateRows::image_bytes() each
};

class RowCapture {
 public:
  // `rows`: whose images are wanted as they are now. `max_saved_bytes`: pushes wait while more
  // images that they saved are to be written. Within a turn of the tensor.
  RowCapture(RowSet rows, int64_t max_saved_bytes, Scheduler& scheduler)
      : wanted_(rows),
        remaining_(std::move(rows)),
        max_saved_bytes_(max_saved_bytes),
        monitor_(scheduler.NewMonitor()) {}

  // Within a turn, before its changes: waits while the checkpoint has too many images to write, as
  // long as `patience` says. After an error the turn is left to `work`: the checkpoint's thread
  // does that, within RunLeft, when there is space. `work` must not throw, nor wait for space.
  [[nodiscard]] Status WaitForSpace(const Patience& patience, std::function<void()> work) noexcept;
  // Of the checkpoint's thread, where it neither reads nor has a turn, after TakeNext and Close.
  void RunLeft();
  // Within a change: `rows` are about to be changed. Errors of StateRows, here and below: the
  // images are not complete any more.
  [[nodiscard]] Status SaveBefore(std::span<const int64_t> rows, const StateRows& table);

  // The checkpoint, between BeginRead and EndRead: appends what pushes saved and the images of the
  // next rows to `out`, at most `rows` of these. False if no image is left.
  [[nodiscard]] StatusOr<bool> TakeNext(int64_t rows, const StateRows& table, RowImages* out);
  // No more images are wanted. From any thread.
  void Close();

  [[nodiscard]] const RowSet& wanted() const { return wanted_; }

 private:
  const RowSet wanted_;
  // Of who reads or changes the tensor.
  RowSet remaining_;
  int64_t next_row_ = 0;
  RowImages saved_;

  const int64_t max_saved_bytes_;
  const std::unique_ptr<Monitor> monitor_;
  int64_t saved_bytes_ = 0;
  bool closed_ = false;
  std::function<void()> left_;  // of the one turn
};

}  // namespace halograph
