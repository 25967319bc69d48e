#include "common/sampling/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_graph.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class ValidateRequestTest : public testing::Test {
 protected:
  [[nodiscard]] Status Validate() const { return ValidateRequest(schema_, request_); }
  void ExpectError(absl::StatusCode code, const std::vector<std::string>& parts) const {
    const Status status = Validate();
    EXPECT_EQ(status.code(), code) << status;
    for (const std::string& part : parts) EXPECT_THAT(Message(status), HasSubstr(part));
  }

  Schema schema_ = TestSchema(RandomTypedGraph({.nodes = 40}));
  SamplingSpec spec_ = SamplingSpec::Uniform(schema_, std::vector<int32_t>{3, -1, 0, kMaxFanout});
  std::vector<int64_t> seeds_ = {0, 39, 7};
  SampleRequest request_{.seeds = {{.type = 1, .ids = seeds_}}, .batch_seed = 1, .spec = &spec_};
};

TEST_F(ValidateRequestTest, BoundsThemselvesAreValid) { EXPECT_TRUE(Validate().ok()); }

TEST_F(ValidateRequestTest, NoLayerIsInvalid) {
  spec_.layers.clear();
  ExpectError(absl::StatusCode::kInvalidArgument, {"no layer"});
  request_.spec = nullptr;
  ExpectError(absl::StatusCode::kInvalidArgument, {"no layer"});
}

TEST_F(ValidateRequestTest, FanoutOutOfRangeNamesValueLayerAndRelation) {
  spec_.layers[2][1].rule.fanout = -2;
  ExpectError(absl::StatusCode::kOutOfRange, {"-2", "layer 2", schema_.relations[1].triple()});
  spec_.layers[2][1].rule.fanout = kMaxFanout + 1;
  ExpectError(absl::StatusCode::kOutOfRange, {"1048577"});
}

TEST_F(ValidateRequestTest, LaborByWeightOrWithReplacementIsInvalidNamingTheRelation) {
  for (auto& layer : spec_.layers) {
    for (auto& [relation, rule] : layer) rule.kind = DrawKind::kLabor;
  }
  EXPECT_TRUE(Validate().ok());
  DrawRule& rule = spec_.layers[1][2].rule;
  rule.replace = true;
  ExpectError(absl::StatusCode::kInvalidArgument,
              {"layer 1", schema_.relations[2].triple(), "with replacement"});
  rule.replace = false;
  rule.weight = 0;
  ExpectError(absl::StatusCode::kInvalidArgument,
              {"layer 1", schema_.relations[2].triple(), "by an edge feature"});
  rule.weight = -1;
  rule.fanout = kMaxFanout + 1;
  ExpectError(absl::StatusCode::kOutOfRange, {"1048577"});
}

TEST_F(ValidateRequestTest, LayerWiseDrawsByOneKeyAreInvalid) {
  for (auto& layer : spec_.layers) {
    for (auto& [relation, rule] : layer) {
      rule.kind = DrawKind::kLadies;
      rule.one_key = true;
    }
  }
  ExpectError(absl::StatusCode::kInvalidArgument, {"layer 0", "a key of each layer"});
}

TEST_F(ValidateRequestTest, UnknownRepeatedOrUnorderedRelationIsInvalid) {
  spec_.layers[1][0].relation = 4;
  ExpectError(absl::StatusCode::kInvalidArgument, {"layer 1", "relation 4"});
  spec_.layers[1][0].relation = -1;
  ExpectError(absl::StatusCode::kInvalidArgument, {"relation -1"});
  spec_.layers[1][0].relation = 1;
  ExpectError(absl::StatusCode::kInvalidArgument, {"relation 1 after 1"});
}

TEST_F(ValidateRequestTest, SeedOutsideItsTypeNamesSeedPositionAndCount) {
  seeds_[1] = 40;
  ExpectError(absl::StatusCode::kOutOfRange, {"seed 40", "position 1", "'paper' of 40"});
  seeds_[1] = -1;
  ExpectError(absl::StatusCode::kOutOfRange, {"seed -1"});
}

