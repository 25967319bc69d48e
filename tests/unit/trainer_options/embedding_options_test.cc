#include "trainer/options/embedding_options.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// Types by name, and whether each has a feature.
Schema WithTypes(const std::vector<std::pair<std::string, bool>>& types) {
  Schema schema;
  for (const auto& [name, has_feature] : types) {
    NodeType type{.name = name, .count = 3, .features = {}};
    if (has_feature) type.features.push_back({.name = "feat", .dim = 4});
    schema.node_types.push_back(std::move(type));
  }
  return schema;
}

// Node type and width of each that is learnt.
StatusOr<std::vector<std::pair<int, int64_t>>> Chosen(std::vector<std::string> embed,
                                                      const Schema& schema) {
  HG_ASSIGN_OR_RETURN(const auto learnt, ChooseLearntTypes({.types = std::move(embed)}, schema));
  std::vector<std::pair<int, int64_t>> pairs;
  for (const LearntType& type : learnt) pairs.emplace_back(type.node_type, type.dim);
  return pairs;
}

TEST(ChooseLearntTypesTest, DigitsAloneAreTheWidthOfEveryTypeWithoutFeatures) {
  const Schema schema = WithTypes({{"a", false}, {"b", true}, {"c", false}});
  EXPECT_THAT(*Chosen({}, schema), ElementsAre(Pair(0, 64), Pair(2, 64)));
  EXPECT_THAT(*Chosen({"32"}, schema), ElementsAre(Pair(0, 32), Pair(2, 32)));
  EXPECT_THAT(*Chosen({"c:8", "32", "b"}, schema),
              ElementsAre(Pair(0, 32), Pair(1, 32), Pair(2, 8)))
      << "and of those that are named without one";
  EXPECT_THAT(*Chosen({"c"}, schema), ElementsAre(Pair(2, 64)));
}

TEST(ChooseLearntTypesTest, ATypeWhoseNameIsOfDigitsIsWrittenWithItsWidth) {
  const Schema schema = WithTypes({{"64", true}, {"x", false}});
  EXPECT_THAT(*Chosen({"64"}, schema), ElementsAre(Pair(1, 64)));
  EXPECT_THAT(*Chosen({"64:16"}, schema), ElementsAre(Pair(0, 16)));
  EXPECT_THAT(*Chosen({"64:16", "64"}, schema), ElementsAre(Pair(0, 16), Pair(1, 64)));
}

TEST(ChooseLearntTypesTest, AWidthAloneNeedsATypeWithoutFeatures) {
  const Schema schema = WithTypes({{"node", true}});
  EXPECT_THAT(*Chosen({}, schema), IsEmpty());
  EXPECT_THAT(Message(Chosen({"32"}, schema).status()),
              HasSubstr("--embed 32: all node types have features; name those whose inputs are to "
                        "be learnt in their place: --embed TYPE:32"));
  EXPECT_THAT(*Chosen({"32", "node"}, schema), ElementsAre(Pair(0, 32)));
}

TEST(EmbedOptionTest, WordsThatAreNoneAreRefused) {
  EmbeddingOptions options;
  OptionTable rows;
  AddEmbeddingRows(rows, &options);
  const auto refusal = [&](const char* text) { return Message(rows.Set("embed", text)); };
  EXPECT_EQ(refusal("0"), "--embed: the width is '0', expected 1 to 65536");
  EXPECT_EQ(refusal("65537"), "--embed: the width is '65537', expected 1 to 65536");
  EXPECT_EQ(refusal("99999999999999999999"),
            "--embed: the width is '99999999999999999999', expected 1 to 65536");
  EXPECT_EQ(refusal("a:x"), "--embed: 'a': the width is 'x', expected 1 to 65536");
  EXPECT_EQ(refusal("a:"), "--embed: 'a': the width is '', expected 1 to 65536");
  EXPECT_EQ(refusal(":3"), "--embed: ':3' is no TYPE, TYPE:DIM or DIM");
  EXPECT_EQ(refusal("64,32"),
            "--embed: two widths, 64 and 32: a node type named 32 is written 32:DIM");
  EXPECT_EQ(refusal("a:3,a"), "--embed: node type 'a' is named twice");
}

}  // namespace
}  // namespace halograph
