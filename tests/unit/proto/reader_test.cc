#include "proto/wire/reader.h"

#include <gtest/gtest.h>

#include "proto/wire/writer.h"
#include "tests/unit/proto/pieces.h"

namespace halograph::wire {
namespace {

using namespace std::string_literals;

constexpr uint64_t kNumbers[] = {
    0, 1, 127, 128, 16383, 16384, 1U << 31, UINT32_MAX, 1LL << 56, uint64_t{1} << 63, UINT64_MAX};

std::string Varint(uint64_t value) {
  std::array<std::byte, kLongestVarint> bytes;
  const std::byte* end = PutVarint(value, bytes.data());
  EXPECT_EQ(static_cast<size_t>(end - bytes.data()), VarintBytes(value));
  return {reinterpret_cast<const char*>(bytes.data()), VarintBytes(value)};
}

TEST(ReaderTest, ReadsNumbersWhateverTheCut) {
  std::string message;
  for (const uint64_t number : kNumbers) message += Varint(number);
  message += "12345678abcd";
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const CutMessage cut(message, cuts);
    Reader in(cut.pieces());
    for (const uint64_t number : kNumbers) ASSERT_EQ(in.Varint(), number);
    ASSERT_EQ(in.Fixed64(), 0x3837363534333231U);
    ASSERT_EQ(in.Fixed32(), 0x64636261U);
    ASSERT_EQ(in.left(), 0U);
    ASSERT_FALSE(in.failed());
    ASSERT_EQ(in.NextTag(), 0U);
  });
}

TEST(ReaderTest, PackedNumbersOfAnyLengthAreReadWhateverTheCut) {
  std::vector<uint32_t> expected;
  std::string packed;
  for (int i = 0; i < 40; ++i) {
    expected.push_back(i == 17 || i == 30 ? 70000U + static_cast<uint32_t>(i)
                                          : static_cast<uint32_t>(i));
    packed += Varint(expected.back());
  }
  const std::string message = Varint(packed.size()) + packed + Varint(5);
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const CutMessage cut(message, cuts);
    Reader in(cut.pieces());
    std::vector<uint32_t> numbers = {9};
    in.PackedUint32(&numbers);
    ASSERT_EQ(numbers.front(), 9U);
    numbers.erase(numbers.begin());
    ASSERT_EQ(numbers, expected);
    ASSERT_EQ(in.Varint(), 5U);
    ASSERT_FALSE(in.failed());
  });
}

TEST(ReaderTest, UnknownFieldsOfEveryWireTypeAreSkipped) {
  const std::string message = UnknownFields() + "\x08\x07"s + UnknownFields();
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const CutMessage cut(message, cuts);
    Reader in(cut.pieces());
    uint64_t value = 0;
    for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
      if (tag == Tag(1, WireType::kVarint)) {
        value = in.Varint();
      } else {
        in.SkipField(tag);
      }
    }
    ASSERT_FALSE(in.failed());
    ASSERT_EQ(value, 7U);
  });
}

TEST(ReaderTest, MessagesWithinMessagesEndWhereTheyEnd) {
  // Field 1: {field 2: {}, field 2: {field 3: "ab"}}, then field 4: 9.
  const std::string message =
      "\x0a\x08\x12\x00\x12\x04\x1a\x02"s
      "ab"s
      "\x20\x09"s;
  ForEveryPairOfCuts(message, [&](const std::vector<size_t>& cuts) {
    const CutMessage cut(message, cuts);
    Reader in(cut.pieces());
    ASSERT_EQ(in.NextTag(), Tag(1, WireType::kBytes));
    std::vector<std::string> texts;
    in.Message([&] {
      for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
        in.Message([&] {
          texts.emplace_back();
          if (in.NextTag() != 0) texts.back() = in.Text();
        });
      }
    });
    ASSERT_EQ(texts, (std::vector<std::string>{"", "ab"}));
    ASSERT_EQ(in.NextTag(), Tag(4, WireType::kVarint));
    ASSERT_EQ(in.Varint(), 9U);
    ASSERT_EQ(in.NextTag(), 0U);
    ASSERT_FALSE(in.failed());
  });
}

TEST(ReaderTest, RunsOfAFieldAreItsBytesInOrder) {
  const std::string message = "0123456789";
  const CutMessage cut(message, {3, 3, 7});
  Reader in(cut.pieces());
  in.Skip(1);
  std::string read;
  for (const auto run : in.Runs(8))
    read.append(reinterpret_cast<const char*>(run.data()), run.size());
  EXPECT_EQ(read, "12345678");
  EXPECT_EQ(in.left(), 1U);
}

// After a failure nothing is left and every read gives zero.
TEST(ReaderTest, BytesThatAreNoMessageFailForGood) {
  const std::string damaged[] = {
      std::string(10, '\xff') + "\x01",  // a number beyond 64 bits
      std::string(9, '\xff') + "\x02",   // another
      "\xff"s,                           // a number that is cut
      "\x00"s,                           // field 0
      "\x0e"s,                           // wire type 6
      "\x0c"s,                           // the end of a group that has not begun
      "\x0b\x08\x01"s,                   // a group that does not end
      "\x0b\x14"s,                       // a group that ends as another field
      "\x0a\x05"s
      "abc"s,  // a length beyond the message
      "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
      "\x09"s
      "1234567"s,  // 8 bytes that are 7
      "\x0d"s
      "123"s,  // 4 bytes that are 3
  };
  for (const std::string& message : damaged) {
    for (size_t at = 0; at <= message.size(); ++at) {
      const CutMessage cut(message, {at});
      Reader in(cut.pieces());
      for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) in.SkipField(tag);
      EXPECT_TRUE(in.failed()) << testing::PrintToString(message);
      EXPECT_EQ(in.left(), 0U);
      EXPECT_EQ(in.Varint(), 0U);
      EXPECT_EQ(in.Fixed64(), 0U);
      EXPECT_EQ(in.Length(), 0U);
      EXPECT_EQ(in.Text(), "");
      EXPECT_TRUE(in.Run(8).empty());
    }
  }
}

TEST(ReaderTest, GroupsInGroupsDoNotUseUpTheStack) {
  const std::string message(1 << 20, '\x0b');
  const CutMessage cut(message);
  Reader in(cut.pieces());
  in.SkipField(in.NextTag());
  EXPECT_TRUE(in.failed());
}

}  // namespace
}  // namespace halograph::wire
