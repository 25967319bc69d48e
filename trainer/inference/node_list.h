// The nodes that inference is about: those that a user lists by original ids, as the graph knows
// them, and all of several types.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/stores.h"
#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/seeds/seed_source.h"

namespace halograph {

// Original ids from a file: .npy of one column, of any integer dtype and byte order, or else a text
// of one number a line, empty lines left out.
//   InvalidArgument     no number, or no node at all: the line is named; an entry of 2^63 and above
//   FailedPrecondition  an array of another dtype or shape
//   else                as NpyArray::Open and ReadTextFile, with the path
[[nodiscard]] StatusOr<std::vector<int64_t>> ReadNodeList(const std::string& path);

// Global ids of the nodes of `type` that have these original ids, ascending, each once. Looks at
// the original ids of all nodes of the type, some at a time.
//   NotFound  no node has an id: the first few are named
//   else      as RowStore::Pull
[[nodiscard]] StatusOr<std::vector<int64_t>> FindNodes(const Stores& stores, int type,
                                                       std::vector<int64_t> original_ids,
                                                       const CancelToken* cancel);

// All nodes of several types, type after type: rows of one part, for one rank.
class NodesOfTypes final : public SeedSource {
 public:
  // `types`: ascending indices in the schema.
  NodesOfTypes(const Schema& schema, std::vector<int> types);

  [[nodiscard]] std::span<const int64_t> part_rows() const override { return part_rows_; }
  [[nodiscard]] Status Collect(std::span<const int64_t> rows, uint64_t key,
                               StepSeeds* step) const override;

 private:
  const std::vector<int> types_;
  std::vector<int64_t> begins_;  // first row of each type, then their number
  std::vector<int64_t> part_rows_;
};

}  // namespace halograph
