// Which pairs of a link prediction task stand where they contradict each other: what an evaluator
// would measure with them is not what was meant. Reads every set once; no pair of two parts is the
// same, since a pair lives with the owner of its destination, so parts can be shared out to ranks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "client/stores.h"
#include "common/base/status.h"
#include "common/graph/schema.h"

namespace halograph {

// A pair is a source, a relation and a destination. Adds up over parts.
struct PairCounts {
  // Of the train, valid and test set.
  std::array<int64_t, 3> edges = {}, given_negatives = {};  // rows
  std::array<int64_t, 3> repeats = {};       // rows like one before them, label included
  std::array<int64_t, 3> contradicted = {};  // given negatives that the set has as edges
  // Of the edges of the valid and of the test set, each pair once: those of an earlier set.
  int64_t valid_in_train = 0, test_in_train = 0, test_in_valid = 0;
};

// A search through parts, a step at a time: ranks can meet in between. `stores` and `task` must
// outlive it. Not thread-safe.
class PairSearch {
 public:
  // Rows that a step holds at once, 24 bytes each; a part with more takes several steps, each of
  // which reads its rows, so that the pairs of a step have about so many.
  static constexpr int64_t kPairsAtOnce = int64_t{1} << 24;

  PairSearch(const Stores& stores, const Task& task, std::vector<int> parts,
             int64_t pairs_at_once = kPairsAtOnce);

  [[nodiscard]] bool done() const { return part_ == parts_.size(); }
  // Requires !done(). Errors as ReadEdgeRows.
  [[nodiscard]] Status Step();
  // Of the steps so far.
  [[nodiscard]] const PairCounts& counts() const { return counts_; }

 private:
  struct Row {
    int64_t source, destination;
    int32_t relation;
    int32_t place;  // 2 * set + whether it is a negative
  };
  // Rows of part `part` and the set `set` whose destination belongs to slice `slice_`.
  [[nodiscard]] Status Read(int part, size_t set, std::vector<Row>* rows);
  // Rows of one pair, by place.
  void Count(const Row* begin, const Row* end);

  const Stores& stores_;
  const Task& task_;
  const std::vector<int> parts_;
  const int64_t pairs_at_once_;
  std::array<std::vector<int64_t>, 3> part_rows_;  // EdgePartRows of each set
  size_t part_ = 0;                                // in parts_
  int64_t slice_ = 0, slices_ = 1;                 // of that part
  PairCounts counts_;
};

}  // namespace halograph
