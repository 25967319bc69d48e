// Column sums and extracted edges against the golden vectors and maps, on random graphs, whole and
// in parts.
#include <bit>
#include <map>
#include <numeric>

#include <gmock/gmock.h>

#include "common/sampling/kernel/add_column_sums.h"
#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/kernel/extract_edges.h"
#include "common/sampling/kernel/stacked_columns.h"
#include "common/sampling/kernel/stacked_edges.h"
#include "common/sampling/kernel/stacked_sums.h"
#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/request.h"
#include "tests/support/every_target.h"
#include "tests/support/golden.h"
#include "tests/unit/sampling/memory_graph.h"
#include "tests/unit/sampling/odd_graph.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr ColumnValue kValues[] = {ColumnValue::kOne, ColumnValue::kDegreeShare};

// A relation in memory and its slow answers.
struct TestEdges {
  TestEdges(InEdges in_edges, std::vector<int64_t> boundaries, int64_t sources, IdWidth width)
      : relation(std::move(in_edges), std::move(boundaries), width), num_sources(sources) {}

  [[nodiscard]] ColumnEdges edges() const {
    return {.topology = &relation.topology(), .num_sources = num_sources, .relation = "a:r:b"};
  }

  // One part alone.
  [[nodiscard]] RelationTopology Part(size_t part) const {
    std::vector<CscSegment> segments(relation.topology().segments().begin(),
                                     relation.topology().segments().end());
    std::vector<int64_t> boundaries = {0};
    for (size_t p = 0; p < segments.size(); ++p) {
      boundaries.push_back(segments[p].nodes.end);
      if (p != part) segments[p] = {.nodes = segments[p].nodes};
    }
    return RelationTopology(std::move(boundaries), std::move(segments));
  }

  [[nodiscard]] ColumnSums SlowSums(std::span<const int64_t> destinations,
                                    ColumnValue value) const {
    std::map<int64_t, uint64_t> sums;
    for (const int64_t v : destinations) {
      const std::vector<int64_t>& sources = relation.in_edges()[v];
      for (const int64_t source : sources) {
        sums[source] += value == ColumnValue::kOne ? 1 : DegreeShare(std::ssize(sources));
      }
    }
    ColumnSums result;
    for (const auto& [source, sum] : sums) {
      result.sources.push_back(source);
      result.sums.push_back(sum);
    }
    return result;
  }

  [[nodiscard]] ExtractedEdges SlowExtract(std::span<const int64_t> destinations,
                                           std::span<const int64_t> columns) const {
    ExtractedEdges result{
        .offsets = {0}, .columns = {}, .edge_ids = {}, .degrees = {}, .column_degrees = {}};
    for (const int64_t v : destinations) {
      int64_t edge = 0;
      for (int64_t before = 0; before < v; ++before) {
        edge += std::ssize(relation.in_edges()[before]);
      }
      for (const int64_t source : relation.in_edges()[v]) {
        for (size_t c = 0; c < columns.size(); ++c) {
          if (columns[c] != source) continue;
          result.columns.push_back(static_cast<int32_t>(c));
          result.edge_ids.push_back(edge);
        }
        ++edge;
      }
      result.offsets.push_back(std::ssize(result.columns));
      result.degrees.push_back(std::ssize(relation.in_edges()[v]));
    }
    return result;
  }

  MemoryRelation relation;
  int64_t num_sources;
};

// Each destination of a relation with a chance of one in `of`, in an order of its own.
std::vector<int64_t> SomeOf(int64_t count, uint64_t of, CounterRng* rng) {
  std::vector<int64_t> some;
  for (int64_t v = 0; v < count; ++v) {
    if (rng->NextBounded(of) == 0) some.push_back(v);
  }
  for (size_t i = some.size(); i > 1; --i) std::swap(some[i - 1], some[rng->NextBounded(i)]);
  return some;
}

// `edges` edges of any ends, some many times, into destinations of `parts` parts.
TestEdges RandomEdges(int64_t sources, int64_t destinations, int64_t edges, int parts,
                      IdWidth width, CounterRng* rng) {
  InEdges in_edges(static_cast<size_t>(destinations));
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(rng->NextBounded(static_cast<uint64_t>(n)));
  };
  for (int64_t e = 0; e < edges; ++e) {
    std::vector<int64_t>& of_node = in_edges[below(1 + below(destinations))];
    of_node.push_back(below(8) == 0 ? 0 : below(1 + below(sources)));
  }
  std::vector<int64_t> boundaries = {0};
  for (int p = 1; p < parts; ++p) boundaries.push_back(below(destinations));
  boundaries.push_back(destinations);
  std::sort(boundaries.begin(), boundaries.end());
  return {std::move(in_edges), std::move(boundaries), sources, width};
}

