// A cache of rows that others own, in front of any store, which is told what steps will read before
// they read it (planner.h), and so keeps what is needed soonest. What it gives is what the store
// below gives, bit for bit, whatever its size, and in whatever order answers come.
//
//   cache->Announce(ticket, nodes);            // in step order, well before
//   CallContext context{.ticket = ticket};
//   cache->Pull(requests, context);            // any thread; each ticket once
//
// A pull with a ticket asks the store below for what the plan says is not here, all in one call;
// several may have such calls under way at once. Then it takes its turn, in the order of tickets:
// it reads slots, and stores what it fetched. So a slot is read when the step that fetched it has
// arrived, and taken when its last reader has read. Each slot knows whose row it has: what a step
// before did not bring (its call failed, it was dropped, it was pulled with other ids) is fetched
// by the step that misses it, which stores it in its place.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "client/cached/planner.h"
#include "client/cached/slot_rows.h"
#include "client/graph_store.h"
#include "client/row_store.h"
#include "common/base/mutex.h"

namespace halograph {

struct CachedRowsOptions {
  std::vector<TensorRef> tensors = {};  // features of node types; what is not named passes by
  std::vector<int> own_parts = {};      // whose rows the store below has here: never cached
  // For slots, and what plans them a slot (kPlanBytesASlot) and a row (its class). A slot has room
  // for a node of the type whose rows are largest. Beside it, and not bounded by it, are tables by
  // row: a bit a remote row, and with look-ahead 4 bytes, where these rows are at most 65536 or 8 x
  // slots (else some 8 bytes a row of the window).
  size_t memory_bytes = 0;
  // Belady's choice among announced steps, or the rows of the largest weights for ever.
  bool look_ahead = true;
  // Per node type, by global id, a forecast of how often a row is read (RankClasses); or nothing.
  // Look-ahead leaves it out where its byte a remote row would take over a quarter of the memory.
  std::vector<std::vector<float>> weights = {};
  // Counts what steps read, for RankByReads, in 4 bytes a remote row until then. Without weights
  // only. Look-ahead does not count where that would take over a quarter of the memory.
  bool count_reads = false;
};

// So far, of pulls with a ticket. Rows of several tensors of a node are one row.
struct CachedRowsFigures {
  int64_t hits = 0;     // remote rows that were here
  int64_t fetched = 0;  // remote rows that were not
  int64_t missing = 0;  // of those: they were to be here, but a step before did not bring them
  // Of those fetched: a step before had fetched them, since rows were ranked last, and there was no
  // room to keep them until now.
  int64_t refetched = 0;
};

class CachedRows final : public RowStore {
 public:
  // `info`: of the graph whose rows `rest` has.
  //   NotFound           a tensor that is no feature of a node type
  //   InvalidArgument    no tensor, one named twice, a part that there is not, weights that do not
  //                      fit, more remote ids than can be numbered, memory for less than one
  //                      row (what a row takes is named), or for less than four times the counts
  //                      of the reads where they alone say what is kept
  //   ResourceExhausted  no memory
  [[nodiscard]] static StatusOr<std::unique_ptr<CachedRows>> Create(
      std::shared_ptr<RowStore> rest, const GraphInfo& info, const CachedRowsOptions& options);

  // The nodes whose rows step `ticket` will pull, per node type, each id once. Tickets count from
  // 0. A ticket that is announced is pulled or dropped: those after it wait for it. Errors as
  // Planner::Announce, and InvalidArgument for a number of lists that is not that of node types.
  // After an error nothing has changed.
  [[nodiscard]] Status Announce(int64_t ticket, std::span<const std::vector<int64_t>> nodes)
      HG_EXCLUDES(mutex_);
  // Announced so far: the next ticket.
  [[nodiscard]] int64_t announced() const HG_EXCLUDES(mutex_);
  // Remote rows of the largest step so far.
  [[nodiscard]] int64_t largest_step() const HG_EXCLUDES(mutex_);
  // The step will not be pulled. Does nothing for one that is pulled, or was not announced.
  void Drop(int64_t ticket) HG_EXCLUDES(mutex_);
  // None of the steps that are announced will be pulled, but for those whose pulls have begun.
  void DropWaiting() HG_EXCLUDES(mutex_);
  // From the next step on, rows rank by how often steps have read them so far, as if that were
  // their weight. What is kept is forgotten. Once: reads are not counted any more. Does nothing
  // where they are not counted, or where look-ahead keeps all rows in any case.
  // ResourceExhausted: no memory; rows rank as before, and reads are counted on.
  [[nodiscard]] Status RankByReads() HG_EXCLUDES(mutex_);

