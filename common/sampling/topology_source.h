// What samplers ask of a topology, wherever it is, and what they get: three questions, which
// whoever has the in-edges of a destination answers. Samplers (samplers/) ask nothing else.
//
//   draws  which in-edges of each destination are drawn
//   sums   what the edges of each candidate source add up to, over destinations or a whole part
//   edges  the edges between destinations and given sources, and in-degrees
//
// Edges that a minibatch leaves out are no matter of a source: who makes the minibatch removes
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "common/sampling/layer_draws.h"
#include "common/sampling/layer_probability.h"
#include "common/sampling/rule.h"

namespace halograph {

// What one layer of one minibatch asks of one relation. Everything that its draws depend on is
// here, so groups of different minibatches and layers can be answered in one exchange. Ids are
// borrowed, here and below.
struct LayerGroup {
  int relation = 0;
  DrawRule rule;                          // of the relation; node-wise
  uint64_t batch_seed = 0;                // of the minibatch
  int layer = 0;                          // whose key it draws by
  bool edge_ids = false;                  // fills NeighborPicks::edge_ids
  bool weights = false;                   // fills NeighborPicks::weights; needs one in the rule
  bool degrees = false;                   // fills NeighborPicks::degrees, whatever is drawn
  std::span<const int64_t> destinations;  // unique global ids

  // Whether nobody need be asked.
  [[nodiscard]] bool nothing() const { return rule.nothing() && !degrees; }
};

// By candidate: a source with an edge into a destination. As long as one another.
struct ColumnSums {
  std::vector<int64_t> sources;  // global ids, ascending
  std::vector<uint64_t> sums;    // above 0
  bool operator==(const ColumnSums&) const = default;
};

// What the edges of one relation add up to, by source: of those into destinations, or of all that
// one part owns, of a range of sources (FastGCN: a page of out-degrees; kAsymmetry: of all sources
// of a relation of a type with itself, and the answer is one sum, of source 0, or none: it is 0).
struct ColumnGroup {
  struct Page {
    int part = 0;
    IdRange sources;
  };
  int relation = 0;
  ColumnValue value = ColumnValue::kOne;       // of a page: kOne, kAsymmetry
  std::span<const int64_t> destinations = {};  // unique global ids; none beside a page
  std::optional<Page> page = {};
};

// What is wanted beside edges between destinations and columns.
struct ExtractWanted {
  bool edge_ids = false;
  // In-degrees of the columns as destinations of the same relation: its two types must be one.
  bool column_degrees = false;
};

struct ExtractedEdges {
  // Edges of destination i are offsets[i] .. offsets[i + 1], in file order, parallel ones too.
  std::vector<int64_t> offsets;         // destinations + 1
  std::vector<int32_t> columns;         // by edge: position of its source in the list of columns
  std::vector<int64_t> edge_ids;        // by edge: global id; empty unless wanted
  std::vector<int64_t> degrees;         // by destination: all its in-edges
  std::vector<int64_t> column_degrees;  // by column: the same; -1: in no part that is here. Empty
                                        // unless wanted
  bool operator==(const ExtractedEdges&) const = default;
};

// The edges of one relation between destinations and columns.
struct EdgeGroup {
  int relation = 0;
  ExtractWanted wanted = {};
  std::span<const int64_t> destinations;  // unique global ids
  std::span<const int64_t> columns;       // global ids of sources, ascending and unique
};

// Asked together: one exchange with each owner. Several minibatches' may stand in one.
struct TopologyQuestions {
  std::vector<LayerGroup> draws;
  std::vector<ColumnGroup> sums;
  std::vector<EdgeGroup> edges;

  [[nodiscard]] size_t size() const { return draws.size() + sums.size() + edges.size(); }
  void clear() {
    draws.clear();
    sums.clear();
    edges.clear();
  }
};

// One answer a question, in their order. Memory is reused from question to question.
struct TopologyAnswers {
  std::vector<NeighborPicks> draws;
  std::vector<ColumnSums> sums;
  std::vector<ExtractedEdges> edges;
};

// Answers questions, wherever the topology is: GraphStore::Ask, say.
using AskTopology = std::function<Status(const TopologyQuestions&, TopologyAnswers*)>;

// Answers at once, of topologies that are here. What a source does not answer is Internal.
class TopologySource {
 public:
  virtual ~TopologySource() = default;
  // Each overwrites its answers: one a group.
  [[nodiscard]] virtual Status Draw(std::span<const LayerGroup> groups,
                                    std::vector<NeighborPicks>* picks) = 0;
  [[nodiscard]] virtual Status SumColumns(std::span<const ColumnGroup> groups,
                                          std::vector<ColumnSums>* sums);
  [[nodiscard]] virtual Status Extract(std::span<const EdgeGroup> groups,
                                       std::vector<ExtractedEdges>* edges);

  // All three; the first error.
  [[nodiscard]] Status Ask(const TopologyQuestions& questions, TopologyAnswers* answers);
};

}  // namespace halograph
