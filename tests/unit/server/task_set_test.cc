#include "server/handlers/task_set.h"

#include <gmock/gmock.h>

#include "tests/unit/server/served_fixture.h"

namespace halograph::server {
namespace {

using testing::HasSubstr;

class TaskSetHandlerTest : public ServedTest {
 protected:
  Status Refused(const TaskSetRequest& request, int64_t limit = 4 << 20) {
    return TaskSetHandler(all_.get(), limit).Read(request).status();
  }
  const TaskSetRequest train_{.task = "node_classification", .set = "train", .type = "paper"};
};

TEST_F(TaskSetHandlerTest, PagesAddUpToTheMappedArrays) {
  for (const TaskSetRequest& set :
       {train_,
        TaskSetRequest{.task = "link_prediction", .set = "test", .type = "paper:cites:paper"}}) {
    for (int part = 0; part < 3; ++part) {
      TaskSetRequest request = set;
      request.part = part;
      const auto whole = TaskSetHandler(all_.get(), 4 << 20).Read(request);
      ASSERT_TRUE(whole.ok()) << whole.status();
      ASSERT_EQ(whole->rows, whole->total_rows);
      ASSERT_GT(whole->rows, 3);
      std::vector<std::vector<std::byte>> pieces(whole->arrays.size());
      int pages = 0;
      for (; request.first_row < whole->total_rows; ++pages) {
        const auto page = TaskSetHandler(all_.get(), 300).Read(request);
        ASSERT_TRUE(page.ok()) << page.status();
        ASSERT_GT(page->rows, 0);
        for (size_t a = 0; a < pieces.size(); ++a) {
          const auto data = page->arrays[a].data;
          pieces[a].insert(pieces[a].end(), data.begin(), data.end());
        }
        request.first_row += page->rows;
      }
      EXPECT_GT(pages, 1);
      for (size_t a = 0; a < pieces.size(); ++a) {
        const auto data = whole->arrays[a].data;
        EXPECT_EQ(pieces[a], std::vector<std::byte>(data.begin(), data.end()));
      }
    }
  }
}

TEST_F(TaskSetHandlerTest, RangesOfRowsAddUpToTheWhole) {
  TaskSetRequest request = train_;
  request.part = 1;
  const auto whole = TaskSetHandler(all_.get(), 4 << 20).Read(request);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const int64_t step : {1, 3, 1000}) {
    std::vector<std::byte> seeds;
    request.max_rows = step;
    for (request.first_row = 0; request.first_row < whole->total_rows;) {
      const auto page = TaskSetHandler(all_.get(), 4 << 20).Read(request);
      ASSERT_TRUE(page.ok()) << page.status();
      EXPECT_EQ(page->total_rows, whole->total_rows);
      EXPECT_EQ(page->rows, std::min(step, whole->total_rows - request.first_row));
      seeds.insert(seeds.end(), page->arrays[0].data.begin(), page->arrays[0].data.end());
      request.first_row += page->rows;
    }
    const auto data = whole->arrays[0].data;
    EXPECT_EQ(seeds, std::vector<std::byte>(data.begin(), data.end()));
  }
}

TEST_F(TaskSetHandlerTest, ARangeIsCutAtTheLimitToo) {
  TaskSetRequest request = train_;
  request.max_rows = 1000;
  const auto page = TaskSetHandler(all_.get(), 300).Read(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_GT(page->rows, 0);
  EXPECT_LT(page->rows, page->total_rows);
}

TEST_F(TaskSetHandlerTest, RowsBelowZeroAreOutOfRange) {
  TaskSetRequest request = train_;
  request.max_rows = -5;
  EXPECT_TRUE(absl::IsOutOfRange(Refused(request)));
  EXPECT_THAT(Message(Refused(request)), HasSubstr("max_rows -5"));
}

TEST_F(TaskSetHandlerTest, RowsOfEverySetInEveryPartServedAreTold) {
  const auto served = Open({0, 2});
  const std::vector<TaskSetRows> all = RowsOfTaskSets(*served);
  size_t sets = 0;
  for (const Task& task : served->schema().tasks) sets += task.sets.size();
  ASSERT_EQ(all.size(), 2 * sets);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].part, i % 2 == 0 ? 0 : 2);
    const TaskSetRequest request{.task = all[i].task->name,
                                 .set = all[i].set->set,
                                 .type = all[i].set->type,
                                 .part = all[i].part};
    EXPECT_EQ(TaskSetHandler(served.get(), 4 << 20).Read(request)->total_rows, all[i].rows);
  }
}

TEST_F(TaskSetHandlerTest, EndOfASetIsAnEmptyPage) {
  TaskSetRequest request = train_;
  request.first_row = TaskSetHandler(all_.get(), 4 << 20).Read(request)->total_rows;
  const auto page = TaskSetHandler(all_.get(), 4 << 20).Read(request);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->rows, 0);
}

TEST_F(TaskSetHandlerTest, UnknownNamesAreNotFoundNamingWhatExists) {
  TaskSetRequest request = train_;
  request.task = "ranking";
  EXPECT_TRUE(absl::IsNotFound(Refused(request)));
  EXPECT_THAT(Message(Refused(request)), HasSubstr("ranking"));
  EXPECT_THAT(Message(Refused(request)), HasSubstr("link_prediction"));
  request = train_;
  request.set = "holdout";
  EXPECT_TRUE(absl::IsNotFound(Refused(request)));
  EXPECT_THAT(Message(Refused(request)), HasSubstr("holdout"));
  request = train_;
  request.type = "author";
  EXPECT_TRUE(absl::IsNotFound(Refused(request)));
}

TEST_F(TaskSetHandlerTest, PartNotServedIsOutOfRangeNamingThoseThatAre) {
  const auto served = Open({0, 2});
  for (const int64_t part : {int64_t{1}, int64_t{3}, int64_t{4294967295}}) {
    TaskSetRequest request = train_;
    request.part = part;
    const Status status = TaskSetHandler(served.get(), 4 << 20).Read(request).status();
    EXPECT_TRUE(absl::IsOutOfRange(status)) << part;
    EXPECT_THAT(Message(status), HasSubstr("part " + std::to_string(part)));
    EXPECT_THAT(Message(status), HasSubstr("parts 0, 2"));
  }
}

TEST_F(TaskSetHandlerTest, FirstRowOutsideTheSetIsOutOfRange) {
  for (const int64_t row : {int64_t{-1}, int64_t{100000}, INT64_MIN, INT64_MAX}) {
    TaskSetRequest request = train_;
    request.first_row = row;
    EXPECT_TRUE(absl::IsOutOfRange(Refused(request)));
    EXPECT_THAT(Message(Refused(request)), HasSubstr(std::to_string(row)));
  }
}

TEST_F(TaskSetHandlerTest, RowLargerThanAMessageIsRefused) {
  EXPECT_TRUE(absl::IsResourceExhausted(Refused(train_, 200)));
}

}  // namespace
}  // namespace halograph::server
