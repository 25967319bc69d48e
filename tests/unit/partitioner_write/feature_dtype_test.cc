#include "partitioner/write/feature_dtype.h"

#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/graph/partition.h"
#include "common/storage/narrow_rows.h"
#include "partitioner/methods/random_method.h"
#include "partitioner/write/graph_writer.h"
#include "partitioner/write/nan_check.h"
#include "tests/support/memory_dataset.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> Numbers(int64_t count, uint64_t key) {
  CounterRng rng(Mix(key));
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(rng.NextDouble() - 0.5));
  return values;
}

// Features of nodes: "count" int64, "feat" float32 [10], "wide" float64 [3]; of edges, rows shared
// by pairs: "e" float32 [6], "w" float64 [1].
class FeatureDTypeTest : public testing::Test {
 protected:
  static constexpr int64_t kNodes = 40;
  static constexpr int64_t kEdges = 100;

  FeatureDTypeTest() {
    const std::vector<float> wide = Numbers(kNodes * 3, 2);
    builder_.Nodes("node", kNodes)
        .NodeFeature("count", std::vector<int64_t>(kNodes, 7), 1)
        .NodeFeature("feat", Numbers(kNodes * 10, 1), 10)
        .NodeFeature("wide", std::vector<double>(wide.begin(), wide.end()), 3)
        .Edges("node", "edge", "node", RandomEdges(kNodes, kNodes, kEdges, 3))
        .EdgeFeature("e", Numbers(kEdges / 2 * 6, 4), 6, 2)
        .EdgeFeature("w", std::vector<double>(kEdges, 0.1), 1);
  }

  // The data set narrowed, written in three parts, and opened.
  Status Write(FeatureDType dtype, const std::vector<std::string>& keep = {},
               const WriteOptions& options = {}) {
    dataset_ = builder_.dataset();
    narrowed_ = NarrowFeatures(dtype, keep, &dataset_);
    HG_ASSIGN_OR_RETURN(Assignment assignment,
                        RandomMethod().Assign(dataset_, {.parts = 3, .seed = 1}));
    HG_ASSIGN_OR_RETURN(const Renumbering numbering,
                        Renumbering::Create(dataset_, std::move(assignment), 3));
    const auto folder = folder_.path() / ToString(dtype);
    HG_RETURN_IF_ERROR(MakeFolder(folder));
    HG_RETURN_IF_ERROR(WriteGraph({dataset_, numbering, folder, options}, {}).status());
    HG_ASSIGN_OR_RETURN(set_, PartitionSet::Open(folder, {}, VerifyLevel::kContents));
    return OkStatus();
  }

  // Rows of the written feature are those that NarrowRow makes of the input's.
  void ExpectRows(const NpyArray& rows, const InputTensor& tensor, std::span<const int64_t> ids) {
    const NpyArray& input = *tensor.array;
    std::vector<std::byte> expected(tensor.spec.row_bytes());
    ASSERT_EQ(rows.row_bytes(), expected.size());
    for (int64_t i = 0; i < rows.rows(); ++i) {
      const std::byte* const row =
          input.data().data() +
          static_cast<size_t>(ids[i] / tensor.row_divisor) * input.row_bytes();
      if (input.dtype() == tensor.spec.dtype) {
        std::memcpy(expected.data(), row, expected.size());
      } else {
        ASSERT_EQ(
            NarrowRow(input.dtype(), row, tensor.spec.dim, tensor.spec.dtype, expected.data()),
            std::nullopt);
      }
      ASSERT_EQ(std::memcmp(rows.data().data() + static_cast<size_t>(i) * rows.row_bytes(),
                            expected.data(), expected.size()),
                0)
          << tensor.spec.name << " " << i;
    }
  }
  void ExpectAllRows() {
    for (const auto& part : set_->parts()) {
      for (int f = 0; f < 3; ++f) {
        ExpectRows(part->NodeFeature(0, f), dataset_.node_types[0].features[f],
                   part->NodeOriginalIds(0));
      }
      for (int f = 0; f < 2; ++f) {
        ExpectRows(part->EdgeFeature(0, f), dataset_.relations[0].features[f],
                   part->EdgeOriginalIds(0));
      }
    }
  }
  [[nodiscard]] std::vector<std::string_view> DTypes() const {
    std::vector<std::string_view> names;
    for (const TensorSpec& spec : set_->schema().node_types[0].features) {
      names.push_back(DTypeName(spec.dtype));
    }
    for (const TensorSpec& spec : set_->schema().relations[0].features) {
      names.push_back(DTypeName(spec.dtype));
    }
    return names;
  }
  void ExpectRefused(FeatureDType dtype, const std::vector<std::string>& texts, bool allow_nan) {
    const Status status = Write(dtype, {}, {.allow_nan = allow_nan});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    for (const std::string& text : texts) EXPECT_THAT(Message(status), HasSubstr(text));
  }

