// All edges of a link prediction task, to look up which nodes are known at an edge's other end: a
// known edge is no negative when an answer is ranked among all nodes ("filtered" ranks; Bordes and
// others 2013). Immutable; thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "client/stores.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/options/task_choices.h"

namespace halograph {

class KnownEdges {
 public:
  // Of all sets of the task: train, valid and test. Every rank reads and keeps them all: 24 bytes
  // an edge and end that is asked about. Errors as ForEachEdge.
  [[nodiscard]] static StatusOr<KnownEdges> Read(const Stores& stores, const Task& task,
                                                 CorruptedEnds ends);

  struct Entry {
    int64_t relation = 0;
    int64_t node = 0;                                // at the end that is given
    int64_t other = 0;                               // at the end that is asked about
    auto operator<=>(const Entry&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  // The edges of `relation` from source `node`, by destination ascending, each once. Requires ends
  // with tails.
  [[nodiscard]] std::span<const Entry> TailsOf(int64_t relation, int64_t node) const {
    return Find(tails_, relation, node);
  }
  // Those into destination `node`, by source. Requires ends with heads.
  [[nodiscard]] std::span<const Entry> HeadsOf(int64_t relation, int64_t node) const {
    return Find(heads_, relation, node);
  }

 private:
  [[nodiscard]] static std::span<const Entry> Find(const std::vector<Entry>& entries,
                                                   int64_t relation, int64_t node);

  std::vector<Entry> tails_, heads_;  // sorted
};

}  // namespace halograph
