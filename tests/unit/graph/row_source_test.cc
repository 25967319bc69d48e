#include "common/graph/row_source.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/support/random_graph.h"
#include "tests/support/written_graph.h"

namespace halograph {
namespace {

using testing::HasSubstr;

const TensorRef kOriginal{.edge = false, .type = "paper", .name = kOriginalIdTensor};
const TensorRef kFeat{.edge = false, .type = "paper", .name = "feat"};

// A typed graph of three parts.
class RowSourceTest : public testing::Test {
 protected:
  void SetUp() override { path_ = WriteGraphInto(&folder_, spec_); }

  std::unique_ptr<PartitionSet> Open(const std::vector<int>& parts,
                                     const PartContents& contents = {}) const {
    auto set = PartitionSet::Open(path_, parts, VerifyLevel::kHeaders, contents);
    EXPECT_TRUE(set.ok()) << set.status();
    return set.ok() ? *std::move(set) : nullptr;
  }
  static std::unique_ptr<TensorCatalog> CatalogOf(const PartitionSet& set) {
    return MakeSchemaCatalog(&set.schema(), &set.book(), &set);
  }

  const TestGraphSpec spec_ = RandomTypedGraph({.seed = 3, .parts = 3, .nodes = 9000});
  std::unique_ptr<TestFolder> folder_;
  std::filesystem::path path_;
};

TEST_F(RowSourceTest, FindGivesEveryTensorWithItsRowsByPart) {
  const auto set = Open({0, 2});
  const auto catalog = CatalogOf(*set);
  for (const NodeType& type : set->schema().node_types) {
    for (const TensorSpec& feature : type.features) {
      const auto tensor = catalog->Find({false, type.name, feature.name});
      ASSERT_TRUE(tensor.ok()) << tensor.status();
      EXPECT_EQ((*tensor)->resolved.spec, feature);
      EXPECT_EQ((*tensor)->resolved.rows, type.count);
      ASSERT_EQ((*tensor)->by_part.size(), 3U);
      EXPECT_EQ((*tensor)->by_part[1], nullptr);
      EXPECT_EQ((*tensor)->by_part[2]->ids().begin, (*tensor)->boundaries[2]);
      EXPECT_EQ((*tensor)->by_part[2]->ids().end, type.count);
      EXPECT_EQ((*tensor)->by_part[2]->spec(), feature);
    }
  }
  EXPECT_EQ(*catalog->Find(kFeat), *catalog->Find(kFeat));
  EXPECT_EQ(catalog->Find({false, "paper", "nope"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(catalog->Find({true, "paper", "feat"}).status()), HasSubstr("relation"));
}

TEST_F(RowSourceTest, WithoutFeaturesOrPartsNoRowIsHere) {
  const auto set = Open({}, {.features = false});
  for (const PartitionSet* parts :
       {static_cast<const PartitionSet*>(set.get()), static_cast<const PartitionSet*>(nullptr)}) {
    const auto catalog = MakeSchemaCatalog(&set->schema(), &set->book(), parts);
    const auto tensor = catalog->Find(kFeat);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_THAT((*tensor)->by_part, testing::Each(nullptr));
  }
}

TEST_F(RowSourceTest, GatherTakesRowsOutOfAllPartsToTheirPositions) {
  const auto set = Open({});
  const auto catalog = CatalogOf(*set);
  const CatalogTensor& tensor = **catalog->Find(kOriginal);
  const std::vector<int64_t> global = GlobalNodeIds(spec_, "paper");
  CounterRng rng(Mix(8));
  std::vector<int64_t> inputs(7000);  // several chunks
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = static_cast<int64_t>(rng.NextBounded(global.size()));
    ids.push_back(global[static_cast<size_t>(inputs[i])]);
    positions.push_back(static_cast<int64_t>(inputs.size() - 1 - i));
  }
  for (const size_t threads : {0, 3}) {
    const auto pool = threads == 0 ? nullptr : std::make_unique<ThreadPool>("test", threads, 64);
    std::vector<int64_t> rows(inputs.size(), -1);
    auto* const out = reinterpret_cast<std::byte*>(rows.data());
    ASSERT_TRUE(GatherRowsOf(tensor, ids, {}, out, {.pool = pool.get()}).ok());
    EXPECT_EQ(rows, inputs);
    ASSERT_TRUE(GatherRowsOf(tensor, ids, positions, out, {.pool = pool.get()}).ok());
    std::reverse(rows.begin(), rows.end());
    EXPECT_EQ(rows, inputs);
  }
}

TEST_F(RowSourceTest, RowsOfAPartThatIsNotHereAreInternal) {
  const auto set = Open({0, 1});
  const auto catalog = CatalogOf(*set);
  const CatalogTensor& tensor = **catalog->Find(kOriginal);
  std::vector<int64_t> row(1);
  const Status status = GatherRowsOf(tensor, std::vector<int64_t>{tensor.boundaries[2]}, {},
                                     reinterpret_cast<std::byte*>(row.data()));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(status), HasSubstr("part 2"));
}

// A source that fails.
class BrokenRows final : public RowSource {
 public:
  const TensorSpec& spec() const override { return spec_; }
  IdRange ids() const override { return {0, 100000}; }
  Status Gather(std::span<const int64_t>, std::span<const int64_t>, std::byte*) const override {
    ++calls;
    return DataLoss("row store is broken");
  }

  mutable std::atomic<int> calls = 0;

 private:
  const TensorSpec spec_ = {.name = "broken", .dtype = DType::kInt64, .rank = 1};
};

TEST(GatherRowsOfTest, AnErrorOfASourceEndsTheGatherAndIsItsError) {
  const BrokenRows source;
  const std::vector<int64_t> boundaries = {0, 100000};
  const RowSource* const by_part[] = {&source};
  const CatalogTensor tensor{.resolved = {.spec = source.spec(), .rows = 100000},
                             .boundaries = boundaries,
                             .by_part = by_part};
  std::vector<int64_t> ids(100000);
  const Status status = GatherRowsOf(tensor, ids, {}, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("row store is broken"));
  EXPECT_EQ(source.calls, 1);
}

TEST(GatherRowsOfTest, WhatTheCheckReturnsEndsTheGather) {
  const BrokenRows source;
  const std::vector<int64_t> boundaries = {0, 100000};
  const RowSource* const by_part[] = {&source};
  const CatalogTensor tensor{.resolved = {.spec = source.spec(), .rows = 100000},
                             .boundaries = boundaries,
                             .by_part = by_part};
  const std::function<Status()> check = [] { return Cancelled("enough"); };
  std::vector<int64_t> ids(10);
  EXPECT_EQ(GatherRowsOf(tensor, ids, {}, nullptr, {.check = &check}).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(source.calls, 0);
}

}  // namespace
}  // namespace halograph
