#include "trainer/inference/kept_rows.h"

#include <gtest/gtest.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

class KeptTableTest : public testing::Test {
 protected:
  TestFolder folder_;
  ScratchSpace scratch_{1 << 20, folder_.path()};
};

TEST_F(KeptTableTest, RowsComeBackWhateverTheirWidth) {
  for (const int64_t cols : {1, 3, 15, 16, 47, 100}) {
    SCOPED_TRACE(cols);
    auto table = KeptTable::Make(9, cols, scratch_, "rows");
    ASSERT_TRUE(table.ok()) << table.status();
    const torch::Tensor rows = torch::rand({9, 2 * cols});
    table->Put(4, rows.narrow(0, 4, 5).narrow(1, 0, cols));
    table->Put(0, rows.narrow(0, 0, 4).narrow(1, 0, cols));
    const torch::Tensor found = torch::empty({3, cols});
    const std::vector<int64_t> ids = {8, 0, 4};
    table->Gather(ids, static_cast<std::byte*>(found.data_ptr()));
    const torch::Tensor wanted = rows.index_select(0, torch::tensor(ids)).narrow(1, 0, cols);
    EXPECT_TRUE(torch::equal(found, wanted));
    const auto* const row = reinterpret_cast<const float*>(table->Row(8));
    EXPECT_EQ(row[cols - 1], rows[8][cols - 1].item<float>());
  }
}

TEST_F(KeptTableTest, ARowTouchesNoMoreLinesThanItHas) {
  for (const int64_t cols : {1, 5, 15, 16, 47, 100}) {
    SCOPED_TRACE(cols);
    const auto table = KeptTable::Make(40, cols, scratch_, "rows");
    ASSERT_TRUE(table.ok()) << table.status();
    const auto line = [&](int64_t node, int64_t byte) {
      return reinterpret_cast<uintptr_t>(table->Row(node) + byte) / 64;
    };
    for (int64_t node = 0; node < 40; ++node) {
      EXPECT_EQ(line(node, 4 * cols - 1) - line(node, 0),
                static_cast<uintptr_t>((4 * cols - 1) / 64));
    }
  }
  EXPECT_EQ(KeptTable::BytesOf(10, 0), 0);
  EXPECT_EQ(KeptTable::BytesOf(10, 5), 10 * 8 * 4);
  EXPECT_EQ(KeptTable::BytesOf(10, 47), 10 * 48 * 4);
}

}  // namespace
}  // namespace halograph