ColumnSums SumsOf(const ColumnEdges& edges, std::span<const int64_t> destinations,
                  ColumnValue value, ColumnWorkspace* workspace) {
  ColumnSums sums;
  const Status status = SumColumns(edges, destinations, value, workspace, &sums);
  EXPECT_TRUE(status.ok()) << status;
  return sums;
}

// All ways to sum and extract, against maps. The workspaces have been used for other graphs.
void CompareWithSlow(const TestEdges& graph, std::span<const int64_t> destinations,
                     std::span<ColumnWorkspace> workspaces, CounterRng* rng) {
  for (ColumnWorkspace& workspace : workspaces) {
    for (const ColumnValue value : kValues) {
      EXPECT_EQ(SumsOf(graph.edges(), destinations, value, &workspace),
                graph.SlowSums(destinations, value));
    }
    const std::vector<int64_t> columns = [&] {
      std::vector<int64_t> some = SomeOf(graph.num_sources, 1 + rng->NextBounded(20), rng);
      std::sort(some.begin(), some.end());
      return some;
    }();
    ExtractedEdges extracted, slow = graph.SlowExtract(destinations, columns);
    EXPECT_TRUE(ExtractEdges(graph.edges(), destinations, columns, {.edge_ids = true}, &workspace,
                             &extracted)
                    .ok());
    EXPECT_EQ(extracted, slow);
    EXPECT_TRUE(
        ExtractEdges(graph.edges(), destinations, columns, {}, &workspace, &extracted).ok());
    slow.edge_ids.clear();
    EXPECT_EQ(extracted, slow);
  }
}

class LayerColumnsTest : public testing::Test {
 protected:
  // With tables, and without.
  ColumnWorkspace workspaces_[2] = {ColumnWorkspace(), ColumnWorkspace(0)};
};

TEST_F(LayerColumnsTest, LayersAreGoldenAtBothIdWidths) {
  const auto golden = LoadGoldenSampling("golden_layer_wise_v1.json");
  ASSERT_TRUE(golden.ok()) << golden.status();
  const std::map<std::string, LayerProbability> probabilities = {
      {"degree", LayerProbability::kDegree},
      {"sqrt", LayerProbability::kSqrt},
      {"count", LayerProbability::kCount},
      {"count2", LayerProbability::kCount2}};
  for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
    const MemoryGraph graph(golden->spec, width);
    for (const Json& row : golden->raw.at("layers")) {
      const int relation = row.at("relation");
      const ColumnEdges edges{
          .topology = &graph.topology[relation],
          .num_sources = graph.schema.node_types[graph.schema.SourceType(relation)].count,
          .relation = "r"};
      const auto destinations = row.at("destinations").get<std::vector<int64_t>>();
      const LayerProbability probability = probabilities.at(row.at("probability"));
      ColumnSums columns = SumsOf(edges, destinations, ColumnValueOf(probability), &workspaces_[0]);
      EXPECT_EQ(columns.sources, row.at("candidates").get<std::vector<int64_t>>());
      EXPECT_EQ(columns.sums, row.at("sums").get<std::vector<uint64_t>>());
      ASSERT_TRUE(MakeWeights(probability, columns.sums).ok());
      EXPECT_EQ(columns.sums, row.at("weights").get<std::vector<uint64_t>>());
      CandidateSums sums;
      sums.Reset(std::span<const uint64_t>(columns.sums));
      LayerWisePicks picks;
      const uint64_t key =
          ColumnKey(LayerKey(FromHex(row.at("batch_seed")), row.at("layer"),
                             static_cast<int>(graph.schema.relations.size()), relation));
      ASSERT_TRUE(LayerWiseDrawer().Draw(sums, row.at("nodes"), key, &picks).ok());
      EXPECT_EQ(picks.positions, row.at("positions").get<std::vector<int64_t>>());
      for (size_t i = 0; i < picks.weights.size(); ++i) {
        EXPECT_EQ(picks.weights[i], std::bit_cast<double>(FromHex(row.at("factors").at(i))));
      }
      ExtractedEdges extracted;
      ASSERT_TRUE(ExtractEdges(edges, destinations, row.at("columns").get<std::vector<int64_t>>(),
                               {.edge_ids = true}, &workspaces_[0], &extracted)
                      .ok());
      EXPECT_EQ(extracted.offsets, row.at("offsets").get<std::vector<int64_t>>());
      EXPECT_EQ(extracted.columns, row.at("edge_columns").get<std::vector<int32_t>>());
      EXPECT_EQ(extracted.edge_ids, row.at("edge_ids").get<std::vector<int64_t>>());
      EXPECT_EQ(extracted.degrees, row.at("degrees").get<std::vector<int64_t>>());
    }
  }
}

