// Which of a list of global ids are of partitions mapped here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/local/mapped_graph.h"
#include "common/graph/partition_book.h"

namespace halograph {

// Some ids of a list, in its order.
struct IdShare {
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;  // of these in the list

  void Clear() {
    ids.clear();
    positions.clear();
  }
  void Add(int64_t id, size_t position) {
    ids.push_back(id);
    positions.push_back(static_cast<int64_t>(position));
  }
};

struct OwnedSplit {
  IdShare own;
  IdShare rest;

  // Forgets the list before; its memory is reused. `boundaries`: as ids are owned; they lie within.
  void Split(const PartitionSet& mapped, std::span<const int64_t> boundaries,
             std::span<const int64_t> list) {
    own.Clear();
    rest.Clear();
    for (size_t i = 0; i < list.size(); ++i) {
      const bool here = mapped.Find(FindRange(boundaries, list[i])) != nullptr;
      (here ? own : rest).Add(list[i], i);
    }
  }
};

}  // namespace halograph
