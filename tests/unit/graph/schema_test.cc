#include "common/graph/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/graph/manifest.h"
#include "common/graph/tensor_ref.h"
#include "tests/support/random_graph.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class SchemaTest : public testing::Test {
 protected:
  void ExpectInvalid(const std::vector<std::string>& texts) const {
    const Status status = schema_.Validate();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    for (const std::string& text : texts) EXPECT_THAT(Message(status), HasSubstr(text));
  }
  Schema schema_ = TestSchema(RandomTypedGraph({.nodes = 40}));
};

TEST_F(SchemaTest, JsonGivesTheSameSchemaBack) {
  const auto read = SchemaFromJson(ToJson(schema_), "here");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == schema_);
  EXPECT_EQ(CanonicalJson(ToJson(*read)), CanonicalJson(ToJson(schema_)));
}

TEST_F(SchemaTest, JsonWithoutAFieldIsDataLossNamingIt) {
  for (const char* field : {"name", "node_types", "relations", "tasks"}) {
    Json value = ToJson(schema_);
    value.erase(field);
    const Status status = SchemaFromJson(value, "here").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(Message(status), HasSubstr(field));
  }
  Json value = ToJson(schema_);
  value["tasks"][0]["sets"][1]["edges"] = 0;
  EXPECT_THAT(Message(SchemaFromJson(value, "here").status()), HasSubstr("sets[1]"));
  value = ToJson(schema_);
  value["node_types"][1]["features"][0]["dtype"] = "complex64";
  EXPECT_THAT(Message(SchemaFromJson(value, "here").status()), HasSubstr("complex64"));
}

TEST_F(SchemaTest, ScaledInt8IsForFeaturesOnlyAndNotForWeightsOfSampling) {
  TensorSpec& weight = schema_.relations[*schema_.RelationIndex("paper:cites:paper")].features[0];
  weight.dtype = DType::kScaledInt8;
  EXPECT_TRUE(schema_.Validate().ok()) << schema_.Validate();
  EXPECT_EQ(weight.row_bytes(), 5U);
  EXPECT_EQ(FeatureBitsOf(schema_), kScaledInt8Bit);
  weight.sampling = true;
  ExpectInvalid({"weight", "scaled_int8"});
  weight = {.name = "weight", .dtype = DType::kScaledInt8, .dim = int64_t{1} << 62};
  ExpectInvalid({"weight", "2^63"});
  weight.dtype = DType::kBFloat16;
  weight.dim = 4;
  EXPECT_EQ(FeatureBitsOf(schema_), 0U);
  schema_.tasks[0].sets[0].arrays[1].dtype = DType::kScaledInt8;
  ExpectInvalid({schema_.tasks[0].sets[0].arrays[1].name, "scaled_int8"});
}

TEST_F(SchemaTest, IndexesAreFoundAndUnknownNamesListWhatExists) {
  EXPECT_EQ(*schema_.NodeTypeIndex("venue"), 2);
  EXPECT_EQ(*schema_.RelationIndex("paper:written-by:author"), 2);
  EXPECT_EQ(schema_.SourceType(2), 1);
  EXPECT_EQ(schema_.DestinationType(2), 0);
  const Status status = schema_.NodeTypeIndex("book").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("'book'"));
  EXPECT_THAT(Message(status), HasSubstr("'author', 'paper', 'venue'"));
  EXPECT_EQ(schema_.RelationIndex("paper:cites").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SchemaTest, ManyNamesAreListedOnlyToTen) {
  Schema many;
  for (int i = 0; i < 237; ++i) {
    many.node_types.push_back({.name = fmt::format("t{:03}", i), .count = 0, .features = {}});
  }
  EXPECT_THAT(Message(many.NodeTypeIndex("x").status()), HasSubstr("'t009' and 227 more"));
}

TEST_F(SchemaTest, WrongOrderAndRepeatedNamesAreInvalid) {
  std::swap(schema_.node_types[0], schema_.node_types[1]);
  ExpectInvalid({"'paper' stands before 'author'"});
  schema_.node_types[1] = schema_.node_types[0];
  ExpectInvalid({"'paper' is given twice"});
}