  TestFolder folder_;
  DatasetBuilder builder_;
  Dataset dataset_;
  std::vector<std::string> narrowed_;
  std::unique_ptr<PartitionSet> set_;
};

TEST_F(FeatureDTypeTest, WordsAreReadBack) {
  for (const std::string_view word : kFeatureDTypeWords) {
    EXPECT_EQ(ToString(*FeatureDTypeOf(word)), word);
  }
  EXPECT_THAT(Message(FeatureDTypeOf("int4").status()), HasSubstr("bfloat16, int8"));
}

TEST_F(FeatureDTypeTest, FloatsAreNarrowedWhereTheirRowsBecomeSmaller) {
  ASSERT_EQ(Write(FeatureDType::kInput), OkStatus());
  EXPECT_THAT(DTypes(), ElementsAre("int64", "float32", "float64", "float32", "float64"));
  EXPECT_TRUE(narrowed_.empty());
  ExpectAllRows();
  ASSERT_EQ(Write(FeatureDType::kFloat32), OkStatus());
  EXPECT_THAT(DTypes(), ElementsAre("int64", "float32", "float32", "float32", "float32"));
  ExpectAllRows();
  ASSERT_EQ(Write(FeatureDType::kFloat16), OkStatus());
  EXPECT_THAT(DTypes(), ElementsAre("int64", "float16", "float16", "float16", "float16"));
  ExpectAllRows();
  ASSERT_EQ(Write(FeatureDType::kBFloat16), OkStatus());
  EXPECT_THAT(DTypes(), ElementsAre("int64", "bfloat16", "bfloat16", "bfloat16", "bfloat16"));
  ExpectAllRows();
  ASSERT_EQ(Write(FeatureDType::kInt8), OkStatus());
  EXPECT_THAT(DTypes(),
              ElementsAre("int64", "scaled_int8", "scaled_int8", "scaled_int8", "scaled_int8"));
  EXPECT_EQ(narrowed_.size(), 4U);
  ExpectAllRows();
}

TEST_F(FeatureDTypeTest, RowsThatWouldGrowStay) {
  builder_.Nodes("other", 5)
      .NodeFeature("one", Numbers(5, 1), 1)
      .NodeFeature("two", Numbers(10, 1), 2);
  Dataset dataset = builder_.dataset();
  NarrowFeatures(FeatureDType::kInt8, {}, &dataset);
  EXPECT_EQ(dataset.node_types[1].features[0].spec.dtype, DType::kFloat32) << "5 bytes for 4";
  EXPECT_EQ(dataset.node_types[1].features[1].spec.dtype, DType::kScaledInt8);
  NarrowFeatures(FeatureDType::kFloat32, {}, &dataset);
  EXPECT_EQ(dataset.node_types[1].features[0].spec.dtype, DType::kFloat32);
}

TEST_F(FeatureDTypeTest, EdgeFeaturesToKeepStay) {
  ASSERT_EQ(Write(FeatureDType::kBFloat16, {"w", "feat"}), OkStatus());
  EXPECT_THAT(DTypes(), ElementsAre("int64", "bfloat16", "bfloat16", "bfloat16", "float64"));
  ExpectAllRows();
}

TEST_F(FeatureDTypeTest, TheEstimateOfTheOutputFollows) {
  dataset_ = builder_.dataset();
  const int64_t before = EstimateOutputBytes(dataset_);
  NarrowFeatures(FeatureDType::kInt8, {}, &dataset_);
  EXPECT_EQ(before - EstimateOutputBytes(dataset_),
            kNodes * (40 - 14 + 24 - 7) + kEdges * (24 - 10 + 8 - 5));
}

