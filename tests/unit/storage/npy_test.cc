#include "common/storage/npy.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/storage/temp_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A header as other writers make it: `dictionary`, spaces up to `total_bytes`, a line's end.
std::string Header(int major, std::string_view dictionary, size_t total_bytes = 128) {
  const size_t length_bytes = major == 1 ? 2 : 4;
  std::string header = "\x93NUMPY";
  header += static_cast<char>(major);
  header += '\0';
  const size_t length = total_bytes - 8 - length_bytes;
  for (size_t i = 0; i < length_bytes; ++i) header += static_cast<char>(length >> (8 * i) & 0xff);
  header += dictionary;
  EXPECT_LT(header.size(), total_bytes);
  header.append(total_bytes - header.size() - 1, ' ');
  return header + '\n';
}

std::string Dictionary(std::string_view descr, std::string_view shape,
                       std::string_view order = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, order, shape);
}

StatusOr<NpyHeader> Parse(std::string_view text) { return ParseNpyHeader(AsBytes(text)); }

TEST(NpyHeaderTest, ParsesVersionsOneToThree) {
  for (const int major : {1, 2, 3}) {
    const auto header = Parse(Header(major, Dictionary("<f4", "(3, 5)")));
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->dtype, DType::kFloat32);
    EXPECT_THAT(header->shape, ElementsAre(3, 5));
    EXPECT_FALSE(header->fortran_order);
    EXPECT_EQ(header->data_offset, 128u);
    EXPECT_EQ(header->count(), 15);
  }
}

TEST(NpyHeaderTest, PaddingOfAnySizeIsFollowed) {
  for (const size_t total : {80, 96, 4096, 65536}) {
    const auto header = Parse(Header(2, Dictionary("<i8", "(7,)"), total));
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->data_offset, total);
    EXPECT_THAT(header->shape, ElementsAre(7));
  }
}

TEST(NpyHeaderTest, EveryDTypeRoundTrips) {
  for (int i = 1; i <= 13; ++i) {
    const auto dtype = static_cast<DType>(i);
    const auto header = Parse(EncodeNpyHeader(dtype, std::vector<int64_t>{2}));
    ASSERT_TRUE(header.ok()) << header.status();
    // numpy has no bfloat16: its bits are stored as uint16.
    EXPECT_EQ(header->dtype, dtype == DType::kBFloat16 ? DType::kUInt16 : dtype);
  }
}

TEST(NpyHeaderTest, AcceptsWhatOtherWritersWrite) {
  EXPECT_TRUE(Parse(Header(1, Dictionary("<f8", "(1, 2)", "True")))->fortran_order);
  EXPECT_EQ(Parse(Header(1, "{\"shape\":(4L,),\"fortran_order\":False,\"descr\":\"=i4\"}"))->dtype,
            DType::kInt32);
  EXPECT_EQ(Parse(Header(1, Dictionary("<u1", "(4,)")))->dtype, DType::kUInt8);
  EXPECT_EQ(Parse(Header(1, Dictionary("<f4", "()")))->count(), 1);
  EXPECT_EQ(Parse(Header(1, Dictionary("<f4", "(0, 9)")))->count(), 0);
}

TEST(NpyHeaderTest, ByteOrderIsKeptWhereElementsHaveOne) {
  EXPECT_TRUE(Parse(Header(1, Dictionary(">f4", "(3,)")))->big_endian);
  EXPECT_FALSE(Parse(Header(1, Dictionary("<f4", "(3,)")))->big_endian);
  EXPECT_FALSE(Parse(Header(1, Dictionary(">u1", "(3,)")))->big_endian);
}