  // Whether more steps should be announced before the next plan is made (Planner::wants_more). A
  // step is planned when it, or one after it, is pulled. Without look-ahead no plan gains by more.
  [[nodiscard]] bool wants_more() const HG_EXCLUDES(mutex_);
  [[nodiscard]] CachedRowsFigures figures() const HG_EXCLUDES(mutex_);
  [[nodiscard]] int64_t bytes() const
      HG_EXCLUDES(mutex_);  // of rows, whether written or not; plans
  [[nodiscard]] int64_t slots() const { return slot_count_; }
  // CachedRowsOptions::memory_bytes with which no row would have been fetched twice.
  [[nodiscard]] int64_t enough_bytes() const HG_EXCLUDES(mutex_);

  // Without a ticket it passes by. With one, rows of a node type come by way of the cache if all
  // its cached tensors are asked for, with the same ids, as many remote ones as were announced;
  // else they pass by. Waits for the tickets before it, as long as the context allows.
  //   FailedPrecondition  the ticket was not announced, or was pulled or dropped before
  //   else                as RowStore::Pull
  [[nodiscard]] Status Pull(std::span<const RowRequest> requests, CallContext& context) override
      HG_EXCLUDES(mutex_);
  // With a ticket the context has `post`, and what waits for its turn keeps no thread. It waits for
  // the tickets before it until they end or the token is cancelled; a deadline is seen then.
  void StartPull(std::span<const RowRequest> requests, CallContext& context,
                 StatusDone done) override HG_EXCLUDES(mutex_);
  using RowStore::Pull;
  [[nodiscard]] StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                                     CallContext& context) override {
    return rest_->Push(pushes, context);
  }
  [[nodiscard]] std::optional<RowsInPlace> InPlace(const TensorRef& tensor) const override {
    return rest_->InPlace(tensor);
  }

 private:
  struct CachedTensor {
    TensorRef tensor;
    size_t offset = 0;  // in a slot
    size_t row_bytes = 0;
  };
  struct CachedType {
    RemoteIds remote;
    std::vector<CachedTensor> tensors = {};
    int node_type = 0;
  };
  struct TicketPlan {
    std::vector<size_t> ends;  // per cached type, in the plan's slots
    StepPlan plan = {};
    bool taken = false;  // its ticket has begun, whatever came of that, and is to be ended
  };
  struct TypePull;     // one type's share of a pull
  struct PlannedPull;  // a pull with a ticket, under way
  using Then = void (CachedRows::*)(const std::shared_ptr<PlannedPull>& pull);

  CachedRows(std::shared_ptr<RowStore> rest, const GraphInfo& info);
  [[nodiscard]] Status AddTypes(const CachedRowsOptions& options);
  [[nodiscard]] Status MakePlanner(const CachedRowsOptions& options);
  // For `rows` that rank by weights; of no weights all alike.
  [[nodiscard]] StatusOr<std::unique_ptr<Planner>> NewPlanner(int64_t rows,
                                                              std::span<const float> weights) const;

  // A planner that runs out of memory is of no more use: nothing is planned from then on.
  template <typename Call>
  [[nodiscard]] Status OfPlanner(const Call& call) HG_REQUIRES(mutex_);
  // Plans the earliest step that is not planned; `own` gets the plan if it is of this ticket.
  [[nodiscard]] Status PlanNext(int64_t ticket, TicketPlan* own) HG_REQUIRES(mutex_);
  [[nodiscard]] Status Begin(int64_t ticket, TicketPlan* plan) HG_EXCLUDES(mutex_);
  void EndTicket(int64_t ticket) HG_EXCLUDES(mutex_);

