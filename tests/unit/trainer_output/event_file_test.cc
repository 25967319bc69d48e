#include "trainer/output/event_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using namespace std::string_literals;

TEST(EventFileTest, TheNumbersOfALineAreGroupedByWhatTheyMeasure) {
  const Json line = {{"epoch", 3},          {"step", 40},          {"time", 1.5e9},
                     {"loss", 0.25},        {"train_acc", 0.5},    {"valid_acc", 0.75},
                     {"valid_loss", 1},     {"test_acc", nullptr}, {"test_hits_at_10", 0.125},
                     {"train_seeds", 1000}, {"lr", 0.003},         {"seconds", 2}};
  EXPECT_THAT(ScalarsOf(line),
              testing::UnorderedElementsAre(
                  Scalar{"loss/train", 0.25}, Scalar{"acc/train", 0.5}, Scalar{"acc/valid", 0.75},
                  Scalar{"loss/valid", 1}, Scalar{"hits_at_10/test", 0.125},
                  Scalar{"run/train_seeds", 1000}, Scalar{"lr", 0.003}, Scalar{"run/seconds", 2}));
}

TEST(EventFileTest, AnEventIsTheMessageThatProtocolBuffersWouldWrite) {
  // wall_time 2.0; step 300 as a varint; summary of two values, 1.0 and -0.5.
  const std::string wanted =
      "\x09\x00\x00\x00\x00\x00\x00\x00\x40"
      "\x10\xac\x02"
      "\x2a\x16"
      "\x0a\x09\x0a\x02lr\x15\x00\x00\x80\x3f"
      "\x0a\x09\x0a\x02xy\x15\x00\x00\x00\xbf"s;
  const Scalar scalars[] = {{"lr", 1}, {"xy", -0.5}};
  EXPECT_EQ(ScalarEvent(2, 300, scalars), wanted);
  EXPECT_EQ(VersionEvent(2),
            "\x09\x00\x00\x00\x00\x00\x00\x00\x40\x1a\x0d"
            "brain.Event:2"s);
}

TEST(EventFileTest, ARecordHasItsLengthAndMaskedChecksums) {
  // CRC-32C of "123456789" is 0xE3069283: rotated by 15 and with the mask added 0xC789B0E5.
  const std::string record = Record("123456789");
  ASSERT_EQ(record.size(), 8 + 4 + 9 + 4U);
  EXPECT_EQ(record.substr(0, 8), "\x09\0\0\0\0\0\0\0"s);
  EXPECT_EQ(record.substr(12, 9), "123456789");
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(record[21 + i]); };
  const uint32_t crc = byte(0) | byte(1) << 8 | byte(2) << 16 | uint32_t{byte(3)} << 24;
  const uint32_t plain = crc - 0xA282EAD8;
  EXPECT_EQ(plain << 15 | plain >> 17, 0xE3069283);
}

TEST(EventFileTest, EveryLineIsInTheFileAsSoonAsItIsWritten) {
  const TestFolder folder;
  const std::string runs = (folder.path() / "runs" / "a").string();
  auto first = EventFile::Create(runs);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(EventFile::Create(runs).ok()) << "each has a name of its own";
  ASSERT_TRUE(first->Write({{"time", 2.0}, {"step", 300}, {"lr", 1}}).ok());
  std::string found;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(runs)) {
    ++files;
    EXPECT_THAT(entry.path().filename().string(), testing::HasSubstr("tfevents"));
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    found = std::max(found, text.str(), [](auto& a, auto& b) { return a.size() < b.size(); });
  }
  EXPECT_EQ(files, 2);
  const Scalar scalars[] = {{"lr", 1}};
  EXPECT_THAT(found, testing::EndsWith(Record(ScalarEvent(2, 300, scalars))));
}

TEST(EventFileTest, NothingIsWrittenWithoutAFolderAndAWrongOneIsNamed) {
  auto none = EventFile::Create("");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->Write({{"lr", 1}}).ok());
  const TestFolder folder;
  const std::string file = (folder.path() / "file").string();
  std::ofstream(file) << "x";
  const auto events = EventFile::Create(file);
  EXPECT_FALSE(events.ok());
  EXPECT_THAT(Message(events.status()), testing::HasSubstr(file));
}

}  // namespace
}  // namespace halograph