TEST_F(LayerColumnsTest, OddGraphsAreAsMapsHaveThem) {
  CounterRng rng(1);
  for (int i = 0; i < 150; ++i) {
    const TestGraphSpec spec = OddGraph(&rng);
    const MemoryGraph graph(spec, i % 2 == 0 ? IdWidth::k32 : IdWidth::k64);
    for (size_t r = 0; r < graph.relations.size(); ++r) {
      const std::span<const CscSegment> segments = graph.topology[r].segments();
      std::vector<int64_t> boundaries = {0};
      for (const CscSegment& segment : segments) boundaries.push_back(segment.nodes.end);
      const TestEdges edges(
          graph.relations[r]->in_edges(), boundaries,
          graph.schema.node_types[graph.schema.SourceType(static_cast<int>(r))].count,
          i % 2 == 0 ? IdWidth::k32 : IdWidth::k64);
      CompareWithSlow(edges,
                      SomeOf(graph.topology[r].num_destinations(), 1 + rng.NextBounded(4), &rng),
                      workspaces_, &rng);
    }
  }
}

// Sizes for each way: swept, walked, sorted, and sorted digit by digit where there is no table.
TEST_F(LayerColumnsTest, EveryWayBySizeIsAsMapsHaveIt) {
  CounterRng rng(2);
  for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
    using Size = std::pair<int64_t, int64_t>;  // sources, edges
    for (const auto& [sources, edges] :
         {Size(4000, 900), Size(4000, 300), Size(4096, 512), Size(63, 40), Size(65, 5000),
          Size(30'000, 3), Size(30'000, 4500), Size(1, 7)}) {
      const TestEdges graph = RandomEdges(sources, 50, edges, 3, width, &rng);
      for (const uint64_t of : {1, 2, 9}) {
        CompareWithSlow(graph, SomeOf(50, of, &rng), workspaces_, &rng);
      }
    }
  }
}

TEST_F(LayerColumnsTest, NoDestinationsAndNoColumnsGiveEmptyLists) {
  CounterRng rng(4);
  const TestEdges graph = RandomEdges(20, 10, 100, 2, IdWidth::k32, &rng);
  for (ColumnWorkspace& workspace : workspaces_) {
    ColumnSums sums{.sources = {1}, .sums = {1}};
    ASSERT_TRUE(SumColumns(graph.edges(), {}, ColumnValue::kOne, &workspace, &sums).ok());
    EXPECT_THAT(sums.sources, IsEmpty());
    ExtractedEdges extracted;
    ASSERT_TRUE(ExtractEdges(graph.edges(), std::vector<int64_t>{3}, {},
                             {.edge_ids = true, .column_degrees = true}, &workspace, &extracted)
                    .ok());
    EXPECT_THAT(extracted.offsets, ElementsAre(0, 0));
    EXPECT_THAT(extracted.degrees, ElementsAre(std::ssize(graph.relation.in_edges()[3])));
  }
}

// However a graph is cut, the sums of its parts add up to the same, and so the draws are the same.
TEST_F(LayerColumnsTest, PartsAddUpToTheWhole) {
  CounterRng rng(5);
  for (int i = 0; i < 40; ++i) {
    const int parts = 1 + i % 3;
    const TestEdges graph = RandomEdges(300, 60, 2000, parts, IdWidth::k32, &rng);
    const std::vector<int64_t> destinations = SomeOf(60, 2, &rng);
    for (const ColumnValue value : kValues) {
      const ColumnSums whole = SumsOf(graph.edges(), destinations, value, &workspaces_[0]);
      std::vector<ColumnSums> of_parts;
      for (int p = 0; p < parts; ++p) {
        const RelationTopology part = graph.Part(p);
        std::vector<int64_t> own;
        for (const int64_t v : destinations) {
          if (part.Has(v)) own.push_back(v);
        }
        of_parts.push_back(SumsOf({&part, 300, "a:r:b"}, own, value, &workspaces_[0]));
      }
      std::vector<ColumnSumsView> views;
      for (const ColumnSums& sums : of_parts) views.push_back({sums.sources, sums.sums});
      ColumnSums added;
      ASSERT_TRUE(AddColumnSums("a:r:b", 300, views, &added).ok());
      EXPECT_EQ(added, whole);
      CandidateSums from_whole, from_parts;
      from_whole.Reset(std::span<const uint64_t>(whole.sums));
      from_parts.Reset(std::span<const uint64_t>(added.sums));
      LayerWisePicks a, b;
      ASSERT_TRUE(LayerWiseDrawer().Draw(from_whole, 30, 77, &a).ok());
      ASSERT_TRUE(LayerWiseDrawer().Draw(from_parts, 30, 77, &b).ok());
      EXPECT_EQ(a.positions, b.positions);
      EXPECT_EQ(a.weights, b.weights);
    }
  }
}

