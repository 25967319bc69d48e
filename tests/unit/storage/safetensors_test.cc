#include "common/storage/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/unit/storage/temp_folder.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// A file of this header and as many zeros behind it.
std::string FileOfHeader(std::string_view header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof(length));
  return file.append(header).append(data_bytes, '\0');
}

StatusOr<SafetensorsContents> ParseTensors(const std::string& file) {
  return ParseSafetensors(AsBytes(file), "file");
}

// One tensor as the header names it.
std::string Entry(std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                     offsets);
}

TensorBytes Tensor(std::string name, DType dtype, std::vector<int64_t> shape,
                   std::string_view data) {
  return {
      .name = std::move(name), .dtype = dtype, .shape = std::move(shape), .data = AsBytes(data)};
}

class SafetensorsTest : public TempFolderTest {
 protected:
  // What is wrong with a file of this header.
  static void ExpectRefused(const std::string& header, size_t data_bytes,
                            const std::string& message) {
    const auto parsed = ParseTensors(FileOfHeader(header, data_bytes));
    ASSERT_EQ(parsed.status().code(), absl::StatusCode::kDataLoss) << header;
    EXPECT_THAT(Message(parsed.status()), HasSubstr(message)) << header;
    EXPECT_THAT(Message(parsed.status()), HasSubstr("file: ")) << header;
  }
};

TEST_F(SafetensorsTest, WhatIsWrittenIsRead) {
  const std::vector<TensorBytes> tensors = {Tensor("b.weight", DType::kFloat32, {2, 1}, "12345678"),
                                            Tensor("a\"\n\u00e9", DType::kInt64, {}, "abcdefgh"),
                                            Tensor("flags", DType::kBool, {3}, {"\1\0\1", 3}),
                                            Tensor("none", DType::kBFloat16, {4, 0}, "")};
  const auto path = folder() / "x.safetensors";
  ASSERT_TRUE(WriteSafetensors(path, tensors, {{"made by", "a \"test\""}}).ok());
  const auto read = SafetensorsFile::Open(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->path(), path);
  const SafetensorsContents& contents = read->contents();
  EXPECT_THAT(contents.metadata, ElementsAre(Pair("made by", "a \"test\"")));
  ASSERT_THAT(contents.tensors, SizeIs(4));
  for (const TensorBytes& wanted : tensors) {
    const TensorBytes* const found = contents.Find(wanted.name);
    ASSERT_NE(found, nullptr) << wanted.name;
    EXPECT_EQ(found->dtype, wanted.dtype);
    EXPECT_EQ(found->shape, wanted.shape);
    EXPECT_EQ(AsText(found->data), AsText(wanted.data));
  }
  EXPECT_EQ(contents.Find("weight"), nullptr);
}

TEST_F(SafetensorsTest, TensorsStandByFallingSizeOfElementsThenByName) {
  const auto write = [&](std::vector<TensorBytes> tensors, const char* name) {
    const auto path = folder() / name;
    EXPECT_TRUE(WriteSafetensors(path, std::move(tensors)).ok());
    return Read(path);
  };
  const TensorBytes byte = Tensor("a", DType::kUInt8, {1}, "u");
  const TensorBytes z = Tensor("z", DType::kFloat32, {1}, "zzzz");
  const TensorBytes b = Tensor("b", DType::kFloat32, {1}, "bbbb");
  const TensorBytes wide = Tensor("w", DType::kFloat64, {1}, "wwwwwwww");
  const std::string file = write({byte, z, b, wide}, "one");
  EXPECT_EQ(file, write({wide, b, z, byte}, "other"));
  EXPECT_TRUE(file.ends_with("wwwwwwwwbbbbzzzzu"));
  uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof(header));
  EXPECT_EQ(header % 8, 0U);
  EXPECT_EQ(file[8], '{');
}

TEST_F(SafetensorsTest, AFileWithoutTensorsIsRead) {
  EXPECT_THAT(ParseTensors(FileOfHeader("{}", 0))->tensors, IsEmpty());
  ASSERT_TRUE(WriteSafetensors(folder() / "none", {}).ok());
  EXPECT_THAT(SafetensorsFile::Open(folder() / "none")->contents().tensors, IsEmpty());
}

