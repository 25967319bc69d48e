// What column sums and extracted edges are made of and in: the rows of a list of destinations, and
// tables with an entry a source node, which the next call uses again.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/topology.h"
#include "common/sampling/kernel/nodes.h"
#include "common/storage/fused_array.h"

namespace halograph {

// One relation as layer-wise draws read it: the in-edges of the parts that are here. Borrowed.
struct ColumnEdges {
  const RelationTopology* topology = nullptr;
  int64_t num_sources = 0;         // nodes of the source type: ids of sources are below
  std::string_view relation = {};  // its triple, for messages
};

// The in-edges of one destination.
struct ColumnRow {
  const void* sources = nullptr;  // global ids, as wide as the relation's
  int64_t degree = 0;
  int64_t first_edge = 0;  // global id of the first edge

  // IdT: the width of the relation's ids.
  template <typename IdT>
  [[nodiscard]] std::span<const IdT> SourcesAs() const {
    return {static_cast<const IdT*>(sources), static_cast<size_t>(degree)};
  }
};

// Sets rows[i] to the in-edges of destinations[i], whatever their sources hold, and returns how
// many edges they have together.
//   InvalidArgument  a destination that is in no part that is here; or so many that repeat that
//   they
//                    have more edges than there are
//   DataLoss         damaged offsets; names the relation and the node
[[nodiscard]] StatusOr<int64_t> FindColumnRows(const ColumnEdges& edges,
                                               std::span<const int64_t> destinations,
                                               std::vector<ColumnRow>* rows);

// One serves one call at a time, over any relation. Tables are as long as the largest source type
// that was asked about, are zero between calls, and take memory where they are used: 4 bytes a node
// for sums and for places of columns, 4 more where sums reach 2^32, 1/8 for bits; besides 24 bytes
// a destination. Types of more than `max_table_nodes` nodes have no table: they take 32 bytes an
// edge, or as much a column, and more time.
class ColumnWorkspace {
 public:
  explicit ColumnWorkspace(int64_t max_table_nodes = kMaxTableNodes)
      : max_table_nodes_(max_table_nodes) {}

  [[nodiscard]] bool HasTables(int64_t num_sources) const {
    return num_sources <= max_table_nodes_;
  }

  // Tables of `num_sources` entries at least. Throw std::bad_alloc.
  [[nodiscard]] uint32_t* Entries(int64_t num_sources) { return Grown(num_sources, &entries_); }
  [[nodiscard]] uint32_t* UpperEntries(int64_t num_sources) { return Grown(num_sources, &upper_); }
  // A bit a node, and whole words.
  [[nodiscard]] uint64_t* Bits(int64_t num_sources) { return Grown(num_sources / 64 + 1, &bits_); }

  // Makes all tables zero, by new memory: where a call ended on the way.
  void Clear() {
    entries_ = {};
    upper_ = {};
    bits_ = {};
  }

  std::vector<ColumnRow> rows;  // of the call's destinations

 private:
  template <typename T>
  static T* Grown(int64_t size, FusedArray<T>* table) {
    // To grow would copy zeros, and so take memory for entries that are not used.
    if (table->size() < static_cast<size_t>(size)) *table = {};
    table->GrowTo(static_cast<size_t>(size));
    return table->data();
  }

  const int64_t max_table_nodes_;
  FusedArray<uint32_t> entries_;
  FusedArray<uint32_t> upper_;
  FusedArray<uint64_t> bits_;
};

}  // namespace halograph
