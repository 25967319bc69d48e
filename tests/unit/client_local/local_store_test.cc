#include <cstring>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/local/mapped_graph.h"
#include "common/base/rng.h"
#include "common/graph/manifest.h"
#include "tests/support/golden.h"
#include "tests/support/local_stores.h"
#include "tests/support/one_call.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::HasSubstr;

// Owners of a node by input id, spread over the parts.
TestGraphSpec SpecOf(int parts) {
  return RandomTypedGraph({.parts = parts, .nodes = 200, .mean_degree = 4});
}

class LocalStoreTest : public testing::TestWithParam<int> {  // parts
 protected:
  void SetUp() override {
    const auto graph = WriteTestGraph(spec_, folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    auto stores = OpenLocalStores(*graph, VerifyLevel::kContents, 2);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = *std::move(stores);
  }

  // Pulls float or int64 rows.
  template <typename T>
  [[nodiscard]] StatusOr<std::vector<T>> Pull(const TensorRef& tensor,
                                              const std::vector<int64_t>& ids, int64_t dim) {
    std::vector<T> rows(ids.size() * dim);
    HG_RETURN_IF_ERROR(
        PullOne(*stores_.rows, tensor, ids, std::as_writable_bytes(std::span(rows)), &stats_));
    return rows;
  }

  TestFolder folder_;
  TestGraphSpec spec_ = SpecOf(GetParam());
  Stores stores_;
  CallStats stats_;
};
INSTANTIATE_TEST_SUITE_P(Parts, LocalStoreTest, testing::Values(1, 2, 5));

const TensorRef kFeat{.edge = false, .type = "paper", .name = "feat"};

TEST_P(LocalStoreTest, InfoIsThatOfTheFolder) {
  EXPECT_TRUE(stores_.graph->info().schema == TestSchema(spec_));
  EXPECT_EQ(stores_.graph->info().book.num_parts(), GetParam());
  const auto manifest = ReadPartManifest(folder_.path() / "graph" / PartFolderName(0));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(stores_.graph->info().identity, manifest->identity);
  EXPECT_EQ(stores_.graph->info().identity.size(), 32U);
}

TEST_P(LocalStoreTest, PullKeepsOrderAndRepeatsOfIds) {
  const std::vector<int64_t> global = GlobalNodeIds(spec_, "paper");
  CounterRng rng(3);
  std::vector<int64_t> inputs(9000);  // several chunks
  std::vector<int64_t> ids;
  for (int64_t& input : inputs) {
    input = static_cast<int64_t>(rng.NextBounded(global.size()));
    ids.push_back(global[input]);
  }
  const auto rows = Pull<float>(kFeat, ids, 4);
  ASSERT_TRUE(rows.ok()) << rows.status();
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (int64_t c = 0; c < 4; ++c) {
      ASSERT_EQ((*rows)[4 * i + c], static_cast<float>(inputs[i]) + 0.25F * static_cast<float>(c));
    }
  }
  EXPECT_EQ(stats_.local_bytes, 9000 * 16);
  EXPECT_EQ(stats_.remote_bytes, 0);
}

TEST_P(LocalStoreTest, PullGivesOriginalIdsOfNodesAndEdges) {
  const std::vector<int64_t> global = GlobalNodeIds(spec_, "author");
  const auto originals =
      Pull<int64_t>({.edge = false, .type = "author", .name = kOriginalIdTensor}, global, 1);
  ASSERT_TRUE(originals.ok()) << originals.status();
  for (size_t i = 0; i < global.size(); ++i) EXPECT_EQ((*originals)[i], static_cast<int64_t>(i));

  const TensorRef weight{.edge = true, .type = "paper:cites:paper", .name = "weight"};
  std::vector<int64_t> edges(spec_.relations[2].edges.size());
  for (size_t e = 0; e < edges.size(); ++e) edges[e] = static_cast<int64_t>(edges.size() - 1 - e);
  const auto weights = Pull<float>(weight, edges, 1);
  const auto edge_ids = Pull<int64_t>(
      {.edge = true, .type = "paper:cites:paper", .name = kOriginalIdTensor}, edges, 1);
  ASSERT_TRUE(weights.ok() && edge_ids.ok());
  for (size_t e = 0; e < edges.size(); ++e) {
    EXPECT_EQ((*weights)[e], static_cast<float>((*edge_ids)[e]));
  }
}

