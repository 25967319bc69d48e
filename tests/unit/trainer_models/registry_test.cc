#include "trainer/models/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::HasSubstr;
using testing::Not;

Schema GraphOf(std::vector<NodeType> types, size_t relations) {
  Schema schema{.graph_name = "g", .node_types = std::move(types), .relations = {}, .tasks = {}};
  schema.relations.resize(relations);
  return schema;
}

const ModelKind kAnyGraph = {"any", "", {.one_relation = false}, nullptr, nullptr};
const ModelKind kPlain = {"plain", "", {.one_relation = true}, nullptr, nullptr};

TensorSpec Feature(const std::string& name, int64_t dim) { return {.name = name, .dim = dim}; }

StatusOr<std::vector<NodeInput>> Choose(const ModelKind& kind, const Schema& schema,
                                        const std::vector<std::string>& features = {}) {
  return ChooseInputs(kind, schema, features, FeatureNormalization::kRow);
}

TEST(FindModelKindTest, AnUnknownNameIsAnsweredWithThoseThatExist) {
  EXPECT_TRUE(FindModelKind("sage").ok());
  const Status status = FindModelKind("gta").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("no model 'gta', expected "));
  EXPECT_THAT(Message(status), HasSubstr("sage"));
}

TEST(ChooseInputsTest, TheOnlyFeatureElseFeatElseTheNamedOne) {
  auto only = Choose(kPlain, GraphOf({{"node", 5, {Feature("words", 7)}}}, 1));
  ASSERT_TRUE(only.ok()) << only.status();
  ASSERT_EQ(only->size(), 1U);
  EXPECT_EQ((*only)[0].feature, (TensorRef{false, "node", "words"}));
  EXPECT_EQ((*only)[0].spec.dim, 7);
  EXPECT_EQ((*only)[0].normalization, FeatureNormalization::kRow);
  const Schema two = GraphOf({{"node", 5, {Feature("feat", 1), Feature("words", 7)}}}, 1);
  EXPECT_EQ((*Choose(kPlain, two))[0].feature.name, "feat");
  EXPECT_EQ((*Choose(kPlain, two, {"words"}))[0].feature.name, "words");
}

TEST(ChooseInputsTest, SeveralNamesAreTakenInTheirOrder) {
  const Schema graph =
      GraphOf({{"node", 5, {Feature("feat", 4), Feature("words", 7), Feature("deg", 1)}}}, 1);
  const auto inputs = Choose(kPlain, graph, {"deg", "feat"});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ASSERT_EQ(inputs->size(), 2U);
  EXPECT_EQ((*inputs)[0].feature.name, "deg");
  EXPECT_EQ((*inputs)[1].feature.name, "feat");
  EXPECT_EQ((*inputs)[1].node_type, 0);
  EXPECT_THAT(Message(Choose(kPlain, graph, {"feat", "age"}).status()), HasSubstr("age"));
}

TEST(ChooseInputsTest, EveryTypeOfATypedGraphGetsItsOwn) {
  const Schema typed =
      GraphOf({{"author", 5, {Feature("emb", 3)}}, {"paper", 9, {Feature("feat", 4)}}}, 3);
  auto inputs = Choose(kAnyGraph, typed);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ASSERT_EQ(inputs->size(), 2U);
  EXPECT_EQ((*inputs)[0].node_type, 0);
  EXPECT_EQ((*inputs)[0].feature, (TensorRef{false, "author", "emb"}));
  EXPECT_EQ((*inputs)[1].node_type, 1);
  EXPECT_EQ((*inputs)[1].spec.dim, 4);
}

TEST(ChooseInputsTest, AGraphThatTheModelCannotTakeIsRefusedWithWhatItHas) {
  const Schema typed =
      GraphOf({{"author", 5, {Feature("emb", 3)}}, {"paper", 9, {Feature("feat", 4)}}}, 3);
  const Status status = Choose(kPlain, typed).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("--model plain needs a graph of one node type"));
  EXPECT_THAT(Message(status), HasSubstr("'g' has 2 node types and 3 relations"));
}

TEST(ChooseInputsTest, MissingFeaturesAreNamedWithTheirType) {
  const Status none = Choose(kAnyGraph, GraphOf({{"venue", 5, {}}}, 1)).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(none), HasSubstr("'venue' has no features, which --model any needs"));
  const Status other =
      Choose(kPlain, GraphOf({{"node", 5, {Feature("words", 7)}}}, 1), {"wrods"}).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(other), HasSubstr("--features"));
  EXPECT_THAT(Message(other), HasSubstr("words"));
  EXPECT_THAT(Message(other), Not(HasSubstr("quotes")));
  const Status two =
      Choose(kPlain, GraphOf({{"node", 5, {Feature("a,b", 7)}}}, 1), {"a", "b"}).status();
  EXPECT_THAT(Message(two), HasSubstr("stands in quotes: --features '\"a,b\"'"));
}

}  // namespace
}  // namespace halograph