TEST_F(SafetensorsTest, TypesThatTheProjectHasNotAreReadWithoutADtype) {
  const auto parsed = ParseTensors(FileOfHeader(
      "{" + Entry("c", "C64", "[1]", "[0,8]") + "," + Entry("q", "F4", "[4]", "[8,10]") + "," +
          Entry("r", "F6_E3M2", "[2,2]", "[10,13]") + "}  ",
      13));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_FALSE(parsed->Find("c")->dtype.has_value());
  EXPECT_THAT(parsed->Find("q")->data, SizeIs(2));
  EXPECT_THAT(parsed->Find("r")->data, SizeIs(3));
}

TEST_F(SafetensorsTest, AFileTooShortForTheLengthIsRefused) {
  const auto parsed = ParseTensors("1234567");
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(parsed.status()), HasSubstr("has 7 bytes"));
}

TEST_F(SafetensorsTest, AHeaderBeyondTheFileIsRefused) {
  std::string file = FileOfHeader("{}", 0);
  file[0] = 3;
  EXPECT_THAT(Message(ParseTensors(file).status()),
              HasSubstr("only 2 follow: the file is truncated"));
}

TEST_F(SafetensorsTest, AHeaderBeyondItsBoundIsRefusedWhateverTheFileHas) {
  std::string file = FileOfHeader("{}", 0);
  for (const uint64_t length : {uint64_t{100'000'001}, ~uint64_t{0}}) {
    std::memcpy(file.data(), &length, sizeof(length));
    EXPECT_THAT(Message(ParseTensors(file).status()), HasSubstr("at most 100000000 are allowed"));
  }
}

TEST_F(SafetensorsTest, AHeaderThatDoesNotBeginWithABraceIsRefused) {
  for (const char* header : {"", " {}", "[]", "\xEF\xBB\xBF{}"}) {
    ExpectRefused(header, 0, "does not begin with '{'");
  }
}

TEST_F(SafetensorsTest, OnlyBlanksMayFollowTheHeader) {
  EXPECT_TRUE(ParseTensors(FileOfHeader("{}    ", 0)).ok());
  for (const char* header : {"{}\n", "{}\t ", "{", "{} x"}) {
    ExpectRefused(header, 0, "does not end with '}' and blanks");
  }
}

TEST_F(SafetensorsTest, AHeaderThatIsNotJsonIsRefused) {
  ExpectRefused("{\"a\"}", 0, "not JSON at its byte");
  ExpectRefused("{} {}", 0, "not JSON");
  ExpectRefused("{\"\xff\":{}}", 0, "not JSON");
}

TEST_F(SafetensorsTest, ANameThatIsThereTwiceIsRefused) {
  const std::string entry = Entry("a", "U8", "[0]", "[0,0]");
  ExpectRefused("{" + entry + "," + entry + "}", 0, "the name \"a\" is there twice");
  ExpectRefused(R"({"__metadata__":{},"__metadata__":{}})", 0, "__metadata__\" is there twice");
  ExpectRefused(R"({"__metadata__":{"k":"1","k":"2"}})", 0, "the name \"k\" is there twice");
  ExpectRefused(R"({"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1,
                "tensor \"a\": field 'dtype' is there twice");
}

TEST_F(SafetensorsTest, MetadataThatIsNoTextIsRefused) {
  ExpectRefused(R"({"__metadata__":7})", 0, "'__metadata__' is a number, expected an object");
  ExpectRefused(R"({"__metadata__":{"k":7}})", 0, "holds a number, expected a string");
  ExpectRefused(R"({"__metadata__":{"k":{}}})", 0, "holds an object, expected a string");
}

