#include "client/push_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/tensor_admin.h"
#include "common/graph/row_source.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Ten nodes, of which part 0 has four, part 1 none, and part 2 six.
class PushPlanTest : public testing::Test {
 protected:
  PushPlanTest() {
    schema_.node_types = {{.name = "node", .count = 10, .features = {}}};
    book_ = PartitionBook::Create(schema_, {{0, 4, 4, 10}}, {}).value();
    features_ = MakeSchemaCatalog(&schema_, &book_, nullptr);
    catalog_ = std::make_unique<MutableCatalog>(features_.get(), &schema_, &book_);
    EXPECT_TRUE(catalog_
                    ->Put({.ref = ref_,
                           .dim = 2,
                           .initializer = {},
                           .optimizer = {.kind = RowOptimizer::Kind::kSgd}})
                    .ok());
  }
  const MutableTensor& tensor() const { return *catalog_->FindMutable(ref_); }
  RowPush Push(const std::vector<int64_t>& ids, std::optional<SyncStep> step = {}) {
    rows_.assign(ids.size() * 2, 0.F);
    return {.tensor = ref_, .step = step, .ids = ids, .rows = std::as_bytes(std::span(rows_))};
  }
  Status Check(const RowPush& push) const { return CheckPushes(*catalog_, {&push, 1}).status(); }
  Status Make(const RowPush& push, int64_t rows) {
    return plan_.Make(tensor(), push, [rows](int) { return rows; });
  }

  const TensorRef ref_{false, "node", "emb"};
  Schema schema_;
  PartitionBook book_;
  std::unique_ptr<TensorCatalog> features_;
  std::unique_ptr<MutableCatalog> catalog_;
  std::vector<float> rows_;
  PushPlan plan_;
};

TEST_F(PushPlanTest, WhatFitsIsOneMessageAnOwnerInItsOrder) {
  const std::vector<int64_t> ids = {9, 1, 4, 1, 0};
  const RowPush push = Push(ids);
  ASSERT_TRUE(Make(push, 3).ok());
  ASSERT_EQ(plan_.messages().size(), 3U);
  ASSERT_EQ(plan_.messages()[0].size(), 1U);
  EXPECT_THAT(plan_.messages()[0][0].push.ids, ElementsAre(1, 1, 0));
  EXPECT_THAT(plan_.messages()[0][0].positions, ElementsAre(1, 3, 4));
  EXPECT_THAT(plan_.messages()[1], IsEmpty());
  EXPECT_THAT(plan_.messages()[2][0].push.ids, ElementsAre(9, 4));
}

TEST_F(PushPlanTest, WithAStepEveryOwnerIsToldAndMessagesAreCounted) {
  const std::vector<int64_t> ids = {9, 9, 4, 9, 5};
  const RowPush push = Push(ids, SyncStep{});
  ASSERT_TRUE(Make(push, 2).ok());
  for (const int part : {0, 1}) {
    ASSERT_EQ(plan_.messages()[part].size(), 1U);
    EXPECT_THAT(plan_.messages()[part][0].push.ids, IsEmpty());
    EXPECT_EQ(plan_.messages()[part][0].push.step->chunks, 1);
  }
  ASSERT_EQ(plan_.messages()[2].size(), 3U);
  EXPECT_THAT(plan_.messages()[2][0].push.ids, ElementsAre(9, 9));
  EXPECT_THAT(plan_.messages()[2][1].push.ids, ElementsAre(4, 9));
  EXPECT_THAT(plan_.messages()[2][2].push.ids, ElementsAre(5));
  EXPECT_EQ(plan_.messages()[2][2].push.step->chunk, 2);
  EXPECT_EQ(plan_.messages()[2][2].push.step->chunks, 3);
}

// Many ids and few, so that some buckets hold more than a message.
TEST_F(PushPlanTest, WithoutAStepAnIdIsInOneMessageInItsOrder) {
  const TensorRef table{false, "", "table"};
  ASSERT_TRUE(catalog_
                  ->Put({.ref = table,
                         .placement = Placement::kRange,
                         .rows = 3000,
                         .dim = 1,
                         .initializer = {},
                         .optimizer = {}})
                  .ok());
  std::mt19937 draw(1);
  for (const int64_t different : {1, 5, 40, 1000}) {
    std::vector<int64_t> ids;
    for (int i = 0; i < 600; ++i) ids.push_back(static_cast<int64_t>(draw() % different));
    std::map<int64_t, int64_t> times;
    for (const int64_t id : ids) ++times[id];
    const auto often = std::max_element(times.begin(), times.end(), [](auto& a, auto& b) {
                         return a.second < b.second;
                       })->second;
    const RowPush push{.tensor = table, .ids = ids};
    for (const int64_t most : {often, often + 1, 2 * often, int64_t{599}}) {
      if (most > 599 || most < often) continue;
      const auto made =
          plan_.Make(*catalog_->FindMutable(table), push, [most](int) { return most; });
      ASSERT_TRUE(made.ok()) << made;
      std::map<int64_t, const PushMessage*> message_of;
      std::map<int64_t, int64_t> last;  // position of an id
      size_t rows = 0;
      for (const PushMessage& message : plan_.messages()[0]) {
        ASSERT_EQ(message.push.ids.size(), message.positions.size());
        ASSERT_LE(message.push.ids.size(), static_cast<size_t>(most));
        ASSERT_FALSE(message.push.ids.empty());
        rows += message.push.ids.size();
        for (size_t i = 0; i < message.push.ids.size(); ++i) {
          const int64_t id = message.push.ids[i], position = message.positions[i];
          ASSERT_EQ(id, ids[position]);
          ASSERT_EQ(message_of.emplace(id, &message).first->second, &message);
          ASSERT_LT(last.emplace(id, -1).first->second, position);
          last[id] = position;
        }
      }
      EXPECT_EQ(rows, ids.size()) << "at most " << most << " of " << different << " ids";
      EXPECT_LE(plan_.messages()[0].size(), 2 * ids.size() / most + 2);
    }
  }
}

