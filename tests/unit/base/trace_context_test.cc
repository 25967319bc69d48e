#include "common/base/trace_context.h"

#include <string>

#include <gtest/gtest.h>

namespace halograph {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kSpan = "00f067aa0ba902b7";
const TraceContext kContext{.trace = {.high = 0x4bf92f3577b34da6, .low = 0xa3ce929d0e0e4736},
                            .span = 0x00f067aa0ba902b7};

std::string Join(const std::string& version, const std::string& trace, const std::string& span,
                 const std::string& flags) {
  return version + "-" + trace + "-" + span + "-" + flags;
}

TEST(TraceContextTest, WhatIsWrittenIsReadAgain) {
  EXPECT_EQ(ToTraceparent(kContext), Join("00", kTrace, kSpan, "01"));
  for (const TraceContext& context :
       {kContext, TraceContext{.trace = {.high = 0, .low = 1}, .span = 1},
        TraceContext{.trace = {.high = UINT64_MAX, .low = 0}, .span = UINT64_MAX}}) {
    EXPECT_EQ(ParseTraceparent(ToTraceparent(context)), context) << ToTraceparent(context);
  }
  EXPECT_EQ(ToString(kContext.trace), kTrace);
  EXPECT_EQ(ToString(TraceId{.high = 0, .low = 10}), "0000000000000000000000000000000a");
  EXPECT_EQ(SpanText(kContext.span), kSpan);
  EXPECT_TRUE(TraceId{}.empty());
  EXPECT_FALSE((TraceId{.high = 1, .low = 0}).empty());
  EXPECT_FALSE((TraceId{.high = 0, .low = 1}).empty());
}

TEST(TraceContextTest, FlagsAndWhatFutureVersionsAddAreTaken) {
  for (const std::string& good :
       {Join("00", kTrace, kSpan, "00"), Join("00", kTrace, kSpan, "ff"),
        Join("01", kTrace, kSpan, "01"), Join("fe", kTrace, kSpan, "01"),
        Join("cc", kTrace, kSpan, "01-what-comes-later"), Join("cc", kTrace, kSpan, "01-")}) {
    EXPECT_EQ(ParseTraceparent(good), kContext) << good;
  }
}

TEST(TraceContextTest, AnythingElseIsNone) {
  const std::string zeros(32, '0');
  const std::string good = Join("00", kTrace, kSpan, "01");
  std::vector<std::string> bad = {
      "",
      "-",
      "00",
      "00-",
      std::string(55, '-'),
      Join("ff", kTrace, kSpan, "01"),  // a version that is none
      Join("ff", kTrace, kSpan, "01-more"),
      Join("00", zeros, kSpan, "01"),  // ids of zeros
      Join("00", kTrace, zeros.substr(0, 16), "01"),
      Join("00", kTrace, kSpan, "01-more"),  // version 00 has no more
      Join("00", kTrace, kSpan, "01-"),
      Join("cc", kTrace, kSpan, "01.more"),  // no dash before what comes later
      Join("cc", kTrace, kSpan, "012"),
      Join("cc", kTrace, kSpan, "1"),
      Join("0", kTrace, kSpan, "01"),  // lengths
      Join("000", kTrace, kSpan, "01"),
      Join("00", kTrace.substr(1), kSpan, "01"),
      Join("00", kTrace + "0", kSpan, "01"),
      Join("00", kTrace.substr(1), kSpan + "0", "01"),
      Join("00", kTrace, kSpan.substr(1), "01"),
      Join("00", kTrace, kSpan.substr(1), "011"),
      Join("00", kTrace, kSpan, "1"),
      Join("00", "4BF92F3577B34DA6A3CE929D0E0E4736", kSpan, "01"),  // upper case
      Join("00", kTrace, "00F067AA0BA902B7", "01"),
      Join("0A", kTrace, kSpan, "01"),
      Join("00", kTrace, kSpan, "0A"),
      " " + good,
      good + " ",
      good + "\t",
      good + ", " + good,
      Join("00", kTrace, kSpan, std::string("0\0", 2)),
  };
  // No digit, at each place of one: those beside the digits in ASCII too.
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char wrong : {'/', ':', '`', 'g', 'A', ' ', '_', '\0', '\xff'}) {
      std::string text = good;
      text[at] = wrong;
      bad.push_back(std::move(text));
    }
  }
  for (const std::string& text : bad) EXPECT_EQ(ParseTraceparent(text), std::nullopt) << text;
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(ParseTraceparent(good.substr(0, size)), std::nullopt) << size;
  }
}

}  // namespace
}  // namespace halograph
