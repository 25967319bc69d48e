// That the steps of layer-wise and neighbour sampling are those of sparse matrices
// (docs/samplers.md, "As matrices"): SuiteSparse:GraphBLAS takes them, for several minibatches
// stacked, and gives the same numbers, equal to the last bit.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "tests/support/graphblas/matrix_form.h"
#include "tests/support/random_graph.h"
#include "tests/unit/sampling/memory_graph.h"
#include "tests/unit/sampling/random_request.h"

namespace halograph {
namespace {

using NodeLists = std::vector<std::vector<int64_t>>;

constexpr int kStacked[] = {1, 5};  // minibatches

// `count` numbers below `bound`, each once, in the order drawn.
std::vector<int64_t> Distinct(int64_t count, int64_t bound, CounterRng* rng) {
  std::vector<int64_t> nodes;
  std::set<int64_t> seen;
  for (const int64_t v : RandomSeeds(count, bound, rng)) {
    if (seen.insert(v).second) nodes.push_back(v);
  }
  return nodes;
}

NodeLists SomeLists(int lists, int64_t bound, CounterRng* rng) {
  NodeLists some;
  for (int i = 0; i < lists; ++i) some.push_back(Distinct(1 + 9 * i, bound, rng));
  return some;
}

// The rows of P = Q A, as an owner answers them.
std::vector<ColumnSums> RowsOf(const SparseMatrix& matrix) {
  std::vector<ColumnSums> rows(static_cast<size_t>(matrix.rows()));
  const MatrixEntries entries = matrix.entries();
  for (size_t e = 0; e < entries.rows.size(); ++e) {
    rows[entries.rows[e]].sources.push_back(static_cast<int64_t>(entries.columns[e]));
    rows[entries.rows[e]].sums.push_back(entries.values[e]);
  }
  return rows;
}

std::vector<uint64_t> AsUnsigned(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

// A block as a matrix has it: destinations by columns, parallel edges as one number. column(e): of
// edge e.
template <typename Column>
MatrixEntries EntriesOf(const std::vector<int64_t>& offsets, const Column& column) {
  std::map<std::pair<int64_t, int64_t>, uint64_t> counts;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      ++counts[{static_cast<int64_t>(i), column(static_cast<size_t>(e))}];
    }
  }
  MatrixEntries entries;
  for (const auto& [place, count] : counts) entries.Add(place.first, place.second, count);
  return entries;
}

// One relation, as the kernels read it and as a matrix.
struct MatrixRelation {
  MatrixRelation(const MemoryGraph& graph, int index)
      : relation(index),
        num_destinations(graph.topology[index].num_destinations()),
        num_sources(graph.schema.node_types[graph.schema.SourceType(index)].count),
        adjacency(MakeAdjacency(graph.topology[index], num_sources)),
        degrees(AddUpRows(adjacency)),
        ones(degrees.size(), 1) {
    for (const uint64_t degree : degrees) {
      shares.push_back(degree == 0 ? 0 : DegreeShare(static_cast<int64_t>(degree)));
    }
  }

  // What Q has at each destination.
  [[nodiscard]] const std::vector<uint64_t>& ValuesOf(ColumnValue value) const {
    return value == ColumnValue::kOne ? ones : shares;
  }

  int relation;
  int64_t num_destinations;
  int64_t num_sources;
  SparseMatrix adjacency;
  std::vector<uint64_t> degrees;  // by destination
  std::vector<uint64_t> ones;
  std::vector<uint64_t> shares;
};

class GraphBlasTest : public testing::Test {
 protected:
  GraphBlasTest() { static const GraphBlasSession session; }

