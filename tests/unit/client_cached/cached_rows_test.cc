#include "client/cached/cached_rows.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/unit/client_cached/gated_rows.h"
#include "tests/unit/client_cached/plan_traces.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Nodes = std::vector<std::vector<int64_t>>;  // per node type

const TensorRef kFeat{false, "paper", "feat"};
const TensorRef kYear{false, "paper", "year"};
const TensorRef kSize{false, "venue", "size"};
constexpr size_t kSlotBytes = 12 + 8 + sizeof(uint32_t) + kPlanBytesASlot;

// Part 1 is here: papers 400 to 699, and no venue.
class CachedRowsTest : public testing::Test {
 protected:
  void Open(int64_t slots, bool look_ahead = true, std::vector<std::vector<float>> weights = {}) {
    auto cache = CachedRows::Create(below_, info_,
                                    {.tensors = {kFeat, kYear, kSize},
                                     .own_parts = {1},
                                     .memory_bytes = static_cast<size_t>(slots) * kSlotBytes,
                                     .look_ahead = look_ahead,
                                     .weights = std::move(weights)});
    ASSERT_TRUE(cache.ok()) << cache.status();
    cache_ = *std::move(cache);
    ASSERT_EQ(cache_->slots(), slots);
  }
  void Announce(const std::vector<Nodes>& steps) {
    for (const Nodes& nodes : steps) {
      const Status status = cache_->Announce(announced_++, nodes);
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  // The first thing wrong with what the step gets, or what its call said.
  std::string Pull(int64_t ticket, const Nodes& nodes, const CancelToken* cancel = nullptr) {
    std::vector<std::byte> feat(nodes[0].size() * 12);
    std::vector<std::byte> year(nodes[0].size() * 8);
    std::vector<std::byte> size(nodes[1].size() * 3);
    CallContext context{
        .cancel = cancel, .trace_id = {.low = static_cast<uint64_t>(ticket)}, .ticket = ticket};
    const std::vector<RowRequest> requests = {{.tensor = kFeat, .ids = nodes[0], .out = feat},
                                              {.tensor = kSize, .ids = nodes[1], .out = size},
                                              {.tensor = kYear, .ids = nodes[0], .out = year}};
    const Status status = cache_->Pull(requests, context);
    if (!status.ok()) return ToString(status);
    for (const RowRequest& request : requests) {
      const size_t row_bytes = request.ids.empty() ? 1 : request.out.size() / request.ids.size();
      for (size_t i = 0; i < request.out.size(); ++i) {
        const int64_t id = request.ids[i / row_bytes];
        if (request.out[i] == GatedByte(request.tensor, id, i % row_bytes)) continue;
        return fmt::format("ticket {}: row {} of {}", ticket, id, request.tensor.ToString());
      }
    }
    return "";
  }

  const GraphInfo info_ = GatedGraph();
  const std::shared_ptr<GatedRows> below_ = std::make_shared<GatedRows>(info_);
  std::unique_ptr<CachedRows> cache_;
  int64_t announced_ = 0;
};

// Papers by a power law, venues by the paper.
std::vector<Nodes> RandomSteps(int64_t count) {
  std::vector<Nodes> steps;
  for (std::vector<int64_t>& papers :
       PowerLawTrace({.seed = 11, .rows = kPapers, .steps = count, .reads = 120})) {
    std::set<int64_t> venues;
    for (const int64_t paper : papers) venues.insert(paper * paper % kVenues);
    steps.push_back({std::move(papers), {venues.begin(), venues.end()}});
  }
  return steps;
}

// Four steps at a time have their calls under way; the answers come in random order.
class CachedRowsOrderTest : public CachedRowsTest, public testing::WithParamInterface<int64_t> {
 protected:
  void PullAll(const std::vector<Nodes>& steps) {
    constexpr size_t kAtOnce = 4;
    CounterRng rng(5);
    Announce(steps);
    for (size_t first = 0; first < steps.size(); first += kAtOnce) {
      below_->Close();
      std::vector<std::thread> threads;
      std::vector<std::string> wrong(kAtOnce);
      for (size_t i = 0; i < kAtOnce; ++i) {
        threads.emplace_back(
            [&, i] { wrong[i] = Pull(static_cast<int64_t>(first + i), steps[first + i]); });
      }
      below_->AwaitParked(kAtOnce);
      std::vector<size_t> order = {0, 1, 2, 3};
      for (size_t i = kAtOnce; i > 1; --i) std::swap(order[i - 1], order[rng.NextBounded(i)]);
      for (const size_t i : order) below_->Let(first + i);
      for (std::thread& thread : threads) thread.join();
      EXPECT_THAT(wrong, testing::Each(IsEmpty()));
    }
  }
  static int64_t CountRemote(const std::vector<Nodes>& steps) {
    int64_t rows = 0;
    for (const Nodes& nodes : steps) {
      rows += std::ssize(nodes[1]) + std::ranges::count_if(nodes[0], [](int64_t paper) {
                return paper < 400 || paper >= 700;
              });
    }
    return rows;
  }
};

TEST_P(CachedRowsOrderTest, RowsAreThoseBelowInAnyOrderOfReplies) {
  const std::vector<Nodes> steps = RandomSteps(40);
  Open(GetParam());
  PullAll(steps);
  const CachedRowsFigures figures = cache_->figures();
  EXPECT_EQ(figures.hits + figures.fetched, CountRemote(steps));
  EXPECT_GT(figures.hits, 0);
  EXPECT_EQ(figures.missing, 0);
}

TEST_P(CachedRowsOrderTest, RowsOfAStaticCacheAreThoseBelowToo) {
  const std::vector<Nodes> steps = RandomSteps(40);
  std::vector<std::vector<float>> weights = {std::vector<float>(kPapers), {}};
  for (size_t id = 0; id < kPapers; ++id) weights[0][id] = 1.0F / static_cast<float>(id + 1);
  Open(GetParam(), false, weights);
  PullAll(steps);
  EXPECT_GT(cache_->figures().hits, 0);
  EXPECT_EQ(cache_->figures().missing, 0);
}

TEST_P(CachedRowsOrderTest, WhatFailingStepsDidNotBringIsFetchedByLaterOnes) {
  const std::vector<Nodes> steps = RandomSteps(40);
  Open(GetParam());
  Announce(steps);
  for (size_t step = 0; step < steps.size(); ++step) {
    const auto ticket = static_cast<int64_t>(step);
    if (step % 7 == 2) {
      cache_->Drop(ticket);
    } else if (step % 5 == 1) {
      below_->FailCallsOf(step);
      EXPECT_THAT(Pull(ticket, steps[step]), HasSubstr("fails"));
    } else {
      EXPECT_EQ(Pull(ticket, steps[step]), "");
    }
  }
  // The one row of a single slot may be of steps that all succeed.
  if (GetParam() > 1) {
    EXPECT_GT(cache_->figures().missing, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Slots, CachedRowsOrderTest, testing::Values(1, 40, 200));

TEST_F(CachedRowsTest, AsksForRemoteRowsOnceAndForOwnOnesEachTime) {
  Open(10);
  const Nodes nodes = {{3, 450, 800}, {7}};
  Announce({nodes, nodes});
  EXPECT_EQ(Pull(0, nodes), "");
  EXPECT_THAT(below_->TakeAsked(), ElementsAre(3, 450, 800, 7, 3, 450, 800));
  EXPECT_EQ(Pull(1, nodes), "");
  EXPECT_THAT(below_->TakeAsked(), ElementsAre(450, 450));
  EXPECT_EQ(cache_->figures().hits, 3);
}

TEST_F(CachedRowsTest, APullWithoutATicketPassesBy) {
  Open(10);
  const Nodes nodes = {{3}, {}};
  Announce({nodes, nodes});
  EXPECT_EQ(Pull(0, nodes), "");
  below_->TakeAsked();
  std::vector<std::byte> year(8);
  CallContext context;
  ASSERT_TRUE(cache_->Pull({.tensor = kYear, .ids = nodes[0], .out = year}, context).ok());
  EXPECT_THAT(below_->TakeAsked(), ElementsAre(3));
  EXPECT_EQ(cache_->figures().hits, 0);
}

TEST_F(CachedRowsTest, TensorsThatAreNotCachedPassBy) {
  Open(10);
  const std::vector<int64_t> ids = {3};
  Announce({{ids, {}}, {ids, {}}});
  for (int64_t ticket = 0; ticket < 2; ++ticket) {
    std::vector<std::byte> feat(12);
    std::vector<std::byte> year(8);
    std::vector<std::byte> moving(4);
    CallContext context{.ticket = ticket};
    const std::vector<RowRequest> requests = {
        {.tensor = {false, "paper", "moving"}, .ids = ids, .out = moving},
        {.tensor = kFeat, .ids = ids, .out = feat},
        {.tensor = kYear, .ids = ids, .out = year}};
    ASSERT_TRUE(cache_->Pull(requests, context).ok());
    EXPECT_EQ(moving[0], std::byte{9});
  }
  EXPECT_THAT(below_->TakeAsked(), ElementsAre(3, 3, 3, 3));
}

TEST_F(CachedRowsTest, OtherIdsThanAnnouncedAreRightAllTheSame) {
  Open(10);
  Announce({{{1, 2, 3}, {}}, {{1, 2, 3}, {}}, {{1, 2, 3}, {}}, {{3}, {}}});
  EXPECT_EQ(Pull(0, {{1, 2}, {}}), "");       // fewer
  EXPECT_EQ(Pull(1, {{3, 900, 2}, {}}), "");  // others
  EXPECT_EQ(Pull(2, {{1, 2, 3, 4}, {}}), "");
  EXPECT_EQ(Pull(3, {{3}, {}}), "");
}

TEST_F(CachedRowsTest, AStepThatIsCancelledInItsTurnLetsTheNextOneGoOn) {
  Open(10);
  const Nodes nodes = {{3, 4}, {}};
  Announce({nodes, nodes, nodes});
  below_->Close();
  std::string first;
  std::string second;
  CancelToken cancel;
  std::thread first_thread([&] { first = Pull(0, nodes); });
  below_->AwaitParked(1);
  std::thread second_thread([&] { second = Pull(1, nodes, &cancel); });
  below_->AwaitParked(2);
  below_->Let(1);
  cancel.Cancel();  // wherever it is: in its call, or waiting for the first
  second_thread.join();
  EXPECT_THAT(second, HasSubstr("CANCELLED"));
  below_->Open();
  first_thread.join();
  EXPECT_EQ(first, "");
  EXPECT_EQ(Pull(2, nodes), "");
  EXPECT_EQ(cache_->figures().missing, 0);
}

// One thread has all calls under way, the last one first.
TEST_F(CachedRowsTest, AStartedPullThatWaitsForItsTurnKeepsNoThread) {
  constexpr int64_t kSteps = 4;
  Open(10);
  const Nodes nodes = {{3, 4}, {}};
  Announce({nodes, nodes, nodes, nodes});
  struct Started {
    std::vector<std::byte> out = std::vector<std::byte>(24);
    std::vector<RowRequest> requests = {};
    CallContext context = {};
    std::optional<Status> ended = {};
  };
  PostedWork work;
  std::vector<Started> pulls(kSteps);
  std::vector<int64_t> order;
  CancelToken cancel;
  for (int64_t ticket = kSteps - 1; ticket >= 0; --ticket) {
    Started& pull = pulls[static_cast<size_t>(ticket)];
    pull.requests = {{.tensor = kFeat, .ids = nodes[0], .out = pull.out}};
    pull.context = {.cancel = ticket == 2 ? &cancel : nullptr,
                    .ticket = ticket,
                    .post = [&](std::function<void()> piece) { work.Post(std::move(piece)); }};
    cache_->StartPull(pull.requests, pull.context, [&, ticket](Status status) {
      order.push_back(ticket);
      pull.ended = std::move(status);
    });
    if (ticket == 1) cancel.Cancel();  // of the one before
    if (ticket > 0) {
      EXPECT_THAT(order, IsEmpty());
    }
  }
  while (!pulls.back().ended.has_value()) work.RunOne();
  EXPECT_THAT(order, ElementsAre(2, 0, 1, 3)) << "who is cancelled waits for nobody";
  for (int64_t ticket = 0; ticket < kSteps; ++ticket) {
    const Started& pull = pulls[static_cast<size_t>(ticket)];
    EXPECT_EQ(pull.ended->code(),
              ticket == 2 ? absl::StatusCode::kCancelled : absl::StatusCode::kOk);
    if (ticket != 2) {
      EXPECT_EQ(pull.out.front(), GatedByte(kFeat, 3, 0));
    }
  }
}

TEST_F(CachedRowsTest, AStepWhoseDeadlinePassesInItsTurnWaitsNoLonger) {
  Open(10);
  const Nodes nodes = {{3, 4}, {}};
  Announce({nodes, nodes});
  std::vector<std::byte> out(24);
  const RowRequest request{.tensor = kFeat, .ids = nodes[0], .out = out};
  // Nobody pulls the first.
  CallContext context{.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20),
                      .ticket = 1};
  EXPECT_EQ(cache_->Pull(request, context).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(CachedRowsTest, ATicketIsAnnouncedBeforeAndPulledOnce) {
  Open(10);
  const Nodes nodes = {{3}, {}};
  EXPECT_THAT(Pull(0, nodes), HasSubstr("not announced"));
  Announce({nodes});
  EXPECT_EQ(Pull(0, nodes), "");
  EXPECT_THAT(Pull(0, nodes), HasSubstr("pulled or dropped before"));
  cache_->Drop(0);
  cache_->Drop(5);
  EXPECT_EQ(cache_->Announce(0, nodes).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(cache_->Announce(1, Nodes{{3}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(cache_->Announce(1, Nodes{{kPapers}, {}}).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(cache_->Announce(1, Nodes{{3, 3}, {}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(cache_->Announce(1, nodes).ok());
}

TEST_F(CachedRowsTest, StepsThatAreDroppedTogetherHoldUpNobody) {
  Open(10);
  const Nodes nodes = {{3}, {}};
  Announce({nodes, nodes, nodes});
  EXPECT_EQ(Pull(0, nodes), "");
  cache_->DropWaiting();
  EXPECT_THAT(Pull(2, nodes), HasSubstr("pulled or dropped before"));
  Announce({nodes});
  EXPECT_EQ(Pull(3, nodes), "");
}

TEST_F(CachedRowsTest, CountsWhatACacheOfAllRowsWouldNotHaveFetched) {
  for (const bool look_ahead : {true, false}) {
    std::vector<std::vector<float>> weights;
    if (!look_ahead) weights = {std::vector<float>(kPapers, 1.0F), {}};
    Open(40, look_ahead, weights);
    announced_ = 0;
    const std::vector<Nodes> steps = RandomSteps(40);
    Announce(steps);
    for (size_t step = 0; step < steps.size(); ++step) {
      EXPECT_EQ(Pull(static_cast<int64_t>(step), steps[step]), "");
    }
    const CachedRowsFigures small = cache_->figures();
    const int64_t enough = cache_->enough_bytes();
    std::set<std::pair<int, int64_t>> read;
    for (const Nodes& nodes : steps) {
      for (const int64_t id : nodes[0]) {
        if (id < 400 || id >= 700) read.emplace(0, id);
      }
      for (const int64_t id : nodes[1]) read.emplace(1, id);
    }
    EXPECT_GT(small.refetched, 0);
    EXPECT_EQ(small.fetched - small.refetched, std::ssize(read));
    EXPECT_GE(enough, std::ssize(read) * static_cast<int64_t>(kSlotBytes));
    if (!look_ahead) continue;  // keeps what has a weight only
    auto large = CachedRows::Create(below_, info_,
                                    {.tensors = {kFeat, kYear, kSize},
                                     .own_parts = {1},
                                     .memory_bytes = static_cast<size_t>(enough)});
    ASSERT_TRUE(large.ok()) << large.status();
    cache_ = *std::move(large);
    announced_ = 0;
    Announce(steps);
    for (size_t step = 0; step < steps.size(); ++step) {
      EXPECT_EQ(Pull(static_cast<int64_t>(step), steps[step]), "");
    }
    EXPECT_EQ(cache_->figures().fetched, std::ssize(read)) << "what was said to be enough is";
    EXPECT_EQ(cache_->figures().refetched, 0);
  }
}

TEST_F(CachedRowsTest, RowsThatAreForgottenWhenRanksChangeAreNotTakenForLackOfRoom) {
  auto cache = CachedRows::Create(below_, info_,
                                  {.tensors = {kFeat, kYear, kSize},
                                   .own_parts = {1},
                                   .memory_bytes = 30000,
                                   .count_reads = true});
  ASSERT_TRUE(cache.ok()) << cache.status();
  cache_ = *std::move(cache);
  const Nodes nodes = {{1, 2, 3}, {}};
  Announce({nodes, nodes});
  EXPECT_EQ(Pull(0, nodes), "");
  ASSERT_TRUE(cache_->RankByReads().ok());
  Announce({nodes, nodes});
  EXPECT_EQ(Pull(1, nodes), "");
  EXPECT_EQ(cache_->figures().hits, 3) << "it was announced before";
  EXPECT_EQ(Pull(2, nodes), "");
  EXPECT_EQ(Pull(3, nodes), "");
  EXPECT_EQ(cache_->figures().fetched, 6);
  EXPECT_EQ(cache_->figures().refetched, 0);
}

TEST_F(CachedRowsTest, RowsRankByReadsFromTheNextStepOn) {
  for (const bool look_ahead : {false, true}) {
    auto cache = CachedRows::Create(below_, info_,
                                    {.tensors = {kFeat, kYear, kSize},
                                     .own_parts = {1},
                                     .memory_bytes = 30000,
                                     .look_ahead = look_ahead,
                                     .count_reads = true});
    ASSERT_TRUE(cache.ok()) << cache.status();
    cache_ = *std::move(cache);
    announced_ = 0;
    // 60 papers that every step reads, and others that one step reads.
    const auto step = [](int64_t number) {
      Nodes nodes = {{}, {}};
      for (int64_t i = 0; i < 60; ++i) nodes[0].push_back(700 + i);
      for (int64_t i = 0; i < 40; ++i) nodes[0].push_back(number * 40 + i);
      return nodes;
    };
    for (int64_t number = 0; number < 4; ++number) Announce({step(number)});
    EXPECT_EQ(Pull(0, step(0)), "");
    EXPECT_EQ(Pull(1, step(1)), "");
    if (!look_ahead) {
      EXPECT_EQ(cache_->figures().hits, 0) << "nothing ranks yet";
    }
    ASSERT_EQ(cache_->RankByReads(), OkStatus());
    EXPECT_EQ(cache_->announced(), 4);
    EXPECT_EQ(cache_->largest_step(), 100);
    for (int64_t number = 4; number < 7; ++number) Announce({step(number)});
    // The steps that were announced before go first, whatever their order.
    for (const int64_t ticket : {2, 3, 4}) EXPECT_EQ(Pull(ticket, step(ticket)), "");
    const int64_t before = cache_->figures().hits;
    for (const int64_t ticket : {5, 6}) EXPECT_EQ(Pull(ticket, step(ticket)), "");
    EXPECT_EQ(cache_->figures().hits - before, 120);
    EXPECT_EQ(cache_->figures().missing, 0);
  }
}

TEST_F(CachedRowsTest, AnErrorInARequestNamesItAndEndsItsTurn) {
  Open(10);
  const Nodes nodes = {{3}, {}};
  Announce({nodes, nodes});
  EXPECT_THAT(Pull(0, {{kPapers}, {}}), HasSubstr("OUT_OF_RANGE"));
  EXPECT_EQ(Pull(1, nodes), "");
}

TEST_F(CachedRowsTest, CreatingSaysWhatDoesNotFit) {
  const auto code = [&](const CachedRowsOptions& options) {
    return CachedRows::Create(below_, info_, options).status().code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({.tensors = {}, .memory_bytes = 1000}), kInvalid);
  EXPECT_EQ(code({.tensors = {kFeat, kFeat}, .memory_bytes = 1000}), kInvalid);
  EXPECT_EQ(code({.tensors = {kFeat}, .own_parts = {3}, .memory_bytes = 1000}), kInvalid);
  EXPECT_EQ(code({.tensors = {kFeat}, .memory_bytes = 1000, .weights = {{1}}}), kInvalid);
  EXPECT_EQ(code({.tensors = {kFeat}, .memory_bytes = 1000, .weights = {{1}, {}}}), kInvalid);
  EXPECT_EQ(code({.tensors = {{false, "paper", "none"}}, .memory_bytes = 1000}),
            absl::StatusCode::kNotFound);
  const Status small =
      CachedRows::Create(below_, info_, {.tensors = {kFeat}, .memory_bytes = 100}).status();
  EXPECT_EQ(small.code(), kInvalid);
  EXPECT_THAT(Message(small), HasSubstr("no room for a row, which takes 136"));
  const Status uncounted =
      CachedRows::Create(
          below_, info_,
          {.tensors = {kFeat}, .memory_bytes = 10000, .look_ahead = false, .count_reads = true})
          .status();
  EXPECT_EQ(uncounted.code(), kInvalid);
  EXPECT_THAT(Message(uncounted), HasSubstr("reads of 1200 rows takes 4800 of them"));
  EXPECT_THAT(Message(uncounted), HasSubstr("give 19200 at least"));
}

}  // namespace
}  // namespace halograph