TEST_F(PushPlanTest, AnIdThatDoesNotFitIntoAMessageIsRefusedAndNamed) {
  const std::vector<int64_t> ids = {9, 9, 9, 4};
  const Status status = Make(Push(ids), 2);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(Message(status), HasSubstr("id 9 stands more than 2 times"));
}

TEST_F(PushPlanTest, SpreadIdsKeepTheirNamesAndPositions) {
  const TensorRef table{false, "", "table"};
  ASSERT_TRUE(catalog_
                  ->Put({.ref = table,
                         .placement = Placement::kHash,
                         .rows = 100,
                         .dim = 1,
                         .initializer = {},
                         .optimizer = {}})
                  .ok());
  const MutableTensor& spread = *catalog_->FindMutable(table);
  std::vector<int64_t> ids;
  for (int64_t id = 99; id >= 0; --id) ids.push_back(id);
  PartSplit split;
  split.Split(spread, ids);
  std::multiset<int64_t> seen;
  for (int part = 0; part < 3; ++part) {
    const IdShare& share = split.shares()[part];
    EXPECT_GT(share.ids.size(), 20U);
    for (size_t i = 0; i < share.ids.size(); ++i) {
      EXPECT_EQ(share.ids[i], ids[static_cast<size_t>(share.positions[i])]);
      EXPECT_EQ(spread.placement->Owner(share.ids[i]), part);
      seen.insert(share.ids[i]);
    }
  }
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 100U);
}

TEST_F(PushPlanTest, PushesThatDoNotFitTheTensorAreRefused) {
  const std::vector<int64_t> ids = {1, 10};
  EXPECT_TRUE(absl::IsOutOfRange(Check(Push(ids))));
  const std::vector<int64_t> inside = {1, 2};
  RowPush push = Push(inside);
  EXPECT_TRUE(Check(push).ok());
  push.rows = push.rows.first(15);
  EXPECT_THAT(Message(Check(push)), HasSubstr("15 bytes of rows for 2 ids"));
  push = Push(inside);
  push.dtype = DType::kFloat64;
  EXPECT_THAT(Message(Check(push)), HasSubstr("float64"));
}

TEST_F(PushPlanTest, ValuesThatAreNotFiniteAreRefusedAndNamed) {
  const std::vector<int64_t> ids = {1, 7, 7};
  RowPush push = Push(ids);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    rows_[5] = bad;
    for (const PushKind kind : {PushKind::kGradient, PushKind::kAdd, PushKind::kAssign}) {
      push.kind = kind;
      const Status refused = Check(push);
      EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
      EXPECT_THAT(Message(refused), AllOf(HasSubstr("node node / emb"), HasSubstr("id 7"),
                                          HasSubstr("position 2"), HasSubstr("column 1")));
    }
    push.kind = PushKind::kImage;
    EXPECT_TRUE(Check(push).ok()) << "an image may have any bits";
    push.kind = PushKind::kBits;
    EXPECT_TRUE(Check(push).ok());
  }
}

TEST_F(PushPlanTest, WhatPartitionsHaveIsPutTogetherOrTheDifferenceNamed) {
  const MutableTensorSpec spec{.ref = ref_, .dim = 2, .initializer = {}, .optimizer = {}};
  std::map<int, StateStats> states;
  states[0].tensors.emplace_back().spec = spec;
  states[1].tensors.emplace_back().spec = spec;
  states[1].tensors[0].step = 4;
  ASSERT_EQ(MergeTensors(states)->size(), 1U);
  EXPECT_EQ(MergeTensors(states)->front().spec, spec);
  EXPECT_EQ(MergeTensors(states)->front().step, 4);
  states[1].tensors[0].spec.dim = 3;
  EXPECT_THAT(Message(MergeTensors(states).status()), HasSubstr("partitions 0 and 1"));
  states[1].tensors.clear();
  EXPECT_TRUE(absl::IsDataLoss(MergeTensors(states).status()));
  EXPECT_THAT(Message(MergeTensors(states).status()),
              HasSubstr("1 of 2 partitions have it, among them 0"));
}

}  // namespace
}  // namespace halograph
