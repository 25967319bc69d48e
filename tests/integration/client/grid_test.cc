// A grid of servers: two parts, each served by two. Who asks which column, by what the servers
// counted, and what becomes of a column whose server is gone.
#include <algorithm>

#include "tests/integration/client/loopback_socket.h"
#include "tests/integration/client/replicated_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;
using testing::Not;

class GridTest : public ReplicatedTest {
 protected:
  static constexpr int kParts = 2;
  static constexpr int kColumns = 2;
  static const std::set<std::string>& OfSamples() {
    static const std::set<std::string> methods = {"GraphService/Sample", "GraphService/ColumnSums",
                                                  "GraphService/Extract"};
    return methods;
  }

  GridTest() {
    for (int part = 0; part < kParts; ++part) {
      auto& row = grid_.emplace_back();
      for (int column = 0; column < kColumns; ++column) row.push_back(Serve(graph_, {part}));
      std::sort(row.begin(), row.end(),
                [](const auto& a, const auto& b) { return a->address() < b->address(); });
      for (const auto& server : row) addresses_.push_back(server->address());
    }
    std::reverse(addresses_.begin(), addresses_.end());  // in any order
  }

  // Of client `number`.
  [[nodiscard]] RemoteOptions Columns(int number, bool pulls) const {
    RemoteOptions options = Options(addresses_);
    options.columns = true;
    options.column_pulls = pulls;
    options.column_of = number;
    return options;
  }
  [[nodiscard]] std::string Address(int part, int column) const {
    return grid_[static_cast<size_t>(part)][static_cast<size_t>(column)]->address();
  }
  [[nodiscard]] int64_t Samples(int part, int column) const {
    return Calls(Address(part, column), OfSamples());
  }
  [[nodiscard]] int64_t Pulls(int part, int column) const {
    return Calls(Address(part, column), {"KVService/Pull"});
  }

  std::vector<std::vector<std::unique_ptr<server::Server>>> grid_;  // by part and column
  std::vector<std::string> addresses_;
};

TEST_F(GridTest, SamplesComeFromTheClientsColumnAndPullsFromTheLeastBusyServer) {
  for (const DrawKind kind : {DrawKind::kNeighbor, DrawKind::kLadies}) {
    int64_t before[kParts][kColumns];
    for (int part = 0; part < kParts; ++part) {
      for (int column = 0; column < kColumns; ++column) {
        before[part][column] = Samples(part, column);
      }
    }
    CallStats stats;
    ExpectSame(Train(Open(Columns(1, false)), nullptr, &stats, kind), Undisturbed(kind));
    EXPECT_EQ(stats.failovers, 0);
    for (int part = 0; part < kParts; ++part) {
      EXPECT_EQ(Samples(part, 0), before[part][0]) << "part " << part;
      EXPECT_GE(Samples(part, 1), before[part][1] + kSteps) << "part " << part;
      // One call at a time: of equals, the server that was asked longest ago.
      EXPECT_GE(Pulls(part, 0), kSteps) << "part " << part;
    }
  }
}

TEST_F(GridTest, WithColumnPullsNothingIsAskedOfAnotherColumn) {
  CapturedLog log;
  CallStats stats;
  ExpectSame(Train(Open(Columns(2, true)), nullptr, &stats), Undisturbed());
  EXPECT_EQ(stats.failovers, 0);
  for (int part = 0; part < kParts; ++part) {
    EXPECT_GE(Samples(part, 0), kSteps) << "client 2 is of column 2 mod 2";
    EXPECT_GE(Pulls(part, 0), kSteps);
    EXPECT_EQ(Samples(part, 1) + Pulls(part, 1), 0);
  }
  EXPECT_THAT(log.End(), HasSubstr("asks column 0 of 2 for samples, column 0 of 2 for features"));
}

