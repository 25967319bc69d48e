#include "proto/wire/sample_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/proto/pieces.h"

namespace halograph::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kMaxGroups = 8;
const std::vector<int64_t> kIds = {5, 0, int64_t{1} << 40, 7};

StatusOr<SampleRequest> Read(const std::string& message, const std::vector<size_t>& cuts = {}) {
  const CutMessage cut(message, cuts);
  return ReadSampleRequest(cut.pieces(), kMaxGroups);
}

// A group with everything of its own, and a plain one.
std::string TwoGroups() {
  const SampleGroupView groups[] = {
      {.relation = "a:b:c",
       .rule = {.kind = 5, .fanout = -1, .replace = true, .weight = "w"},
       .destinations = kIds,
       .batch_seed = 0,
       .layer = 300,
       .edge_ids = true,
       .weights = true,
       .degrees = true},
      {.relation = "d:e:f", .rule = {.fanout = 1 << 20}, .destinations = {}}};
  return WriteSampleRequest({.batch_seed = UINT64_MAX, .layer = 3, .groups = groups});
}

TEST(SampleRequestTest, WhatIsWrittenIsReadWhateverTheCut) {
  const std::string message = TwoGroups();
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const auto request = Read(message, cuts);
    ASSERT_TRUE(request.ok()) << request.status();
    ASSERT_EQ(request->batch_seed, UINT64_MAX);
    ASSERT_EQ(request->layer, 3U);
    ASSERT_EQ(request->groups.size(), 2U);
    const SampleGroup& own = request->groups[0];
    ASSERT_EQ(own.relation, "a:b:c");
    ASSERT_EQ(own.rule.kind, 5U);
    ASSERT_EQ(own.rule.fanout, -1);
    ASSERT_TRUE(own.rule.replace);
    ASSERT_EQ(own.rule.weight, "w");
    ASSERT_EQ(own.destinations, kIds);
    ASSERT_EQ(own.batch_seed, 0U);
    ASSERT_EQ(own.layer, 300U);
    ASSERT_TRUE(own.edge_ids);
    ASSERT_TRUE(own.weights);
    ASSERT_TRUE(own.degrees);
    const SampleGroup& plain = request->groups[1];
    ASSERT_EQ(plain.rule.fanout, 1 << 20);
    ASSERT_FALSE(plain.rule.replace);
    ASSERT_EQ(plain.rule.weight, "");
    ASSERT_TRUE(plain.destinations.empty());
    ASSERT_FALSE(plain.batch_seed || plain.layer);
    ASSERT_FALSE(plain.edge_ids || plain.weights || plain.degrees);
  });
}

// A client of before rules: the request's replace and weight hold for groups without their own.
TEST(SampleRequestTest, TheOlderFormBecomesARule) {
  const SampleGroupView groups[] = {
      {.relation = "a:b:c",
       .rule = {.fanout = 4, .replace = true, .weight = "w"},
       .destinations = kIds},
      {.relation = "a:b:c", .rule = {.fanout = -1, .weight = "v"}, .destinations = kIds},
      {.relation = "a:b:c", .rule = {.replace = true}, .destinations = kIds}};
  const std::string message = WriteSampleRequest({.rules = false, .groups = groups});
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const auto request = Read(message, cuts);
    ASSERT_TRUE(request.ok()) << request.status();
    ASSERT_EQ(request->groups.size(), 3U);
    for (size_t g = 0; g < 3; ++g) {
      const SampleRule& rule = request->groups[g].rule;
      ASSERT_EQ(rule.kind, 0U);
      ASSERT_EQ(rule.fanout, groups[g].rule.fanout);
      ASSERT_EQ(rule.replace, groups[g].rule.replace);
      ASSERT_EQ(rule.weight, groups[g].rule.weight);
    }
  });
}

// As generated code has it: one that comes in two pieces is one, and the older form beside it tells
// nothing.
TEST(SampleRequestTest, ARuleIsMergedAndReplacesTheOlderForm) {
  using namespace std::string_literals;
  const std::string rule_of_fanout_3 = "\x62\x02\x10\x06"s;
  const std::string rule_with_replacement = "\x62\x02\x18\x01"s;
  const std::string older = "\x10\x0a\x3a\x01w"s;  // fanout 5, weight "w"
  const std::string group = rule_of_fanout_3 + older + rule_with_replacement;
  const auto request = Read("\x22"s + static_cast<char>(group.size()) + group);
  ASSERT_TRUE(request.ok()) << request.status();
  const SampleRule& rule = request->groups.at(0).rule;
  EXPECT_EQ(rule.fanout, 3);
  EXPECT_TRUE(rule.replace);
  EXPECT_EQ(rule.weight, "");
}

TEST(SampleRequestTest, AnEmptyMessageIsTheEmptyRequest) {
  EXPECT_EQ(WriteSampleRequest({}), "");
  const auto request = Read("");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->batch_seed, 0U);
  EXPECT_TRUE(request->groups.empty());
}

TEST(SampleRequestTest, UnknownFieldsAndUnpackedIdsAreRead) {
  using namespace std::string_literals;
  std::string group =
      "\x19"s
      "12345678"s +
      UnknownFields() +
      "\x51"s
      "abcdefgh"s;
  const std::string message =
      UnknownFields() + "\x22"s + static_cast<char>(group.size()) + group + UnknownFields();
  const auto request = Read(message);
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_EQ(request->groups.size(), 1U);
  EXPECT_THAT(request->groups[0].destinations, ElementsAre(0x3837363534333231));
}

TEST(SampleRequestTest, OfTooManyGroupsOneBeyondIsKept) {
  const std::vector<SampleGroupView> groups(100);
  const auto request = Read(WriteSampleRequest({.groups = groups}));
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->groups.size(), kMaxGroups + 1);
}

TEST(SampleRequestTest, BytesThatAreNoRequestAreInvalidArgument) {
  using namespace std::string_literals;
  // A length beyond the message; ids that are no whole number of bytes; a group that is cut.
  for (const std::string& message :
       {"\x22\xff\xff\xff\x7f"s, "\x22\x05\x1a\x03xyz"s, "\x22"s, "\x22\x02\x1a\x09"s, "\x00"s}) {
    const auto request = Read(message);
    EXPECT_TRUE(absl::IsInvalidArgument(request.status())) << testing::PrintToString(message);
    EXPECT_THAT(Message(request.status()), HasSubstr("SampleRequest"));
  }
}

}  // namespace
}  // namespace halograph::wire
