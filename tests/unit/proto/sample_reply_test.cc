#include "proto/wire/sample_reply.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/proto/pieces.h"

namespace halograph::wire {
namespace {

using testing::HasSubstr;

// A group as a server has it.
struct Drawn {
  std::vector<uint32_t> counts;
  std::vector<int64_t> sources;
  std::vector<int64_t> edge_ids;
  std::vector<float> weights;
  bool wide = false;
  std::vector<int64_t> degrees = {};
};

std::string Write(const Drawn& drawn) {
  const SampleGroupShape shape{.counts = drawn.counts,
                               .edges = static_cast<int64_t>(drawn.sources.size()),
                               .wide = drawn.wide,
                               .edge_ids = !drawn.edge_ids.empty(),
                               .weights = !drawn.weights.empty(),
                               .degrees = !drawn.degrees.empty()};
  std::string message(SampleGroupReplyBytes(shape), '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  const SampleGroupArrays arrays = PutSampleGroupReply(shape, begin);
  EXPECT_EQ(static_cast<size_t>(arrays.end - begin), message.size());
  if (drawn.wide) {
    if (arrays.sources != nullptr) {
      std::memcpy(arrays.sources, drawn.sources.data(), shape.source_bytes());
    }
  } else {
    const std::vector<uint32_t> narrow(drawn.sources.begin(), drawn.sources.end());
    if (arrays.sources != nullptr) {
      std::memcpy(arrays.sources, narrow.data(), shape.source_bytes());
    }
  }
  if (arrays.edge_ids != nullptr) {
    std::memcpy(arrays.edge_ids, drawn.edge_ids.data(), shape.edge_id_bytes());
  }
  if (arrays.weights != nullptr) {
    std::memcpy(arrays.weights, drawn.weights.data(), shape.weight_bytes());
  }
  if (arrays.degrees != nullptr) {
    std::memcpy(arrays.degrees, drawn.degrees.data(), shape.degree_bytes());
  }
  return message;
}

constexpr int64_t kWideNodes = int64_t{1} << 33;
const Drawn kNarrow{{2, 0, 1}, {5, 99, 0}, {}, {}};
const Drawn kWide{{1, 2}, {kWideNodes - 1, 0, 3}, {0, 999, 7}, {0.5F, -1, 3e30F}, true, {1000, 2}};
const SampleGroupExpected kExpectNarrow{
    .destinations = 3, .fanout = 2, .source_nodes = 100, .edges = 1000};
const SampleGroupExpected kExpectWide{.destinations = 2,
                                      .fanout = -1,
                                      .source_nodes = kWideNodes,
                                      .edges = 1000,
                                      .edge_ids = true,
                                      .weights = true,
                                      .degrees = true};

class SampleReplyTest : public testing::Test {
 protected:
  Status Read(const std::string& message, const std::vector<SampleGroupExpected>& expected,
              const std::vector<size_t>& cuts = {}) {
    const CutMessage cut(message, cuts);
    return ReadSampleReply(cut.pieces(), expected, &groups_);
  }
  void ExpectGroup(size_t g, const Drawn& drawn) {
    ASSERT_LT(g, groups_.size());
    ASSERT_EQ(groups_[g].counts, drawn.counts);
    ASSERT_EQ(groups_[g].sources, drawn.sources);
    ASSERT_EQ(groups_[g].edge_ids, drawn.edge_ids);
    ASSERT_EQ(groups_[g].weights, drawn.weights);
    ASSERT_EQ(groups_[g].degrees, drawn.degrees);
  }
  void ExpectDataLoss(const Drawn& drawn, const SampleGroupExpected& expected,
                      const std::string& text) {
    const Status status = Read(Write(drawn), {expected});
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr("group 0 of 1"));
    EXPECT_THAT(Message(status), HasSubstr(text));
  }

  std::vector<SampleGroupReply> groups_;
};

TEST_F(SampleReplyTest, WhatIsWrittenIsReadWhateverTheCut) {
  const std::string message = Write(kNarrow) + Write(kWide);
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const Status status = Read(message, {kExpectNarrow, kExpectWide}, cuts);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(groups_.size(), 2U);
    ExpectGroup(0, kNarrow);
    ExpectGroup(1, kWide);
  });
}

TEST_F(SampleReplyTest, ArraysOfManyIdsAreReadWhateverTheCut) {
  Drawn drawn;
  for (int i = 0; i < 300; ++i) {
    drawn.counts.push_back(i % 7 == 0 ? 200 : 1);
    for (uint32_t j = 0; j < drawn.counts.back(); ++j) {
      drawn.sources.push_back(static_cast<uint32_t>(i * 131 + j * 17 + 1) * 2654435761U);
    }
  }
  const std::string message = Write(drawn);
  const SampleGroupExpected expected{
      .destinations = 300, .source_nodes = int64_t{1} << 32, .edges = 1};  // all four bytes count
  for (size_t cut = 0; cut <= message.size(); cut += 97) {
    ASSERT_TRUE(Read(message, {expected}, {cut / 3, cut / 2, cut}).ok());
    ExpectGroup(0, drawn);
  }
}

TEST_F(SampleReplyTest, ACutReplyGivesTheGroupsItHas) {
  ASSERT_TRUE(Read(Write(kNarrow), {kExpectNarrow, kExpectWide}).ok());
  EXPECT_EQ(groups_.size(), 1U);
  Drawn prefix = kNarrow;
  prefix.counts.pop_back();
  prefix.sources.pop_back();
  ASSERT_TRUE(Read(Write(prefix), {kExpectNarrow, kExpectWide}).ok());
  ExpectGroup(0, prefix);
  ASSERT_TRUE(Read("", {kExpectNarrow}).ok());
  EXPECT_TRUE(groups_.empty());
}

