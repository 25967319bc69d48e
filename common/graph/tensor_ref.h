// How a tensor of the graph is named on the wire and between modules, and where its rows lie in a
// mapped partition.
#pragma once

#include <compare>
#include <string>

#include "common/base/status.h"
#include "common/graph/partition.h"

namespace halograph {

// Built-in tensor of every node type and relation: int64, rank 1, the original id of each row.
inline constexpr char kOriginalIdTensor[] = "@original_id";

struct TensorRef {
  bool edge = false;  // of a relation instead of a node type
  std::string type;   // node type name or relation triple
  std::string name;   // feature name, or kOriginalIdTensor

  [[nodiscard]] std::string ToString() const;  // "node paper / feat"
  bool operator==(const TensorRef&) const = default;
  // Those of node types before those of relations, then by type and name.
  auto operator<=>(const TensorRef&) const = default;  // NOLINT(modernize-use-nullptr)
};

// A tensor resolved against a schema.
struct ResolvedTensor {
  bool edge = false;
  int type = 0;      // index of node type or relation
  int feature = -1;  // index in the schema; -1: original ids
  TensorSpec spec;
  int64_t rows = 0;  // over all partitions
};

// NotFound naming what is unknown and what exists.
[[nodiscard]] StatusOr<ResolvedTensor> ResolveTensor(const Schema& schema, const TensorRef& ref);

[[nodiscard]] std::span<const int64_t> Boundaries(const PartitionBook& book,
                                                  const ResolvedTensor& tensor);

// The rows of `tensor` that `partition` owns, and the global id of the first.
struct TensorRows {
  std::span<const std::byte> bytes;
  IdRange ids;
};
[[nodiscard]] TensorRows RowsOf(const Partition& partition, const ResolvedTensor& tensor);

}  // namespace halograph
