// What layer-wise samplers ask about nodes outside a part, as far as its halo has their in-edges. A
// node that it does not know has none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/idle_pool.h"
#include "common/base/status.h"
#include "common/graph/halo.h"
#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/sampling/kernel/column_workspace.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// `rows`: the halo's in-edges, whose destinations are numbered by their position among those that
// it knows. Borrows all. Thread-safe. Throws std::bad_alloc.
class HaloColumns {
 public:
  HaloColumns(const Halo& halo, const Schema& schema, const Topology& rows,
              IdlePool<ColumnWorkspace>* workspaces)
      : halo_(halo), schema_(schema), rows_(rows), workspaces_(*workspaces) {}

  // `cut` is raised by the destinations that the halo does not know.
  //   FailedPrecondition  a page: no part is here as a whole
  //   else                as the kernel's
  [[nodiscard]] Status Sum(std::span<const ColumnGroup> groups, std::vector<ColumnSums>* sums,
                           int64_t* cut) const;
  [[nodiscard]] Status Extract(std::span<const EdgeGroup> groups,
                               std::vector<ExtractedEdges>* edges) const;

 private:
  // Destinations that the halo knows.
  struct Known {
    std::vector<int64_t> places;  // in the list asked about
    std::vector<int64_t> rows;
  };
  [[nodiscard]] Known KnownOf(int relation, std::span<const int64_t> destinations) const;
  [[nodiscard]] Status ExtractGroup(const EdgeGroup& group, ColumnWorkspace* workspace,
                                    ExtractedEdges* edges) const;
  // Makes global ids of edges that were counted from the halo's first.
  void NumberEdges(int relation, std::span<const int64_t> rows, ExtractedEdges* edges) const;
  [[nodiscard]] Status FillColumnDegrees(const EdgeGroup& group, ExtractedEdges* edges) const;
  [[nodiscard]] Status Damaged(int relation) const;

  const Halo& halo_;
  const Schema& schema_;
  const Topology& rows_;
  IdlePool<ColumnWorkspace>& workspaces_;
};

}  // namespace halograph
