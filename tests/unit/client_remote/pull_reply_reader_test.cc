#include "client/remote/pull_reply_reader.h"

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "halograph/v1/kv.pb.h"

namespace halograph {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 5;
constexpr int64_t kDim = 3;

TensorSpec Spec() { return {.name = "feat", .dtype = DType::kFloat32, .rank = 2, .dim = kDim}; }

std::vector<float> Values() {
  std::vector<float> values(kRows * kDim);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

v1::PullReply Reply() {
  v1::PullReply reply;
  reply.set_dtype(v1::DTYPE_FLOAT32);
  reply.add_shape(kRows);
  reply.add_shape(kDim);
  const std::vector<float> values = Values();
  reply.set_rows(values.data(), values.size() * sizeof(float));
  return reply;
}

// Feeds `message` cut before each of `cuts`; the destination is guarded on either side.
Status Read(const std::string& message, const std::vector<size_t>& cuts,
            const std::vector<int64_t>& positions, std::vector<float>* out) {
  const TensorSpec spec = Spec();
  std::vector<float> guarded(kRows * kDim + 2, -1);
  PullReplyReader reader(spec, kRows, positions, reinterpret_cast<std::byte*>(&guarded[1]));
  const auto bytes = std::as_bytes(std::span(message));
  size_t begin = 0;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    const size_t end = i < cuts.size() ? cuts[i] : bytes.size();
    HG_RETURN_IF_ERROR(reader.Consume(bytes.subspan(begin, end - begin)));
    begin = end;
  }
  HG_RETURN_IF_ERROR(reader.Finish());
  EXPECT_EQ(guarded.front(), -1);
  EXPECT_EQ(guarded.back(), -1);
  out->assign(guarded.begin() + 1, guarded.end() - 1);
  return OkStatus();
}

TEST(PullReplyReaderTest, ReadsAMessageCutAtEveryPairOfBytes) {
  const std::string message = Reply().SerializeAsString();
  for (size_t first = 0; first <= message.size(); ++first) {
    for (size_t second = first; second <= message.size(); ++second) {
      std::vector<float> rows;
      const Status status = Read(message, {first, second}, {}, &rows);
      ASSERT_TRUE(status.ok()) << ToString(status) << " cut at " << first << ", " << second;
      ASSERT_EQ(rows, Values()) << "cut at " << first << ", " << second;
    }
  }
}

TEST(PullReplyReaderTest, ScattersRowsToTheirPositionsWhateverTheCut) {
  const std::string message = Reply().SerializeAsString();
  const std::vector<int64_t> positions = {3, 0, 4, 2, 1};
  std::vector<float> expected(kRows * kDim);
  for (size_t row = 0; row < kRows; ++row) {
    std::copy_n(Values().begin() + static_cast<ptrdiff_t>(row * kDim), kDim,
                expected.begin() + positions[row] * kDim);
  }
  for (size_t cut = 0; cut <= message.size(); ++cut) {
    std::vector<float> rows;
    const Status status = Read(message, {cut}, positions, &rows);
    ASSERT_TRUE(status.ok()) << ToString(status);
    ASSERT_EQ(rows, expected) << "cut at " << cut;
  }
}

TEST(PullReplyReaderTest, ReadsAShapeThatIsNotPacked) {
  const std::vector<float> values = Values();
  std::string message = "\x08\x01\x10\x05\x10\x03\x1a";
  message += static_cast<char>(values.size() * sizeof(float));
  message.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  std::vector<float> rows;
  EXPECT_TRUE(Read(message, {}, {}, &rows).ok());
  EXPECT_EQ(rows, values);
}

TEST(PullReplyReaderTest, SkipsUnknownFieldsOfEveryWireType) {
  const std::string varint = "\x50\xff\x01";                     // field 10
  const std::string fixed64 = std::string("\x59") + "12345678";  // field 11
  const std::string fixed32 = std::string("\x65") + "1234";      // field 12
  const std::string text = "\x6a\x05hello";                      // field 13
  const std::string unknown = varint + fixed64 + fixed32 + text;
  const std::string message = unknown + Reply().SerializeAsString() + unknown;
  for (size_t cut = 0; cut <= message.size(); ++cut) {
    std::vector<float> rows;
    const Status status = Read(message, {cut}, {}, &rows);
    ASSERT_TRUE(status.ok()) << ToString(status) << " cut at " << cut;
    ASSERT_EQ(rows, Values());
  }
}

TEST(PullReplyReaderTest, EveryTruncationIsDataLoss) {
  const std::string message = Reply().SerializeAsString();
  for (size_t size = 0; size < message.size(); ++size) {
    std::vector<float> rows;
    const Status status = Read(message.substr(0, size), {}, {}, &rows);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << "of " << size << " bytes";
  }
}

TEST(PullReplyReaderTest, AnotherDTypeIsDataLossNamingBoth) {
  v1::PullReply reply = Reply();
  reply.set_dtype(v1::DTYPE_INT64);
  std::vector<float> rows;
  const Status status = Read(reply.SerializeAsString(), {}, {}, &rows);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("dtype 8, expected 1 (float32)"));
}

TEST(PullReplyReaderTest, AnotherShapeIsDataLossNamingBoth) {
  v1::PullReply reply = Reply();
  reply.set_shape(0, kRows + 1);
  std::vector<float> rows;
  const Status status = Read(reply.SerializeAsString(), {}, {}, &rows);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("shape [6, 3], expected [5, 3]"));
}

TEST(PullReplyReaderTest, MoreBytesThanTheShapeSaysAreNotWritten) {
  v1::PullReply reply = Reply();
  reply.mutable_rows()->append("spill");
  std::vector<float> rows;
  const Status status = Read(reply.SerializeAsString(), {}, {}, &rows);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("65 bytes of rows, expected 5 rows of 12 bytes"));
}

TEST(PullReplyReaderTest, RowsTwiceAreDataLoss) {
  v1::PullReply again;
  again.set_rows(Reply().rows());
  std::vector<float> rows;
  const Status status =
      Read(Reply().SerializeAsString() + again.SerializeAsString(), {}, {}, &rows);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST(PullReplyReaderTest, ANumberBeyond64BitsIsDataLoss) {
  std::vector<float> rows;
  std::string message(12, '\xff');
  message.front() = '\x08';
  message.back() = '\x01';
  EXPECT_EQ(Read(message, {}, {}, &rows).code(), absl::StatusCode::kDataLoss);
}

// Guards around the destination (and the sanitizers) see a write that goes astray.
TEST(PullReplyReaderTest, FlippedBytesGiveAStatusOrTheRowsInPlace) {
  const std::string message = Reply().SerializeAsString();
  CounterRng rng(Mix(7));
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = message;
    const uint64_t flips = 1 + rng.NextBounded(4);
    for (uint64_t i = 0; i < flips; ++i) {
      damaged[rng.NextBounded(damaged.size())] = static_cast<char>(rng.NextBounded(256));
    }
    std::vector<float> rows;
    const Status status = Read(damaged, {rng.NextBounded(damaged.size())}, {4, 3, 2, 1, 0}, &rows);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    }
  }
}

}  // namespace
}  // namespace halograph
