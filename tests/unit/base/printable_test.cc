#include "common/base/printable.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/list_some.h"

namespace halograph {
namespace {

TEST(PrintableTest, PlainTextStaysAsItIs) {
  EXPECT_EQ(Printable("part 1 of 2: ~!\\", 100), "part 1 of 2: ~!\\");
  EXPECT_EQ(Printable("Z\u00fcrich \u4e2d\u6587 \U0001F600", 100),
            "Z\u00fcrich \u4e2d\u6587 \U0001F600");
  EXPECT_EQ(Printable("", 0), "");
}

TEST(PrintableTest, WhatATerminalObeysIsEscaped) {
  EXPECT_EQ(Printable("a\x1b[31mred\r\n\t\x07\x7f", 100), "a\\x1b[31mred\\x0d\\x0a\\x09\\x07\\x7f");
  EXPECT_EQ(Printable("\u009b31m", 100), "\\xc2\\x9b31m") << "CSI in one character";
  EXPECT_EQ(Printable("\u202egnp.exe", 100), "\\xe2\\x80\\xaegnp.exe");
  EXPECT_EQ(Printable(std::string_view("\0", 1), 100), "\\x00");
}

TEST(PrintableTest, BytesThatAreNoUtf8AreEscapedOneByOne) {
  EXPECT_EQ(Printable("\xff\xc3", 100), "\\xff\\xc3");
  EXPECT_EQ(Printable("\xc0\xaf", 100), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(Printable("\xed\xa0\x80", 100), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(Printable("\xf5\x80\x80\x80", 100), "\\xf5\\x80\\x80\\x80");
  EXPECT_EQ(Printable("\xe4\xb8x", 100), "\\xe4\\xb8x") << "cut short";
}

TEST(PrintableTest, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 4), "abcd...");
  EXPECT_EQ(Printable("abcd", 4), "abcd");
  EXPECT_EQ(Printable("abc\u00fc", 4), "abc...");
  EXPECT_EQ(Printable("a\nb", 4), "a...");
}

TEST(ListSomeTest, WhatIsLeftOutIsCounted) {
  const std::vector<int> numbers = {3, 1, 2};
  EXPECT_EQ(ListSome(numbers, 3, std::identity()), "3, 1, 2");
  EXPECT_EQ(ListSome(numbers, 2, std::identity()), "3, 1 and 1 more");
  EXPECT_EQ(ListSome(std::vector<int>(), 2, std::identity()), "");
  EXPECT_EQ(ListSomeNames(std::vector<std::string>{"a", "b", "c", "d"}, 1), "'a' and 3 more");
}

TEST(PrintableTest, LinesKeepTheirEnds) {
  EXPECT_EQ(PrintableLines("a\tb\nc\x1b[0m\r"), "a\tb\nc\\x1b[0m\\x0d");
}

}  // namespace
}  // namespace halograph
