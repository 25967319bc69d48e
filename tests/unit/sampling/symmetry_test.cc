// Whether a relation is symmetric: what a part sums, against numbers of another implementation, and
// what is made of all parts' sums, against counts of edges.
#include "common/sampling/samplers/symmetry.h"

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "common/base/cancel.h"
#include "common/base/rng.h"
#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/samplers/local_source.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using EndPairs = std::vector<std::pair<int64_t, int64_t>>;  // from, to

constexpr int64_t kEndNodes = 8;

// Every edge beside its reverse, of two parts: nodes 0 to 3, and the rest. From 1 to 2 three in
// parallel, between the parts two; self-loops at 0, and two at 6.
EndPairs SymmetricEdges() {
  EndPairs edges;
  const auto both = [&](int64_t u, int64_t v, int times) {
    for (int i = 0; i < times; ++i) edges.insert(edges.end(), {{u, v}, {v, u}});
  };
  both(1, 2, 3);
  both(0, 3, 1);
  both(2, 5, 2);
  both(7, 0, 1);
  both(4, 7, 1);
  edges.insert(edges.end(), {{0, 0}, {6, 6}, {6, 6}});
  return edges;
}

// A relation of a node type with itself, in `parts` parts.
struct SymmetryGraph {
  SymmetryGraph(const EndPairs& edges, IdWidth width, int parts = 2, int64_t nodes = kEndNodes)
      : graph(
            [&] {
              TestGraphSpec spec{.parts = parts, .node_types = {{}}, .relations = {{}}};
              for (int64_t v = 0; v < nodes; ++v) {
                spec.node_types[0].owners.push_back(static_cast<int>(v * parts / nodes));
              }
              spec.relations[0].edges = edges;
              return spec;
            }(),
            width),
        num_parts(parts) {}

  [[nodiscard]] ColumnEdges edges() const {
    return {.topology = &graph.topology[0],
            .num_sources = graph.schema.node_types[0].count,
            .relation = "node:edge:node"};
  }
  [[nodiscard]] uint64_t Asymmetry(int part) const {
    const auto sum = SumAsymmetry(edges(), part);
    EXPECT_TRUE(sum.ok()) << sum.status();
    return sum.value_or(1);
  }
  [[nodiscard]] Status Check() {
    LocalSource source(&graph.schema, &graph.topology, nullptr);
    return CheckSymmetric(graph.schema, 0, num_parts,
                          [&](const TopologyQuestions& questions, TopologyAnswers* answers) {
                            return source.Ask(questions, answers);
                          });
  }

  MemoryGraph graph;
  int num_parts;
};

void ExpectAsymmetric(const EndPairs& edges, const char* what) {
  for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
    const Status status = SymmetryGraph(edges, width).Check();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << what << status;
    EXPECT_THAT(Message(status), AllOf(HasSubstr("node:edge:node"), HasSubstr("from u to v"),
                                       HasSubstr("--undirected"), HasSubstr("--sampler cluster")));
  }
}

// By tests/data/sampling/oracle.py's mix and key.
TEST(SymmetryTest, AsymmetriesAreThoseOfTheContract) {
  EXPECT_EQ(AsymmetryOfEdge(1, 2), 0x8b26cb58a89d7ff2U);
  EXPECT_EQ(AsymmetryOfEdge(2, 1), 0x74d934a75762800eU);
  EXPECT_EQ(AsymmetryOfEdge(7, 7), 0U);
  for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
    const SymmetryGraph graph({{1, 2}, {1, 2}, {3, 0}, {5, 5}}, width);
    EXPECT_EQ(graph.Asymmetry(0), 0xee7d64738d20ff7aU);
    EXPECT_EQ(graph.Asymmetry(1), 0U);
  }
  // A source beyond 2^32, of one part.
  const MemoryRelation wide({{}, {}, {}, {}, {}, {}, {}, {}, {}, {(int64_t{1} << 32) + 7}}, {0, 10},
                            IdWidth::k64);
  const ColumnEdges edges{
      .topology = &wide.topology(), .num_sources = int64_t{1} << 33, .relation = "a:r:a"};
  EXPECT_EQ(SumAsymmetry(edges, 0).value_or(0), 0xdd100f350d5bb699U - 0xee7d64738d20ff7aU);
}

