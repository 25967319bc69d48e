// A graph in memory, in global ids, with the topology that the kernel reads: for tests that need no
// partition folder.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/graph/topology.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "tests/support/graph_fixture.h"

namespace halograph {

// The in-edges of one relation: in_edges[v] lists the sources of destination v in file order.
using InEdges = std::vector<std::vector<int64_t>>;

enum class IdWidth { k32, k64 };

// Segments over `boundaries` (parts + 1, of the destination type). Owns the arrays; not movable.
class MemoryRelation {
 public:
  MemoryRelation(InEdges in_edges, std::vector<int64_t> boundaries, IdWidth width);
  MemoryRelation(const MemoryRelation&) = delete;
  MemoryRelation& operator=(const MemoryRelation&) = delete;

  [[nodiscard]] const InEdges& in_edges() const { return in_edges_; }
  [[nodiscard]] const RelationTopology& topology() const { return topology_; }

 private:
  InEdges in_edges_;
  std::vector<std::vector<int64_t>> indptr_;  // per part
  std::vector<std::vector<uint32_t>> indices32_;
  std::vector<std::vector<int64_t>> indices64_;
  RelationTopology topology_;
};

// All relations of a spec, numbered as WriteTestGraph does.
struct MemoryGraph {
  MemoryGraph(const TestGraphSpec& spec, IdWidth width);

  Schema schema;
  std::vector<std::unique_ptr<MemoryRelation>> relations;  // in the schema's order
  Topology topology;                                       // views of them
};

// One minibatch by BuildMinibatches, in a workspace of its own. Not by out-degrees.
[[nodiscard]] StatusOr<Minibatch> BuildAlone(const Schema& schema, const SampleRequest& request,
                                             TopologySource& source);

}  // namespace halograph