TEST_F(SafetensorsTest, ATensorThatIsNoObjectOfThreeFieldsIsRefused) {
  ExpectRefused(R"({"a":[]})", 0, "tensor \"a\" is an array, expected an object");
  ExpectRefused(R"({"a":null})", 0, "tensor \"a\" is null, expected an object");
  ExpectRefused(R"({"a":{"shape":[],"data_offsets":[0,0]}})", 0, "field 'dtype' is missing");
  ExpectRefused(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", 0, "field 'shape' is missing");
  ExpectRefused(R"({"a":{"dtype":"U8","shape":[]}})", 0, "field 'data_offsets' is missing");
  ExpectRefused(R"({"a":{"strides":[1]}})", 0, "field \"strides\" is none of dtype, shape");
}

TEST_F(SafetensorsTest, FieldsOfAnotherTypeAreRefused) {
  ExpectRefused(R"({"a":{"dtype":4}})", 0, "holds a number, expected a string");
  ExpectRefused(R"({"a":{"dtype":["U8"]}})", 0, "holds an array, expected a string");
  for (const char* shape : {"4", "\"4\"", "[-1]", "[1.5]", "[[1]]", "[\"1\"]", "[null]", "[true]",
                            "{}", "[9223372036854775808]"}) {
    ExpectRefused("{" + Entry("a", "U8", shape, "[0,0]") + "}", 0,
                  "expected an array of whole numbers");
  }
}

TEST_F(SafetensorsTest, ADtypeThatTheFormatHasNotIsRefused) {
  for (const char* dtype : {"F31", "f32", "", "scaled_int8"}) {
    ExpectRefused("{" + Entry("a", dtype, "[1]", "[0,4]") + "}", 4, "is none of the format's");
  }
}

TEST_F(SafetensorsTest, OffsetsThatAreNoRangeOfTheFileAreRefused) {
  ExpectRefused("{" + Entry("a", "U8", "[1]", "[0]") + "}", 1, "has 1 numbers, expected 2");
  ExpectRefused("{" + Entry("a", "U8", "[1]", "[0,1,2]") + "}", 1, "has 3 numbers, expected 2");
  ExpectRefused("{" + Entry("a", "U8", "[1]", "[1,0]") + "}", 1, "are not within the 1 bytes");
  ExpectRefused("{" + Entry("a", "U8", "[2]", "[0,2]") + "}", 1, "are not within the 1 bytes");
  ExpectRefused("{" + Entry("a", "U8", "[2]", "[0,9223372036854775807]") + "}", 1, "not within");
}

TEST_F(SafetensorsTest, BytesThatDoNotFitTheShapeAreRefused) {
  ExpectRefused("{" + Entry("a", "F32", "[2,3]", "[0,23]") + "}", 23, "needs 24 bytes");
  ExpectRefused("{" + Entry("a", "F32", "[]", "[0,8]") + "}", 8, "needs 4 bytes");
  ExpectRefused("{" + Entry("a", "F4", "[3]", "[0,1]") + "}", 1, "no countable number of bytes");
}

TEST_F(SafetensorsTest, AShapeWhoseBytesOverflowIsRefused) {
  // 2^32 times 2^32 is 0 in 64 bits, as the offsets say.
  ExpectRefused("{" + Entry("a", "U8", "[4294967296,4294967296]", "[0,0]") + "}", 0,
                "no countable number of bytes");
  ExpectRefused("{" + Entry("a", "F64", "[2305843009213693952]", "[0,0]") + "}", 0,
                "no countable number of bytes");
}

TEST_F(SafetensorsTest, AHoleBetweenTensorsIsRefused) {
  ExpectRefused(
      "{" + Entry("a", "U8", "[1]", "[0,1]") + "," + Entry("b", "U8", "[1]", "[2,3]") + "}", 3,
      "tensor \"b\" begins at byte 2, leaving a hole");
  ExpectRefused("{" + Entry("a", "U8", "[1]", "[1,2]") + "}", 2, "leaving a hole");
}

TEST_F(SafetensorsTest, TensorsThatOverlapAreRefused) {
  ExpectRefused(
      "{" + Entry("a", "U8", "[2]", "[0,2]") + "," + Entry("b", "U8", "[2]", "[1,3]") + "}", 3,
      "overlapping");
  ExpectRefused(
      "{" + Entry("a", "U8", "[1]", "[0,1]") + "," + Entry("b", "U8", "[1]", "[0,1]") + "}", 1,
      "overlapping");
}

TEST_F(SafetensorsTest, BytesBehindTheLastTensorAreRefused) {
  ExpectRefused("{" + Entry("a", "U8", "[1]", "[0,1]") + "}", 2,
                "2 bytes follow the header, its tensors have 1");
}

TEST_F(SafetensorsTest, WhatCannotBeWrittenIsRefusedAndLeavesNoFile) {
  const auto refused = [&](std::vector<TensorBytes> tensors, const std::string& message) {
    const Status status = WriteSafetensors(folder() / "x", std::move(tensors));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr(message));
    EXPECT_THAT(Names(), IsEmpty());
  };
  const TensorBytes byte = Tensor("a", DType::kUInt8, {1}, "u");
  refused({byte, byte}, "the name \"a\" is there twice");
  refused({Tensor("__metadata__", DType::kUInt8, {1}, "u")}, "cannot be named");
  refused({Tensor("\xff", DType::kUInt8, {1}, "u")}, "is no UTF-8");
  refused({Tensor("a", DType::kScaledInt8, {1}, "12345")}, "no dtype scaled_int8");
  refused({Tensor("a", DType::kFloat32, {2}, "1234567")}, "7 bytes, which do not fit shape [2]");
  refused({Tensor("a", DType::kUInt8, {-1, -1}, "u")}, "do not fit shape [-1, -1]");
}

