#include "common/storage/row_gather.h"

#include <vector>

#include <gtest/gtest.h>

#include "common/base/rng.h"

namespace halograph {
namespace {

constexpr int64_t kFirstRow = 1000;
constexpr size_t kRows = 37;

std::vector<std::byte> Matrix(size_t row_bytes) {
  CounterRng rng(row_bytes);
  std::vector<std::byte> matrix(kRows * row_bytes);
  for (std::byte& byte : matrix) byte = static_cast<std::byte>(rng.NextBounded(256));
  return matrix;
}

// `count` rows in no order, with repeats.
std::vector<int64_t> Ids(size_t count) {
  CounterRng rng(count);
  std::vector<int64_t> ids(count);
  for (int64_t& id : ids) id = kFirstRow + static_cast<int64_t>(rng.NextBounded(kRows));
  return ids;
}

// Row positions[i] of the result is row ids[i]; the rest is 0xee.
std::vector<std::byte> Naive(const std::vector<std::byte>& matrix, size_t row_bytes,
                             const std::vector<int64_t>& ids, const std::vector<int64_t>& positions,
                             size_t result_rows) {
  std::vector<std::byte> result(result_rows * row_bytes, std::byte{0xee});
  for (size_t i = 0; i < ids.size(); ++i) {
    for (size_t b = 0; b < row_bytes; ++b) {
      result[static_cast<size_t>(positions[i]) * row_bytes + b] =
          matrix[static_cast<size_t>(ids[i] - kFirstRow) * row_bytes + b];
    }
  }
  return result;
}

std::vector<int64_t> Iota(size_t count) {
  std::vector<int64_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<int64_t>(i);
  return values;
}

TEST(GatherRowsTest, EveryRowSizeAsTheNaiveLoop) {
  for (size_t row_bytes = 1; row_bytes <= 200; ++row_bytes) {
    const auto matrix = Matrix(row_bytes);
    for (const size_t count : {0, 1, 5, 6, 7, 100}) {
      const auto ids = Ids(count);
      std::vector<std::byte> gathered(count * row_bytes, std::byte{0xee});
      GatherRows(matrix, row_bytes, kFirstRow, ids, gathered.data());
      ASSERT_EQ(gathered, Naive(matrix, row_bytes, ids, Iota(count), count))
          << row_bytes << " bytes a row, " << count << " rows";
    }
  }
}

TEST(GatherRowsTest, LongRows) {
  for (const size_t row_bytes : {4095, 4096, 4097, 20'000}) {
    const auto matrix = Matrix(row_bytes);
    const auto ids = Ids(20);
    std::vector<std::byte> gathered(20 * row_bytes);
    GatherRows(matrix, row_bytes, kFirstRow, ids, gathered.data());
    ASSERT_TRUE(gathered == Naive(matrix, row_bytes, ids, Iota(20), 20)) << row_bytes;
  }
}

TEST(GatherRowsTest, RowsWithoutBytesTouchNothing) {
  const auto ids = Ids(3);
  GatherRows({}, 0, kFirstRow, ids, nullptr);
  GatherRowsTo({}, 0, kFirstRow, ids, ids, nullptr);
}

TEST(GatherRowsToTest, EveryRowSizeAsTheNaiveLoopAndLeavesOtherRowsAlone) {
  constexpr size_t kResultRows = 50;
  for (size_t row_bytes = 1; row_bytes <= 200; ++row_bytes) {
    const auto matrix = Matrix(row_bytes);
    const auto ids = Ids(17);
    std::vector<int64_t> positions;
    for (size_t i = 0; i < ids.size(); ++i) {
      positions.push_back(static_cast<int64_t>((i * 29 + 3) % kResultRows));
    }
    std::vector<std::byte> gathered(kResultRows * row_bytes, std::byte{0xee});
    GatherRowsTo(matrix, row_bytes, kFirstRow, ids, positions, gathered.data());
    ASSERT_EQ(gathered, Naive(matrix, row_bytes, ids, positions, kResultRows)) << row_bytes;
  }
}

}  // namespace
}  // namespace halograph