TEST_F(LayerColumnsTest, PartsExtractTheirShareAndTheDegreesOfTheirColumns) {
  CounterRng rng(6);
  const TestEdges graph = RandomEdges(50, 50, 900, 3, IdWidth::k64, &rng);
  const std::vector<int64_t> columns = {0, 1, 7, 20, 21, 33, 49};
  ExtractedEdges whole;
  std::vector<int64_t> all(50);
  std::iota(all.begin(), all.end(), 0);
  const ExtractWanted wanted{.edge_ids = true, .column_degrees = true};
  ASSERT_TRUE(ExtractEdges(graph.edges(), all, columns, wanted, &workspaces_[0], &whole).ok());
  for (size_t c = 0; c < columns.size(); ++c) {
    EXPECT_EQ(whole.column_degrees[c], whole.degrees[columns[c]]);
  }
  std::vector<int32_t> edge_columns;
  std::vector<int64_t> edge_ids, degrees(columns.size(), -1);
  for (size_t p = 0; p < 3; ++p) {
    const RelationTopology part = graph.Part(p);
    const IdRange own = part.segments()[p].nodes;
    ExtractedEdges extracted;
    ASSERT_TRUE(ExtractEdges({&part, 50, "a:r:b"}, std::span(all).subspan(own.begin, own.size()),
                             columns, wanted, &workspaces_[0], &extracted)
                    .ok());
    edge_columns.insert(edge_columns.end(), extracted.columns.begin(), extracted.columns.end());
    edge_ids.insert(edge_ids.end(), extracted.edge_ids.begin(), extracted.edge_ids.end());
    for (size_t c = 0; c < columns.size(); ++c) {
      EXPECT_EQ(extracted.column_degrees[c] >= 0, own.contains(columns[c]));
      degrees[c] = std::max(degrees[c], extracted.column_degrees[c]);
    }
  }
  EXPECT_EQ(edge_columns, whole.columns);
  EXPECT_EQ(edge_ids, whole.edge_ids);
  EXPECT_EQ(degrees, whole.column_degrees);
}

TEST_F(LayerColumnsTest, OutDegreesOfPartsAndPagesAddUp) {
  CounterRng rng(7);
  for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
    const TestEdges graph = RandomEdges(100, 40, 1500, 3, width, &rng);
    std::vector<uint32_t> expected(100);
    for (const std::vector<int64_t>& sources : graph.relation.in_edges()) {
      for (const int64_t source : sources) ++expected[source];
    }
    std::vector<uint32_t> added(100);
    for (size_t p = 0; p < 3; ++p) {
      const RelationTopology part = graph.Part(p);
      for (const IdRange page : {IdRange{0, 1}, {1, 64}, {64, 64}, {64, 100}}) {
        std::vector<uint32_t> degrees = {9};
        ASSERT_TRUE(CountOutDegrees({&part, 100, "a:r:b"}, page, &degrees).ok());
        ASSERT_EQ(std::ssize(degrees), page.size());
        ColumnSums counted;
        for (size_t i = 0; i < degrees.size(); ++i) {
          if (degrees[i] == 0) continue;
          counted.sources.push_back(page.begin + static_cast<int64_t>(i));
          counted.sums.push_back(degrees[i]);
        }
        ASSERT_TRUE(AddOutDegrees("a:r:b", {counted.sources, counted.sums}, added).ok());
      }
    }
    EXPECT_EQ(added, expected);
  }
  std::vector<uint32_t> most = {0, 0xffffffff};
  const std::vector<int64_t> both = {0, 1};
  const std::vector<uint64_t> ones = {1, 1};
  EXPECT_TRUE(absl::IsInternal(AddOutDegrees("a:r:b", {both, std::span(ones).first(1)}, most)));
  EXPECT_THAT(Message(AddOutDegrees("a:r:b", {both, ones}, most)),
              AllOf(HasSubstr("a:r:b"), HasSubstr("source 1")));
}

// ---- what cannot be ----------------------------------------------------------------------------

