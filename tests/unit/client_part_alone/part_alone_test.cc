#include "client/part_alone/part_alone.h"

#include <filesystem>
#include <numeric>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/part_alone/part_view.h"
#include "partitioner/halo/add_halo.h"
#include "tests/support/one_call.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kParts = 4;

TestGraphSpec Typed() {
  return RandomTypedGraph(
      {.seed = 8, .parts = kParts, .nodes = 160, .mean_degree = 5, .feature_dim = 3});
}

TestGraphSpec Homogeneous(double mean_degree) {
  return RandomGraph(
      {.seed = 5, .parts = kParts, .nodes = 300, .mean_degree = mean_degree, .feature_dim = 3});
}

class PartAloneTest : public testing::Test {
 protected:
  void Write(const TestGraphSpec& spec, int hops) {
    const auto path = WriteTestGraph(spec, folder_.path() / "graph");
    ASSERT_TRUE(path.ok()) << path.status();
    graph_ = *path;
    const auto halos = AddHalos(graph_, {.hops = hops});
    ASSERT_TRUE(halos.ok()) << halos.status();
    auto whole = MapGraph(graph_, {});
    ASSERT_TRUE(whole.ok()) << whole.status();
    whole_ = *whole;
  }
  void Open(int part) {
    const auto opened = OpenPartAlone(graph_, part, VerifyLevel::kContents, 0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    part_ = *opened;
    stores_ = MakePartAloneStores(part_);
  }

  std::vector<int64_t> Core(int type, int part) const {
    const IdRange own = whole_->info.book.NodeRange(type, part);
    std::vector<int64_t> ids(static_cast<size_t>(own.size()));
    std::iota(ids.begin(), ids.end(), own.begin);
    return ids;
  }

  static StatusOr<Minibatch> Sample(GraphStore& store, int type, const std::vector<int64_t>& seeds,
                                    const SamplingSpec& spec, bool edge_ids,
                                    CallStats* stats = nullptr) {
    return SampleOne(store,
                     {.seeds = {{.type = type, .ids = seeds}},
                      .batch_seed = 21,
                      .spec = &spec,
                      .edge_ids = edge_ids},
                     stats);
  }

  enum class How { kUniform, kReplace, kLabor };
  static void DrawByLabor(SamplingSpec* spec) {
    for (auto& layer : spec->layers) {
      for (auto& [relation, rule] : layer) rule.kind = DrawKind::kLabor;
    }
  }

  // All core seeds of every type and part, against stores over `graph`, which has the same ids.
  void ExpectMinibatchesOf(const fs::path& graph, int layers, bool edge_ids, int64_t* cut) {
    const auto expected_graph = MapGraph(graph, {});
    ASSERT_TRUE(expected_graph.ok()) << expected_graph.status();
    const auto expected_store = MakeLocalGraphStore(*expected_graph);
    for (const int part : Parts()) {
      Open(part);
      for (int type = 0; type < std::ssize(whole_->info.schema.node_types); ++type) {
        for (const int32_t fanout : {2, 4, kFullNeighborhood}) {
          for (const How how : {How::kUniform, How::kReplace, How::kLabor}) {
            SamplingSpec spec = SamplingSpec::Uniform(
                whole_->info.schema, std::vector<int32_t>(static_cast<size_t>(layers), fanout),
                how == How::kReplace && fanout > 0);
            if (how == How::kLabor) DrawByLabor(&spec);
            CallStats stats;
            const auto seeds = Core(type, part);
            const auto found = Sample(*stores_.graph, type, seeds, spec, edge_ids, &stats);
            const auto expected = Sample(*expected_store, type, seeds, spec, edge_ids);
            ASSERT_TRUE(found.ok() && expected.ok()) << found.status() << expected.status();
            ASSERT_EQ(*found, *expected) << "part " << part << ", type " << type;
            EXPECT_EQ(stats.rounds, 0);
            EXPECT_EQ(stats.remote_bytes, 0);
            *cut += stats.cut_nodes;
            edges_ += found->sampled_edges;
          }
        }
      }
    }
  }
  std::vector<int> Parts() const { return only_part_ < 0 ? AllParts() : std::vector{only_part_}; }
  static std::vector<int> AllParts() {
    std::vector<int> parts(kParts);
    std::iota(parts.begin(), parts.end(), 0);
    return parts;
  }

  TestFolder folder_;
  fs::path graph_;
  std::shared_ptr<const MappedGraph> whole_;
  std::shared_ptr<const PartAlone> part_;
  Stores stores_;
  int only_part_ = -1;
  int64_t edges_ = 0;
};

TEST_F(PartAloneTest, HopsOfAllLayersGiveTheMinibatchesOfTheWholeGraph) {
  Write(Typed(), 3);
  int64_t cut = 0;
  for (const int layers : {1, 2, 3}) ExpectMinibatchesOf(graph_, layers, /*edge_ids=*/true, &cut);
  EXPECT_EQ(cut, 0);
  EXPECT_GT(edges_, 1000);
}

TEST_F(PartAloneTest, AManyLayersGraphIsTheSameOnSeveralThreads) {
  Write(Homogeneous(60), 2);
  const auto opened = OpenPartAlone(graph_, 2, VerifyLevel::kContents, 3);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto store = MakePartAloneStores(*opened).graph;
  const auto spec = SamplingSpec::Uniform(whole_->info.schema, std::vector<int32_t>{55, 55});
  const auto found = Sample(*store, 0, Core(0, 2), spec, true);
  const auto expected = Sample(*MakeLocalGraphStore(whole_), 0, Core(0, 2), spec, true);
  ASSERT_TRUE(found.ok() && expected.ok()) << found.status() << expected.status();
  EXPECT_EQ(*found, *expected);
}

// The documented cut: nodes beyond H - 1 hops have no in-edges, and all else is as it is.
TEST_F(PartAloneTest, FewerHopsGiveTheMinibatchesOfTheGraphThatIsCutThere) {
  const TestGraphSpec spec = Homogeneous(1.5);
  for (const int hops : {1, 2}) {
    graph_.clear();
    fs::remove_all(folder_.path() / "graph");
    Write(spec, hops);
    const std::vector<int64_t> global = GlobalNodeIds(spec, "node");
    for (const int part : AllParts()) {
      // Hops outside, over input ids.
      std::vector<int> distance(global.size(), 100);
      for (size_t i = 0; i < global.size(); ++i) {
        if (spec.node_types[0].owners[i] == part) distance[i] = 0;
      }
      for (int hop = 1; hop < hops; ++hop) {
        for (const auto& [source, destination] : spec.relations[0].edges) {
          int& of = distance[static_cast<size_t>(source)];
          if (distance[static_cast<size_t>(destination)] == hop - 1) of = std::min(of, hop);
        }
      }
      TestGraphSpec cut_spec = spec;
      auto& edges = cut_spec.relations[0].edges;
      std::erase_if(edges, [&](const auto& edge) {
        return distance[static_cast<size_t>(edge.second)] > hops - 1;
      });
      ASSERT_LT(edges.size(), spec.relations[0].edges.size());
      const auto cut_graph =
          WriteTestGraph(cut_spec, folder_.path() / fmt::format("cut-{}-{}", hops, part));
      ASSERT_TRUE(cut_graph.ok()) << cut_graph.status();
      only_part_ = part;
      int64_t cut = 0;
      ExpectMinibatchesOf(*cut_graph, 3, /*edge_ids=*/false, &cut);
      EXPECT_GT(cut, 0);
    }
  }
}

TEST_F(PartAloneTest, CutNodesAreCountedOnceALayerHoweverManyRelations) {
  // Part 0 owns node 0; node 1 is its neighbour by two relations and is not expanded.
  TestGraphSpec spec{.parts = 2};
  spec.node_types = {{.name = "node", .owners = {0, 1, 1}}};
  spec.relations = {{"node", "a", "node", {{1, 0}, {2, 1}}}, {"node", "b", "node", {{1, 0}}}};
  Write(spec, 1);
  Open(0);
  CallStats stats;
  const auto two = SamplingSpec::Uniform(whole_->info.schema, std::vector<int32_t>{-1, -1});
  ASSERT_TRUE(Sample(*stores_.graph, 0, {0}, two, false, &stats).ok());
  EXPECT_EQ(stats.cut_nodes, 1);
  const auto three = SamplingSpec::Uniform(whole_->info.schema, std::vector<int32_t>{-1, -1, -1});
  stats = {};
  ASSERT_TRUE(Sample(*stores_.graph, 0, {0}, three, false, &stats).ok());
  EXPECT_EQ(stats.cut_nodes, 2);
  const auto none = SamplingSpec::Uniform(whole_->info.schema, std::vector<int32_t>{-1, 0});
  stats = {};
  ASSERT_TRUE(Sample(*stores_.graph, 0, {0}, none, false, &stats).ok());
  EXPECT_EQ(stats.cut_nodes, 0) << "nothing was asked for there";
}

TEST_F(PartAloneTest, ALonePartFolderIsEnough) {
  Write(Homogeneous(4), 2);
  const auto expected = Sample(*MakeLocalGraphStore(whole_), 0, Core(0, 1),
                               SamplingSpec::Uniform(whole_->info.schema, std::vector{3, 3}), true);
  fs::rename(graph_ / PartFolderName(1), folder_.path() / "kept");
  fs::remove_all(graph_);
  fs::create_directories(graph_);
  fs::rename(folder_.path() / "kept", graph_ / PartFolderName(1));
  Open(1);
  const auto found = Sample(*stores_.graph, 0, Core(0, 1),
                            SamplingSpec::Uniform(whole_->info.schema, std::vector{3, 3}), true);
  ASSERT_TRUE(found.ok() && expected.ok()) << found.status() << expected.status();
  EXPECT_EQ(*found, *expected);
  EXPECT_EQ(stores_.graph->info().identity, whole_->info.identity);
}

TEST_F(PartAloneTest, PullsCoreAndHaloRowsAsTheirOwnersHaveThem) {
  Write(Typed(), 2);
  Open(2);
  const int paper = *whole_->info.schema.NodeTypeIndex("paper");
  std::vector<int64_t> ids = Core(paper, 2);
  const auto halo = part_->halo->Nodes(paper);
  ids.insert(ids.begin(), halo.begin(), halo.end());
  ids.push_back(ids.front());
  std::vector<float> rows(ids.size() * 3), expected(rows.size());
  std::vector<int64_t> years(ids.size()), expected_years(ids.size());
  const auto whole = MakeLocalRowStore(whole_);
  CallStats stats;
  const TensorRef feat{false, "paper", "feat"}, year{false, "paper", "year"};
  ASSERT_TRUE(
      PullOne(*stores_.rows, feat, ids, std::as_writable_bytes(std::span(rows)), &stats).ok());
  ASSERT_TRUE(PullOne(*whole, feat, ids, std::as_writable_bytes(std::span(expected))).ok());
  EXPECT_EQ(rows, expected);
  EXPECT_EQ(stats.local_bytes, std::ssize(ids) * 12);
  EXPECT_EQ(stats.rounds, 0);
  ASSERT_TRUE(PullOne(*stores_.rows, year, ids, std::as_writable_bytes(std::span(years))).ok());
  ASSERT_TRUE(PullOne(*whole, year, ids, std::as_writable_bytes(std::span(expected_years))).ok());
  EXPECT_EQ(years, expected_years);
}

TEST_F(PartAloneTest, RowsThatAreNotHereAreRefusedByName) {
  Write(Homogeneous(1.5), 1);
  Open(0);
  const auto halo = part_->halo->Nodes(0);
  const std::set<int64_t> known(halo.begin(), halo.end());
  int64_t beyond = whole_->info.book.NodeRange(0, 0).end;
  while (known.contains(beyond)) ++beyond;
  std::vector<float> row(3);
  const auto out = std::as_writable_bytes(std::span(row));
  const Status feature = PullOne(*stores_.rows, {false, "node", "feat"}, {{beyond}}, out);
  EXPECT_TRUE(absl::IsFailedPrecondition(feature)) << feature;
  EXPECT_THAT(Message(feature), HasSubstr(fmt::format("row {} is neither of part 0", beyond)));
  const Status original =
      PullOne(*stores_.rows, {false, "node", kOriginalIdTensor}, {{halo.front()}}, out.first(8));
  EXPECT_TRUE(absl::IsFailedPrecondition(original)) << original;
  int64_t own = 0;
  EXPECT_TRUE(PullOne(*stores_.rows, {false, "node", kOriginalIdTensor},
                      {{whole_->info.book.NodeRange(0, 0).begin}},
                      std::as_writable_bytes(std::span(&own, 1)))
                  .ok());
  const Status outside = PullOne(*stores_.rows, {false, "node", "feat"}, {{300}}, out);
  EXPECT_TRUE(absl::IsOutOfRange(outside)) << outside;
}

TEST_F(PartAloneTest, TaskSetsAreThoseOfThePart) {
  Write(Homogeneous(3), 1);
  const auto whole = MakeLocalTaskSets(whole_);
  const TaskSetRef train{"node_classification", "train", "node"};
  int64_t rows = 0;
  for (const int part : AllParts()) {
    Open(part);
    const std::vector<int64_t>& of_whole = whole_->info.task_rows[0][0];
    const std::vector<int64_t>& of_part = stores_.graph->info().task_rows[0][0];
    ASSERT_EQ(of_part.size(), kParts + 1U);
    const IdRange range{of_whole[static_cast<size_t>(part)],
                        of_whole[static_cast<size_t>(part) + 1]};
    EXPECT_EQ(of_part.back(), range.size());
    EXPECT_EQ(of_part[static_cast<size_t>(part)], 0);
    CallContext context;
    const auto found = stores_.tasks->Read(train, {0, range.size()}, context);
    const auto expected = whole->Read(train, range, context);
    ASSERT_TRUE(found.ok() && expected.ok()) << found.status() << expected.status();
    EXPECT_THAT(found->seeds(), testing::ElementsAreArray(expected->seeds()));
    EXPECT_EQ((*found->Find("labels"))->data, (*expected->Find("labels"))->data);
    rows += range.size();
  }
  EXPECT_EQ(rows, whole_->info.task_rows[0][0].back());
}

TEST_F(PartAloneTest, ClustersAreThoseOfThePartAloneAndInAViewOfTheWhole) {
  TestGraphSpec spec = Homogeneous(3);
  for (size_t v = 0; v < 300; ++v) spec.node_types[0].owners[v] = static_cast<int>(v / 75);
  spec.cluster_nodes.assign(kParts, {15, 60});
  Write(spec, 1);
  const Stores whole = MakeLocalStores(whole_);
  EXPECT_EQ(whole.graph->info().clusters.size(), size_t{kParts});
  for (const int part : AllParts()) {
    Open(part);
    std::vector<std::vector<int64_t>> own(kParts);
    own[static_cast<size_t>(part)] = {part * 75, part * 75 + 15, part * 75 + 75};
    EXPECT_EQ(stores_.graph->info().clusters, own);
    EXPECT_EQ(MakePartView(whole, part).graph->info().clusters, own);
  }
}

TEST_F(PartAloneTest, AViewOfAWholeGraphHasThePartsRowsAndAllNeighbours) {
  Write(Homogeneous(3), 1);
  const Stores whole = MakeLocalStores(whole_);
  const TaskSetRef train{"node_classification", "train", "node"};
  for (const int part : AllParts()) {
    Open(part);
    const Stores view = MakePartView(whole, part);
    EXPECT_EQ(view.graph->info().task_rows, part_->own->info.task_rows);
    const int64_t count = view.graph->info().task_rows[0][0].back();
    CallContext context;
    const auto found = view.tasks->Read(train, {1, count}, context);
    const auto expected = stores_.tasks->Read(train, {1, count}, context);
    ASSERT_TRUE(found.ok() && expected.ok()) << found.status() << expected.status();
    EXPECT_THAT(found->seeds(), testing::ElementsAreArray(expected->seeds()));
    EXPECT_EQ(found->rows.begin, 1);
    EXPECT_TRUE(absl::IsOutOfRange(view.tasks->Read(train, {0, count + 1}, context).status()));
    const auto spec = SamplingSpec::Uniform(whole_->info.schema, std::vector{3, 3});
    const auto all = Sample(*view.graph, 0, Core(0, part), spec, true);
    const auto wanted = Sample(*whole.graph, 0, Core(0, part), spec, true);
    ASSERT_TRUE(all.ok() && wanted.ok());
    EXPECT_EQ(*all, *wanted);
  }
}

TEST_F(PartAloneTest, DrawsByWeightEndAtTheBorder) {
  TestGraphSpec spec = Homogeneous(6);
  std::vector<float> weights(spec.relations[0].edges.size(), 1.0F);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7);
  spec.relations[0].features = {MakeTensor("w", weights)};
  spec.relations[0].features[0].spec.sampling = true;
  for (const int hops : {1, 2}) {
    fs::remove_all(folder_.path() / "graph");
    Write(spec, hops);
    Open(0);
    SamplingSpec one = SamplingSpec::Uniform(whole_->info.schema, std::vector{3});
    SamplingSpec two = SamplingSpec::Uniform(whole_->info.schema, std::vector{3, 3});
    for (SamplingSpec* each : {&one, &two}) {
      ASSERT_TRUE(each->DrawBy(whole_->info.schema, "w").ok());
    }
    const auto found = Sample(*stores_.graph, 0, Core(0, 0), one, true);
    const auto expected = Sample(*MakeLocalGraphStore(whole_), 0, Core(0, 0), one, true);
    ASSERT_TRUE(found.ok() && expected.ok()) << found.status() << expected.status();
    EXPECT_EQ(*found, *expected);
    const auto beyond = Sample(*stores_.graph, 0, Core(0, 0), two, true);
    EXPECT_EQ(beyond.status().code(),
              hops == 1 ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition);
  }
}

