#include "common/state/mutable_tensor.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Start = Initializer::Kind;
using Optimizer = RowOptimizer::Kind;
using Change = std::function<void(MutableTensorSpec*)>;

MutableTensorSpec NodeSpec() {
  MutableTensorSpec spec;
  spec.ref = {.edge = false, .type = "user", .name = "emb"};
  spec.dim = 64;
  spec.initializer = {.kind = Start::kUniform, .a = -0.1, .b = 0.1, .seed = ~uint64_t{0}};
  spec.optimizer = {.kind = Optimizer::kAdam, .learning_rate = 0.1, .weight_decay = 1e-5};
  return spec;
}

TEST(MutableTensorSpecTest, EveryKindIsValidAndRoundTripsThroughJson) {
  std::vector<MutableTensorSpec> specs;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const Start start :
         {Start::kZeros, Start::kConstant, Start::kUniform, Start::kNormal, Start::kXavier}) {
      for (const Optimizer optimizer : {Optimizer::kNone, Optimizer::kSgd, Optimizer::kAdagrad,
                                        Optimizer::kRowAdagrad, Optimizer::kAdam}) {
        MutableTensorSpec spec;
        spec.ref = {.edge = true, .type = "a:b:c", .name = "é x"};
        spec.placement = Placement::kEdges;
        spec.dtype = dtype;
        spec.initializer.kind = start;
        if (start != Start::kZeros && start != Start::kXavier) spec.initializer.a = 1.0 / 3;
        if (start == Start::kUniform || start == Start::kNormal) spec.initializer.b = 0.4;
        spec.optimizer.kind = optimizer;
        if (optimizer == Optimizer::kSgd) spec.optimizer.momentum = 0.7;
        specs.push_back(spec);
      }
    }
  }
  specs.push_back(NodeSpec());
  for (const Placement placement : {Placement::kRange, Placement::kHash}) {
    specs.push_back(NodeSpec());
    specs.back().ref.type = "";
    specs.back().placement = placement;
    specs.back().rows = kMaxTensorRows;
  }
  for (const MutableTensorSpec& spec : specs) {
    EXPECT_TRUE(spec.Validate().ok()) << spec.Validate();
    // Through text, as files have it.
    const auto parsed = ParseJson(CanonicalJson(spec.ToJson()), "test");
    ASSERT_TRUE(parsed.ok());
    const auto again = MutableTensorSpec::FromJson(*parsed);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, spec) << spec.ToJson().dump();
    EXPECT_TRUE(again->SameAs(spec).ok());
  }
}

struct Wrong {
  std::string what;
  Change change;
  std::vector<std::string> named;
};

class WrongSpecTest : public testing::TestWithParam<Wrong> {};

TEST_P(WrongSpecTest, IsInvalidArgumentAndNamesTheField) {
  MutableTensorSpec spec = NodeSpec();
  GetParam().change(&spec);
  const Status status = spec.Validate();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const std::string& name : GetParam().named) EXPECT_THAT(Message(status), HasSubstr(name));
}

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    Fields, WrongSpecTest,
    testing::Values(
        Wrong{"NoName", [](auto* s) { s->ref.name = ""; }, {"name ''"}},
        Wrong{"ReservedName", [](auto* s) { s->ref.name = "@original_id"; }, {"'@'"}},
        Wrong{"LongName", [](auto* s) { s->ref.name = std::string(67, '/'); }, {"name", "200"}},
        Wrong{"NoType", [](auto* s) { s->ref.type = ""; }, {"type ''", "node type"}},
        Wrong{"TypeOfPlainRows",
              [](auto* s) {
                s->placement = Placement::kRange;
                s->rows = 5;
              },
              {"type 'user'", "none"}},
        Wrong{"EdgeOfNodes", [](auto* s) { s->ref.edge = true; }, {"edge true"}},
        Wrong{"RowsOfNodes", [](auto* s) { s->rows = 5; }, {"rows 5", "leave it 0"}},
        Wrong{"NoPlainRows",
              [](auto* s) {
                s->placement = Placement::kHash;
                s->ref.type = "";
              },
              {"rows 0", "use 1 to"}},
        Wrong{"NoColumns", [](auto* s) { s->dim = 0; }, {"dim 0", "1 to 65536"}},
        Wrong{"ManyColumns", [](auto* s) { s->dim = 65537; }, {"dim 65537"}},
        Wrong{"Dtype", [](auto* s) { s->dtype = DType::kInt8; }, {"int8", "bfloat16"}},
        Wrong{"EmptyRange", [](auto* s) { s->initializer.b = -0.1; }, {"initializer.b", "above a"}},
        Wrong{"NotANumber", [](auto* s) { s->initializer.a = kNan; }, {"initializer"}},
        Wrong{"NegativeDeviation",
              [](auto* s) { s->initializer = {.kind = Start::kNormal, .b = -1}; },
              {"initializer.b -1"}},
        Wrong{"NormalTooWide",
              [](auto* s) {
                s->dtype = DType::kFloat16;
                s->initializer = {.kind = Start::kNormal, .b = 8000};
              },
              {"8000", "float16", "65504"}},
        Wrong{"InfiniteConstant",
              [](auto* s) { s->initializer = {.kind = Start::kConstant, .a = kInfinity}; },
              {"inf"}},
        Wrong{"UnusedValue",
              [](auto* s) { s->initializer.kind = Start::kZeros; },
              {"initializer.a and b", "leave it 0"}},
        Wrong{"UnusedSeed",
              [](auto* s) { s->initializer = {.kind = Start::kZeros, .seed = 9}; },
              {"seed 9"}},
        Wrong{"Rate", [](auto* s) { s->optimizer.learning_rate = -1; }, {"learning_rate -1"}},
        Wrong{"RateNan", [](auto* s) { s->optimizer.learning_rate = kNan; }, {"learning_rate nan"}},
        Wrong{
            "Beta", [](auto* s) { s->optimizer.beta2 = 1; }, {"optimizer.beta2 1", "less than 1"}},
        Wrong{"Epsilon", [](auto* s) { s->optimizer.epsilon = 0; }, {"epsilon 0", "1e-30"}},
        Wrong{"MomentumOfAdam",
              [](auto* s) { s->optimizer.momentum = 0.9; },
              {"momentum 0.9", "leave it 0"}},
        Wrong{"DecayOfNothing",
              [](auto* s) { s->optimizer = {.weight_decay = 1}; },
              {"weight_decay 1"}}),
    [](const auto& test) { return test.param.what; });

