// Who owns what: per node type and relation, P + 1 ascending boundaries of global ids. Partition p
// owns [boundaries[p], boundaries[p + 1]). Immutable; thread-safe. (Invariant 1.)
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/storage/json.h"

namespace halograph {

// A half-open range of global ids, or of rows.
struct IdRange {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] int64_t size() const { return end - begin; }
  [[nodiscard]] bool contains(int64_t id) const { return id >= begin && id < end; }
};

class PartitionBook {
 public:
  PartitionBook() = default;
  // One vector of P + 1 boundaries a node type and relation, in the schema's order.
  // InvalidArgument if one does not start at 0, descends, differs in length, or ends elsewhere
  // than at the schema's count.
  [[nodiscard]] static StatusOr<PartitionBook> Create(
      const Schema& schema, std::vector<std::vector<int64_t>> node_boundaries,
      std::vector<std::vector<int64_t>> edge_boundaries);

  [[nodiscard]] int num_parts() const { return num_parts_; }
  // Requires 0 <= id < count of the type (asserted; callers validate at the border).
  [[nodiscard]] int NodeOwner(int node_type, int64_t id) const;
  [[nodiscard]] IdRange NodeRange(int node_type, int part) const;
  [[nodiscard]] IdRange EdgeRange(int relation, int part) const;
  [[nodiscard]] std::span<const int64_t> NodeBoundaries(int node_type) const;
  [[nodiscard]] std::span<const int64_t> EdgeBoundaries(int relation) const;

  bool operator==(const PartitionBook&) const = default;

 private:
  int num_parts_ = 0;
  std::vector<std::vector<int64_t>> nodes_;
  std::vector<std::vector<int64_t>> edges_;
};

// The partition that a rank of a training run belongs to: floor(rank * parts / world_size).
// Requires 0 <= rank < world_size.
[[nodiscard]] int PartOfRank(int rank, int num_parts, int world_size);

// Index of the range of `boundaries` that holds `id`; empty ranges are skipped.
[[nodiscard]] int FindRange(std::span<const int64_t> boundaries, int64_t id);

// {"nodes": {type: [..]}, "edges": {triple: [..]}}
[[nodiscard]] Json ToJson(const PartitionBook& book, const Schema& schema);
[[nodiscard]] StatusOr<PartitionBook> PartitionBookFromJson(const Json& value, const Schema& schema,
                                                            std::string_view where);

}  // namespace halograph
