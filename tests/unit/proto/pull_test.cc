#include "proto/wire/pull.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/proto/pieces.h"

namespace halograph::wire {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- requests --------------------------------------------------------------------------------

TEST(PullRequestTest, WhatIsWrittenIsReadWhateverTheCut) {
  const std::vector<int64_t> ids = {3, 0, int64_t{1} << 50};
  const std::string message = WritePullRequest(true, "a:b:c", "feat", ids);
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const CutMessage cut(message, cuts);
    const auto request = ReadPullRequest(cut.pieces());
    ASSERT_TRUE(request.ok()) << request.status();
    ASSERT_TRUE(request->edge);
    ASSERT_EQ(request->type, "a:b:c");
    ASSERT_EQ(request->name, "feat");
    ASSERT_EQ(request->ids, ids);
  });
}

TEST(PullRequestTest, UnpackedIdsAndUnknownFieldsAreRead) {
  const CutMessage cut(UnknownFields() +
                       "\x21"s
                       "12345678\x21"s
                       "abcdefgh"s +
                       UnknownFields());
  const auto request = ReadPullRequest(cut.pieces());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(request->ids, ElementsAre(0x3837363534333231, 0x6867666564636261));
}

TEST(PullRequestTest, BytesThatAreNoRequestAreInvalidArgument) {
  for (const std::string& message :
       {"\x22\xf8\xff\xff\xff\x07"s, "\x12\xff\xff\xff\xff\x07"s, "\x22\x03xyz"s, "\x22"s}) {
    const CutMessage cut(message);
    const Status status = ReadPullRequest(cut.pieces()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(Message(status), HasSubstr("no halograph.v1.PullRequest"));
  }
}

// ---- replies ---------------------------------------------------------------------------------

constexpr int64_t kRows = 5;
constexpr int64_t kDim = 3;
constexpr int64_t kShape[] = {kRows, kDim};
constexpr uint32_t kFloat32 = 1;
constexpr size_t kRowBytes = kDim * sizeof(float);

std::vector<float> Values() {
  std::vector<float> values(kRows * kDim);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

std::string Header(uint32_t dtype, std::span<const int64_t> shape, size_t rows_bytes) {
  std::string header(kPullReplyHeaderBytes, '\0');
  auto* const begin = reinterpret_cast<std::byte*>(header.data());
  header.resize(static_cast<size_t>(PutPullReplyHeader(dtype, shape, rows_bytes, begin) - begin));
  return header;
}

std::string Rows() {
  const std::vector<float> values = Values();
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string Reply() { return Header(kFloat32, kShape, kRows * kRowBytes) + Rows(); }

// The destination is guarded on either side.
Status Read(const std::string& message, const std::vector<size_t>& cuts,
            const std::vector<int64_t>& positions, std::vector<float>* out) {
  std::vector<float> guarded(kRows * kDim + 2, -1);
  const CutMessage cut(message, cuts);
  const Status status = ReadPullReply(
      cut.pieces(),
      {.dtype = kFloat32, .dtype_name = "float32", .shape = kShape, .row_bytes = kRowBytes},
      positions, reinterpret_cast<std::byte*>(&guarded[1]));
  EXPECT_EQ(guarded.front(), -1);
  EXPECT_EQ(guarded.back(), -1);
  out->assign(guarded.begin() + 1, guarded.end() - 1);
  return status;
}

void ExpectDataLoss(const std::string& message, const std::string& text) {
  std::vector<float> rows;
  const Status status = Read(message, {}, {}, &rows);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr(text));
}

TEST(PullReplyTest, ReadsAMessageCutAtEveryPairOfBytes) {
  const std::string message = Reply();
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    std::vector<float> rows;
    const Status status = Read(message, cuts, {}, &rows);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(rows, Values());
  });
}

TEST(PullReplyTest, ScattersRowsToTheirPositionsWhateverTheCut) {
  const std::string message = Reply();
  const std::vector<int64_t> positions = {3, 0, 4, 2, 1};
  std::vector<float> expected(kRows * kDim);
  for (size_t row = 0; row < kRows; ++row) {
    std::copy_n(Values().begin() + static_cast<ptrdiff_t>(row * kDim), kDim,
                expected.begin() + positions[row] * kDim);
  }
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    std::vector<float> rows;
    const Status status = Read(message, cuts, positions, &rows);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(rows, expected);
  });
}

TEST(PullReplyTest, ReadsAShapeThatIsNotPacked) {
  std::vector<float> rows;
  EXPECT_TRUE(Read("\x08\x01\x10\x05\x10\x03\x1a\x3c"s + Rows(), {}, {}, &rows).ok());
  EXPECT_EQ(rows, Values());
}

TEST(PullReplyTest, SkipsUnknownFieldsOfEveryWireType) {
  const std::string message = UnknownFields() + Reply() + UnknownFields();
  for (size_t cut = 0; cut <= message.size(); ++cut) {
    std::vector<float> rows;
    const Status status = Read(message, {cut}, {}, &rows);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(rows, Values());
  }
}

TEST(PullReplyTest, NoRowsAreAnAnswerToNoIds) {
  const int64_t none[] = {0, kDim};
  const CutMessage cut(Header(kFloat32, none, 0));
  const PullReplyExpected expected{
      .dtype = kFloat32, .dtype_name = "float32", .shape = none, .row_bytes = kRowBytes};
  EXPECT_TRUE(ReadPullReply(cut.pieces(), expected, {}, nullptr).ok());
}

TEST(PullReplyTest, EveryTruncationIsDataLoss) {
  const std::string message = Reply();
  for (size_t size = 0; size < message.size(); ++size) {
    std::vector<float> rows;
    EXPECT_TRUE(absl::IsDataLoss(Read(message.substr(0, size), {}, {}, &rows))) << size;
  }
}

TEST(PullReplyTest, AnotherDTypeOrShapeIsDataLossNamingBoth) {
  ExpectDataLoss(Header(8, kShape, kRows * kRowBytes) + Rows(), "dtype 8, expected 1 (float32)");
  const int64_t six[] = {6, 3};
  ExpectDataLoss(Header(kFloat32, six, kRows * kRowBytes) + Rows(),
                 "shape [6, 3], expected [5, 3]");
  ExpectDataLoss(Header(kFloat32, std::span(kShape).first(1), kRows * kRowBytes) + Rows(),
                 "shape [5], expected [5, 3]");
  ExpectDataLoss("\x08\x01\x12\x03\x05\x03\x01"s, "more than two extents");
  ExpectDataLoss(Header(kFloat32, kShape, 0), "no rows, expected 5");
}

TEST(PullReplyTest, RowsBeforeDTypeAndShapeAreDataLoss) {
  ExpectDataLoss("\x1a\x3c"s + Rows() + Header(kFloat32, kShape, 0), "dtype 0, expected 1");
}

TEST(PullReplyTest, MoreBytesThanTheShapeSaysAreNotWritten) {
  ExpectDataLoss(Header(kFloat32, kShape, kRows * kRowBytes + 5) + Rows() + "spill",
                 "65 bytes of rows, expected 5 rows of 12 bytes");
}

TEST(PullReplyTest, RowsTwiceAreDataLoss) {
  ExpectDataLoss(Reply() + "\x1a\x3c"s + Rows(), "rows twice");
}

TEST(PullReplyTest, ANumberBeyond64BitsIsDataLoss) {
  ExpectDataLoss("\x08"s + std::string(10, '\xff') + "\x01", "no halograph.v1.PullReply");
}

}  // namespace
}  // namespace halograph::wire