TEST_P(LocalStoreTest, PullOfNothingIsFine) {
  EXPECT_TRUE(Pull<float>(kFeat, {}, 4).ok());
  EXPECT_TRUE(PullOne(*stores_.rows, kFeat, {}, {}, nullptr).ok());
}

TEST_P(LocalStoreTest, PullErrorsNameWhatIsWrong) {
  const auto unknown = Pull<float>({.edge = false, .type = "paper", .name = "nope"}, {0}, 4);
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(unknown.status()), HasSubstr("'nope'"));
  EXPECT_EQ(Pull<float>({.edge = true, .type = "paper", .name = "feat"}, {0}, 4).status().code(),
            absl::StatusCode::kNotFound);
  const auto outside = Pull<float>(kFeat, {3, 200, -1}, 4);
  EXPECT_EQ(outside.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(outside.status()), HasSubstr("id 200 at position 1 is outside its 200"));
  EXPECT_EQ(Pull<float>(kFeat, {-1}, 4).status().code(), absl::StatusCode::kOutOfRange);
  const auto narrow = Pull<float>(kFeat, {1, 2}, 3);
  EXPECT_EQ(narrow.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(narrow.status()), HasSubstr("24 bytes"));
}

TEST_P(LocalStoreTest, TaskSetsComeByPartAndWithinAPartInInputOrder) {
  const auto set = ReadWholeTaskSet(stores_, {"node_classification", "train", "paper"});
  ASSERT_TRUE(set.ok()) << set.status();
  const std::vector<int64_t>& boundaries = stores_.graph->info().task_rows[0][0];
  ASSERT_EQ(boundaries.size(), static_cast<size_t>(GetParam()) + 1);
  EXPECT_EQ(boundaries.back(), set->spec.rows);
  const auto labels = set->Find("labels");
  ASSERT_TRUE(labels.ok());
  const auto* const label = reinterpret_cast<const int64_t*>((*labels)->data.data());
  const std::vector<int64_t> global = GlobalNodeIds(spec_, "paper");
  const auto& input = spec_.tasks[0].sets[0].arrays[0].data;
  std::vector<int64_t> inputs(input.size() / 8);
  std::memcpy(inputs.data(), input.data(), input.size());
  std::vector<int64_t> expected;
  std::vector<int64_t> expected_labels;
  for (int part = 0; part < GetParam(); ++part) {
    EXPECT_EQ(boundaries[part], static_cast<int64_t>(expected.size()));
    for (const int64_t v : inputs) {
      if (spec_.node_types[1].owners[v] != part) continue;
      expected.push_back(global[v]);
      expected_labels.push_back(v % 3);
    }
  }
  EXPECT_EQ(std::vector<int64_t>(set->seeds().begin(), set->seeds().end()), expected);
  EXPECT_EQ(std::vector<int64_t>(label, label + expected.size()), expected_labels);
  EXPECT_EQ(set->Find("weights").status().code(), absl::StatusCode::kNotFound);
}

TEST_P(LocalStoreTest, PairsAreReadAndUnknownSetsListWhatExists) {
  const auto pairs = ReadWholeTaskSet(stores_, {"link_prediction", "test", "paper:cites:paper"});
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  EXPECT_EQ(pairs->seeds().size(), static_cast<size_t>(2 * pairs->spec.rows));
  const auto unknown = ReadWholeTaskSet(stores_, {"node_classification", "train", "author"});
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(unknown.status()), HasSubstr("node_classification / train / paper"));
}

