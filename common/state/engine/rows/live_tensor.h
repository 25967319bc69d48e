// One mutable tensor of a store: its rows, who may change them when, which rows were touched, and
// where its pushes stand.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/state/engine/rows/recent_most.h"
#include "common/state/engine/rows/row_capture.h"
#include "common/state/engine/rows/row_set.h"
#include "common/state/engine/rows/state_rows.h"
#include "common/state/engine/steps/applied_pushes.h"
#include "common/state/engine/steps/step_collector.h"
#include "common/state/engine/steps/turns.h"
#include "common/state/env.h"
#include "common/state/placement.h"
#include "common/state/state_store.h"

namespace halograph {

struct Moment;

class LiveTensor {
 public:
  // Rows hold anything until InitializeRows and loaded images have set them all. They are in
  // memory, or in `beyond` if it is given. `helpers` outlives the tensor; null: nobody helps.
  //   NotFound           an unknown node type or relation
  //   ResourceExhausted  no memory
  //   and errors of graph.original_ids
  [[nodiscard]] static StatusOr<std::shared_ptr<LiveTensor>> Make(
      uint32_t number, const MutableTensorSpec& spec, const StateGraph& graph, Scheduler& scheduler,
      std::shared_ptr<RowSpace> beyond, HelperThreads* helpers = nullptr);
  // Rows that `graph`'s partition has of the tensor, and the memory that Make takes.
  struct Size {
    int64_t rows = 0;
    int64_t row_bytes = 0;  // unless they are beyond memory
    int64_t set_bytes = 0;  // of sets of rows
  };
  [[nodiscard]] static StatusOr<Size> SizeOf(const MutableTensorSpec& spec,
                                             const StateGraph& graph);

  // Sets the rows that are not in `but` to their beginning. Errors of StateRows.
  [[nodiscard]] Status InitializeRows(const RowSet& but);

  // Local rows of global ids. OutOfRange naming the first id that is not owned here.
  [[nodiscard]] Status ToRows(std::span<const int64_t> ids, std::vector<int64_t>* rows) const;

  // Applies the lists as one push. Within a turn; readers wait. After an error of StateRows, and
  // if it throws std::bad_alloc, the rows may show a part of it.
  [[nodiscard]] Status Apply(PushKind kind, std::span<const PushedRows> lists);
  // Between turns.BeginRead and EndRead. Unavailable: an Apply has failed, so that neither the rows
  // nor the images that it was to save can be used. Whoever is let in behind it learns it here,
  // before who applied can tell anybody.
  [[nodiscard]] Status CheckWhole() const;

  const uint32_t number;
  const MutableTensorSpec spec;
  const std::shared_ptr<const RowPlacement> placement;
  const IdRange positions;  // of placement: local row i has position positions.begin + i
  const int64_t memory_bytes;

  Turns turns;
  const std::unique_ptr<StateRows> table;  // read between turns.BeginRead and EndRead
  bool whole = true;                       // as table; for good: a failure ends all pushes

  // Rows that pushes left not finite (row_table.h), each time, since the store was opened.
  std::atomic<int64_t> not_finite_rows = 0;

  // Within a turn.
  RowSet touched;  // ever, but for those in `dirty`
  RowSet dirty;    // since the last checkpoint or snapshot
  // Of checkpoints and snapshots that go on, in the order of their moments.
  std::vector<std::shared_ptr<RowCapture>> captures;

  // Of the store's monitor.
  struct Progress {
    StepCollector steps;
    AppliedPushes applied;
    int64_t applied_step = -1;
    int64_t pushes = 0;
    int64_t pushed_rows = 0;
    RecentMost staleness;  // LSNs that readers were behind
    bool dropped = false;
    // Of snapshots that wait for their step, reached when it is complete.
    std::vector<std::shared_ptr<Moment>> moments;
  };
  Progress progress;

  LiveTensor(uint32_t number, const MutableTensorSpec& spec,
             std::shared_ptr<const RowPlacement> placement, IdRange positions, int64_t memory_bytes,
             std::unique_ptr<StateRows> table, Scheduler& scheduler);

 private:
  [[nodiscard]] Status Change(PushKind kind, std::span<const PushedRows> lists);
};

}  // namespace halograph