  // A pull goes through these, one after the other (cached_pull.cc). Whoever calls the first of
  // them does not touch it any more.
  void GoOn(const std::shared_ptr<PlannedPull>& pull, const std::function<Status()>& work)
      HG_EXCLUDES(mutex_);
  void AskBelow(const std::shared_ptr<PlannedPull>& pull, Then then) HG_EXCLUDES(mutex_);
  [[nodiscard]] Status Ask(PlannedPull& pull) HG_EXCLUDES(mutex_);
  void AwaitTurn(const std::shared_ptr<PlannedPull>& pull) HG_EXCLUDES(mutex_);
  void TakeTurn(const std::shared_ptr<PlannedPull>& pull) HG_EXCLUDES(mutex_);
  void ReadSlots(PlannedPull& pull);
  void StoreFetched(const std::shared_ptr<PlannedPull>& pull) HG_EXCLUDES(mutex_);
  void End(PlannedPull& pull, Status status) HG_EXCLUDES(mutex_);

  // A pull that waits for its turn waits no longer: its context says why.
  void GiveUpTurn(int64_t ticket) HG_EXCLUDES(mutex_);
  void PostTurn(std::shared_ptr<PlannedPull> pull) HG_EXCLUDES(mutex_);
  [[nodiscard]] bool IsTurnOf(int64_t ticket) const HG_EXCLUDES(mutex_);
  [[nodiscard]] Status CheckCached(std::span<const RowRequest> requests) const;
  [[nodiscard]] std::vector<TypePull> Split(std::span<const RowRequest> requests,
                                            const TicketPlan& plan) const;
  void ForgetFetchedBefore(int64_t ticket) HG_EXCLUDES(mutex_);
  void CountTurn(const CachedRowsFigures& figures, CallContext& context) HG_EXCLUDES(mutex_);

  const std::shared_ptr<RowStore> rest_;
  const Schema schema_;
  const PartitionBook book_;
  const std::unique_ptr<TensorCatalog> features_;
  std::vector<CachedType> types_;  // constant once created, as the next
  bool look_ahead_ = true;
  int64_t slot_count_ = 0;
  size_t row_bytes_ = 0;                  // of the memory, that a row takes with what plans it
  size_t rank_bytes_ = 0;                 // that ranking takes at most, whatever is kept
  std::unique_ptr<SlotRows> slots_;       // of the pull whose turn it is, as the next two
  std::unique_ptr<FetchedRows> fetched_;  // since rows were ranked last
  int64_t fetched_since_ = 0;             // the ticket from which on it is

  mutable Mutex mutex_;
  std::unique_ptr<Planner> planner_ HG_GUARDED_BY(mutex_);
  bool planner_lost_ HG_GUARDED_BY(mutex_) = false;  // it ran out of memory
  int64_t first_ HG_GUARDED_BY(mutex_) = 0;          // the ticket of the planner's step 0
  int64_t largest_step_ HG_GUARDED_BY(mutex_) = 0;
  std::vector<float> reads_ HG_GUARDED_BY(mutex_);               // by number; empty: not counted
  std::map<int64_t, TicketPlan> waiting_ HG_GUARDED_BY(mutex_);  // announced, and not begun
  std::set<int64_t> ended_early_ HG_GUARDED_BY(mutex_);          // not below ended_
  std::map<int64_t, std::shared_ptr<PlannedPull>> for_turn_ HG_GUARDED_BY(mutex_);
  int64_t ended_ HG_GUARDED_BY(mutex_) = 0;  // all tickets below it have
  CachedRowsFigures figures_ HG_GUARDED_BY(mutex_);
  int64_t most_fetched_ HG_GUARDED_BY(mutex_) = 0;  // FetchedRows::most
};

}  // namespace halograph