TEST(SymmetryTest, ParallelEdgesAndSelfLoopsOfTwoPartsAreSymmetric) {
  for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
    SymmetryGraph graph(SymmetricEdges(), width);
    EXPECT_EQ(graph.Check(), OkStatus());
    EXPECT_NE(graph.Asymmetry(0), 0U) << "edges between the parts have their reverse elsewhere";
    EXPECT_EQ(graph.Asymmetry(0) + graph.Asymmetry(1), 0U);
    EXPECT_EQ(SymmetryGraph({}, width).Check(), OkStatus());
  }
}

TEST(SymmetryTest, AnEdgeBackThatIsMissingOrOneTooManyIsRefusedByName) {
  const EndPairs whole = SymmetricEdges();
  for (size_t e = 0; e < whole.size(); ++e) {
    const auto [from, to] = whole[e];
    if (from == to) continue;
    EndPairs changed = whole;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(e));
    ExpectAsymmetric(changed, "one edge missing");
    changed = whole;
    changed.emplace_back(from, to);
    ExpectAsymmetric(changed, "one edge more");
    changed = whole;
    std::swap(changed[e].first, changed[e].second);
    ExpectAsymmetric(changed, "one edge turned");
  }
}

// As many edges come to each node as leave it, so no count of degrees tells.
TEST(SymmetryTest, DirectionsAreSeenWhereAllDegreesAgree) {
  ExpectAsymmetric({{0, 1}, {1, 2}, {2, 0}}, "a ring within a part");
  ExpectAsymmetric({{0, 5}, {5, 6}, {6, 3}, {3, 0}}, "a ring over parts");
  // 0 -> 1 twice for once each way, and so on round the ring.
  ExpectAsymmetric({{0, 1}, {0, 1}, {1, 4}, {1, 4}, {4, 0}, {4, 0}}, "a ring of parallel edges");
}

TEST(SymmetryTest, RandomRelationsPassAsTheirCountsSay) {
  CounterRng rng(Mix(31));
  int symmetric = 0;
  for (int i = 0; i < 300; ++i) {
    const auto nodes = static_cast<int64_t>(1 + rng.NextBounded(12));
    EndPairs edges;
    for (uint64_t e = rng.NextBounded(30); e > 0; --e) {
      const auto u = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(nodes)));
      const auto v = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(nodes)));
      edges.emplace_back(u, v);
      if (u != v && rng.NextBounded(40) > 0) edges.emplace_back(v, u);
    }
    std::map<std::pair<int64_t, int64_t>, int> more;
    for (const auto& [u, v] : edges) {
      if (u != v) more[std::minmax(u, v)] += u < v ? 1 : -1;
    }
    bool expected = true;
    for (const auto& [pair, difference] : more) expected = expected && difference == 0;
    SymmetryGraph graph(edges, i % 2 == 0 ? IdWidth::k32 : IdWidth::k64, 1 + i % 3, nodes);
    EXPECT_EQ(graph.Check().ok(), expected) << i;
    symmetric += expected ? 1 : 0;
  }
  EXPECT_GT(symmetric, 100);
  EXPECT_LT(symmetric, 280);
}

TEST(SymmetryTest, DamageIsDataLossNamingRelationAndNode) {
  const auto expect = [](const RelationTopology& topology, const char* text) {
    const Status status =
        SumAsymmetry({.topology = &topology, .num_sources = 3, .relation = "a:r:a"}, 0).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(Message(status), AllOf(HasSubstr("a:r:a"), HasSubstr(text)));
  };
  expect(MemoryRelation({{0, 1}, {2, 3}, {}}, {0, 3}, IdWidth::k32).topology(), "source 3");
  expect(MemoryRelation({{0, 1}, {2, 3}, {}}, {0, 3}, IdWidth::k64).topology(), "source 3");
  expect(MemoryRelation({{0, -1}, {}, {}}, {0, 3}, IdWidth::k64).topology(), "source -1");
  const uint32_t sources[] = {0, 1, 2};
  for (const std::vector<int64_t>& indptr :
       {std::vector<int64_t>{0, 2, 1, 3}, {0, 1, 9, 3}, {0, 1, -1, 3}}) {
    expect(RelationTopology({0, 3},
                            {{.nodes = {0, 3}, .indptr = indptr.data(), .indices32 = sources}}),
           "offsets of node 1");
  }
}