// Damages a file in one of the ways that files are damaged, or crafted.
void Damage(CounterRng& rng, std::string* file) {
  const auto at = [&] { return rng.NextBounded(file->size()); };
  if (file->empty()) return file->push_back('{');
  switch (rng.NextBounded(6)) {
    case 0:  // a flipped bit
      (*file)[at()] ^= static_cast<char>(1 << rng.NextBounded(8));
      return;
    case 1:  // another byte, mostly one that JSON has
      (*file)[at()] = "{}[]\",:0129 e-.\\\0\xff"[rng.NextBounded(18)];
      return;
    case 2:  // cut short
      return file->resize(at());
    case 3:  // bytes that are there again
      file->insert(at(), file->substr(at(), rng.NextBounded(40)));
      return;
    case 4:  // bytes left out
      file->erase(at(), rng.NextBounded(20));
      return;
    default: {  // another length of the header
      uint64_t length = rng.NextBounded(2) == 0 ? rng.Next() : rng.NextBounded(300);
      std::memcpy(file->data(), &length, std::min(sizeof(length), file->size()));
    }
  }
}

// No mutation crashes the reader; what it takes keeps every rule, and is the same when it is
// written and read again.
TEST_F(SafetensorsTest, DamagedFilesAreRefusedOrWhatTheyHoldIsWhole) {
  constexpr int kFiles = 20'000;
  constexpr std::string_view data = "0123456789abcdefghijklmnopqrstuv";
  ASSERT_TRUE(WriteSafetensors(folder() / "x",
                               {Tensor("w", DType::kFloat32, {2, 2}, data.substr(0, 16)),
                                Tensor("step", DType::kInt64, {}, data.substr(0, 8)),
                                Tensor("none", DType::kUInt8, {0}, ""),
                                Tensor("b", DType::kBFloat16, {3}, data.substr(0, 6))},
                               {{"k", "v"}})
                  .ok());
  const std::string whole = Read(folder() / "x");
  CounterRng rng(7);
  int taken = 0;
  for (int i = 0; i < kFiles; ++i) {
    std::string file = whole;
    for (uint64_t n = 1 + rng.NextBounded(3); n > 0; --n) Damage(rng, &file);
    const auto parsed = ParseTensors(file);
    if (!parsed.ok()) {
      ASSERT_EQ(parsed.status().code(), absl::StatusCode::kDataLoss);
      continue;
    }
    ++taken;
    const std::byte* end = parsed->tensors.empty() ? nullptr : parsed->tensors[0].data.data();
    for (const TensorBytes& tensor : parsed->tensors) {
      ASSERT_EQ(tensor.data.data(), end);
      end += tensor.data.size();
    }
    if (end != nullptr) {
      ASSERT_EQ(end, AsBytes(file).data() + file.size());
    }
    const bool ours = std::all_of(parsed->tensors.begin(), parsed->tensors.end(),
                                  [](const auto& tensor) { return tensor.dtype.has_value(); });
    if (!ours || taken % 50 != 0) continue;  // each is a file
    const auto path = folder() / "again";
    std::filesystem::remove(path);
    ASSERT_TRUE(WriteSafetensors(path, parsed->tensors, parsed->metadata).ok());
    const auto again = SafetensorsFile::Open(path);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->contents().metadata, parsed->metadata);
    ASSERT_EQ(again->contents().tensors.size(), parsed->tensors.size());
    for (const TensorBytes& tensor : parsed->tensors) {
      const TensorBytes* const found = again->contents().Find(tensor.name);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(AsText(found->data), AsText(tensor.data));
      EXPECT_EQ(found->shape, tensor.shape);
    }
  }
  EXPECT_GT(taken, kFiles / 50) << "damage of the tensors' bytes alone is not the format's to find";
  EXPECT_LT(taken, kFiles / 2);
}

}  // namespace
}  // namespace halograph