TEST(MutableTensorSpecTest, SameAsNamesTheFirstDifferenceWithBothValues) {
  const auto difference = [](const Change& change) {
    MutableTensorSpec other = NodeSpec();
    change(&other);
    const Status status = NodeSpec().SameAs(other);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return Message(status);
  };
  EXPECT_TRUE(NodeSpec().SameAs(NodeSpec()).ok());
  EXPECT_THAT(difference([](auto* s) { s->dim = 65; }), HasSubstr("dim is 64, and 65"));
  EXPECT_THAT(difference([](auto* s) { s->dtype = DType::kFloat16; }),
              HasSubstr("dtype is \"float32\", and \"float16\""));
  EXPECT_THAT(difference([](auto* s) { s->initializer.seed = 3; }),
              HasSubstr("initializer.seed is 18446744073709551615, and 3"));
  EXPECT_THAT(difference([](auto* s) { s->optimizer.learning_rate = 0.2; }),
              HasSubstr("optimizer.learning_rate is 0.1, and 0.2"));
  EXPECT_THAT(difference([](auto* s) { s->optimizer = {.kind = Optimizer::kSgd}; }),
              HasSubstr("optimizer.kind is \"adam\", and \"sgd\""));
  EXPECT_THAT(difference([](auto* s) { s->ref.name = "other"; }),
              AllOf(HasSubstr("ref.name is \"emb\""), HasSubstr("\"other\"")));
}

struct Damage {
  std::string what;
  std::function<void(Json*)> change;
  std::vector<std::string> named;
};

class DamagedSpecTest : public testing::TestWithParam<Damage> {};

TEST_P(DamagedSpecTest, IsDataLossAndNamesTheField) {
  Json json = NodeSpec().ToJson();
  GetParam().change(&json);
  const auto spec = MutableTensorSpec::FromJson(json);
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kDataLoss);
  for (const std::string& name : GetParam().named) {
    EXPECT_THAT(Message(spec.status()), HasSubstr(name));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fields, DamagedSpecTest,
    testing::Values(
        Damage{"NoObject", [](Json* j) { *j = 5; }, {"number", "ref"}},
        Damage{"NoName", [](Json* j) { (*j)["ref"].erase("name"); }, {"ref", "'name'"}},
        Damage{"EdgeIsText", [](Json* j) { (*j)["ref"]["edge"] = "no"; }, {"'edge'", "boolean"}},
        Damage{"NoDim", [](Json* j) { j->erase("dim"); }, {"'emb'", "'dim'", "missing"}},
        Damage{"DimIsText", [](Json* j) { (*j)["dim"] = "64"; }, {"'dim'", "integer"}},
        Damage{"DimIsTooLarge", [](Json* j) { (*j)["dim"] = 1 << 20; }, {"dim 1048576"}},
        Damage{"Placement",
               [](Json* j) { (*j)["placement"] = "disk"; },
               {"'placement'", "'disk'", "nodes, edges, range, hash"}},
        Damage{"Dtype", [](Json* j) { (*j)["dtype"] = "float8"; }, {"'dtype'", "float8"}},
        Damage{"Optimizer",
               [](Json* j) { (*j)["optimizer"]["kind"] = "lion"; },
               {"optimizer", "'lion'", "row_adagrad"}},
        Damage{"NoRate",
               [](Json* j) { (*j)["optimizer"].erase("learning_rate"); },
               {"optimizer", "'learning_rate'", "missing"}},
        Damage{"RateIsText",
               [](Json* j) { (*j)["optimizer"]["learning_rate"] = "fast"; },
               {"'learning_rate'", "number"}},
        Damage{"NegativeSeed", [](Json* j) { (*j)["initializer"]["seed"] = -1; }, {"'seed'"}},
        Damage{"UnknownField", [](Json* j) { (*j)["colour"] = 1; }, {"'colour'", "unknown"}},
        Damage{"UnusedField",
               [](Json* j) { (*j)["optimizer"]["momentum"] = 0.5; },
               {"optimizer", "'momentum'"}}),
    [](const auto& test) { return test.param.what; });

}  // namespace
}  // namespace halograph