// What only all parts together tell: out-degrees, and whether a relation is symmetric.
TEST_F(PartAloneTest, WhatIsCountedOverAllPartsIsRefusedByName) {
  Write(Homogeneous(3), 2);
  Open(1);
  const int64_t nodes = whole_->info.schema.node_types[0].count;
  for (const auto& [value, what] :
       {std::pair{ColumnValue::kOne, "out-degrees"}, {ColumnValue::kAsymmetry, "edges back"}}) {
    const auto ask = [&, value = value](int part, GraphStore& store, TopologyAnswers* answers) {
      CallContext context;
      TopologyQuestions questions;
      questions.sums.push_back(
          {.relation = 0, .value = value, .page = ColumnGroup::Page{part, {0, nodes}}});
      return store.Ask(questions, context, answers);
    };
    TopologyAnswers own, expected, other;
    ASSERT_TRUE(ask(1, *stores_.graph, &own).ok());
    ASSERT_TRUE(ask(1, *MakeLocalGraphStore(whole_), &expected).ok());
    EXPECT_EQ(own.sums, expected.sums);
    EXPECT_FALSE(own.sums[0].sources.empty());
    const Status status = ask(2, *stores_.graph, &other);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    for (const char* text :
         {"node:edge:node", what, "part 1 is alone", "part 2", "--part-only", "--sampler"}) {
      EXPECT_THAT(Message(status), HasSubstr(text));
    }
  }
}

TEST_F(PartAloneTest, CancelledCallsEnd) {
  Write(Homogeneous(3), 1);
  Open(0);
  CancelToken token;
  token.Cancel();
  const auto spec = SamplingSpec::Uniform(whole_->info.schema, std::vector{3});
  const auto core = Core(0, 0);
  EXPECT_TRUE(absl::IsCancelled(SampleOne(*stores_.graph,
                                          {.seeds = {{.type = 0, .ids = core}}, .spec = &spec},
                                          nullptr, &token)
                                    .status()));
}

}  // namespace
}  // namespace halograph