  // Calls test(graph, relation) for each relation of graphs of one type and of several, in parts.
  template <typename Test>
  static void ForEachRelation(const Test& test) {
    bool parallel = false;
    for (const int parts : {1, 3}) {
      for (const bool typed : {false, true}) {
        SCOPED_TRACE((typed ? "typed, parts " : "parts ") + std::to_string(parts));
        const RandomGraphOptions options{.seed = 40, .parts = parts, .nodes = 90, .mean_degree = 7};
        const MemoryGraph graph(typed ? RandomTypedGraph(options) : RandomGraph(options),
                                parts == 1 ? IdWidth::k64 : IdWidth::k32);
        for (int r = 0; r < static_cast<int>(graph.topology.size()); ++r) {
          const MatrixRelation relation(graph, r);
          const MatrixEntries entries = relation.adjacency.entries();
          parallel =
              parallel || std::ranges::any_of(entries.values, [](uint64_t n) { return n > 1; });
          test(graph, relation);
        }
      }
    }
    EXPECT_TRUE(parallel) << "no graph has parallel edges";
  }
};

TEST_F(GraphBlasTest, ColumnSumsOfStackedMinibatchesAreTheRowsOfQTimesA) {
  ForEachRelation([](const MemoryGraph& graph, const MatrixRelation& relation) {
    CounterRng rng(Mix(1));
    LocalSource source(&graph.schema, &graph.topology, nullptr);
    for (const int k : kStacked) {
      const NodeLists lists = SomeLists(k, relation.num_destinations, &rng);
      for (const ColumnValue value : {ColumnValue::kOne, ColumnValue::kDegreeShare}) {
        std::vector<ColumnGroup> groups;
        for (const std::vector<int64_t>& list : lists) {
          groups.push_back({.relation = relation.relation, .value = value, .destinations = list});
        }
        std::vector<ColumnSums> sums;
        ASSERT_EQ(source.SumColumns(groups, &sums), OkStatus());
        const SparseMatrix q = MakeListRows(lists, relation.ValuesOf(value));
        EXPECT_EQ(sums, RowsOf(Product(q, relation.adjacency)));
      }
    }
  });
}

TEST_F(GraphBlasTest, EveryPartsColumnSumsAreTheRowsOfItsOwnersShareOfQ) {
  const MemoryGraph graph(RandomGraph({.seed = 41, .parts = 3, .nodes = 90, .mean_degree = 7}),
                          IdWidth::k32);
  const MatrixRelation relation(graph, 0);
  std::vector<uint64_t> added(static_cast<size_t>(relation.num_sources));
  for (int part = 0; part < 3; ++part) {
    const IdRange nodes = graph.topology[0].segments()[part].nodes;
    NodeLists list(1);
    for (int64_t v = nodes.begin; v < nodes.end; ++v) list[0].push_back(v);
    const SparseMatrix q = MakeListRows(list, relation.ones);
    const std::vector<ColumnSums> rows = RowsOf(Product(q, relation.adjacency));
    std::vector<ColumnSums> pages;
    LocalSource source(&graph.schema, &graph.topology, nullptr);
    const ColumnGroup page{.page = {{.part = part, .sources = {0, relation.num_sources}}}};
    ASSERT_EQ(source.SumColumns({&page, 1}, &pages), OkStatus());
    EXPECT_EQ(pages, rows);
    for (size_t i = 0; i < rows[0].sources.size(); ++i)
      added[rows[0].sources[i]] += rows[0].sums[i];
  }
  EXPECT_EQ(added, AddUpColumns(relation.adjacency));
}

TEST_F(GraphBlasTest, OutDegreesAreTheColumnsOfAAddedUp) {
  ForEachRelation([](const MemoryGraph& graph, const MatrixRelation& relation) {
    const ColumnEdges edges =
        ColumnEdgesOf(graph.schema, graph.topology, relation.relation, "relation");
    std::vector<uint32_t> degrees;
    ASSERT_EQ(CountOutDegrees(edges, {0, relation.num_sources}, &degrees), OkStatus());
    EXPECT_THAT(degrees, testing::ElementsAreArray(AddUpColumns(relation.adjacency)));
  });
}

// The picks of destination v are `fanout` edges of the row, or all that it has.
void ExpectDrawnFrom(const ColumnSums& row, int32_t fanout, const NeighborPicks& picks, size_t v) {
  std::map<int64_t, uint64_t> drawn;
  for (int64_t e = picks.offsets[v]; e < picks.offsets[v + 1]; ++e) ++drawn[picks.sources[e]];
  uint64_t edges = 0, found = 0;
  for (size_t c = 0; c < row.sources.size(); ++c) {
    const uint64_t count = drawn.contains(row.sources[c]) ? drawn[row.sources[c]] : 0;
    EXPECT_LE(count, row.sums[c]);
    edges += row.sums[c];
    found += count;
  }
  EXPECT_EQ(found, fanout == kFullNeighborhood ? edges : std::min<uint64_t>(fanout, edges));
  EXPECT_EQ(found, static_cast<uint64_t>(picks.offsets[v + 1] - picks.offsets[v]))
      << "a source that the row does not have";
}

// Of neighbours, Q has a row a destination; destinations of all minibatches stand below each other.
TEST_F(GraphBlasTest, NeighboursAreDrawnFromTheRowsOfQTimesA) {
  ForEachRelation([](const MemoryGraph& graph, const MatrixRelation& relation) {
    CounterRng rng(Mix(2));
    LocalSource source(&graph.schema, &graph.topology, nullptr);
    for (const int k : kStacked) {
      const NodeLists lists = SomeLists(k, relation.num_destinations, &rng);
      std::vector<int64_t> stacked;
      for (const auto& list : lists) stacked.insert(stacked.end(), list.begin(), list.end());
      const std::vector<ColumnSums> rows =
          RowsOf(Product(MakeNodeRows(stacked, relation.num_destinations), relation.adjacency));
      for (const int32_t fanout : {kFullNeighborhood, 4}) {
        std::vector<LayerGroup> groups;
        for (const auto& list : lists) {
          groups.push_back({.relation = relation.relation,
                            .rule = {.fanout = fanout},
                            .batch_seed = groups.size(),
                            .destinations = list});
        }
        std::vector<NeighborPicks> picks;
        ASSERT_EQ(source.Draw(groups, &picks), OkStatus());
        size_t row = 0;
        for (size_t i = 0; i < lists.size(); ++i) {
          for (size_t v = 0; v < lists[i].size(); ++v)
            ExpectDrawnFrom(rows[row++], fanout, picks[i], v);
        }
      }
    }
  });
}

// A block a minibatch, from rows and columns of its own: extracted from A at once, and as the
// product of Q_R, A and Q_C.
TEST_F(GraphBlasTest, ExtractedEdgesAreTheBlocksOfA) {
  ForEachRelation([](const MemoryGraph& graph, const MatrixRelation& relation) {
    CounterRng rng(Mix(3));
    LocalSource source(&graph.schema, &graph.topology, nullptr);
    for (const int k : kStacked) {
      const NodeLists lists = SomeLists(k, relation.num_destinations, &rng);
      NodeLists columns;
      std::vector<EdgeGroup> groups;
      for (int i = 0; i < k; ++i) {
        columns.push_back(Distinct(2 + 11 * i, relation.num_sources, &rng));
        std::ranges::sort(columns.back());
      }
      for (int i = 0; i < k; ++i) {
        groups.push_back(
            {.relation = relation.relation, .destinations = lists[i], .columns = columns[i]});
      }
      std::vector<ExtractedEdges> extracted;
      ASSERT_EQ(source.Extract(groups, &extracted), OkStatus());
      for (int i = 0; i < k; ++i) {
        const MatrixEntries found = EntriesOf(
            extracted[i].offsets, [&](size_t e) { return int64_t{extracted[i].columns[e]}; });
        EXPECT_EQ(found, ExtractBlock(relation.adjacency, lists[i], columns[i]).entries());
        const SparseMatrix rows =
            Product(MakeNodeRows(lists[i], relation.num_destinations), relation.adjacency);
        const SparseMatrix q_c = MakeNodeColumns(columns[i], relation.num_sources);
        EXPECT_EQ(found, Product(rows, q_c).entries());
        EXPECT_EQ(AsUnsigned(extracted[i].degrees), AddUpRows(rows));
      }
    }
  });
}

// The graph and the numbers of docs/samplers.md.
TEST_F(GraphBlasTest, TheExampleOfTheDocumentationHasTheseNumbers) {
  TestGraphSpec spec{.parts = 1, .node_types = {{}}, .relations = {{}}};
  spec.node_types[0].owners = {0, 0, 0, 0, 0, 0};
  spec.relations[0].edges = {{1, 0}, {2, 0}, {2, 0}, {2, 1}, {3, 1}, {0, 2},
                             {4, 2}, {1, 3}, {4, 3}, {5, 3}, {3, 4}, {0, 5}};
  const MemoryGraph graph(spec, IdWidth::k32);
  const MatrixRelation relation(graph, 0);
  const NodeLists lists = {{0, 1}, {0, 3}}, columns = {{1, 2}, {1, 4}};
  const std::vector<ColumnSums> p = {{{1, 2, 3}, {1, 3, 1}}, {{1, 2, 4, 5}, {2, 2, 1, 1}}};
  EXPECT_EQ(RowsOf(Product(MakeListRows(lists, relation.ones), relation.adjacency)), p);
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  std::vector<ColumnSums> sums;
  ASSERT_EQ(
      source.SumColumns(
          std::vector<ColumnGroup>{{.destinations = lists[0]}, {.destinations = lists[1]}}, &sums),
      OkStatus());
  EXPECT_EQ(sums, p);
  std::vector<ExtractedEdges> edges;
  ASSERT_EQ(
      source.Extract(std::vector<EdgeGroup>{{.destinations = lists[0], .columns = columns[0]},
                                            {.destinations = lists[1], .columns = columns[1]}},
                     &edges),
      OkStatus());
  EXPECT_THAT(edges[0].offsets, testing::ElementsAre(0, 3, 4));
  EXPECT_THAT(edges[0].columns, testing::ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(edges[1].offsets, testing::ElementsAre(0, 1, 3));
  EXPECT_THAT(edges[1].columns, testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(edges[1].degrees, testing::ElementsAre(3, 3));
}

// ---- whole minibatches -------------------------------------------------------------------------

// k layer-wise minibatches of one relation, by matrices; the draw alone is ours.
class MatrixMinibatches {
 public:
  MatrixMinibatches(const MatrixRelation& relation, const DrawRule& rule, NodeLists seeds)
      : relation_(relation), rule_(rule), lists_(std::move(seeds)), columns_(lists_.size()) {
    for (const uint64_t degree : AddUpColumns(relation.adjacency)) {
      out_degrees_.sources.push_back(std::ssize(out_degrees_.sources));
      out_degrees_.sums.push_back(degree);
    }
  }

  [[nodiscard]] const NodeLists& lists() const { return lists_; }
  [[nodiscard]] const NodeLists& columns() const { return columns_; }

  // Takes the three steps of a layer: blocks()[i] of the lists as they were, columns() drawn.
  std::vector<MatrixEntries> Layer(int layer) {
    std::vector<ColumnSums> rows(lists_.size(), out_degrees_);
    if (rule_.kind == DrawKind::kLadies) {
      const SparseMatrix q =
          MakeListRows(lists_, relation_.ValuesOf(ColumnValueOf(rule_.probability)));
      rows = RowsOf(Product(q, relation_.adjacency));
    }
    std::vector<MatrixEntries> blocks;
    for (size_t i = 0; i < lists_.size(); ++i) {
      const std::vector<int64_t> drawn = Drawn(std::move(rows[i]), i, layer);
      columns_[i] = drawn;
      std::ranges::sort(columns_[i]);
      blocks.push_back(ExtractBlock(relation_.adjacency, lists_[i], columns_[i]).entries());
      const std::set<int64_t> listed(lists_[i].begin(), lists_[i].end());
      for (const int64_t u : drawn) {
        if (!listed.contains(u)) lists_[i].push_back(u);
      }
    }
    return blocks;
  }

 private:
  // In the order picked.
  [[nodiscard]] std::vector<int64_t> Drawn(ColumnSums row, uint64_t batch_seed, int layer) const {
    if (rule_.kind == DrawKind::kLadies) {
      EXPECT_EQ(MakeWeights(rule_.probability, row.sums), OkStatus());
    }
    CandidateSums candidates;
    candidates.Reset(std::span<const uint64_t>(row.sums));
    LayerWisePicks picks;
    EXPECT_EQ(LayerWiseDrawer().Draw(candidates, rule_.fanout,
                                     ColumnKey(LayerKey(batch_seed, layer, 1, 0)), &picks),
              OkStatus());
    std::vector<int64_t> nodes;
    for (const int64_t position : picks.positions) nodes.push_back(row.sources[position]);
    return nodes;
  }

  const MatrixRelation& relation_;
  const DrawRule rule_;
  NodeLists lists_;
  NodeLists columns_;
  ColumnSums out_degrees_;  // of all nodes, 0 too
};

// Holds the minibatches that are built together, of three layers, to those of matrices.
void ExpectMinibatchesOfMatrices(const DrawRule& rule, int k) {
  SCOPED_TRACE("kind " + std::to_string(static_cast<int>(rule.kind)) + ", probability " +
               std::to_string(static_cast<int>(rule.probability)) + ", k " + std::to_string(k));
  const MemoryGraph graph(RandomGraph({.seed = 42, .parts = 2, .nodes = 150, .mean_degree = 6}),
                          IdWidth::k32);
  const MatrixRelation relation(graph, 0);
  CounterRng rng(Mix(4));
  const NodeLists seeds = SomeLists(k, relation.num_destinations, &rng);
  const SamplingSpec spec{.layers = {{{0, rule}}, {{0, rule}}, {{0, rule}}}};
  std::vector<SampleRequest> requests;
  for (const std::vector<int64_t>& list : seeds) {
    requests.push_back({.seeds = {{.ids = list}}, .batch_seed = requests.size(), .spec = &spec});
  }
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  BuilderWorkspaces workspaces(&graph.schema, 2);
  std::vector<Minibatch> minibatches(requests.size());
  ASSERT_EQ(BuildMinibatches(graph.schema, requests, source, &workspaces, minibatches), OkStatus());

  MatrixMinibatches matrices(relation, rule, seeds);
  int64_t edges = 0;
  for (int layer = 0; layer < 3; ++layer) {
    const NodeLists destinations = matrices.lists();
    const std::vector<MatrixEntries> blocks = matrices.Layer(layer);
    for (size_t i = 0; i < minibatches.size(); ++i) {
      const Block& block = minibatches[i].layers[layer].blocks[0];
      const std::vector<int64_t>& columns = matrices.columns()[i];
      const MatrixEntries found = EntriesOf(block.indptr, [&](size_t e) {
        const int64_t node = minibatches[i].nodes[0][block.indices[e]];
        return std::ranges::lower_bound(columns, node) - columns.begin();
      });
      EXPECT_EQ(found, blocks[i]) << "minibatch " << i << ", layer " << layer;
      for (size_t v = 0; v < destinations[i].size(); ++v) {
        EXPECT_EQ(block.degrees[v], static_cast<float>(relation.degrees[destinations[i][v]]));
      }
      edges += std::ssize(block.indices);
    }
  }
  EXPECT_GT(edges, 0);
  for (size_t i = 0; i < minibatches.size(); ++i) {
    EXPECT_EQ(minibatches[i].nodes[0], matrices.lists()[i]) << "minibatch " << i;
  }
}

TEST_F(GraphBlasTest, LadiesMinibatchesAreThoseOfStackedMatrices) {
  for (const LayerProbability probability :
       {LayerProbability::kDegree, LayerProbability::kCount, LayerProbability::kCount2}) {
    for (const int k : kStacked) {
      ExpectMinibatchesOfMatrices(
          {.kind = DrawKind::kLadies, .fanout = 20, .probability = probability}, k);
    }
  }
}

TEST_F(GraphBlasTest, FastGcnMinibatchesAreThoseOfStackedMatrices) {
  for (const int k : kStacked) {
    ExpectMinibatchesOfMatrices({.kind = DrawKind::kFastGcn, .fanout = 30}, k);
  }
}

}  // namespace
}  // namespace halograph
