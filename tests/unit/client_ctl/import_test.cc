// What an import asks of the stores, and in which order: nothing is marked before all is checked.
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ctl/tensor_files.h"
#include "client/ctl/tensor_folder.h"
#include "common/state/import_mark.h"
#include "common/storage/npy.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Keeps what it is asked for, and refuses one thing.
struct AskedStores {
  std::vector<std::string> asked;
  std::string refused;
  std::vector<MutableTensorState> there;

  Status Ask(const std::string& what) {
    asked.push_back(what);
    return what == refused ? ResourceExhausted("no room") : OkStatus();
  }
  static std::string NameOf(const TensorRef& ref) { return IsImportMark(ref) ? "mark" : ref.name; }
};

class AskedAdmin : public TensorAdmin {
 public:
  explicit AskedAdmin(AskedStores* stores) : stores_(*stores) {}

  Status Create(const MutableTensorSpec& spec, CallContext& /*context*/) override {
    return stores_.Ask("create " + AskedStores::NameOf(spec.ref));
  }
  Status Drop(const TensorRef& ref, CallContext& /*context*/) override {
    return stores_.Ask("drop " + AskedStores::NameOf(ref));
  }
  StatusOr<std::vector<MutableTensorState>> List(CallContext& /*context*/) override {
    return stores_.there;
  }
  Status Snapshot(const std::string&, std::optional<int64_t>, CallContext&) override {
    return Internal("");
  }
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(CallContext&) override {
    return Internal("");
  }
  StatusOr<std::map<int, SnapshotInfo>> DescribeSnapshot(const std::string&,
                                                         CallContext&) override {
    return Internal("");
  }
  StatusOr<int64_t> ReadSnapshot(const std::string&, const MutableTensorSpec&, const TakeImages&,
                                 CallContext&) override {
    return Internal("");
  }
  Status DeleteSnapshot(const std::string&, CallContext&) override { return Internal(""); }
  Status RestoreSnapshot(const std::string&, CallContext&) override { return Internal(""); }

 private:
  AskedStores& stores_;
};

class AskedRows : public RowStore {
 public:
  explicit AskedRows(AskedStores* stores) : stores_(*stores) {}

  Status Pull(std::span<const RowRequest>, CallContext&) override { return Internal(""); }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes, CallContext&) override {
    for (const RowPush& push : pushes) {
      HG_RETURN_IF_ERROR(stores_.Ask(fmt::format("push {} kind {} rows {}{}", push.tensor.name,
                                                 static_cast<int>(push.kind), push.ids.size(),
                                                 push.step.has_value() ? " step" : "")));
    }
    return std::vector<PushMark>(pushes.size());
  }

 private:
  AskedStores& stores_;
};

class NoGraph final : public GraphStore {
 public:
  [[nodiscard]] const GraphInfo& info() const override { return info_; }
  Status Sample(std::span<const SampleRequest>, CallContext&, std::span<Minibatch>) override {
    return Internal("");
  }
  Status Ask(const TopologyQuestions&, CallContext&, TopologyAnswers*) override {
    return Internal("");
  }

 private:
  const GraphInfo info_{};
};

class ImportTest : public testing::Test {
 protected:
  static constexpr int64_t kRows = 6;
  static constexpr int64_t kDim = 2;

  static MutableTensorSpec SpecOf(const std::string& name, bool adagrad) {
    MutableTensorSpec spec;
    spec.ref.name = name;
    spec.placement = Placement::kRange;
    spec.rows = kRows;
    spec.dim = kDim;
    if (adagrad) spec.optimizer = {.kind = RowOptimizer::Kind::kAdagrad};
    return spec;
  }
  // Two tensors, the second one with state.
  void Write() const {
    std::filesystem::remove_all(files());
    WriteTensor("tensor-0000", SpecOf("plain", false), false);
    WriteTensor("tensor-0001", SpecOf("trained", true), true);
    ASSERT_TRUE(WriteSnapshotJson(files(), "s", {"tensor-0000", "tensor-0001"}).ok());
  }
  void WriteTensor(const std::string& name, const MutableTensorSpec& spec, bool state) const {
    const std::filesystem::path path = files() / name;
    ASSERT_TRUE(WriteNpy<int64_t>(path / "ids.npy", ids_).ok());
    std::vector<float> rows = rows_;
    rows.resize(ids_.size() * kDim);
    ASSERT_TRUE(WriteNpy<float>(path / "rows.npy", rows, kDim).ok());
    if (state) {
      std::vector<float> sums = sums_;
      sums.resize(ids_.size() * kDim);
      ASSERT_TRUE(WriteNpy<float>(path / "sum.npy", sums, kDim).ok());
    }
    ASSERT_TRUE(
        WriteTensorJson(path, spec, state ? StateColumns(spec) : std::vector<Column>{}, step_)
            .ok());
  }
  [[nodiscard]] std::filesystem::path files() const { return folder_.path() / "files"; }
  StatusOr<FileCounts> Import(const std::filesystem::path& path) {
    stores_.asked.clear();
    CallContext context;
    return ImportTensors({.graph = std::make_shared<NoGraph>(),
                          .rows = std::make_shared<AskedRows>(&stores_),
                          .admin = std::make_shared<AskedAdmin>(&stores_)},
                         path, context);
  }
  void ExpectRefused(absl::StatusCode code, const std::string& text) {
    const auto refused = Import(files());
    EXPECT_EQ(refused.status().code(), code) << ToString(refused.status());
    EXPECT_THAT(Message(refused.status()), HasSubstr(text));
    EXPECT_TRUE(stores_.asked.empty()) << "nothing is asked before all is checked";
  }