TEST_F(GridTest, WhatTheOtherColumnAnswersForAServerThatIsGoneIsCountedAndChangesNoBit) {
  CapturedLog log;
  const std::string lost = Address(0, 0);
  CallStats stats;
  StatusOr<Epoch> epoch = Epoch{};
  {
    const Stores stores = Open(Columns(0, true));
    epoch = Train(
        stores,
        [&](int step) {
          if (step == kSteps / 2) grid_[0][0].reset();
        },
        &stats);
  }
  const std::string text = log.End();
  ExpectSame(epoch, Undisturbed());
  // A part has a call of each layer and of features a step, and all of them went over.
  EXPECT_GE(stats.failovers, kSteps / 2);
  EXPECT_EQ(Samples(0, 1) + Pulls(0, 1), stats.failovers);
  EXPECT_EQ(AskStatus(Options({Address(0, 1)}))[0].failovers, stats.failovers);
  EXPECT_EQ(Samples(1, 1) + Pulls(1, 1), 0) << "the column's other server is still there";
  const std::string report =
      "part 0: " + Address(0, 1) + " is asked from now on, " + lost + " is lost (";
  ASSERT_THAT(text, HasSubstr(report));
  EXPECT_THAT(text.substr(text.find(report) + report.size()), Not(HasSubstr("is lost"))) << text;
}

TEST_F(GridTest, PartsWithDifferentNumbersOfServersAreRefusedOnlyWhereColumnsAreRead) {
  const auto third = Serve(graph_, {1});
  addresses_.push_back(third->address());
  ExpectError(OpenRemoteStores(Columns(0, false)).status(), absl::StatusCode::kFailedPrecondition,
              {"--columns needs the same number of servers for each part",
               "3 servers for part 1, 2 servers for part 0"});
  ExpectSame(Train(Open(Options(addresses_))), Undisturbed());
  // The topology is here: no samples are asked for.
  RemoteOptions hybrid = Columns(0, false);
  hybrid.needs_topology = false;
  EXPECT_TRUE(OpenRemoteStores(hybrid).ok());
  hybrid.column_pulls = true;
  ExpectError(OpenRemoteStores(hybrid).status(), absl::StatusCode::kFailedPrecondition,
              {"--column-pulls needs the same number of servers for each part"});
}

// It may be the one that is missing.
TEST_F(GridTest, AServerThatDoesNotAnswerAtTheStartIsNoReasonToRefuse) {
  const LoopbackSocket socket(LoopbackSocket::Kind::kRefuses);
  std::replace(addresses_.begin(), addresses_.end(), Address(1, 1), socket.address());
  ExpectSame(Train(Open(Columns(1, true))), Undisturbed());
}

TEST_F(GridTest, OneColumnIsToldOnce) {
  addresses_ = {Address(0, 1), Address(1, 0)};
  CapturedLog log;
  ExpectSame(Train(Open(Columns(5, true))), Undisturbed());
  const std::string text = log.End();
  const std::string told = "--columns and --column-pulls: every part has one server";
  ASSERT_THAT(text, HasSubstr(told));
  EXPECT_THAT(text.substr(text.find(told) + told.size()), Not(HasSubstr("every part has")));
}

TEST_F(GridTest, AServerThatComesBackAndMakesItNoGridIsRefused) {
  CapturedLog log;
  const std::string changed = Address(0, 0);
  StatusOr<Epoch> epoch = Epoch{};
  {
    const Stores stores = Open(Columns(0, true));
    epoch = Train(stores, [&](int step) {
      if (step != kSteps / 2) return;
      grid_[0][0].reset();
      grid_[0][0] = ServeAt(changed, graph_, {1});
    });
    const Stopwatch watch;
    while (!log.Has(changed + " is refused") && watch.elapsed() < std::chrono::minutes(2)) {
      ASSERT_TRUE(Sample(*stores.graph, {1, 150}).ok());
    }
  }
  ExpectSame(epoch, Undisturbed());
  EXPECT_THAT(log.End(), HasSubstr(changed + " is refused, and other servers of its parts are "
                                             "asked: --columns needs the same number"));
}

}  // namespace
}  // namespace halograph
