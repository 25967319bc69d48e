#include "client/own_part/own_part_store.h"

#include <numeric>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/own_part/own_parts.h"
#include "tests/support/one_call.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"
#include "tests/support/whole_rest.h"

namespace halograph {
namespace {

using testing::HasSubstr;

constexpr int64_t kNodes = 400;
constexpr int kOwnPart = 1;

// Four parts, of which part 1 is mapped.
class OwnPartStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = WriteTestGraph(
        RandomGraph({.seed = 5, .parts = 4, .nodes = kNodes, .mean_degree = 8, .feature_dim = 3}),
        folder_.path() / "graph");
    ASSERT_TRUE(path.ok()) << path.status();
    auto whole = MapGraph(*path, {});
    auto own = MapGraph(*path, {.parts = {kOwnPart}});
    ASSERT_TRUE(whole.ok() && own.ok()) << whole.status() << own.status();
    whole_ = *whole;
    graph_ = MakeOwnPartGraphStore(*own, std::make_unique<WholeRestGraphStore>(whole_, record_));
    rows_ = MakeOwnPartRowStore(*own, std::make_unique<WholeRestRowStore>(whole_, record_));
    range_ = whole_->info.book.NodeRange(0, kOwnPart);
  }

  std::vector<int64_t> OwnNodes() const {
    std::vector<int64_t> nodes(static_cast<size_t>(range_.size()));
    std::iota(nodes.begin(), nodes.end(), range_.begin);
    return nodes;
  }
  StatusOr<Minibatch> Sample(GraphStore& store, const std::vector<int64_t>& seeds,
                             const std::vector<int32_t>& fanouts, CallStats* stats = nullptr) {
    const SamplingSpec spec = SamplingSpec::Uniform(whole_->info.schema, fanouts);
    return SampleOne(store, {.seeds = {{.type = 0, .ids = seeds}}, .batch_seed = 3, .spec = &spec},
                     stats);
  }
  Status Pull(const std::vector<int64_t>& ids, std::vector<float>* rows, CallStats* stats) {
    rows->resize(ids.size() * 3);
    return PullOne(*rows_, {false, "node", "feat"}, ids, std::as_writable_bytes(std::span(*rows)),
                   stats);
  }

  TestFolder folder_;
  std::shared_ptr<const MappedGraph> whole_;
  std::shared_ptr<RestRecord> record_ = std::make_shared<RestRecord>();
  std::unique_ptr<GraphStore> graph_;
  std::unique_ptr<RowStore> rows_;
  IdRange range_;
};

TEST_F(OwnPartStoreTest, LayersOfOwnDestinationsAskNobody) {
  const auto minibatch = Sample(*graph_, OwnNodes(), {5});
  ASSERT_TRUE(minibatch.ok()) << minibatch.status();
  EXPECT_GT(minibatch->sampled_edges, 0);
  EXPECT_TRUE(record_->ids.empty());
}

TEST_F(OwnPartStoreTest, TheRestIsAskedForOthersNodesOnly) {
  CallStats stats;
  const auto minibatch = Sample(*graph_, OwnNodes(), {5, 5, 5}, &stats);
  ASSERT_TRUE(minibatch.ok()) << minibatch.status();
  EXPECT_FALSE(record_->ids.empty());
  for (const int64_t id : record_->ids) EXPECT_FALSE(range_.contains(id)) << id;
  EXPECT_EQ(stats.rounds, 4);  // 2 (L - 1)
  const auto expected = Sample(*MakeLocalGraphStore(whole_), OwnNodes(), {5, 5, 5});
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(*minibatch, *expected);
}

TEST_F(OwnPartStoreTest, PullsOnlyOthersRowsFromTheRest) {
  std::vector<int64_t> ids(kNodes);
  std::iota(ids.rbegin(), ids.rend(), 0);
  std::vector<float> rows;
  CallStats stats;
  ASSERT_TRUE(Pull(ids, &rows, &stats).ok());
  for (const int64_t id : record_->ids) EXPECT_FALSE(range_.contains(id)) << id;
  EXPECT_EQ(stats.local_bytes, range_.size() * 12);
  EXPECT_EQ(stats.remote_bytes, (kNodes - range_.size()) * 12);
  EXPECT_EQ(stats.rounds, 2);
  std::vector<float> expected(rows.size());
  ASSERT_TRUE(PullOne(*MakeLocalRowStore(whole_), {false, "node", "feat"}, ids,
                      std::as_writable_bytes(std::span(expected)), nullptr)
                  .ok());
  EXPECT_EQ(rows, expected);
  ASSERT_TRUE(Pull(OwnNodes(), &rows, &stats).ok());
  EXPECT_EQ(stats.rounds, 2) << "own rows make no round";
}