TEST(NpyHeaderTest, UnsupportedDTypesAreFailedPrecondition) {
  for (const char* descr : {"|O", "<U5", "|S3", "<c8", "<M8[ns]", "<f1", "|f4", "<b2", "", "<"}) {
    const auto header = Parse(Header(1, Dictionary(descr, "(3,)")));
    EXPECT_EQ(header.status().code(), StatusCode::kFailedPrecondition) << descr;
    EXPECT_THAT(Message(header.status()),
                AllOf(HasSubstr(fmt::format("'{}'", descr)), HasSubstr("at byte 20")));
  }
  const auto record =
      Parse(Header(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_EQ(record.status().code(), StatusCode::kFailedPrecondition);
  const auto version = Parse(Header(4, Dictionary("<f4", "(3,)")));
  EXPECT_EQ(version.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(version.status()), HasSubstr("4.0"));
}

TEST(NpyHeaderTest, ForeignFileIsDataLoss) {
  for (const char* text : {"", "\x93NUM", "PK\x03\x04 and more bytes", "0,1\n2,3\n"}) {
    EXPECT_EQ(Parse(text).status().code(), StatusCode::kDataLoss) << text;
  }
}

TEST(NpyHeaderTest, EveryTruncationIsDataLoss) {
  for (const int major : {1, 2}) {
    const std::string whole = Header(major, Dictionary("<f4", "(3, 5)"));
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_EQ(Parse(std::string_view(whole).substr(0, length)).status().code(),
                StatusCode::kDataLoss)
          << length;
    }
  }
}

TEST(NpyHeaderTest, MalformedDictionaryIsDataLossWithAPosition) {
  const std::string huge = "(9223372036854775807, 9223372036854775807)";
  for (const std::string& dictionary : {std::string(""),
                                        std::string("{"),
                                        std::string("{}"),
                                        std::string("[1]"),
                                        std::string("{'descr': '<f4', 'shape': (3,)}"),
                                        std::string("{'descr': '<f4', 'fortran_order': False}"),
                                        std::string("{'fortran_order': False, 'shape': (3,)}"),
                                        std::string("{'descr' '<f4'}"),
                                        std::string("{'descr': '<f4"),
                                        Dictionary("<f4", "(3,)", "Maybe"),
                                        Dictionary("<f4", "3"),
                                        Dictionary("<f4", "(-1,)"),
                                        Dictionary("<f4", "(3 4)"),
                                        Dictionary("<f4", "(3"),
                                        Dictionary("<f4", "(x,)"),
                                        Dictionary("<f4", huge),
                                        Dictionary("<f8", "(2305843009213693952,)"),
                                        Dictionary("<f4", "(9223372036854775808,)"),
                                        Dictionary("<f4", "(3,)") + " junk",
                                        Dictionary("<f4", "(3,)") + std::string(1, '\0'),
                                        std::string("{'other': 1, 'descr': '<f4'}")}) {
    const auto header = Parse(Header(1, dictionary, 192));
    EXPECT_EQ(header.status().code(), StatusCode::kDataLoss) << dictionary;
    EXPECT_THAT(Message(header.status()), HasSubstr("at byte ")) << dictionary;
  }
}

TEST(NpyHeaderTest, FlippedBytesNeverCrashTheParser) {
  const std::string good = Header(1, Dictionary("<f4", "(3, 5)"));
  for (size_t i = 0; i < good.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string bad = good;
      bad[i] = static_cast<char>(value);
      const auto header = Parse(bad);
      EXPECT_TRUE(!header.ok() || header->data_offset <= bad.size());
    }
  }
}

TEST(EncodeNpyHeaderTest, DataStartsAtAMultipleOf64) {
  for (const int64_t rows : {int64_t{0}, int64_t{1}, std::numeric_limits<int64_t>::max() / 8}) {
    for (const size_t minimum : {0, 100, 129, 4096, 65'545, 65'600, 100'000}) {
      const std::string header =
          EncodeNpyHeader(DType::kUInt8, std::vector<int64_t>{rows, 3}, true, minimum);
      EXPECT_EQ(header.size() % 64, 0u);
      EXPECT_GE(header.size(), minimum);
      EXPECT_EQ(header.back(), '\n');
      if (rows > 1) continue;  // more bytes than can be counted
      const auto parsed = Parse(header);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(parsed->data_offset, header.size());
      EXPECT_THAT(parsed->shape, ElementsAre(rows, 3));
      EXPECT_TRUE(parsed->fortran_order);
    }
  }
}

class NpyArrayTest : public TempFolderTest {};

TEST_F(NpyArrayTest, GivesShapeDTypeAndElements) {
  const std::string data("\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00", 12);
  const auto array = NpyArray::Open(Write("a.npy", Header(1, Dictionary("<i2", "(2, 3)")) + data));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype(), DType::kInt16);
  EXPECT_EQ(array->rows(), 2);
  EXPECT_EQ(array->cols(), 3);
  EXPECT_EQ(array->row_bytes(), 6u);
  EXPECT_FALSE(array->fortran_order());
  EXPECT_EQ(AsText(array->data()), data);
  const auto values = array->As<int16_t>();
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(NpyArrayTest, BigEndianIsFailedPreconditionUnlessForeign) {
  const auto path = Write("a.npy", Header(1, Dictionary(">i2", "(1,)")) + std::string("\0\1", 2));
  const auto own = NpyArray::Open(path);
  EXPECT_EQ(own.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(own.status()), AllOf(HasSubstr("a.npy"), HasSubstr("big-endian")));
  const auto foreign = NpyArray::Open(path, NpyOrigin::kForeign);
  ASSERT_TRUE(foreign.ok()) << foreign.status();
  EXPECT_FALSE(foreign->native());
}

TEST_F(NpyArrayTest, MovedArrayKeepsItsElements) {
  const std::vector<int32_t> values = {4, 5};
  ASSERT_TRUE(WriteNpy<int32_t>(folder() / "a.npy", values).ok());
  auto opened = NpyArray::Open(folder() / "a.npy");
  ASSERT_TRUE(opened.ok());
  const NpyArray array = std::move(*opened);
  EXPECT_EQ(array.cols(), 1);
  EXPECT_THAT(*array.As<int32_t>(), ElementsAre(4, 5));
}

TEST_F(NpyArrayTest, WrongTypeIsFailedPreconditionNamingBoth) {
  ASSERT_TRUE(WriteNpy<float>(folder() / "a.npy", std::vector<float>{1}).ok());
  const auto array = NpyArray::Open(folder() / "a.npy");
  ASSERT_TRUE(array.ok());
  const Status status = array->As<int64_t>().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("a.npy"), HasSubstr("float32"), HasSubstr("int64")));
}