TEST_F(SchemaTest, RelationsAreOrderedByTheirTextNotByTheirParts) {
  schema_ = {};
  schema_.node_types = {{"a", 1, {}}, {"a-", 1, {}}};
  schema_.relations = {{"a-", "r", "a", 0, {}}, {"a", "r", "a", 0, {}}};
  EXPECT_TRUE(schema_.Validate().ok()) << schema_.Validate();
  std::swap(schema_.relations[0], schema_.relations[1]);
  ExpectInvalid({"a:r:a", "a-:r:a"});
}

TEST_F(SchemaTest, RelationToNoNodeTypeIsInvalid) {
  schema_.relations[0].destination = "zebra";
  ExpectInvalid({"'zebra'"});
}

TEST_F(SchemaTest, NegativeCountsBadRanksAndReservedNamesAreInvalid) {
  const Schema good = schema_;
  schema_.node_types[0].count = -1;
  ExpectInvalid({"negative count -1"});
  schema_ = good;
  schema_.node_types[1].features[0].rank = 3;
  ExpectInvalid({"rank 3"});
  schema_ = good;
  schema_.node_types[1].features[0].dim = 0;
  ExpectInvalid({"0 elements"});
  schema_ = good;
  schema_.node_types[1].features[0].dim = int64_t{1} << 60;
  ExpectInvalid({"2^63 bytes"});
  schema_ = good;
  schema_.node_types[1].features[0].name = kOriginalIdTensor;
  ExpectInvalid({"reserved"});
}

TEST_F(SchemaTest, TaskSetsOfUnknownNameTypeOrWithoutSeedsAreInvalid) {
  const Schema good = schema_;
  schema_.tasks[0].sets[0].set = "training";
  ExpectInvalid({"'training'"});
  schema_ = good;
  schema_.tasks[1].sets[0].type = "paper";
  ExpectInvalid({"'paper'", "relation"});
  schema_ = good;
  schema_.tasks[0].sets[0].arrays.erase(schema_.tasks[0].sets[0].arrays.begin());
  ExpectInvalid({"'seeds'"});
  schema_ = good;
  schema_.tasks[0].sets[1] = schema_.tasks[0].sets[0];
  ExpectInvalid({"given twice"});
}

TEST_F(SchemaTest, TensorsAreResolvedWithTheirRowsAndUnknownOnesAreNotFound) {
  const auto feat = ResolveTensor(schema_, {.edge = false, .type = "paper", .name = "feat"});
  ASSERT_TRUE(feat.ok()) << feat.status();
  EXPECT_EQ(feat->rows, 40);
  EXPECT_EQ(feat->spec.row_bytes(), 16U);
  const auto ids =
      ResolveTensor(schema_, {.edge = true, .type = "paper:cites:paper", .name = "@original_id"});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->feature, -1);
  EXPECT_EQ(ids->spec.dtype, DType::kInt64);
  const auto missing = ResolveTensor(schema_, {.edge = false, .type = "paper", .name = "nope"});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(missing.status()), HasSubstr("'feat', 'year'"));
  EXPECT_EQ(ResolveTensor(schema_, {.edge = true, .type = "paper", .name = "feat"}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(SchemaTest, TaskSetsAreFoundByTaskSetAndTypeAndUnknownOnesNameWhatExists) {
  const auto found = FindTaskSet(schema_, schema_.tasks[1].name, schema_.tasks[1].sets[0].set,
                                 schema_.tasks[1].sets[0].type);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->task, 1);
  EXPECT_EQ(found->set, 0);
  for (const auto& [task, set, type] : {std::tuple{"ranking", "train", "paper"},
                                        {"node_classification", "dev", "paper"},
                                        {"node_classification", "train", "venue"}}) {
    const Status missing = FindTaskSet(schema_, task, set, type).status();
    EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(Message(missing), HasSubstr(fmt::format("'{} / {} / {}'", task, set, type)));
    EXPECT_THAT(Message(missing), HasSubstr("'node_classification / train / paper'"));
  }
}

}  // namespace
}  // namespace halograph
