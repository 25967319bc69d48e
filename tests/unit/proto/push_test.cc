#include "proto/wire/push.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/proto/pieces.h"

namespace halograph::wire {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

PushHeader FullHeader() {
  return {
      .edge = true,
      .type = "a:b:c",
      .name = "emb",
      .part = 3,
      .kind = 2,
      .client = 0x8182838485868788,
      .sequence = 70000,
      .step = PushStep{.step = 9, .rank = 1, .world_size = 4, .run = 77, .chunk = 2, .chunks = 3},
      .dtype = 1};
}

std::string Bytes(const PushRequest& request) {
  return {reinterpret_cast<const char*>(request.rows.data()), request.rows.size()};
}

TEST(PushRequestTest, WhatIsWrittenIsReadWhateverTheCut) {
  const std::vector<int64_t> ids = {3, 0, int64_t{1} << 50};
  const std::string rows = "abcdefghijklmnopqrstuvwx";  // of 8 bytes
  const std::string message = WritePushRequest(
      FullHeader(),
      {.ids = ids, .rows = reinterpret_cast<const std::byte*>(rows.data()), .row_bytes = 8});
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const CutMessage cut(message, cuts);
    const auto request = ReadPushRequest(cut.pieces());
    ASSERT_TRUE(request.ok()) << request.status();
    const PushHeader& header = request->header;
    ASSERT_TRUE(header.edge);
    ASSERT_EQ(header.type, "a:b:c");
    ASSERT_EQ(header.name, "emb");
    ASSERT_EQ(header.part, 3U);
    ASSERT_EQ(header.kind, 2U);
    ASSERT_EQ(header.client, FullHeader().client);
    ASSERT_EQ(header.sequence, 70000U);
    ASSERT_EQ(header.step, FullHeader().step);
    ASSERT_EQ(header.dtype, 1U);
    ASSERT_EQ(request->ids, ids);
    ASSERT_EQ(Bytes(*request), rows);
  });
}

TEST(PushRequestTest, RowsAreTakenFromTheirPositions) {
  const std::vector<int64_t> ids = {5, 6, 5};
  const std::vector<int64_t> positions = {2, 0, 1};
  const std::string rows = "aabbcc";
  const CutMessage cut(
      WritePushRequest({.name = "emb"}, {.ids = ids,
                                         .positions = positions,
                                         .rows = reinterpret_cast<const std::byte*>(rows.data()),
                                         .row_bytes = 2}));
  const auto request = ReadPushRequest(cut.pieces());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(request->ids, ElementsAre(5, 6, 5));
  EXPECT_EQ(Bytes(*request), "ccaabb");
}

TEST(PushRequestTest, NothingIsAPushOfNoRows) {
  const CutMessage cut("");
  const auto request = ReadPushRequest(cut.pieces());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->ids.size() + request->rows.size(), 0U);
  EXPECT_FALSE(request->header.step.has_value());
}

TEST(PushRequestTest, UnknownFieldsAreSkippedAndOfRepeatedOnesTheLastCounts) {
  const CutMessage cut(UnknownFields() + "\x5a\x02xy\x5a\x03zzz"s + UnknownFields());
  const auto request = ReadPushRequest(cut.pieces());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(Bytes(*request), "zzz");
}

TEST(PushRequestTest, AStepThatComesInTwoFieldsIsPutTogether) {
  const CutMessage cut("\x42\x04\x08\x05\x10\x01\x42\x02\x08\x07"s);
  const auto request = ReadPushRequest(cut.pieces());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->header.step, (PushStep{.step = 7, .rank = 1}));
}

TEST(PushRequestTest, EveryTruncationWithinAFieldIsInvalidArgumentOrAShorterMessage) {
  const std::vector<int64_t> ids = {1, 2};
  const std::string rows = "12345678";
  const std::string message = WritePushRequest(
      FullHeader(),
      {.ids = ids, .rows = reinterpret_cast<const std::byte*>(rows.data()), .row_bytes = 4});
  for (size_t size = 0; size < message.size(); ++size) {
    const CutMessage cut(message.substr(0, size));
    const auto request = ReadPushRequest(cut.pieces());
    if (request.ok()) {
      EXPECT_EQ(request->rows.size(), 0U) << size;  // they are the last field
    } else {
      EXPECT_TRUE(absl::IsInvalidArgument(request.status()));
      EXPECT_THAT(Message(request.status()), HasSubstr("no halograph.v1.PushRequest"));
    }
  }
}

TEST(PushRequestTest, AHeaderTakesAtMostWhatIsPlanned) {
  PushHeader header = FullHeader();
  header.sequence = ~uint64_t{0};
  header.part = header.kind = header.dtype = ~0U;
  header.step =
      PushStep{.step = -1, .rank = -1, .world_size = -1, .run = 1, .chunk = -1, .chunks = -1};
  EXPECT_LE(WritePushRequest(header, {}).size(), PushHeaderBytes(header));
}

TEST(PushReplyTest, WhatIsWrittenIsRead) {
  for (const PushReply reply : {PushReply{}, PushReply{.lsn = int64_t{1} << 60},
                                PushReply{.lsn = 1, .applied_before = true}}) {
    const CutMessage cut(WritePushReply(reply) + UnknownFields());
    const auto read = ReadPushReply(cut.pieces());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->lsn, reply.lsn);
    EXPECT_EQ(read->applied_before, reply.applied_before);
  }
}

TEST(PushReplyTest, BytesThatAreNoReplyAreDataLoss) {
  const CutMessage cut("\x08"s);
  EXPECT_TRUE(absl::IsDataLoss(ReadPushReply(cut.pieces()).status()));
}

}  // namespace
}  // namespace halograph::wire
