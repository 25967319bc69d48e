// What the processes of state_crash_test push, and what a state must hold that took some of it.
//
// Every push is a function of its client and its number. Number 2n - 1 of client c adds
// (1, n % 97, 1 + n % 7) to the client's row of tensor `counters`, and 1 to a row that all share:
// so the rows tell which of these pushes were applied. Number 2n is the client's gradient of step n
// of tensor `momentum`, whose optimizer has state. Clients are the ranks of one run: a push that
// was sent before a crash may be sent again after it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/graph/partition_book.h"
#include "common/state/state_store.h"
#include "tests/support/reference_state.h"

namespace halograph {

inline constexpr int kCrashClients = 4;
inline constexpr int64_t kCounterRows = kCrashClients + 1;  // the last is the one that all share
inline constexpr int64_t kCounterDim = 3;
inline constexpr int64_t kMomentumRows = 16;

struct CrashGraph {
  Schema schema;
  PartitionBook book;
  StateGraph state;
  CrashGraph();
};

[[nodiscard]] MutableTensorSpec CountersSpec();
[[nodiscard]] MutableTensorSpec MomentumSpec();
[[nodiscard]] StateOptions CrashOptions(const std::string& folder, int sync_level);

// One push, and the memory that it borrows.
class CrashPush {
 public:
  // `number`: from 1 upward.
  CrashPush(int client, int64_t number);
  [[nodiscard]] StatePush request() const;
  [[nodiscard]] PushedRows rows() const;

 private:
  const int client_;
  const int64_t number_;
  std::vector<int64_t> ids_;
  std::vector<float> values_;
};

// All rows of the tensors.
struct CrashRows {
  std::vector<std::byte> counters;
  std::vector<std::byte> momentum;
};
[[nodiscard]] StatusOr<CrashRows> RowsNow(const StateStore& store);  // as they are pulled
// With the optimizer's state: images (RowLayout).
[[nodiscard]] StatusOr<CrashRows> RowsOfSnapshot(const StateStore& store, const std::string& name);

// How many pushes of each client the rows of `counters` show, if they are the first ones of each
// and the shared row agrees; else an error that says what is wrong.
[[nodiscard]] StatusOr<std::array<int64_t, kCrashClients>> CountPushes(
    const std::vector<std::byte>& counters);

// Tensor `momentum` after step upon step, by tests/support/reference_state.h.
class MomentumReference {
 public:
  MomentumReference() : state_(MomentumSpec(), kMomentumRows) {}
  // Goes on to the moment after `step`, which is not before that of the last call.
  void GoTo(int64_t step);
  [[nodiscard]] std::vector<std::byte> Rows();    // as they are pulled
  [[nodiscard]] std::vector<std::byte> Images();  // with the optimizer's state

 private:
  ReferenceState state_;
  int64_t step_ = 0;
};

}  // namespace halograph
