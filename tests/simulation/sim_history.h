// What one server's store was asked to do, what it answered, and what must follow: the judge of a
// simulated run. It knows when a call began and what a store returned, though nobody may have heard
// it, and nothing of how a store works.
//
// A life of a store goes from one opening to the next. LSNs are known of pushes whose call
// returned. Those in progress when the process ended are tried in all orders that are possible: the
// rows of the recovered state must follow from one of them, bit for bit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/state/state_store.h"
#include "tests/simulation/sim_model.h"

namespace halograph::sim {

// How a life ended.
struct EndOfLife {
  std::string how;  // for messages
  int64_t ended_ns = 0;
  // What was acknowledged at or after this time may be lost, of the newest pushes.
  int64_t may_lose_from_ns = INT64_MAX;
};

// What the store held when it was opened again.
struct Recovered {
  int64_t lsn = 0;
  StoreRows rows;
  // Of the pushes that Unsettled gave: the LSN that the store says each has in the log; 0: it was
  // not there. A push that is missing here may have been or not.
  std::map<PushRecord*, int64_t> in_log;
};

class ServerHistory {
 public:
  // Pushes have LSNs above `first_lsn`: those up to it are of other records.
  ServerHistory(const std::vector<ModelTensor>& tensors, int64_t first_lsn);

  // A call of Push begins; it returned in a process that lives. "" or what is wrong.
  void PushBegins(PushRecord* push);
  [[nodiscard]] std::string PushReturned(PushRecord* push, const StatusOr<PushReceipt>& result,
                                         int64_t now_ns);
  // A pull begins: what it gives goes to PullReturned, with the rows at `positions` of the store's.
  // Judged at the end of the life: it shows one moment, none before what a pull showed that
  // returned before this one began, and none before a push that was acknowledged before.
  [[nodiscard]] int64_t PullBegins() { return ++ticket_; }
  void PullReturned(int64_t began, int tensor, std::vector<int64_t> positions, int64_t min_lsn,
                    std::vector<std::byte> bytes);
  // A checkpoint that began then returned OK.
  void CheckpointReturned(int64_t began_ns);
  // `of_step`: of the moment after info.step, or of that of info.lsn.
  void SnapshotReturned(const SnapshotInfo& info, bool of_step);
  void SnapshotDeleted(const std::string& name);  // or may have been

  // Pushes that may be in the log with an unknown LSN.
  [[nodiscard]] std::vector<PushRecord*> Unsettled() const { return begun_; }
  // Whether the client sent it after a push that is not in the log up to `lsn`, and awaited that: a
  // step before, or one that it says is answered.
  [[nodiscard]] bool FollowsLost(const PushRecord& push, int64_t lsn) const;
  // The life is over, and the next one found this. Acknowledged pushes that may be lost, and are,
  // go to `lost` and count as never acknowledged. "" or what is wrong.
  [[nodiscard]] std::string LifeEnds(const EndOfLife& end, const Recovered& recovered,
                                     std::vector<PushRecord*>* lost);

  // All pushes of the log up to `lsn` applied. Requires that the life has just begun, or that all
  // calls have returned OK.
  [[nodiscard]] StoreModel StateAt(int64_t lsn) const;
  [[nodiscard]] int64_t last_lsn() const {
    return log_.empty() ? first_lsn_ : log_.rbegin()->first;
  }
  [[nodiscard]] size_t num_logged() const { return log_.size(); }
  [[nodiscard]] int64_t num_lost() const { return num_lost_; }
  [[nodiscard]] int64_t num_judged_pulls() const { return num_judged_pulls_; }
  // Rows that the snapshots hold; null: they cannot be known.
  [[nodiscard]] const std::map<std::string, std::optional<StoreRows>>& snapshots() const {
    return snapshots_;
  }

 private:
  struct Read {
    int64_t began = 0;
    int64_t returned = 0;
    int tensor = 0;
    std::vector<int64_t> positions;
    int64_t min_lsn = 0;
    std::vector<std::byte> bytes;
  };
  struct Moment {
    std::set<int64_t> lsns = {};   // of the pushes that were applied
    int64_t promised = INT64_MAX;  // when it was acknowledged; a synchronous one: never mind
    std::vector<std::byte> rows;
  };
  struct Moments {
    std::vector<std::vector<Moment>> by_tensor;
    std::set<int64_t> applied;  // LSNs, also of lives before
  };
  using Log = std::map<int64_t, PushRecord*>;  // by LSN
  class OrderSearch;

  [[nodiscard]] std::string CheckKept(const EndOfLife& end, int64_t lsn) const;
  [[nodiscard]] Moments MomentsOf(const Log& log) const;
  [[nodiscard]] bool Shows(const Read& read, const Moment& moment) const;
  // Whether a read with that min_lsn must show the moment, as PullRequest.min_lsn says.
  [[nodiscard]] static bool Asks(int64_t min_lsn, const Moment& moment, const Log& log);
  [[nodiscard]] std::string CheckReads(const Log& log) const;
  [[nodiscard]] std::string JudgeReads();
  void SettleSnapshots(const Log& log, int64_t settled_lsn);
  void Truncate(int64_t lsn, std::vector<PushRecord*>* lost);
  [[nodiscard]] std::string Difference(const StoreRows& found, int64_t lsn) const;

  std::vector<ModelTensor> tensors_;
  StoreModel beginning_;
  Log log_;
  const int64_t first_lsn_;
  int64_t settled_lsn_;  // up to here every push of the log is known

  int64_t ticket_ = 0;  // orders what begins and returns

  // Of this life.
  std::vector<PushRecord*> begun_;
  std::vector<Read> reads_;
  int64_t checkpointed_ns_ = -1;
  struct Taken {
    int64_t lsn = 0;
    int64_t last_step = INT64_MAX;  // that it shows
  };
  std::map<std::string, Taken> new_snapshots_;
  std::set<std::string> deleted_;  // names are used once
  std::map<std::string, std::optional<StoreRows>> snapshots_;
  int64_t num_lost_ = 0;
  int64_t num_judged_pulls_ = 0;
};

}  // namespace halograph::sim