TEST_F(NpyArrayTest, DataThatIsNotAlignedIsFailedPrecondition) {
  const auto path = Write("a.npy", Header(1, Dictionary("<i4", "(1,)"), 81) + std::string(4, '\0'));
  const auto foreign = NpyArray::Open(path, NpyOrigin::kForeign);
  ASSERT_TRUE(foreign.ok()) << foreign.status();
  EXPECT_FALSE(foreign->native());
  EXPECT_EQ(foreign->As<int32_t>().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(NpyArrayTest, OwnDataAwayFromAMultipleOf64IsRefusedAtOnce) {
  for (const size_t length : {81, 96, 112}) {
    const Status own = NpyArray::Open(Write("a.npy", Header(1, Dictionary("<i4", "(1,)"), length) +
                                                         std::string(4, '\0')))
                           .status();
    EXPECT_EQ(own.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(own), AllOf(HasSubstr("a.npy"), HasSubstr("multiple of 64")));
    EXPECT_THAT(Message(own), HasSubstr(fmt::format("byte {},", length)));
  }
}

TEST_F(NpyArrayTest, FileOfOtherSizeIsDataLossNamingBoth) {
  const std::string whole = Header(1, Dictionary("<f4", "(2, 3)")) + std::string(24, 'x');
  for (const std::string& contents : {whole.substr(0, 151), whole.substr(0, 128), whole + 'x'}) {
    const auto array = NpyArray::Open(Write("a.npy", contents));
    EXPECT_EQ(array.status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(Message(array.status()),
                AllOf(HasSubstr((folder() / "a.npy").string()), HasSubstr("152"),
                      HasSubstr(fmt::format("{}", contents.size()))));
  }
}

TEST_F(NpyArrayTest, HeaderErrorsCarryThePath) {
  const auto array = NpyArray::Open(Write("a.npy", "no header"));
  EXPECT_EQ(array.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(array.status()), HasSubstr((folder() / "a.npy").string()));
  EXPECT_EQ(NpyArray::Open(folder() / "absent").status().code(), StatusCode::kNotFound);
}

TEST_F(NpyArrayTest, RanksZeroAndThreeAreFailedPrecondition) {
  for (const char* shape : {"()", "(1, 1, 1)"}) {
    const auto array =
        NpyArray::Open(Write("a.npy", Header(1, Dictionary("<f4", shape)) + std::string(4, '\0')));
    EXPECT_EQ(array.status().code(), StatusCode::kFailedPrecondition) << shape;
    EXPECT_THAT(Message(array.status()), HasSubstr(shape));
  }
}

class NpyWriterTest : public TempFolderTest {
 protected:
  [[nodiscard]] fs::path path() const { return folder() / "sub" / "a.npy"; }
};

TEST_F(NpyWriterTest, UnknownRowsAreWrittenIntoTheHeaderAtClose) {
  for (const int64_t rows : {0, 1, 1000, 300'000}) {
    auto writer = NpyWriter::Create(path(), DType::kFloat32, -1, 3, 2);
    ASSERT_TRUE(writer.ok()) << writer.status();
    std::vector<float> row(3);
    for (int64_t i = 0; i < rows; ++i) {
      row = {static_cast<float>(i), 1, 2};
      ASSERT_TRUE(writer->Append(std::as_bytes(std::span(row))).ok());
    }
    EXPECT_EQ(writer->rows_written(), rows);
    ASSERT_TRUE(writer->Close().ok());
    const auto array = NpyArray::Open(path());
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_THAT(array->shape(), ElementsAre(rows, 3));
    if (rows == 0) {
      EXPECT_TRUE(array->data().empty());
    } else {
      EXPECT_EQ((*array->As<float>())[3 * static_cast<size_t>(rows) - 3],
                static_cast<float>(rows - 1));
    }
    fs::remove(path());
  }
}

TEST_F(NpyWriterTest, AnnouncedRowsMustBeWritten) {
  const std::vector<int64_t> three = {1, 2, 3};
  auto writer = NpyWriter::Create(path(), DType::kInt64, 4, 1, 1);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append(std::as_bytes(std::span(three))).ok());
  const Status status = writer->Close();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("4 rows were announced"), HasSubstr("3 written")));
}

TEST_F(NpyWriterTest, RowsGoOverZerosInAnyOrder) {
  auto writer = NpyWriter::Create(path(), DType::kInt64, 5, 2, 2);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->AppendZeros(4).ok());
  const std::vector<int64_t> two_rows = {1, 2, 3, 4};
  const auto bytes = std::as_bytes(std::span(two_rows));
  ASSERT_TRUE(writer->Overwrite(2, bytes).ok());
  ASSERT_TRUE(writer->Overwrite(0, bytes.first(16)).ok());
  EXPECT_EQ(writer->Overwrite(3, bytes).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(writer->Overwrite(-1, bytes).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(writer->Overwrite(0, bytes.first(8)).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(writer->Append(bytes.last(16)).ok());
  ASSERT_TRUE(writer->Close().ok());
  const auto array = NpyArray::Open(path());
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(*array->As<int64_t>(), ElementsAre(1, 2, 0, 0, 1, 2, 3, 4, 3, 4));
}

TEST_F(NpyWriterTest, PartOfARowIsInvalidArgument) {
  auto writer = NpyWriter::Create(path(), DType::kInt64, -1, 2, 2);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->Append(AsBytes("12345678")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->rows_written(), 0);
}

TEST_F(NpyWriterTest, RowsWithoutColumns) {
  auto writer = NpyWriter::Create(path(), DType::kInt64, 5, 0, 2);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->Append(AsBytes("12345678")).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(writer->Append(AsBytes("")).ok());
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_THAT(NpyArray::Open(path())->shape(), ElementsAre(5, 0));
}

TEST_F(NpyWriterTest, ImpossibleShapesAreInvalidArgument) {
  const auto code = [&](int64_t rows, int64_t cols, int rank) {
    return NpyWriter::Create(path(), DType::kInt8, rows, cols, rank).status().code();
  };
  EXPECT_EQ(code(-2, 1, 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(1, -1, 2), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(1, 2, 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(1, 1, 3), StatusCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(NpyWriterTest, ExistingFileIsAlreadyExists) {
  Write("sub/a.npy", "old");
  EXPECT_EQ(NpyWriter::Create(path(), DType::kInt8, 1, 1, 1).status().code(),
            StatusCode::kAlreadyExists);
}

template <typename T>
class WriteNpyTest : public TempFolderTest {};
using ElementTypes = testing::Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                                    uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(WriteNpyTest, ElementTypes);

TYPED_TEST(WriteNpyTest, RoundTripsAndIsAligned) {
  const std::vector<TypeParam> values = {std::numeric_limits<TypeParam>::lowest(), TypeParam{0},
                                         TypeParam{1}, std::numeric_limits<TypeParam>::max()};
  for (const int64_t cols : {0, 2}) {
    const fs::path path = this->folder() / fmt::format("{}.npy", cols);
    ASSERT_TRUE(WriteNpy<TypeParam>(path, values, cols).ok());
    const auto array = NpyArray::Open(path);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->shape(), cols == 0 ? std::vector<int64_t>({4}) : std::vector<int64_t>({2, 2}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array->data().data()) % 64, 0u);
    const auto read = array->template As<TypeParam>();
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(std::equal(read->begin(), read->end(), values.begin(), values.end()));
  }
}

TEST_F(NpyArrayTest, ReadsTheGraphInTheRepository) {
  const char* data = std::getenv("HALOGRAPH_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "HALOGRAPH_TEST_DATA is not set: no data to read";
  const auto features = NpyArray::Open(fs::path(data) / "cora" / "features" / "feat.npy");
  ASSERT_TRUE(features.ok()) << features.status();
  EXPECT_EQ(features->rows(), 2708);
  EXPECT_EQ(features->cols(), 1433);
}

}  // namespace
}  // namespace halograph
