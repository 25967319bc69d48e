#include "server/handlers/pull.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "tests/unit/server/served_fixture.h"

namespace halograph::server {
namespace {

using testing::HasSubstr;

class PullHandlerTest : public ServedTest {
 protected:
  template <typename T>
  std::vector<T> Pull(const ServedGraph& graph, const PullRequest& request) {
    const PullHandler handler(&graph, kLimit);
    const StatusOr<PullPlan> plan = handler.Plan(request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return {};
    EXPECT_EQ(plan->bytes % sizeof(T), 0U);
    std::vector<T> rows(plan->bytes / sizeof(T));
    const Status gathered =
        handler.Gather(*plan, request.ids, reinterpret_cast<std::byte*>(rows.data()));
    EXPECT_TRUE(gathered.ok()) << gathered;
    return rows;
  }
  Status Refused(const ServedGraph& graph, const PullRequest& request, int64_t limit = kLimit) {
    return PullHandler(&graph, limit).Plan(request).status();
  }
};

TEST_F(PullHandlerTest, RowsOfAllPartsComeInTheOrderAskedWithRepeats) {
  const std::vector<int64_t> global = GlobalNodeIds(spec_, "paper");
  PullRequest request{.tensor = {.type = "paper", .name = "year"}, .ids = {}};
  std::vector<int64_t> expected;
  for (const int64_t original : {119, 0, 7, 7, 60, 1, 119}) {
    request.ids.push_back(global[original]);
    expected.push_back(1900 + original);
  }
  EXPECT_EQ(Pull<int64_t>(*all_, request), expected);
}

TEST_F(PullHandlerTest, OnePartGivesTheSameRowsAsAllParts) {
  for (int part = 0; part < 3; ++part) {
    const PullRequest request{.tensor = {.type = "paper", .name = "feat"},
                              .ids = Owned(NodeType("paper"), part)};
    EXPECT_EQ(Pull<float>(*Open({part}), request), Pull<float>(*all_, request)) << part;
  }
}

TEST_F(PullHandlerTest, OriginalIdsAreATensorOfEveryType) {
  const std::vector<int64_t> global = GlobalNodeIds(spec_, "venue");
  const PullRequest request{.tensor = {.type = "venue", .name = kOriginalIdTensor}, .ids = global};
  const std::vector<int64_t> originals = Pull<int64_t>(*all_, request);
  for (size_t i = 0; i < originals.size(); ++i) EXPECT_EQ(originals[i], static_cast<int64_t>(i));
  EXPECT_EQ(originals.size(), global.size());
}

TEST_F(PullHandlerTest, EdgeFeaturesComeByGlobalEdgeId) {
  PullRequest weights{.tensor = {.edge = true, .type = "paper:cites:paper", .name = "weight"},
                      .ids = {5, 0, 17}};
  PullRequest originals = weights;
  originals.tensor.name = kOriginalIdTensor;
  const std::vector<float> rows = Pull<float>(*all_, weights);
  const std::vector<int64_t> positions = Pull<int64_t>(*all_, originals);
  ASSERT_EQ(rows.size(), 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(rows[i], static_cast<float>(positions[i]));
}

TEST_F(PullHandlerTest, ShapeFollowsTheRank) {
  const PullHandler handler(all_.get(), kLimit);
  EXPECT_EQ(handler.Plan({{.type = "paper", .name = "feat"}, {1, 2, 3}})->shape,
            (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(handler.Plan({{.type = "paper", .name = "year"}, {}})->shape,
            (std::vector<int64_t>{0}));
}

TEST_F(PullHandlerTest, UnknownNamesAreNotFoundAndNamed) {
  Status status = Refused(*all_, {{.type = "journal", .name = "feat"}, {0}});
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(Message(status), HasSubstr("journal"));
  status = Refused(*all_, {{.type = "paper", .name = "colour"}, {0}});
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(Message(status), HasSubstr("colour"));
  status = Refused(*all_, {{.edge = true, .type = "paper", .name = "feat"}, {0}});
  EXPECT_TRUE(absl::IsNotFound(status));
}

TEST_F(PullHandlerTest, IdOfAnotherPartIsOutOfRangeNamingOwnerAndParts) {
  const auto served = Open({0, 2});
  std::vector<int64_t> ids = Owned(NodeType("paper"), 0);
  const int64_t foreign = all_->book().NodeRange(NodeType("paper"), 1).begin;
  ids.insert(ids.begin() + 3, foreign);
  const Status status = Refused(*served, {{.type = "paper", .name = "feat"}, ids});
  EXPECT_TRUE(absl::IsOutOfRange(status));
  EXPECT_THAT(Message(status), HasSubstr("id " + std::to_string(foreign) + " at position 3"));
  EXPECT_THAT(Message(status), HasSubstr("owned by part 1"));
  EXPECT_THAT(Message(status), HasSubstr("parts 0, 2"));
}

TEST_F(PullHandlerTest, IdBeyondTheTypeIsOutOfRangeNamingTheCount) {
  const auto part = Open({1});
  for (const ServedGraph* graph : {all_.get(), part.get()}) {
    for (const int64_t id : {int64_t{120}, int64_t{-1}}) {
      const Status status = Refused(*graph, {{.type = "paper", .name = "feat"}, {id}});
      EXPECT_TRUE(absl::IsOutOfRange(status)) << id;
      EXPECT_THAT(Message(status), HasSubstr(std::to_string(static_cast<uint64_t>(id))));
      EXPECT_THAT(Message(status), HasSubstr("120"));
    }
  }
}

TEST_F(PullHandlerTest, ReplyOverTheLimitIsRefusedSayingHowManyRowsFit) {
  constexpr int64_t kSmall = 64 + 16 * 10;  // ten rows of feat
  PullRequest request{.tensor = {.type = "paper", .name = "feat"}, .ids = All(NodeType("paper"))};
  request.ids.resize(10);
  EXPECT_TRUE(Refused(*all_, request, kSmall).ok());
  request.ids.push_back(0);
  const Status status = Refused(*all_, request, kSmall);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(Message(status), HasSubstr("11 rows of 16 bytes"));
  EXPECT_THAT(Message(status), HasSubstr("at most 10 rows"));
}

TEST_F(PullHandlerTest, FeaturesWhoseRowsFitNoMessageAreNamed) {
  EXPECT_THAT(all_->RowsBeyond(kLimit), testing::IsEmpty());
  const auto names_year = [&](int64_t message_bytes) {
    const std::vector<std::string> lines = all_->RowsBeyond(message_bytes);
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find(
                 "one row of node paper / year has 8 bytes, which takes --max-message-bytes "
                 "144 of client and server") != line.npos;
    });
  };
  EXPECT_TRUE(names_year(143));
  EXPECT_FALSE(names_year(144));
}

}  // namespace
}  // namespace halograph::server
