// Which rows a cache holds, decided from the ids that its steps read and nothing else: no rows, no
// calls, no clock. A step is one minibatch, or whatever reads a set of rows at once; steps count
// from 0. Each is announced, some time later planned, and its plan says where every row of it is.
//
// Two planners. MakeLookAheadPlanner looks at all steps that are announced and not planned, the
// window, and keeps the rows that are needed soonest (Belady's choice): it needs the fewest rows
// that any cache of its size can do with, once the window is long enough. MakeStaticPlanner keeps
// the rows that rank highest, whatever comes.
//
// Not thread-safe. Same calls, same plans. Functions may throw std::bad_alloc; the planner is of no
// more use then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"

namespace halograph {

inline constexpr int32_t kNoSlot = -1;
inline constexpr int64_t kNoStep = -1;

// A row that the cache does not have when its step comes: it is fetched, and kept in `slot`.
struct PlannedMiss {
  int32_t position = 0;    // in the step's ids
  int32_t slot = kNoSlot;  // kNoSlot: fetched, and not kept

  bool operator==(const PlannedMiss&) const = default;
};

// Where the rows of one step are. A step reads the slots of its hits before it stores its misses:
// a miss may take the slot of a hit of the same step.
struct StepPlan {
  int64_t step = kNoStep;
  // Per id: the slot that its row is read from (a hit), or is stored into (a miss that is kept), or
  // kNoSlot.
  std::vector<int32_t> slots;
  std::vector<PlannedMiss> misses;  // by position; all other ids are hits
  // The latest earlier step that has to have stored, and read, before this one reads its hits; and
  // before it stores its misses, whose slots others have stored into and read until then. All
  // before that one have to be done, too. kNoStep: none.
  int64_t read_after = kNoStep;
  int64_t write_after = kNoStep;
  int64_t evicted = 0;  // rows that had been kept, and whose slots go to misses of this step
  bool closed = false;  // Planner::closed() when it was made
};

class Planner {
 public:
  virtual ~Planner() = default;

  // The ids that the next step reads, each once, in any order; `step` counts on from the last one.
  // After an error nothing has changed.
  //   AlreadyExists      the step was announced before
  //   InvalidArgument    a step between was left out, or an id stands twice
  //   OutOfRange         an id outside the id space: id, position and count are named
  //   ResourceExhausted  more accesses or steps are announced and not planned than can be
  //                      (kMostWindowPages of kPageAccesses)
  [[nodiscard]] virtual Status Announce(int64_t step, std::span<const int64_t> ids) = 0;

  // Plans the earliest step that is announced and not planned. `plan` is overwritten, and its
  // memory used again. FailedPrecondition if there is no such step.
  [[nodiscard]] virtual Status PlanNext(StepPlan* plan) = 0;

  // The certificate: whether the next plan is what it would be if all steps to come were announced.
  // Rows fetched by plans made so are as few as they can be, if all of them were. False without a
  // step to plan.
  [[nodiscard]] virtual bool closed() const = 0;

  // Memory that it holds now, and how much of that are tables with an entry a row of the id space.
  [[nodiscard]] virtual int64_t bytes() const = 0;
  [[nodiscard]] virtual int64_t table_bytes() const = 0;

  // Whether the next plan would gain by more steps, and has room for them: the window is not
  // closed, and all but the tables take less than kPlanBytesASlot a slot.
  [[nodiscard]] bool wants_more() const;

  [[nodiscard]] int64_t announced() const { return announced_; }  // steps, so far
  [[nodiscard]] int64_t planned() const { return planned_; }
  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t slots() const { return slots_; }

 protected:
  Planner(int64_t rows, int64_t slots) : rows_(rows), slots_(slots) {}

  // What Announce checks of every step, but for ids that stand twice.
  [[nodiscard]] Status CheckStep(int64_t step, std::span<const int64_t> ids) const;

  const int64_t rows_;
  const int64_t slots_;
  int64_t announced_ = 0;
  int64_t planned_ = 0;
};

// A window's accesses are numbered by pages, of which a step has whole ones.
inline constexpr int64_t kPageAccesses = 4096;
inline constexpr int64_t kMostWindowPages = int64_t{1} << 18;

// How a planner finds the last use of a row.
enum class LastUseTable {
  kAuto,    // kHashed where the id space is large, and much larger than the cache
  kDense,   // 4 bytes a row of the id space
  kHashed,  // some 8 bytes a row of the window
};

struct LookAheadOptions {
  int64_t rows = 0;   // of the id space: ids are in [0, rows); below 2^32
  int64_t slots = 0;  // rows that the cache has room for; below 2^31 - 2
  // Per row its class (RankClasses): of rows whose next use lies beyond the window, those of the
  // higher class are kept. Empty: all rank alike, and those that came first stay.
  std::vector<uint8_t> classes = {};
  LastUseTable table = LastUseTable::kAuto;
};

// InvalidArgument: rows or slots outside their bounds (0 slots among them: without room there is
// nothing to plan), or classes that do not fit the rows or are not below kRowClasses.
[[nodiscard]] StatusOr<std::unique_ptr<Planner>> MakeLookAheadPlanner(LookAheadOptions options);

// Keeps the `slots` rows of the largest weights for ever, each from the step that fetches it first;
// of equal ones those of smaller ids. Rows of a weight that is not above 0, or no number, are never
// kept: without weights nothing is. A certificate does not concern it: closed() holds whenever a
// step can be planned. Errors as MakeLookAheadPlanner, of weights.size() rows.
[[nodiscard]] StatusOr<std::unique_ptr<Planner>> MakeStaticPlanner(std::span<const float> weights,
                                                                   int64_t slots);

inline constexpr int kRowClasses = 64;

// The class of every row by its weight (a forecast of its uses: VIP, out-degree, counts so far): 0
// for weights that are not above 0 or no number, the highest for infinite ones, and logarithmic
// between the largest finite weight and 2^-24 of it.
[[nodiscard]] std::vector<uint8_t> RankClasses(std::span<const float> weights);

// What a plan takes a slot, beside its tables, if its window grows as long as it wants more. The
// certificate needs 4 to 8 accesses of the window a slot where rows come back as in minibatches.
inline constexpr size_t kPlanBytesASlot = 120;

// How many rows of `row_bytes` a cache has room for in `cache_bytes`, what plans it included.
[[nodiscard]] int64_t UsableSlots(size_t cache_bytes, size_t row_bytes);

}  // namespace halograph