// More nodes than are summed between two looks, and the error of the last.
TEST(SymmetryTest, ManyNodesAreAllReadAndLimitsEndIt) {
  InEdges in_edges(10'000);
  in_edges.front() = {9'999};
  in_edges[9'999] = {0, 9'998};
  const MemoryRelation relation(in_edges, {0, 10'000}, IdWidth::k32);
  const ColumnEdges edges{
      .topology = &relation.topology(), .num_sources = 10'000, .relation = "a:r:a"};
  EXPECT_EQ(SumAsymmetry(edges, 0).value_or(0), AsymmetryOfEdge(9'998, 9'999));
  CancelToken token;
  token.Cancel();
  EXPECT_TRUE(absl::IsCancelled(SumAsymmetry(edges, 0, {.cancel = &token}).status()));
  const WorkLimits past{.cancel = nullptr, .deadline = std::chrono::steady_clock::time_point()};
  EXPECT_TRUE(absl::IsDeadlineExceeded(SumAsymmetry(edges, 0, past).status()));
}

// ---- who asks ----------------------------------------------------------------------------------

// Two node types: a relation of one with itself, and one between them.
Schema TwoTypesSchema() {
  TestGraphSpec spec{.parts = 1,
                     .node_types = {{.name = "a", .owners = {0, 0, 0}}, {.name = "b"}},
                     .relations = {{"a", "to", "a", {}}, {"a", "to", "b", {}}}};
  return MemoryGraph(spec, IdWidth::k32).schema;
}

TEST(SymmetryTest, AllPartsAreAskedAtOnceAndErrorsGoOn) {
  const Schema schema = TwoTypesSchema();
  int calls = 0;
  const auto ask = [&](const TopologyQuestions& questions, TopologyAnswers* answers) {
    ++calls;
    EXPECT_EQ(questions.sums.size(), 5U);
    EXPECT_EQ(questions.size(), 5U);
    for (int part = 0; part < 5; ++part) {
      const ColumnGroup& group = questions.sums[static_cast<size_t>(part)];
      EXPECT_EQ(group.value, ColumnValue::kAsymmetry);
      EXPECT_EQ(group.page->part, part);
      EXPECT_EQ(group.page->sources.begin, 0);
      EXPECT_EQ(group.page->sources.end, 3);
    }
    // Beyond 2^64 in the end.
    answers->sums = {{{0}, {1}}, {}, {{0}, {~uint64_t{0} - 2}}, {{0}, {2}}, {}};
    return OkStatus();
  };
  EXPECT_EQ(CheckSymmetric(schema, 0, 5, ask), OkStatus());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(CheckSymmetric(schema, 0, 5,
                           [](const TopologyQuestions&, TopologyAnswers*) {
                             return Unavailable("nobody is there");
                           }),
            Unavailable("nobody is there"));
  const Status between = CheckSymmetric(schema, 1, 5, ask);
  EXPECT_EQ(between.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(between), AllOf(HasSubstr("a:to:b"), HasSubstr("another type")));
  EXPECT_EQ(calls, 1) << "a relation that cannot be symmetric is asked about";
}

TEST(SymmetryTest, AnswersThatCannotBeAreInternal) {
  const Schema schema = TwoTypesSchema();
  for (const std::vector<ColumnSums>& answer : std::vector<std::vector<ColumnSums>>{
           {}, {{{0}, {}}}, {{{0}, {0}}}, {{{1}, {7}}}, {{{0, 1}, {7, 7}}}, {{}, {}}}) {
    const Status status =
        CheckSymmetric(schema, 0, 1, [&](const TopologyQuestions&, TopologyAnswers* answers) {
          answers->sums = answer;
          return OkStatus();
        });
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_THAT(Message(status), HasSubstr("a:to:a"));
  }
}

}  // namespace
}  // namespace halograph
