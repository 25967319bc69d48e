#include "common/base/units.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using std::chrono::nanoseconds;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(ParseBytesTest, AcceptsPlainBinaryAndDecimal) {
  EXPECT_EQ(*ParseBytes("0"), 0);
  EXPECT_EQ(*ParseBytes("512"), 512);
  EXPECT_EQ(*ParseBytes("7B"), 7);
  EXPECT_EQ(*ParseBytes("64KiB"), 65'536);
  EXPECT_EQ(*ParseBytes("64kib"), 65'536);
  EXPECT_EQ(*ParseBytes("3MiB"), 3 << 20);
  EXPECT_EQ(*ParseBytes("8GIB"), int64_t{8} << 30);
  EXPECT_EQ(*ParseBytes("2TiB"), int64_t{2} << 40);
  EXPECT_EQ(*ParseBytes("10MB"), 10'000'000);
  EXPECT_EQ(*ParseBytes("9223372036854775807"), kMax);
}

TEST(ParseBytesTest, RefusesAllElseAndQuotesIt) {
  for (const char* text : {"", "-1", "+1", "1.5GiB", "GiB", "12 MiB", "12X", "1e3", " 1", "0x10",
                           "9223372036854775808", "9007199254740992KiB", "8388608TiB"}) {
    const auto parsed = ParseBytes(text);
    ASSERT_FALSE(parsed.ok()) << text << " -> " << *parsed;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(parsed.status()), testing::HasSubstr(fmt::format("'{}'", text)));
  }
}

TEST(ParseDurationTest, AcceptsUnitsAndFractions) {
  EXPECT_EQ(*ParseDuration("30"), std::chrono::seconds(30));
  EXPECT_EQ(*ParseDuration("0"), nanoseconds(0));
  EXPECT_EQ(*ParseDuration("30s"), std::chrono::seconds(30));
  EXPECT_EQ(*ParseDuration("500ms"), std::chrono::milliseconds(500));
  EXPECT_EQ(*ParseDuration("2m"), std::chrono::minutes(2));
  EXPECT_EQ(*ParseDuration("1H"), std::chrono::hours(1));
  EXPECT_EQ(*ParseDuration("0.25"), std::chrono::milliseconds(250));
  EXPECT_EQ(*ParseDuration("1.5m"), std::chrono::seconds(90));
  EXPECT_EQ(*ParseDuration(".5s"), std::chrono::milliseconds(500));
}

TEST(ParseDurationTest, RefusesAllElseAndQuotesIt) {
  for (const char* text : {"", "-1", "s", "1d", "nan", "inf", "1 s", "1e9", "1e400", "3000000h",
                           "99999999999999999999", "ms"}) {
    const auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed.ok()) << text << " -> " << parsed->count();
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(parsed.status()), testing::HasSubstr(fmt::format("'{}'", text)));
  }
}

TEST(FormatBytesTest, ChoosesTheUnitThatShows) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes((int64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(FormatBytes(int64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(FormatBytes(kMax), "8.0 EiB");
  EXPECT_EQ(FormatBytes(-1536), "-1.5 KiB");
}

TEST(FormatCountTest, SeparatesThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatCount(-999), "-999");
  EXPECT_EQ(FormatCount(-123'456), "-123,456");
  EXPECT_EQ(FormatCount(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(FormatSecondsTest, ChangesToMinutesAndHours) {
  EXPECT_EQ(FormatSeconds(0), "0.0 s");
  EXPECT_EQ(FormatSeconds(1.23), "1.2 s");
  EXPECT_EQ(FormatSeconds(59.99), "1 min 00 s");
  EXPECT_EQ(FormatSeconds(185), "3 min 05 s");
  EXPECT_EQ(FormatSeconds(7260), "2 h 01 min");
  EXPECT_EQ(FormatSeconds(-1), "0.0 s");
  EXPECT_EQ(FormatSeconds(std::numeric_limits<double>::quiet_NaN()), "0.0 s");
}

}  // namespace
}  // namespace halograph