// Runs SumColumns and ExtractEdges and expects one error of both; then that the workspace is as
// new.
void ExpectBoth(const ColumnEdges& edges, std::vector<int64_t> destinations, absl::StatusCode code,
                const char* text, ColumnWorkspace* workspace) {
  ColumnSums sums;
  ExtractedEdges extracted;
  for (const ColumnValue value : kValues) {
    const Status status = SumColumns(edges, destinations, value, workspace, &sums);
    EXPECT_EQ(status.code(), code);
    EXPECT_THAT(Message(status), AllOf(HasSubstr("a:r:b"), HasSubstr(text)));
  }
  const Status status =
      ExtractEdges(edges, destinations, std::vector<int64_t>{0, 2}, {}, workspace, &extracted);
  EXPECT_EQ(status.code(), code);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("a:r:b"), HasSubstr(text)));
  // Of few nodes, all of which are swept, and of many, which bits name.
  for (const int64_t nodes : {3, 100}) {
    const TestEdges good({{1, 1, 0}}, {0, 1}, nodes, IdWidth::k32);
    const std::vector<int64_t> only = {0};
    for (const ColumnValue value : kValues) {
      EXPECT_EQ(SumsOf(good.edges(), only, value, workspace), good.SlowSums(only, value));
    }
    EXPECT_EQ(ExtractEdges(good.edges(), only, std::vector<int64_t>{1}, {}, workspace, &extracted),
              OkStatus());
    EXPECT_THAT(extracted.columns, testing::ElementsAre(0, 0));
  }
}

TEST_F(LayerColumnsTest, DamageIsDataLossAndTheWorkspaceStaysGood) {
  for (ColumnWorkspace& workspace : workspaces_) {
    const TestEdges beyond({{0, 1, 2}, {1, 3, 0}}, {0, 2}, 3, IdWidth::k32);
    ExpectBoth(beyond.edges(), {0, 1}, absl::StatusCode::kDataLoss, "source 3", &workspace);
    const TestEdges negative({{0, 1, 2}, {1, -1, 0}}, {0, 1, 2}, 3, IdWidth::k64);
    ExpectBoth(negative.edges(), {0, 1}, absl::StatusCode::kDataLoss, "source -1", &workspace);
    std::vector<uint32_t> degrees;
    EXPECT_EQ(CountOutDegrees(negative.edges(), {0, 3}, &degrees).code(),
              absl::StatusCode::kDataLoss);
    // Few edges into many nodes: bits are set before the damage.
    TestEdges few({{0, 1, 2}, {1, 99}}, {0, 2}, 90, IdWidth::k32);
    ExpectBoth(few.edges(), {0, 1}, absl::StatusCode::kDataLoss, "source 99", &workspace);
  }
}