TEST_P(LocalStoreTest, SampleIsValidatedAndSameFromManyThreads) {
  const Schema& schema = stores_.graph->info().schema;
  SamplingSpec sampling = SamplingSpec::Uniform(schema, std::vector<int32_t>{5, 3});
  std::vector<int64_t> seeds = {7, 3, 7, 150};
  const SampleRequest request{.seeds = {{.type = *schema.NodeTypeIndex("paper"), .ids = seeds}},
                              .batch_seed = 5,
                              .spec = &sampling};
  const auto expected = SampleOne(*stores_.graph, request);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_GT(expected->sampled_edges, 0);
  std::vector<std::thread> callers;
  std::vector<int> same(4, 0);
  for (size_t c = 0; c < same.size(); ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < 20; ++i) {
        const auto minibatch = SampleOne(*stores_.graph, request);
        same[c] += minibatch.ok() && *minibatch == *expected ? 1 : 0;
        std::vector<float> rows(seeds.size() * 4);
        same[c] +=
            PullOne(*stores_.rows, kFeat, seeds, std::as_writable_bytes(std::span(rows)), nullptr)
                    .ok()
                ? 1
                : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(same, std::vector<int>(4, 40));
  seeds[1] = 200;
  EXPECT_EQ(SampleOne(*stores_.graph, request).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_P(LocalStoreTest, EitherStoreOutlivesTheOther) {
  stores_.graph.reset();
  EXPECT_TRUE(Pull<float>(kFeat, {0}, 4).ok());
}

TEST(OpenLocalStoresTest, ErrorsNameFolderAndThreads) {
  const TestFolder folder;
  const auto missing = OpenLocalStores(folder.path() / "none", VerifyLevel::kHeaders, 0);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(missing.status()), HasSubstr("none/part-0000/manifest.json"));
  const auto threads = OpenLocalStores(folder.path(), VerifyLevel::kHeaders, -1);
  EXPECT_EQ(threads.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LocalGraphStoreTest, MinibatchesAreGoldenAtAnyThreadCount) {
  const auto golden = LoadGoldenSampling();
  ASSERT_TRUE(golden.ok()) << golden.status();
  const TestFolder folder;
  const auto graph = WriteTestGraph(golden->spec, folder.path() / "graph");
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const int threads : {0, 1, 3}) {
    const auto stores = OpenLocalStores(*graph, VerifyLevel::kHeaders, threads);
    ASSERT_TRUE(stores.ok()) << stores.status();
    for (const GoldenMinibatch& minibatch : golden->minibatches) {
      const auto sampled = SampleOne(*stores->graph, minibatch.request());
      ASSERT_TRUE(sampled.ok()) << sampled.status();
      EXPECT_TRUE(*sampled == minibatch.expected) << minibatch.name;
    }
  }
}

// 30,000 edges a minibatch: several threads pay.
TEST(LocalStoreSamplingTest, WhereTablesDoNotFitThreadsShareOneMinibatchAndChangeNoBit) {
  const TestFolder folder;
  const auto graph = WriteTestGraph(RandomGraph({.parts = 2, .nodes = 2000, .mean_degree = 12}),
                                    folder.path() / "g");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto open = [&](const SamplerThreads& sampling) {
    return *MapGraph(*graph, {.verify = VerifyLevel::kHeaders, .sampling = sampling});
  };
  const auto side_by_side = open({.threads = 3, .memory = int64_t{1} << 30});
  EXPECT_EQ(side_by_side->minibatches, 3);
  EXPECT_EQ(side_by_side->built, 3 * 64) << "a bulk in each thread";
  EXPECT_EQ(side_by_side->pool, nullptr);
  // A table of 4 bytes a node, and sums of 16: half of what three tables leave is for ten a thread.
  constexpr int64_t kEach = 2000 * (4 + 16);
  EXPECT_EQ(open({.threads = 3, .memory = 3 * 2000 * 4 + 2 * 3 * 10 * kEach})->built, 30);
  EXPECT_EQ(open({.threads = 3, .memory = 3 * 2000 * 4 + 2 * 3 * 2 * kEach - 1})->built, 0);
  const auto shared = open({.threads = 3, .memory = 2000 * 4});
  EXPECT_EQ(shared->minibatches, 1);
  EXPECT_EQ(shared->built, 0) << "no more than what is sampled at once";
  ASSERT_NE(shared->pool, nullptr);
  EXPECT_EQ(shared->pool->threads(), 2U);

  const SamplingSpec spec =
      SamplingSpec::Uniform(shared->info.schema, std::vector<int32_t>{10, 10, 10});
  std::vector<int64_t> seeds(64);
  std::iota(seeds.begin(), seeds.end(), int64_t{100});
  std::vector<Minibatch> found;
  for (const auto& mapped : {side_by_side, shared}) {
    CallContext context;
    const SampleRequest request{
        .seeds = {{.type = 0, .ids = seeds}}, .batch_seed = 7, .spec = &spec};
    const Status status =
        MakeLocalGraphStore(mapped)->Sample(request, context, &found.emplace_back());
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_GT(found[0].sampled_edges, 10000);
  EXPECT_EQ(found[0], found[1]);
}

}  // namespace
}  // namespace halograph