  const TestFolder folder_;
  AskedStores stores_;
  std::vector<int64_t> ids_ = {0, 1, 2, 3, 4, 5};
  std::vector<float> rows_ = std::vector<float>(kRows * kDim, 1);
  std::vector<float> sums_ = std::vector<float>(kRows * kDim, 4);
  int64_t step_ = 3;
};

TEST_F(ImportTest, AllIsAskedBeforeTheFirstMarkAndTheMarksGoLast) {
  Write();
  const auto imported = Import(files());
  ASSERT_TRUE(imported.ok()) << ToString(imported.status());
  EXPECT_EQ(imported->rows, 2 * kRows);
  EXPECT_EQ(imported->not_finite_rows, 0);
  EXPECT_TRUE(imported->checked);
  EXPECT_THAT(stores_.asked,
              ElementsAre("create plain", "create trained", "push plain kind 2 rows 0",
                          "push trained kind 3 rows 0", "create mark", "create mark",
                          "push plain kind 2 rows 6", "push trained kind 3 rows 6",
                          "push trained kind 2 rows 0 step", "drop mark", "drop mark"));
}

TEST_F(ImportTest, RowsThatAreNotFiniteAreCountedAndPushedAsBits) {
  rows_[3] = INFINITY;                // row 1 of both
  sums_[2] = sums_[8] = -NAN;         // rows 1 and 4
  rows_[10] = rows_[11] = -INFINITY;  // row 5 of both
  Write();
  const auto imported = Import(files());
  ASSERT_TRUE(imported.ok()) << ToString(imported.status());
  EXPECT_EQ(imported->not_finite_rows, 2 + 3);
  EXPECT_THAT(stores_.asked, Contains("push plain kind 4 rows 6"));
  EXPECT_THAT(stores_.asked, Contains("push trained kind 3 rows 6"));
}

TEST_F(ImportTest, WhatDoesNotFitIsRefusedBeforeAnythingIsAsked) {
  using enum absl::StatusCode;
  ids_ = {0, 1, 2, 2, 4, 5};
  Write();
  ExpectRefused(kDataLoss, "6 ids for 6 rows, 1 of which are missing (id 3); id 2 stands twice");
  ids_ = {0, 1, 2, 4, 5};
  Write();
  ExpectRefused(kDataLoss, "5 ids for 6 rows, 1 of which are missing (id 3): each row");
  ids_ = {0, 1, 2, 3, 4, 5, 5};
  Write();
  ExpectRefused(kDataLoss, "7 ids for 6 rows, 0 of which are missing; id 5 stands twice");
  ids_ = {0, 1, 2, 3, 4, 6};
  Write();
  ExpectRefused(kNotFound, "id 6 at position 5");
  ids_ = {5, 4, 3, 2, 1, 0};
  sums_[5] = -1;
  Write();
  ExpectRefused(kDataLoss, "id 3, at position 2, has -1 for the sum of squares 1");
  sums_[5] = 1;
  step_ = int64_t{1} << 33;
  Write();
  ExpectRefused(kFailedPrecondition, "step 8589934592");
  step_ = 3;
  Write();
  ASSERT_TRUE(WriteSnapshotJson(files(), "s", {"tensor-0000", "tensor-0000"}).ok());
  ExpectRefused(kDataLoss, "are both of");
  Write();
  stores_.there.push_back({.spec = SpecOf("trained", true), .step = 4});
  ExpectRefused(kFailedPrecondition, "up to step 4");
  stores_.there[0] = {.spec = SpecOf("trained", false)};
  ExpectRefused(kInvalidArgument, "optimizer");
}

TEST_F(ImportTest, AMarkThatIsRefusedTakesThoseOfThisImportAway) {
  Write();
  stores_.refused = "create mark";
  ASSERT_FALSE(Import(files()).ok());
  EXPECT_EQ(stores_.asked.back(), "drop mark");
  EXPECT_THAT(stores_.asked, testing::Not(Contains(StartsWith("push plain kind 2 rows 6"))));
  // One of an import that was interrupted stays.
  stores_.there.push_back({.spec = SpecOf("plain", false), .importing = true});
  ASSERT_FALSE(Import(files()).ok());
  EXPECT_EQ(stores_.asked.back(), "create mark");
  // What would be refused of the rows is refused without them.
  stores_.refused = "push trained kind 3 rows 0";
  ASSERT_FALSE(Import(files()).ok());
  EXPECT_THAT(stores_.asked, testing::Not(Contains("create mark")));
}

}  // namespace
}  // namespace halograph