TEST_F(SampleReplyTest, ACutBeforeTheLastGroupIsDataLoss) {
  Drawn prefix = kNarrow;
  prefix.counts.pop_back();
  prefix.sources.pop_back();
  const Status status = Read(Write(prefix) + Write(kWide), {kExpectNarrow, kExpectWide});
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("group 0 of 2: 2 of 3 destinations"));
}

TEST_F(SampleReplyTest, UnpackedNumbersAndUnknownFieldsAreRead) {
  using namespace std::string_literals;
  const std::string group = UnknownFields() + "\x08\x02\x15\x05\0\0\0\x15\x63\0\0\0"s +
                            "\x08\x00"s + "\x21\x07\0\0\0\0\0\0\0\x21\x08\0\0\0\0\0\0\0"s +
                            "\x2d\0\0\x80\x3f\x2d\0\0\0\x40"s;
  SampleGroupExpected expected = kExpectNarrow;
  expected.edge_ids = expected.weights = true;
  const Status status =
      Read("\x0a"s + static_cast<char>(group.size()) + group + UnknownFields(), {expected});
  ASSERT_TRUE(status.ok()) << status;
  ExpectGroup(0, {{2, 0}, {5, 99}, {7, 8}, {1, 2}});
}

TEST_F(SampleReplyTest, MoreGroupsThanAskedForAreDataLoss) {
  const Status status = Read(Write(kNarrow) + Write(kNarrow), {kExpectNarrow});
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(Message(status), HasSubstr("more groups than the 1 asked for"));
}

TEST_F(SampleReplyTest, CountsThatDoNotFitAreDataLoss) {
  ExpectDataLoss({{1, 1, 1, 0}, {1, 2, 3}, {}, {}}, kExpectNarrow, "4 counts for 3 destinations");
  ExpectDataLoss({{3}, {1, 2, 3}, {}, {}}, kExpectNarrow, "3 edges for a fanout of 2");
}

TEST_F(SampleReplyTest, SourcesThatDoNotFitTheCountsAreDataLoss) {
  ExpectDataLoss({{2, 2}, {1, 2, 3}, {}, {}}, kExpectNarrow, "3 sources and 0 in the other width");
  ExpectDataLoss({{UINT32_MAX, UINT32_MAX}, {1, 2, 3}, {}, {}}, kExpectNarrow,
                 "expected 8589934590");
  ExpectDataLoss({{2, 1}, {1, 2, 3}, {}, {}, true}, kExpectNarrow, "3 in the other width");
}

TEST_F(SampleReplyTest, SourcesOutsideTheirTypeAreDataLossNamingOne) {
  ExpectDataLoss({{1, 2}, {99, 100, 4000000000}, {}, {}}, kExpectNarrow,
                 "source 100 of a type with 100 nodes");
  Drawn wide = kWide;
  wide.sources[1] = kWideNodes;
  ExpectDataLoss(wide, kExpectWide, "source 8589934592 of a type");
  wide.sources[1] = -1;
  ExpectDataLoss(wide, kExpectWide, "source 18446744073709551615 of a type");
}

TEST_F(SampleReplyTest, EdgeIdsAndWeightsThatDoNotFitAreDataLoss) {
  Drawn drawn = kWide;
  drawn.edge_ids.clear();
  ExpectDataLoss(drawn, kExpectWide, "0 edge ids and 3 weights for 3 edges, expected 3 and 3");
  drawn = kWide;
  drawn.weights.clear();
  ExpectDataLoss(drawn, kExpectWide, "3 edge ids and 0 weights for 3 edges, expected 3 and 3");
  SampleGroupExpected neither = kExpectWide;
  neither.edge_ids = neither.weights = false;
  ExpectDataLoss(kWide, neither, "3 edge ids and 3 weights for 3 edges, expected 0 and 0");
  drawn = kWide;
  drawn.edge_ids[2] = 1000;
  ExpectDataLoss(drawn, kExpectWide, "edge id 1000 of a relation with 1000 edges");
}

TEST_F(SampleReplyTest, DegreesThatDoNotFitAreDataLoss) {
  Drawn drawn = kWide;
  drawn.degrees.clear();
  ExpectDataLoss(drawn, kExpectWide, "0 degrees for 2 destinations, expected 2");
  SampleGroupExpected none = kExpectWide;
  none.degrees = false;
  ExpectDataLoss(kWide, none, "2 degrees for 2 destinations, expected 0");
  for (const int64_t beyond : {int64_t{1001}, int64_t{-1}}) {
    drawn = kWide;
    drawn.degrees[1] = beyond;
    ExpectDataLoss(drawn, kExpectWide, "by a relation with 1000 edges");
  }
}

TEST_F(SampleReplyTest, BytesThatAreNoReplyAreDataLoss) {
  using namespace std::string_literals;
  // A group that is cut; sources of three bytes; a length beyond the message.
  for (const std::string& message :
       {"\x0a\x03\x0a"s, "\x0a\x05\x12\x03xyz"s, "\x0a\x05\x12\xff\xff\xff\x7f"s, "\x0e"s}) {
    const Status status = Read(message, {kExpectNarrow});
    EXPECT_TRUE(absl::IsDataLoss(status)) << testing::PrintToString(message);
    EXPECT_THAT(Message(status), HasSubstr("no halograph.v1.SampleReply"));
  }
}

}  // namespace
}  // namespace halograph::wire
