#include "trainer/pipeline/column_scales.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/opened_graph.h"
#include "trainer/pipeline/column_statistics.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ColumnStatisticsTest, AreThoseOfTheDefinitionAlsoFarFromZero) {
  ColumnStatistics statistics(3);
  for (int i = 0; i < 1000; ++i) {
    const auto x = static_cast<float>(i);
    statistics.Add(std::vector<float>{x, 1e7F + x, 4});
  }
  const ColumnScales scales = statistics.Scales();
  const double deviation = std::sqrt((1000.0 * 1000 - 1) / 12);
  EXPECT_THAT(scales.mean, ElementsAre(DoubleNear(499.5, 1e-9), DoubleNear(1e7 + 499.5, 1e-6), 4));
  EXPECT_THAT(scales.deviation,
              ElementsAre(DoubleNear(deviation, 1e-9), DoubleNear(deviation, 1e-6), 0));
  EXPECT_EQ(ColumnStatistics(2).Scales(), (ColumnScales{{0, 0}, {0, 0}})) << "of no rows";
}

TEST(StandardizerTest, BringsColumnsToAMeanOfZeroAndADeviationOfOne) {
  const Standardizer standardizer({.mean = {2, -1, 7}, .deviation = {0.5, 4, 0}});
  std::vector<float> values = {3, 3, 7, 100, 1.5F, -1, 9, 100};  // a fourth column is others'
  standardizer.Apply(values.data(), 2, 4);
  EXPECT_THAT(values, ElementsAre(2, 1, 0, 100, -1, 0, 2, 100));
}

TEST(StandardizerTest, ADeviationWhoseInverseIsNoFloatCountsAsOne) {
  const Standardizer standardizer({.mean = {1}, .deviation = {1e-300}});
  float value = 3;
  standardizer.Apply(&value, 1, 1);
  EXPECT_EQ(value, 2);
}

TEST(FeatureScalesTest, AreReadBackAsTheyWereWritten) {
  const FeatureScales scales = {{"a", {{"x,y", {{0.1, 1e300}, {1.0 / 3, 0}}}, {"z", {{}, {}}}}},
                                {"b", {{"x", {{-5e-324}, {2}}}}}};
  const auto json = ParseJson(CanonicalJson(ToJson(scales)), "here");
  ASSERT_TRUE(json.ok()) << json.status();
  const auto read = FeatureScalesFromJson(*json, "here");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, scales);
  EXPECT_TRUE(FeatureScalesFromJson(Json::object(), "here")->empty());
}

TEST(FeatureScalesTest, WhatIsNoScalesIsDataLossAndNamesThePlace) {
  const auto error = [](const char* fields) {
    const auto json = ParseJson(fmt::format(R"({{"a": {{"x": {}}}}})", fields), "here");
    const Status status = FeatureScalesFromJson(*json, "here").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << fields;
    return Message(status);
  };
  EXPECT_THAT(error(R"({"mean": [1]})"),
              AllOf(HasSubstr("here: node type 'a', feature 'x'"), HasSubstr("deviation")));
  EXPECT_THAT(error(R"({"mean": [1], "deviation": [1, 2]})"),
              HasSubstr("1 means, but 2 deviations"));
  EXPECT_THAT(error(R"({"mean": [null], "deviation": [1]})"), HasSubstr("no list of numbers"));
  EXPECT_THAT(error(R"({"mean": [1], "deviation": [-1]})"), HasSubstr("below 0"));
  EXPECT_THAT(error("3"), HasSubstr("no object"));
}

class ReadColumnScalesTest : public OpenedGraphTest {
 protected:
  StatusOr<ColumnScales> Read(const std::string& name, const std::vector<int64_t>& nodes) {
    const NodeType& type = stores_.graph->info().schema.node_types[0];
    CallContext context;
    return ReadColumnScales(*stores_.rows, {false, type.name, name},
                            **FindTensor(type.features, name, type.name), nodes, context);
  }
};

TEST_F(ReadColumnScalesTest, AreOfTheNodesGivenInWhateverDtypeTheyAreStored) {
  TestGraphSpec spec = RandomGraph({.nodes = 4, .feature_dim = 0});
  spec.node_types[0].features = {MakeTensor<int64_t>("n", {1, 3, 5, 1000}, 1),
                                 MakeTensor<uint8_t>("b", {0, 9, 2, 9, 4, 9, 255, 9}, 2)};
  Open(spec);
  const std::vector<int64_t> global = GlobalNodeIds(spec, "node");
  const std::vector<int64_t> nodes(global.begin(), global.begin() + 3);
  const double deviation = std::sqrt(8.0 / 3);
  EXPECT_THAT(Read("n", nodes)->mean, ElementsAre(DoubleNear(3, 1e-12)));
  EXPECT_THAT(Read("n", nodes)->deviation, ElementsAre(DoubleNear(deviation, 1e-12)));
  EXPECT_THAT(Read("b", nodes)->mean, ElementsAre(DoubleNear(2, 1e-12), 9));
  EXPECT_THAT(Read("b", nodes)->deviation, ElementsAre(DoubleNear(deviation, 1e-12), 0));
}

// More than kStatisticsBytes of them.
TEST_F(ReadColumnScalesTest, ManyRowsAreReadAPieceAtATimeToTheSameEnd) {
  constexpr int64_t kNodes = 3000, kColumns = 700;
  TestGraphSpec spec = RandomGraph({.nodes = kNodes, .feature_dim = 0});
  std::vector<float> values(kNodes * kColumns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 10007);
  spec.node_types[0].features = {MakeTensor<float>("wide", values, kColumns)};
  Open(spec);
  ASSERT_GT(std::ssize(values) * 4, kStatisticsBytes);
  const std::vector<int64_t> global = GlobalNodeIds(spec, "node");
  std::vector<int64_t> input(kNodes), nodes(kNodes);
  for (size_t i = 0; i < global.size(); ++i) input[global[i]] = static_cast<int64_t>(i);
  std::iota(nodes.begin(), nodes.end(), int64_t{0});
  ColumnStatistics wanted(kColumns);
  for (const int64_t node : nodes) {
    wanted.Add(std::span(values).subspan(static_cast<size_t>(input[node] * kColumns), kColumns));
  }
  const auto found = Read("wide", nodes);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, wanted.Scales()) << "bit for bit";
}

TEST_F(ReadColumnScalesTest, AColumnWithoutAFiniteMeanIsNamed) {
  constexpr double kHuge = 1e300;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  TestGraphSpec spec = RandomGraph({.nodes = 2, .feature_dim = 0});
  spec.node_types[0].features = {MakeTensor<float>("f", {1, 1, 1, nan}, 2),
                                 MakeTensor<double>("d", {1, kHuge}, 1)};
  Open(spec);
  for (const auto& [name, column] : {std::pair{"f", 1}, {"d", 0}}) {
    const Status status = Read(name, {0, 1}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), HasSubstr(fmt::format("feature '{}' of node type 'node': column "
                                                       "{} (from 0) has no mean",
                                                       name, column)));
  }
}

}  // namespace
}  // namespace halograph
