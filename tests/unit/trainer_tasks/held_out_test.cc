#include "trainer/tasks/held_out.h"

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/local_stores.h"
#include "tests/support/ranks.h"
#include "tests/support/written_graph.h"

namespace halograph {
namespace {

// A store that counts requests, and how often each node's in-edges are read by a relation.
class CountingStore final : public GraphStore {
 public:
  explicit CountingStore(GraphStore* store) : store_(store) {}
  const GraphInfo& info() const override { return store_->info(); }
  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    for (const SampleRequest& request : requests) {
      const int relation = request.spec->layers.front().front().relation;
      for (const int64_t node : request.seeds.front().ids) ++reads[{relation, node}];
      if (calls++ == 0 && before_first) before_first();
    }
    return store_->Sample(requests, context, minibatches);
  }
  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    return store_->Ask(questions, context, answers);
  }

  std::function<void()> before_first;  // call; or none
  std::atomic<int64_t> calls = 0;
  std::map<std::pair<int, int64_t>, int> reads;

 private:
  GraphStore* const store_;
};

// Users like items; items are near items, in a ring of five thousand; all in one part.
constexpr int64_t kItems = 5000;
constexpr int kNear = 0, kLikes = 1;  // relations, in the order of the schema

TestGraphSpec Shop() {
  TestGraphSpec spec{.name = "shop"};
  spec.node_types = {{.name = "item", .owners = std::vector<int>(kItems)},
                     {.name = "user", .owners = std::vector<int>(10)}};
  TestRelation near{"item", "near", "item"}, likes{"user", "likes", "item"};
  for (int64_t i = 0; i < kItems; ++i) near.edges.emplace_back(i, (i + 1) % kItems);
  for (int64_t user = 0; user < 10; ++user) {
    for (int64_t item = 0; item < 3; ++item) likes.edges.emplace_back(user, item * user);
  }
  spec.relations = {near, likes};
  return spec;
}

class HeldOutTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto stores = OpenLocalStores(WriteGraphInto(&folder_, Shop()), VerifyLevel::kContents, 0);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = std::move(*stores);
  }
  static void TearDownTestSuite() {
    stores_ = {};
    folder_.reset();
  }

  static void Add(EdgeRows* rows, int relation, int64_t source, int64_t destination) {
    rows->relations.push_back(relation);
    rows->sources.push_back(source);
    rows->destinations.push_back(destination);
  }

  static inline std::unique_ptr<TestFolder> folder_;
  static inline Stores stores_;
};

TEST_F(HeldOutTest, CountsEdgesAndWaysBackOfEveryRelation) {
  EdgeRows rows;
  Add(&rows, kLikes, 2, 4);          // is there
  Add(&rows, kNear, 7, 8);           // is there
  Add(&rows, kNear, 10, 12);         // is not
  Add(&rows, kNear, 8, 7);           // its way back is
  Add(&rows, kLikes, 9, 1);          // is not
  Add(&rows, kNear, 7, 8);           // listed again
  Add(&rows, kLikes, 0, 0);          // is there three times, which is one row
  Add(&rows, kNear, kItems - 1, 0);  // is there
  Add(&rows, kNear, 0, kItems - 1);  // its way back is
  const auto alone = *Communicator::Join({});
  const auto found = FindHeldOut(*stores_.graph, rows, *alone, nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->rows, 9);
  EXPECT_EQ(found->present, 5);
  EXPECT_EQ(found->ways_back, 2);
  EXPECT_EQ(found->relation, kNear);
  EXPECT_EQ(found->of_relation, 3);
}

TEST_F(HeldOutTest, NegativesThatAreGivenAreLookedForApartFromEdges) {
  EdgeRows rows;
  Add(&rows, kNear, 7, 8);   // is there
  Add(&rows, kNear, 9, 8);   // its way back is, which says nothing of a negative
  Add(&rows, kLikes, 3, 3);  // is there, and an edge
  Add(&rows, kLikes, 2, 2);  // is there
  rows.given_negative = {true, true, false, true};
  const auto alone = *Communicator::Join({});
  const auto found =
      FindHeldOut(*stores_.graph, rows, *alone, nullptr, HeldOutRows::kGivenNegatives);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->rows, 3);
  EXPECT_EQ(found->present, 2);
  EXPECT_EQ(found->ways_back, 0);
}

TEST_F(HeldOutTest, ANodesInEdgesAreReadOnceHoweverManyEdgesAreAskedAboutIt) {
  EdgeRows rows;
  for (int64_t i = 0; i < 3000; ++i) {
    Add(&rows, kNear, i, 17);
    Add(&rows, kNear, i + 2, i);
  }
  CountingStore store(stores_.graph.get());
  const auto alone = *Communicator::Join({});
  const auto found = FindHeldOut(store, rows, *alone, nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->present, 1);  // 16 -> 17
  for (const auto& [node, times] : store.reads) {
    EXPECT_LE(times, 2) << "once for edges, once for ways back, of node " << node.second;
  }
}

// The last rank has no edge at all, and stands in for one that is done: it meets the others as they
// do, while the first one's first request has no answer.
TEST_F(HeldOutTest, RanksMeetUntilAllAreDoneHoweverLongARequestTakes) {
  CountingStore store(stores_.graph.get());
  std::promise<void> met;
  store.before_first = [&] { met.get_future().wait(); };
  RunRanks(3, [&](std::unique_ptr<Communicator> ranks) {
    EdgeRows rows;
    if (ranks->rank() == 0) {
      for (int64_t i = 0; i < kItems; ++i) Add(&rows, kLikes, i % 10, i);
    } else if (ranks->rank() == 1) {
      Add(&rows, kNear, 4, 5);
    }
    CountingStore own(stores_.graph.get());
    if (ranks->rank() < 2) {
      const auto found = FindHeldOut(ranks->rank() == 0 ? store : own, rows, *ranks, nullptr);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->rows, kItems + 1);
      EXPECT_EQ(found->present, 11) << "items 0 to 9 of the user of that number, and 4 -> 5";
    } else {
      int64_t meetings = 0;
      for (bool going = true; going;) {
        const torch::Tensor sum = torch::zeros({1});
        ASSERT_TRUE(ranks->AllReduceSum(sum, "meeting").ok());
        going = sum.item<float>() > 0;
        if (++meetings == 3) met.set_value();
      }
      EXPECT_GT(meetings, 3);
      EXPECT_EQ(store.calls.load(), (kItems + kHeldOutNodesTogether - 1) / kHeldOutNodesTogether);
      const torch::Tensor rest = torch::zeros({4}, torch::kFloat64);
      ASSERT_TRUE(ranks->AllReduceSum(rest, "sums").ok());
    }
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

}  // namespace
}  // namespace halograph