TEST_F(ValidateRequestTest, UnknownSeedTypeIsInvalid) {
  request_.seeds[0].type = 3;
  ExpectError(absl::StatusCode::kInvalidArgument, {"type 3"});
}

TEST_F(ValidateRequestTest, SeedTypesThatDoNotAscendAreInvalid) {
  request_.seeds = {{.type = 0, .ids = {}}, {.type = 2, .ids = {}}};
  EXPECT_TRUE(Validate().ok());
  request_.seeds[1].type = 0;
  ExpectError(absl::StatusCode::kInvalidArgument, {"type 0 after those of 0", "ascend"});
  request_.seeds[0].type = 1;
  ExpectError(absl::StatusCode::kInvalidArgument, {"type 0 after those of 1"});
}

TEST_F(ValidateRequestTest, WeightsWithoutAFeatureToDrawByAreInvalid) {
  request_.weights = true;
  ExpectError(absl::StatusCode::kInvalidArgument, {"weights", "SamplingSpec::DrawBy"});
}

TEST_F(ValidateRequestTest, ExcludedRelationUnknownOrUnorderedIsInvalid) {
  request_.exclude = {{.relation = 4, .sources = {}, .destinations = {}}};
  ExpectError(absl::StatusCode::kInvalidArgument, {"relation 4", "the graph has 4"});
  request_.exclude[0].relation = -1;
  ExpectError(absl::StatusCode::kInvalidArgument, {"relation -1"});
  request_.exclude[0].relation = 2;
  request_.exclude.push_back(request_.exclude[0]);
  ExpectError(absl::StatusCode::kInvalidArgument, {"relation 2 after those of 2"});
}

TEST_F(ValidateRequestTest, ExcludedEdgesOfUnequalListsAreInvalid) {
  const std::vector<int64_t> ends = {0, 1, 2};
  request_.exclude = {{.relation = 1, .sources = ends, .destinations = std::span(ends).first(2)}};
  ExpectError(absl::StatusCode::kInvalidArgument,
              {schema_.relations[1].triple(), "3 sources and 2 destinations"});
}

TEST_F(ValidateRequestTest, ExcludedEndOutsideItsTypeNamesRelationEndAndPosition) {
  const std::vector<int64_t> inside = {0, 1};
  const std::vector<int64_t> outside = {0, 4000};
  request_.exclude = {{.relation = 1, .sources = outside, .destinations = inside}};
  ExpectError(absl::StatusCode::kOutOfRange,
              {schema_.relations[1].triple(), "source 4000 at position 1"});
  request_.exclude = {{.relation = 1, .sources = inside, .destinations = outside}};
  ExpectError(absl::StatusCode::kOutOfRange, {"destination 4000 at position 1"});
}

TEST_F(ValidateRequestTest, OneOfSeveralIsNamedOneAloneIsNot) {
  seeds_[1] = 40;
  const std::vector<SampleRequest> requests = {{.seeds = {}, .spec = &spec_}, request_};
  EXPECT_THAT(Message(ValidateRequests(schema_, requests)), HasSubstr("request 1 of 2"));
  EXPECT_EQ(ValidateRequests(schema_, std::span(requests).last(1)), Validate());
  EXPECT_TRUE(ValidateRequests(schema_, {}).ok());
}

TEST(BatchSeedTest, DiffersByEveryArgument) {
  const uint64_t base = BatchSeed(1, BatchPurpose::kTrain, 2, 3, 4, 1);
  EXPECT_NE(base, BatchSeed(2, BatchPurpose::kTrain, 2, 3, 4, 1));
  EXPECT_NE(base, BatchSeed(1, BatchPurpose::kValid, 2, 3, 4, 1));
  EXPECT_NE(base, BatchSeed(1, BatchPurpose::kTrain, 3, 3, 4, 1));
  EXPECT_NE(base, BatchSeed(1, BatchPurpose::kTrain, 2, 4, 4, 1));
  EXPECT_NE(base, BatchSeed(1, BatchPurpose::kTrain, 2, 3, 4, 2));
}

}  // namespace
}  // namespace halograph
