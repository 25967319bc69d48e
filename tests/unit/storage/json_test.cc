#include "common/storage/json.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/storage/lenient_json.h"
#include "tests/unit/storage/temp_folder.h"

namespace halograph {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

TEST(NumberInTest, NumbersMayBeTextAndNothingElseIsOne) {
  EXPECT_EQ(NumberIn(Json(7)), 7);
  EXPECT_EQ(NumberIn(Json("9007199254740993")), 9007199254740992.0) << "the nearest there is";
  EXPECT_EQ(NumberIn(Json("-0.5")), -0.5);
  EXPECT_TRUE(std::isnan(*NumberIn(Json("NaN"))));
  EXPECT_EQ(NumberIn(Json("Infinity")), std::numeric_limits<double>::infinity());
  EXPECT_EQ(NumberIn(Json("-Infinity")), -std::numeric_limits<double>::infinity());
  for (const Json& none : {Json("7 "), Json(""), Json("x"), Json(true), Json(), Json::array({7})}) {
    EXPECT_FALSE(NumberIn(none).has_value()) << none;
  }
}

TEST(ParseJsonTest, ErrorNamesSourceLineAndColumn) {
  const auto value = ParseJson("{\n  \"a\": ,\n}", "settings");
  EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(value.status()), AllOf(HasSubstr("settings: "), HasSubstr("line 2"),
                                             HasSubstr("column"), HasSubstr("parse error")));
}