TEST_F(OwnPartStoreTest, ErrorsOfTheRestAreTheCallers) {
  record_->fail_with = Unavailable("server 2 is gone");
  const auto minibatch = Sample(*graph_, OwnNodes(), {5, 5});
  EXPECT_EQ(minibatch.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(minibatch.status()), HasSubstr("server 2"));
  std::vector<float> rows;
  EXPECT_EQ(Pull({0, 1}, &rows, nullptr).code(), absl::StatusCode::kUnavailable);
}

TEST_F(OwnPartStoreTest, ACancelledTokenEndsCallsForOwnNodesToo) {
  CancelToken token;
  token.Cancel();
  const SamplingSpec spec = SamplingSpec::Uniform(whole_->info.schema, std::vector<int32_t>{5});
  const std::vector<int64_t> own = OwnNodes();
  EXPECT_EQ(SampleOne(*graph_, {.seeds = {{.type = 0, .ids = own}}, .spec = &spec}, nullptr, &token)
                .status()
                .code(),
            absl::StatusCode::kCancelled);
  std::vector<float> rows(own.size() * 3);
  EXPECT_EQ(PullOne(*rows_, {false, "node", "feat"}, own, std::as_writable_bytes(std::span(rows)),
                    nullptr, &token)
                .code(),
            absl::StatusCode::kCancelled);
  EXPECT_TRUE(record_->ids.empty());
}

// Two of four parts over one of the others: nothing of a composed store is special to its rest.
TEST_F(OwnPartStoreTest, ComposesOverAnotherComposedStore) {
  const auto path = folder_.path() / "graph";
  const auto second = MapGraph(path, {.parts = {3}});
  ASSERT_TRUE(second.ok()) << second.status();
  const auto graph = MakeOwnPartGraphStore(*second, std::move(graph_));
  const auto rows_over = MakeOwnPartRowStore(*second, std::move(rows_));
  std::vector<int64_t> all(kNodes);
  std::iota(all.begin(), all.end(), 0);
  const auto found = Sample(*graph, all, {6, 4});
  const auto expected = Sample(*MakeLocalGraphStore(whole_), all, {6, 4});
  ASSERT_TRUE(found.ok() && expected.ok()) << found.status();
  EXPECT_EQ(*found, *expected);
  std::vector<float> rows(all.size() * 3);
  CallStats stats;
  ASSERT_TRUE(PullOne(*rows_over, {false, "node", "feat"}, all,
                      std::as_writable_bytes(std::span(rows)), &stats)
                  .ok());
  const IdRange third = whole_->info.book.NodeRange(0, 3);
  EXPECT_EQ(stats.local_bytes, (range_.size() + third.size()) * 12);
  for (const int64_t id : record_->ids) EXPECT_FALSE(range_.contains(id) || third.contains(id));
}

TEST_F(OwnPartStoreTest, ThreadsThatSampleAndPullAtOnceGetWhatOneGets) {
  std::vector<int64_t> seeds(kNodes / 2);
  std::iota(seeds.begin(), seeds.end(), 50);
  const auto expected = Sample(*MakeLocalGraphStore(whole_), seeds, {4, 4});
  ASSERT_TRUE(expected.ok()) << expected.status();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        const auto found = Sample(*graph_, seeds, {4, 4});
        ASSERT_TRUE(found.ok()) << found.status();
        ASSERT_EQ(*found, *expected);
        std::vector<float> rows;
        ASSERT_TRUE(Pull(found->nodes[0], &rows, nullptr).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(OwnPartStoreTest, FilesOfAnotherGraphAreRefusedNamingBoth) {
  const auto path = WriteTestGraph(RandomGraph({.seed = 6, .parts = 4, .nodes = kNodes}),
                                   folder_.path() / "other");
  ASSERT_TRUE(path.ok()) << path.status();
  const auto other = MapGraph(*path, {.parts = {0}});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_TRUE(CheckSameGraph(whole_->info, "--local", whole_->info, "the servers").ok());
  const Status status = CheckSameGraph((*other)->info, "--local", whole_->info, "the servers");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("--local: is of graph " + (*other)->info.identity));
  EXPECT_THAT(Message(status), HasSubstr(whole_->info.identity));
}

}  // namespace
}  // namespace halograph