TEST_F(LayerColumnsTest, DamagedOffsetsNameTheNode) {
  const uint32_t sources[] = {0, 1, 2};
  for (const std::vector<int64_t>& indptr :
       {std::vector<int64_t>{0, 2, 1, 3}, {0, 1, 9, 3}, {0, 1, -1, 3}}) {
    const RelationTopology topology(
        {0, 3}, {{.nodes = {0, 3}, .indptr = indptr.data(), .indices32 = sources}});
    ExpectBoth({&topology, 3, "a:r:b"}, {1}, absl::StatusCode::kDataLoss, "offsets of node 1",
               &workspaces_[0]);
    ExtractedEdges extracted;
    EXPECT_EQ(ExtractEdges({&topology, 3, "a:r:b"}, {}, std::vector<int64_t>{1},
                           {.column_degrees = true}, &workspaces_[0], &extracted)
                  .code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST_F(LayerColumnsTest, WhatIsNotHereOrOutOfOrderIsRefused) {
  const TestEdges graph({{0}, {1, 2}}, {0, 1, 2}, 3, IdWidth::k32);
  const RelationTopology part = graph.Part(0);
  const ColumnEdges edges{.topology = &part, .num_sources = 3, .relation = "a:r:b"};
  for (const int64_t v : {1, 2, -1}) {
    ExpectBoth(edges, {0, v}, absl::StatusCode::kInvalidArgument,
               ("node " + std::to_string(v)).c_str(), &workspaces_[0]);
  }
  ExtractedEdges extracted;
  const auto code = [&](std::vector<int64_t> columns) {
    return ExtractEdges(edges, {}, columns, {}, &workspaces_[0], &extracted).code();
  };
  EXPECT_EQ(code({1, 1}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({2, 1}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 3}), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code({-1}), absl::StatusCode::kOutOfRange);
}

// ---- stacks
// --------------------------------------------------------------------------------------

// What several minibatches ask of one relation, and what one at a time gives.
class StackedQuestions {
 public:
  StackedQuestions(const ColumnEdges& edges, std::vector<std::vector<int64_t>> frontiers,
                   std::vector<std::vector<int64_t>> columns, ExtractWanted wanted)
      : edges_(edges),
        frontiers_(std::move(frontiers)),
        columns_(std::move(columns)),
        sums_(frontiers_.size()),
        extracted_(frontiers_.size()) {
    for (size_t i = 0; i < frontiers_.size(); ++i) {
      sum_groups_.push_back({.destinations = frontiers_[i]});
      edge_groups_.push_back(
          {.wanted = wanted, .destinations = frontiers_[i], .columns = columns_[i]});
      spans_.emplace_back(frontiers_[i]);
    }
    for (size_t i = 0; i < frontiers_.size(); ++i) {
      asked_sums_.push_back(&sum_groups_[i]);
      asked_edges_.push_back(&edge_groups_[i]);
      to_sums_.push_back(&sums_[i]);
      to_edges_.push_back(&extracted_[i]);
    }
  }

  // As one at a time, whatever stood in the answers before.
  void ExpectAnswers() {
    ColumnWorkspace workspace;
    for (size_t i = 0; i < frontiers_.size(); ++i) {
      EXPECT_EQ(sums_[i], SumsOf(edges_, frontiers_[i], ColumnValue::kOne, &workspace)) << i;
      ExtractedEdges alone;
      EXPECT_EQ(ExtractEdges(edges_, frontiers_[i], columns_[i], edge_groups_[i].wanted, &workspace,
                             &alone),
                OkStatus());
      EXPECT_EQ(extracted_[i], alone) << i;
      sums_[i] = {.sources = {7}, .sums = {7}};
      extracted_[i].columns.push_back(7);
    }
  }

  // All of them as one stack, whether it pays or not. Requires no degrees of columns.
  void ExpectStack(StackTables* tables, ColumnWorkspace* workspace) {
    const FrontierStack stack(edges_, spans_, tables);
    ASSERT_TRUE(stack.whole());
    ASSERT_TRUE(SumStacked(edges_, stack, tables, to_sums_));
    ASSERT_TRUE(ExtractStacked(edges_, stack, asked_edges_, tables, workspace, to_edges_));
    ExpectAnswers();
  }

  [[nodiscard]] Status SumAll(StackMemory* memory, ColumnWorkspace* workspace,
                              const WorkLimits& limits = {}) {
    return SumColumnsOfAll(edges_, asked_sums_, memory, workspace, to_sums_, limits);
  }
  [[nodiscard]] Status ExtractAll(StackMemory* memory, ColumnWorkspace* workspace,
                                  const WorkLimits& limits = {}) {
    return ExtractEdgesOfAll(edges_, asked_edges_, memory, workspace, to_edges_, limits);
  }
  // By the way that is chosen.
  void ExpectAll(StackMemory* memory, ColumnWorkspace* workspace) {
    ASSERT_EQ(SumAll(memory, workspace), OkStatus());
    ASSERT_EQ(ExtractAll(memory, workspace), OkStatus());
    ExpectAnswers();
  }

  [[nodiscard]] bool Pays(StackTables* tables) const {
    const FrontierStack stack(edges_, spans_, tables);
    return stack.whole() && StackedSumsPay(stack, edges_.num_sources) && StackedEdgesPay(stack);
  }

 private:
  const ColumnEdges edges_;
  const std::vector<std::vector<int64_t>> frontiers_, columns_;
  std::vector<std::span<const int64_t>> spans_;
  std::vector<ColumnGroup> sum_groups_;
  std::vector<EdgeGroup> edge_groups_;
  std::vector<const ColumnGroup*> asked_sums_;
  std::vector<const EdgeGroup*> asked_edges_;
  std::vector<ColumnSums> sums_;
  std::vector<ExtractedEdges> extracted_;
  std::vector<ColumnSums*> to_sums_;
  std::vector<ExtractedEdges*> to_edges_;
};

// Random frontiers, of which some are empty, each with columns of its own.
StackedQuestions RandomStack(const TestEdges& graph, size_t k, ExtractWanted wanted,
                             CounterRng* rng) {
  std::vector<std::vector<int64_t>> frontiers, columns;
  for (size_t i = 0; i < k; ++i) {
    const int64_t destinations = graph.relation.topology().num_destinations();
    frontiers.push_back(rng->NextBounded(8) == 0
                            ? std::vector<int64_t>{}
                            : SomeOf(destinations, 1 + rng->NextBounded(3), rng));
    columns.push_back(SomeOf(graph.num_sources, 1 + rng->NextBounded(20), rng));
    std::sort(columns.back().begin(), columns.back().end());
  }
  return {graph.edges(), std::move(frontiers), std::move(columns), wanted};
}

class StackedColumnsTest : public EveryTargetTest {
 protected:
  ColumnWorkspace workspace_;
};
HALOGRAPH_EVERY_TARGET(StackedColumnsTest);

TEST_P(StackedColumnsTest, AStackGivesWhatOneAtATimeGives) {
  CounterRng rng(11);
  StackTables tables;  // of all graphs, so what one leaves in them would be seen
  for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
    for (const size_t k : {1, 2, 63, 64}) {
      for (const auto& [sources, edges] :
           {std::pair<int64_t, int64_t>(700, 3000), {64, 900}, {65, 9000}, {1, 7}}) {
        const TestEdges graph = RandomEdges(sources, 50, edges, 3, width, &rng);
        RandomStack(graph, k, {.edge_ids = k % 2 == 0}, &rng).ExpectStack(&tables, &workspace_);
      }
    }
  }
}

// Counters of a byte wrap at 256 edges of a source, those of two at 65,536.
TEST_P(StackedColumnsTest, CountersOfAStackWrap) {
  const std::vector<int64_t> counts = {255, 256, 257, 65'535, 65'536, 65'537, 131'072, 1, 65'791};
  InEdges in_edges(2);
  for (size_t source = 0; source < counts.size(); ++source) {
    in_edges[0].insert(in_edges[0].end(), counts[source], static_cast<int64_t>(source));
  }
  in_edges[1] = {0, 3, 3, 4};
  const TestEdges graph(std::move(in_edges), {0, 2}, 100, IdWidth::k32);
  StackTables tables;
  StackedQuestions questions(graph.edges(), {{0}, {1, 0}, {1}, {}}, {{}, {3}, {3}, {}}, {});
  for (int i = 0; i < 2; ++i) questions.ExpectStack(&tables, &workspace_);
}

TEST_F(LayerColumnsTest, TheWayThatIsChosenDoesNotShow) {
  CounterRng rng(12);
  StackTables tables;
  for (const size_t k : {1, 40, 64, 150}) {
    const TestEdges graph = RandomEdges(60, 60, 4000, 2, IdWidth::k32, &rng);
    StackedQuestions questions =
        RandomStack(graph, k, {.edge_ids = true, .column_degrees = true}, &rng);
    if (k <= kMostStacked) {
      EXPECT_EQ(questions.Pays(&tables), k > 1);
    }
    StackMemory none(StackTables::BytesOf(60, 60) - 1), enough(StackTables::BytesOf(60, 60));
    for (StackMemory* const memory : {&enough, &none, static_cast<StackMemory*>(nullptr)}) {
      for (ColumnWorkspace& workspace : workspaces_) questions.ExpectAll(memory, &workspace);
    }
  }
}

TEST_F(LayerColumnsTest, DegreeSharesAreNotStacked) {
  CounterRng rng(13);
  const TestEdges graph = RandomEdges(60, 60, 4000, 2, IdWidth::k32, &rng);
  const std::vector<int64_t> destinations = SomeOf(60, 1, &rng);
  const ColumnGroup group{.value = ColumnValue::kDegreeShare, .destinations = destinations};
  const std::vector<const ColumnGroup*> groups(64, &group);
  std::vector<ColumnSums> sums(64);
  std::vector<ColumnSums*> answers;
  for (ColumnSums& each : sums) answers.push_back(&each);
  StackMemory memory(StackTables::BytesOf(60, 60));
  ASSERT_EQ(SumColumnsOfAll(graph.edges(), groups, &memory, &workspaces_[0], answers), OkStatus());
  for (const ColumnSums& each : sums) {
    EXPECT_EQ(each, graph.SlowSums(destinations, ColumnValue::kDegreeShare));
  }
}

// What a stack cannot tell is told, or answered, one at a time; and its tables stay good.
TEST_F(LayerColumnsTest, WhatIsWrongWithAFrontierIsToldAsAlone) {
  CounterRng rng(14);
  const TestEdges good = RandomEdges(20, 20, 2000, 2, IdWidth::k64, &rng);
  InEdges damaged_edges = good.relation.in_edges();
  damaged_edges[19].push_back(-3);
  const TestEdges damaged(std::move(damaged_edges), {0, 20}, 20, IdWidth::k64);
  std::vector<int64_t> all(20);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::vector<int64_t>> frontiers(64, all), columns(64, {2, 5});
  const auto with_last = [&](std::vector<int64_t> frontier) {
    std::vector<std::vector<int64_t>> lists = frontiers;
    lists.back() = std::move(frontier);
    return lists;
  };
  StackMemory memory(StackTables::BytesOf(20, 20));
  ColumnWorkspace& workspace = workspaces_[0];
  const auto told = [&](StackedQuestions questions) {
    const Status sums = questions.SumAll(&memory, &workspace);
    const Status edges = questions.ExtractAll(&memory, &workspace);
    EXPECT_EQ(Message(sums), Message(edges));
    StackedQuestions(good.edges(), frontiers, columns, {}).ExpectAll(&memory, &workspace);
    return Message(sums);
  };
  EXPECT_THAT(told({damaged.edges(), frontiers, columns, {}}), HasSubstr("source -3"));
  EXPECT_THAT(told({good.edges(), with_last({4, 20}), columns, {}}), HasSubstr("node 20"));
  EXPECT_EQ(told({good.edges(), with_last({4, 4}), columns, {}}), "");
  StackedQuestions(good.edges(), with_last({4, 4}), columns, {}).ExpectAll(&memory, &workspace);
  std::vector<std::vector<int64_t>> descending = columns;
  descending[50] = {5, 2};
  EXPECT_EQ(StackedQuestions(good.edges(), frontiers, descending, {})
                .ExtractAll(&memory, &workspace)
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LayerColumnsTest, WhoCancelsEndsTheAnswerBetweenFrontiers) {
  CounterRng rng(15);
  const TestEdges graph = RandomEdges(20, 20, 2000, 2, IdWidth::k32, &rng);
  std::vector<int64_t> all(20);
  std::iota(all.begin(), all.end(), 0);
  StackedQuestions questions(graph.edges(), std::vector(64, all), std::vector(64, all), {});
  StackMemory memory(StackTables::BytesOf(20, 20));
  CancelToken cancel;
  cancel.Cancel();
  for (StackMemory* const stacks : {&memory, static_cast<StackMemory*>(nullptr)}) {
    EXPECT_EQ(questions.SumAll(stacks, &workspaces_[0], {.cancel = &cancel}).code(),
              absl::StatusCode::kCancelled);
    EXPECT_EQ(questions.ExtractAll(stacks, &workspaces_[0], {.cancel = &cancel}).code(),
              absl::StatusCode::kCancelled);
  }
}

TEST_F(LayerColumnsTest, TablesOfStacksTakeNoMoreThanTheirMemory) {
  StackMemory memory(2 * StackTables::BytesOf(100, 10) + 1);
  {
    const StackMemory::Lease first(&memory, 100, 10), second(&memory, 100, 10);
    EXPECT_NE(first.get(), nullptr);
    EXPECT_NE(second.get(), nullptr);
    EXPECT_EQ(StackMemory::Lease(&memory, 1, 1).get(), nullptr);
  }
  EXPECT_NE(StackMemory::Lease(&memory, 150, 10).get(), nullptr) << "idle ones make room";
  EXPECT_EQ(StackMemory::Lease(&memory, 300, 10).get(), nullptr);
  StackTables* const idle = StackMemory::Lease(&memory, 100, 10).get();
  EXPECT_EQ(StackMemory::Lease(&memory, 100, 10).get(), idle) << "made for one like it";
  EXPECT_EQ(StackMemory::Lease(nullptr, 1, 1).get(), nullptr);
}

TEST_F(LayerColumnsTest, AnswersThatCannotBeAreInternal) {
  using Sums = std::vector<uint64_t>;
  const auto message = [](const std::vector<int64_t>& sources, const Sums& sums) {
    const std::vector<int64_t> good_ids = {1, 4};
    const Sums good = {3, ~uint64_t{0} - 5};
    ColumnSums total;
    const ColumnSumsView answers[] = {{good_ids, good}, {sources, sums}};
    const Status status = AddColumnSums("a:r:b", 6, answers, &total);
    EXPECT_EQ(status.ok() ? "" : "INTERNAL", status.ok() ? "" : ToString(status).substr(0, 8));
    return Message(status);
  };
  EXPECT_EQ(message({0, 4}, {1, 5}), "");
  EXPECT_THAT(message({1}, {}), AllOf(HasSubstr("a:r:b"), HasSubstr("0 sums for 1")));
  EXPECT_THAT(message({1, 1}, {1, 1}), HasSubstr("source 1 after 1"));
  EXPECT_THAT(message({-1}, {1}), HasSubstr("source -1"));
  EXPECT_THAT(message({2, 6}, {1, 1}), HasSubstr("source 6"));
  EXPECT_THAT(message({2}, {0}), HasSubstr("a sum of 0"));
  EXPECT_THAT(message({4}, {6}), HasSubstr("64 bits"));
}

}  // namespace
}  // namespace halograph
