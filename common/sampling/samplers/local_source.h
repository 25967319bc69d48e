// Answers samplers' questions by the kernel, of a topology that is here.
#pragma once

#include <span>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/idle_pool.h"
#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/sampling/kernel/column_workspace.h"
#include "common/sampling/kernel/frontier_stack.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// `topology` must hold every destination and part asked for. Nothing is owned; `pool` may be null,
// and shares the work on draws; without `workspaces` it has one of its own. Groups of one relation
// share scans where `stacks` has room for it and it pays; null: none. `limits` are looked at where
// all edges of a part are summed. One thread at a time. Errors as those of the kernel.
class LocalSource final : public TopologySource {
 public:
  LocalSource(const Schema* schema, const Topology* topology, ThreadPool* pool,
              IdlePool<ColumnWorkspace>* workspaces = nullptr, const WorkLimits& limits = {},
              StackMemory* stacks = nullptr)
      : schema_(*schema),
        topology_(*topology),
        pool_(pool),
        workspaces_(workspaces != nullptr ? *workspaces : own_),
        limits_(limits),
        stacks_(stacks) {}

  [[nodiscard]] Status Draw(std::span<const LayerGroup> groups,
                            std::vector<NeighborPicks>* picks) override;
  [[nodiscard]] Status SumColumns(std::span<const ColumnGroup> groups,
                                  std::vector<ColumnSums>* sums) override;
  [[nodiscard]] Status Extract(std::span<const EdgeGroup> groups,
                               std::vector<ExtractedEdges>* edges) override;

 private:
  const Schema& schema_;
  const Topology& topology_;
  ThreadPool* const pool_;
  IdlePool<ColumnWorkspace> own_;
  IdlePool<ColumnWorkspace>& workspaces_;
  const WorkLimits limits_;
  StackMemory* const stacks_;
};

// A relation of the schema as column sums and extraction read it. `triple`: outlives what is made.
[[nodiscard]] ColumnEdges ColumnEdgesOf(const Schema& schema, const Topology& topology,
                                        int relation, std::string_view triple);

}  // namespace halograph