TEST_F(FeatureDTypeTest, NumberThatDoesNotFitIsNamed) {
  std::vector<double> wide(kNodes * 2, 1.0);
  wide[33] = 65520;
  builder_.Nodes("other", kNodes).NodeFeature("big", wide, 2);
  ExpectRefused(FeatureDType::kFloat16,
                {"big.npy", "65520", "row 16, column 1", "feature big", "bfloat16"}, false);
  wide[34] = 1e300;
  builder_.NodeFeature("huge", wide, 2);
  ExpectRefused(FeatureDType::kBFloat16, {"huge.npy", "1e+300", "row 17, column 0"}, false);
  ExpectRefused(FeatureDType::kInt8, {"huge.npy", "1e+300", "row 17, column 0"}, true);
}

TEST_F(FeatureDTypeTest, EdgeNumberThatDoesNotFitIsNamedByItsRowInTheFile) {
  std::vector<float> values(kEdges / 2, 1.0F);
  values[21] = 1e5F;
  builder_.EdgeFeature("x", values, 1, 2);
  ExpectRefused(FeatureDType::kFloat16, {"x.npy", "100000", "row 21, column 0"}, false);
}

TEST_F(FeatureDTypeTest, NanIsRefusedAsBeforeAndNeverFitsInt8) {
  std::vector<float> values(kNodes * 2, 1.0F);
  values[5] = std::numeric_limits<float>::quiet_NaN();
  values[8] = std::numeric_limits<float>::infinity();
  builder_.Nodes("other", kNodes).NodeFeature("odd", values, 2);
  ExpectRefused(FeatureDType::kBFloat16, {"odd.npy", "NaN at row 2, column 1", "--allow-nan"},
                false);
  ExpectRefused(FeatureDType::kInt8, {"nan at row 2, column 1", "int8", "bfloat16"}, true);
  EXPECT_EQ(Write(FeatureDType::kFloat16, {}, {.allow_nan = true}), OkStatus());
}

// Trainers make float32 of features, whatever they are stored as.
TEST(Float32WatchTest, FirstNumberOfEachKindIsToldWithFileRowAndColumn) {
  const std::vector<double> wide = {1, 1e300, 16777217, -1e300, 2, 16777219};
  DatasetBuilder builder;
  builder.Nodes("node", 3)
      .NodeFeature("time", std::vector<int64_t>{5, 1289241911, 7}, 1)
      .NodeFeature("wide", wide, 2)
      .NodeFeature("year", std::vector<int64_t>{1999, 2000, 2001}, 1)
      .Edges("node", "edge", "node", {{0, 1}});
  for (const FeatureDType dtype : {FeatureDType::kInput, FeatureDType::kBFloat16}) {
    Dataset dataset = builder.dataset();
    std::vector<InputTensor>& features = dataset.node_types[0].features;
    testing::internal::CaptureStdout();  // where the log goes by default
    for (InputTensor& tensor : features) {
      if (tensor.spec.name == "wide" && dtype != FeatureDType::kInput) {
        tensor.spec.dtype = DType::kBFloat16;
      }
      Float32Watch watch(tensor);
      watch.Look(0, 1);
      watch.Look(1, 2);
    }
    const std::string log = testing::internal::GetCapturedStdout();
    EXPECT_THAT(log, HasSubstr("1289241911 at row 1, column 0 of feature time"));
    EXPECT_THAT(log, HasSubstr("1e+300 at row 0, column 1 of feature wide"));
    EXPECT_EQ(log.find("16777217 at row 1, column 0 of feature wide") != std::string::npos,
              dtype == FeatureDType::kInput);
    EXPECT_THAT(log, testing::Not(HasSubstr("feature year")));
    EXPECT_THAT(log, testing::Not(HasSubstr("row 2")));
  }
}

TEST(Float32WatchTest, RunTellsOfTheInputsFile) {
  DatasetBuilder builder;
  builder.Nodes("node", 3)
      .NodeFeature("wide", std::vector<double>{1, 2, 1e300}, 1)
      .Edges("node", "edge", "node", {{0, 1}});
  const TestFolder folder;
  testing::internal::CaptureStdout();
  StatusOr<Assignment> assignment =
      RandomMethod().Assign(builder.dataset(), {.parts = 2, .seed = 1});
  ASSERT_TRUE(assignment.ok());
  const auto numbering = Renumbering::Create(builder.dataset(), *std::move(assignment), 2);
  ASSERT_TRUE(numbering.ok());
  const std::filesystem::path path = folder.path();
  EXPECT_TRUE(WriteGraph({builder.dataset(), *numbering, path, {}}, {}).ok());
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("1e+300 at row 2, column 0 of feature wide"));
}

}  // namespace
}  // namespace halograph