TEST(ParseJsonTest, GarbageIsInvalidArgument) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1,]"), std::string("{} x"),
        std::string("\xff\xfe"), std::string("\"\xc3\""), std::string(1000, '\0'),
        std::string("1e999")}) {
    EXPECT_EQ(ParseJson(text, "x").status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseJsonTest, DeepNestingIsRefusedNotOverflowed) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(ParseJson(deep, "x").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseJson(std::string(1'000'000, '['), "x").status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(ParseJson("[[[[[[[[[[1]]]]]]]]]]", "x").ok());
}

TEST(CanonicalJsonTest, SortsKeysWithoutSpacesAndKeepsUtf8) {
  const auto value = ParseJson("{ \"b\": [1, 2.5, true], \"a\": \"\\u00fc\" }", "x");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(CanonicalJson(*value), "{\"a\":\"\xc3\xbc\",\"b\":[1,2.5,true]}");
}

TEST(CanonicalJsonTest, InvalidUtf8DoesNotThrow) {
  EXPECT_EQ(CanonicalJson(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

class JsonFieldTest : public testing::Test {
 protected:
  const Json object_ = Json::parse(
      R"({"int": -3, "text": "t", "object": {"x": 1}, "array": [1, 2], "float": 1.5,
          "huge": 9223372036854775808, "max": 9223372036854775807, "mixed": [1, "2"]})");
};

TEST_F(JsonFieldTest, ReadsEveryKind) {
  EXPECT_EQ(*GetInt(object_, "int", "w"), -3);
  EXPECT_EQ(*GetInt(object_, "max", "w"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(*GetString(object_, "text", "w"), "t");
  EXPECT_EQ(*GetInt(*GetObject(object_, "object", "w"), "x", "w"), 1);
  EXPECT_EQ(GetArray(object_, "array", "w")->size(), 2u);
  EXPECT_EQ(*GetInts(object_, "array", "w"), (std::vector<int64_t>{1, 2}));
}

TEST_F(JsonFieldTest, MissingFieldIsDataLossNamingIt) {
  for (const Status& status :
       {GetInt(object_, "absent", "where").status(), GetString(object_, "absent", "where").status(),
        GetObject(object_, "absent", "where").status(),
        GetArray(object_, "absent", "where").status(),
        GetInts(object_, "absent", "where").status()}) {
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(Message(status), AllOf(HasSubstr("where"), HasSubstr("'absent' is missing")));
  }
}

TEST_F(JsonFieldTest, WrongTypeIsDataLossNamingFieldAndValue) {
  for (const char* key : {"text", "object", "array", "float", "huge"}) {
    const Status status = GetInt(object_, key, "where").status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << key;
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr(fmt::format("'{}'", key)), HasSubstr(CanonicalJson(object_[key]))));
  }
  EXPECT_EQ(GetString(object_, "int", "w").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(GetObject(object_, "array", "w").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(GetArray(object_, "object", "w").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(GetInts(object_, "mixed", "w").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(GetInts(object_, "int", "w").status().code(), StatusCode::kDataLoss);
}

TEST_F(JsonFieldTest, NotAnObjectIsDataLoss) {
  const Status status = GetInt(Json::array(), "x", "where").status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("found array"));
}

class ManifestTest : public TempFolderTest {};

TEST_F(ManifestTest, ReadsBackWhatWasWritten) {
  const std::filesystem::path path = folder() / "manifest.json";
  const Json value = {{"version", 1}, {"name", "a\xc3\xbc\""}, {"share", 0.25}, {"list", {1, 2}}};
  ASSERT_TRUE(WriteManifest(path, value).ok());
  const auto read = ReadManifest(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, value);
  EXPECT_THAT(Read(path), HasSubstr("\n  \"checksum\": \""));
  ASSERT_TRUE(WriteManifest(path, *read).ok()) << "is replaced";
}

TEST_F(ManifestTest, AnyFlippedByteOfAValueIsDetected) {
  const std::filesystem::path path = folder() / "manifest.json";
  ASSERT_TRUE(WriteManifest(path, {{"bytes", 1234}, {"name", "nodes"}, {"list", {5, 6}}}).ok());
  const std::string good = Read(path);
  size_t checked = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    if (good[i] == ' ' || good[i] == '\n') continue;  // says nothing, and may become other space
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    Write("manifest.json", bad);
    const auto read = ReadManifest(path);
    ASSERT_EQ(read.status().code(), StatusCode::kDataLoss) << "byte " << i << " of\n" << bad;
    EXPECT_THAT(Message(read.status()), HasSubstr(path.string()));
    ++checked;
  }
  EXPECT_GT(checked, 80u);
}

TEST_F(ManifestTest, EveryTruncationIsDetected) {
  const std::filesystem::path path = folder() / "manifest.json";
  ASSERT_TRUE(WriteManifest(path, {{"bytes", 1234}}).ok());
  const std::string good = Read(path);
  for (size_t length = 0; length + 1 < good.size(); ++length) {
    Write("manifest.json", good.substr(0, length));
    EXPECT_EQ(ReadManifest(path).status().code(), StatusCode::kDataLoss) << length;
  }
}

TEST_F(ManifestTest, MissingChecksumIsNamed) {
  const auto read = ReadManifest(Write("manifest.json", "{\"version\": 1}"));
  EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(read.status()), HasSubstr("'checksum' is missing"));
}

TEST_F(ManifestTest, MissingFileIsNotFoundAndNonObjectRefused) {
  EXPECT_EQ(ReadManifest(folder() / "none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadJsonFile(folder() / "none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadManifest(Write("m", "[1]")).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(WriteManifest(folder() / "x", Json::array()).code(), StatusCode::kInvalidArgument);
}

TEST(LenientJsonTest, WhatIsMissingOrOfAnotherTypeIsNothing) {
  const Json object = Json::parse(
      R"({"list": [1], "text": "a", "yes": true, "whole": 7, "digits": "12", "half": -2.5,
          "huge": 1e300, "nan": "NaN"})");
  EXPECT_EQ(ItemsOf(object, "list").size(), 1U);
  EXPECT_TRUE(ItemsOf(object, "text").empty());
  EXPECT_TRUE(ItemsOf(object, "gone").empty());
  EXPECT_TRUE(FieldOf(Json::array(), "list").is_null());
  EXPECT_EQ(TextOf(object, "text"), "a");
  EXPECT_EQ(TextOf(object, "whole"), "");
  EXPECT_TRUE(BoolOf(object, "yes"));
  EXPECT_FALSE(BoolOf(object, "whole"));
  EXPECT_EQ(DoubleOf(object, "half"), -2.5);
  EXPECT_EQ(DoubleOf(object, "digits"), 12);
  EXPECT_EQ(DoubleOf(object, "yes"), 1);
  EXPECT_EQ(DoubleOf(object, "text"), 0);
  EXPECT_EQ(DoubleOf(object, "gone"), 0);
  EXPECT_EQ(WholeOf(object, "half"), -2);
  EXPECT_EQ(WholeOf(object, "huge"), int64_t{1} << 53);
  EXPECT_EQ(WholeOf(object, "nan"), 0);
}

}  // namespace
}  // namespace halograph
