#include "proto/wire/read_replies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/snapshot_page.h"
#include "tests/unit/proto/pieces.h"

namespace halograph::wire {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Text(const BytesField& field) {
  std::string text;
  for (const auto run : field.runs) {
    text.append(reinterpret_cast<const char*>(run.data()), run.size());
  }
  EXPECT_EQ(text.size(), field.size);
  return text;
}

std::string TopologyMessage(int64_t file_bytes, const std::string& data) {
  std::string message(kTopologyReplyHeaderBytes, '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  message.resize(
      static_cast<size_t>(PutTopologyReplyHeader(file_bytes, data.size(), begin) - begin));
  return message + data;
}

TEST(TopologyReplyTest, WhatIsWrittenIsReadWhateverTheCut) {
  const std::string message = TopologyMessage(INT64_MAX, "some bytes");
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const CutMessage cut(message, cuts);
    const auto reply = ReadTopologyReply(cut.pieces());
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(reply->file_bytes, INT64_MAX);
    ASSERT_EQ(Text(reply->data), "some bytes");
  });
}

TEST(TopologyReplyTest, AnEmptyFileHasAnEmptyReply) {
  EXPECT_EQ(TopologyMessage(0, ""), "");
  const auto reply = ReadTopologyReply({});
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->file_bytes, 0);
  EXPECT_EQ(reply->data.size, 0U);
}

TEST(TopologyReplyTest, OfDataTwiceTheLastCountsAndUnknownFieldsAreSkipped) {
  const CutMessage cut(TopologyMessage(3, "one") + UnknownFields() + TopologyMessage(4, "four"));
  const auto reply = ReadTopologyReply(cut.pieces());
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->file_bytes, 4);
  EXPECT_EQ(Text(reply->data), "four");
}

TEST(TopologyReplyTest, EveryTruncationInAFieldIsDataLoss) {
  const std::string message = TopologyMessage(300, "some bytes");
  for (size_t size = 1; size < message.size(); ++size) {
    if (size == 3) continue;  // the end of the first field
    const CutMessage cut(message.substr(0, size));
    EXPECT_TRUE(absl::IsDataLoss(ReadTopologyReply(cut.pieces()).status())) << size;
  }
}

std::string TaskSetMessage() {
  const int64_t pairs[] = {2, 2};
  const int64_t labels[] = {2};
  return TaskSetReplyHeader(1000, 2) + TaskSetArrayHeader("seeds", 8, pairs, 32) +
         std::string(32, 's') + TaskSetArrayHeader("labels", 1, labels, 8) + "labels12";
}

TEST(SnapshotPageTest, APlaceInTwoFieldsIsPutTogetherAndOfImagesTwiceTheLastCount) {
  const CutMessage cut(UnknownFields() + "\x12\x01x\x1a\x04\x08\x05\x10\x01"s + UnknownFields() +
                       "\x12\x02yz\x1a\x02\x08\x07"s);
  const auto page = ReadSnapshotPage(cut.pieces());
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->end.next, (PagePlace{.file = 7, .offset = 1}));
  EXPECT_EQ(page->images.size(), 2U);
  EXPECT_FALSE(page->end.step.has_value());
}

TEST(TaskSetReplyTest, WhatIsWrittenIsReadWhateverTheCut) {
  const std::string message = TaskSetMessage() + UnknownFields();
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const CutMessage cut(message, cuts);
    const auto reply = ReadTaskSetReply(cut.pieces(), 2);
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(reply->total_rows, 1000);
    ASSERT_EQ(reply->rows, 2);
    ASSERT_EQ(reply->arrays.size(), 2U);
    const TensorField& seeds = reply->arrays[0];
    ASSERT_EQ(seeds.name, "seeds");
    ASSERT_EQ(seeds.dtype, 8U);
    ASSERT_THAT(seeds.shape, ElementsAre(2, 2));
    ASSERT_EQ(Text(seeds.data), std::string(32, 's'));
    const TensorField& labels = reply->arrays[1];
    ASSERT_EQ(labels.name, "labels");
    ASSERT_THAT(labels.shape, ElementsAre(2));
    ASSERT_EQ(Text(labels.data), "labels12");
  });
}

TEST(TaskSetReplyTest, AnEmptyPageHasArraysWithoutData) {
  const int64_t none[] = {0};
  const CutMessage cut(TaskSetReplyHeader(0, 0) + TaskSetArrayHeader("seeds", 8, none, 0));
  const auto reply = ReadTaskSetReply(cut.pieces(), 1);
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->arrays.size(), 1U);
  EXPECT_THAT(reply->arrays[0].shape, ElementsAre(0));
  EXPECT_EQ(reply->arrays[0].data.size, 0U);
}

TEST(TaskSetReplyTest, MoreArraysOrExtentsThanExpectedAreDataLoss) {
  const CutMessage message(TaskSetMessage());
  const Status status = ReadTaskSetReply(message.pieces(), 1).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(Message(status), HasSubstr("more arrays than the 1 expected"));
  for (const std::string& array :
       {"\x1a\x05\x1a\x03\x01\x02\x03"s, "\x1a\x06\x18\x01\x18\x02\x18\x03"s}) {
    const CutMessage cube(array);
    EXPECT_TRUE(absl::IsDataLoss(ReadTaskSetReply(cube.pieces(), 2).status()));
  }
}

}  // namespace
}  // namespace halograph::wire
