#include "trainer/distributed/communicator.h"

#include <atomic>
#include <cmath>
#include <csignal>
#include <functional>
#include <future>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "tests/support/ranks.h"
#include "trainer/distributed/wait_together.h"

namespace halograph {
namespace {

using testing::HasSubstr;
using testing::Not;

// Ranks in so many processes.
struct Layout {
  int ranks;
  int processes;
};

void PrintTo(const Layout& layout, std::ostream* out) {
  *out << layout.ranks << " ranks in " << layout.processes << " processes";
}

class CommunicatorTest : public testing::TestWithParam<Layout> {
 protected:
  void Run(const std::function<void(std::unique_ptr<Communicator>)>& body) {
    RunHostedRanks(GetParam().processes, GetParam().ranks / GetParam().processes, body);
  }
};

TEST_P(CommunicatorTest, AllReduceSumsAndGatherKeepsRankOrder) {
  const int world_size = GetParam().ranks;
  Run([&](std::unique_ptr<Communicator> ranks) {
    EXPECT_EQ(ranks->world_size(), world_size);
    torch::Tensor values = torch::full({3}, ranks->rank() + 1, torch::kInt64);
    ASSERT_TRUE(ranks->AllReduceSum(values, "test").ok());
    EXPECT_EQ(values[2].item<int64_t>(), world_size * (world_size + 1) / 2);

    torch::Tensor own = torch::full({2}, ranks->rank(), torch::kInt64);
    auto gathered = ranks->Gather(own, "test");
    ASSERT_TRUE(gathered.ok()) << gathered.status();
    ASSERT_EQ(gathered->size(), ranks->rank() == 0 ? static_cast<size_t>(world_size) : 0U);
    for (size_t i = 0; i < gathered->size(); ++i) {
      EXPECT_EQ((*gathered)[i][0].item<int64_t>(), static_cast<int64_t>(i));
    }

    torch::Tensor weights = torch::full({4}, 10 + ranks->rank());
    ASSERT_TRUE(ranks->Broadcast(weights, "test").ok());
    EXPECT_EQ(weights[3].item<float>(), 10);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

// Of float32 that are added up from rank 0 on, few and many: the sizes of both ways of OrderedSum,
// whole parts and a rest.
TEST_P(CommunicatorTest, SumsHaveTheBitsOfAddingInOrderOfRank) {
  const int world_size = GetParam().ranks;
  for (const int64_t count : {1, 7, 4000, 40001}) {
    torch::Tensor wanted;
    std::vector<torch::Tensor> of_ranks;
    for (int rank = 0; rank < world_size; ++rank) {
      const torch::Tensor at = torch::arange(count, torch::kFloat64) + 1;
      of_ranks.push_back((torch::sin(at * (rank + 2)) * std::pow(10, rank)).to(torch::kFloat32));
      wanted = rank == 0 ? of_ranks[0].clone() : wanted.add_(of_ranks.back());
    }
    Run([&](std::unique_ptr<Communicator> ranks) {
      torch::Tensor sum = of_ranks[ranks->rank()].clone();
      ASSERT_TRUE(ranks->AllReduceSum(sum, "test").ok());
      EXPECT_TRUE(torch::equal(sum, wanted)) << count << " on rank " << ranks->rank();
      ASSERT_TRUE(ranks->Barrier("end").ok());
    });
  }
}

TEST_P(CommunicatorTest, OtherSettingsOfOneRankAreNamed) {
  const int world_size = GetParam().ranks;
  if (world_size == 1) return;
  std::atomic<int> refused = 0;
  Run([&](std::unique_ptr<Communicator> ranks) {
    const bool other = ranks->rank() == world_size - 1;
    const Status status = ranks->Agree({{"hidden", 16}, {"seed", other ? 1 : 0}});
    if (!status.ok()) {
      ++refused;
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      const int first_here = world_size - GetParam().ranks / GetParam().processes;
      const int compared_with = first_here == world_size - 1 ? 0 : first_here;
      EXPECT_THAT(Message(status), HasSubstr(fmt::format("seed is 1 on rank {} but 0 on rank {}",
                                                         world_size - 1, compared_with)));
      ranks->Leave(Message(status));
    } else {  // process 0 holds the store that the others ask
      const Status met = ranks->Barrier("end");
      EXPECT_FALSE(met.ok());
      ranks->Leave(Message(met));
    }
  });
  EXPECT_EQ(refused, GetParam().ranks / GetParam().processes);
}

TEST_P(CommunicatorTest, ALeavingRankSaysWhyToAllOthers) {
  const int world_size = GetParam().ranks;
  for (const int leaver : {0, world_size - 1}) {
    if (world_size == 1) return;
    Run([&](std::unique_ptr<Communicator> ranks) {
      if (ranks->rank() == leaver) {
        ranks->Leave("a row has no label");
        return;
      }
      const Status status = ranks->Barrier("all-reduce of gradients");
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_THAT(Message(status), HasSubstr("all-reduce of gradients"));
      EXPECT_THAT(Message(status), HasSubstr("a row has no label"));
      const int each = world_size / GetParam().processes;
      const int process = leaver / each;
      if (each == 1) {
        EXPECT_THAT(Message(status), HasSubstr(fmt::format("rank {} (host", leaver)));
      } else if (ranks->rank() / each == process) {
        EXPECT_THAT(Message(status), HasSubstr(fmt::format("rank {} stopped: ", leaver)));
      } else {
        EXPECT_THAT(Message(status),
                    HasSubstr(fmt::format("process {} with ranks {} to {} (host", process,
                                          process * each, process * each + each - 1)));
      }
      ranks->Leave(Message(status));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, CommunicatorTest,
                         testing::Values(Layout{1, 1}, Layout{2, 2}, Layout{3, 3}, Layout{4, 4},
                                         Layout{2, 1}, Layout{3, 1}, Layout{4, 1}, Layout{4, 2},
                                         Layout{6, 2}));

TEST(CommunicatorFailureTest, AConnectionThatAnotherRankClosedEndsNoProcess) {
  RunRanks(2, [](std::unique_ptr<Communicator> ranks) {
    ASSERT_TRUE(ranks->Barrier("end").ok());
    EXPECT_EQ(raise(SIGPIPE), 0);  // as a write to such a connection does
  });
}

// One process is lost while another one computes: the others see its connections closed at once.
TEST(CommunicatorFailureTest, WhoComputesIsNotTakenForTheOneThatIsLost) {
  const int port = FreePort();
  std::latch lost(3), told(1);
  std::vector<std::thread> threads;
  for (const int rank : {0, 1, 2}) {
    threads.emplace_back([&, rank] {
      auto joined = Communicator::Join(LoopbackGroup(rank, 3, port));
      EXPECT_TRUE(joined.ok()) << joined.status();
      std::unique_ptr<Communicator> ranks = joined.ok() ? *std::move(joined) : nullptr;
      EXPECT_TRUE(ranks != nullptr && ranks->Barrier("begin").ok());
      if (rank == 1) ranks.reset();  // without a word, as if it was killed
      lost.arrive_and_wait();
      if (rank == 2) told.wait();  // computes
      if (ranks != nullptr) {
        const Status status = ranks->Barrier("evaluation");
        EXPECT_THAT(Message(status), HasSubstr("rank 1 (host"));
        EXPECT_THAT(Message(status), HasSubstr("does not answer"));
        EXPECT_THAT(Message(status), Not(HasSubstr("rank 2 (host")));
        // Rank 0 goes, and the store with it, before rank 2 comes.
        ranks->Leave(Message(status));
        ranks.reset();
      }
      if (rank == 0) told.count_down();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A store that fails in the middle, as a connection does whose answer did not come in time.
class FailingStore : public ::c10d::HashStore {
 public:
  int64_t add(const std::string& /*key*/, int64_t /*value*/) override {
    throw std::runtime_error("Socket Timeout");
  }
};

// Says when it was counted in.
class WatchedStore : public ::c10d::HashStore {
 public:
  int64_t add(const std::string& key, int64_t value) override {
    const int64_t count = HashStore::add(key, value);
    if (value > 0 && count == 2) counted_.set_value();
    return count;
  }
  std::promise<void> counted_;
};

TEST(PresenceTest, CountsOnWhereTheStoreAnswersAgain) {
  const auto store = c10::make_intrusive<WatchedStore>();
  int connected = 0;  // of the thread alone
  const auto connect = [&]() -> Presence::StorePtr {
    switch (connected++) {
      case 0:
        throw std::runtime_error("nobody listens");
      case 1:
        return c10::make_intrusive<FailingStore>();
      default:
        return store;
    }
  };
  const Presence presence(connect, 1);
  const auto counted = store->counted_.get_future();
  EXPECT_EQ(counted.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  EXPECT_GE(Presence::CountOf(*store, 1), 2);
}

TEST(WaitTogetherTest, AllReturnOnceRank0IsDone) {
  std::atomic<int> asked = 0;
  RunRanks(3, [&](std::unique_ptr<Communicator> ranks) {
    const auto done = [&](std::chrono::nanoseconds at_most) {
      EXPECT_LE(at_most, std::chrono::seconds(5));
      EXPECT_EQ(ranks->rank(), 0);
      return ++asked == 4;
    };
    EXPECT_EQ(WaitTogether(*ranks, done, "test"), OkStatus());
    EXPECT_EQ(asked, 4);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(WaitTogetherTest, WhoLeavesIsMissedBeforeRank0IsDone) {
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    if (ranks->rank() == 1) return ranks->Leave("the reason");
    const auto never = [](std::chrono::nanoseconds) { return false; };
    const Status status = WaitTogether(*ranks, never, "the disk");
    EXPECT_THAT(Message(status), testing::AllOf(HasSubstr("the disk"), HasSubstr("the reason")));
  });
}

// Rank 1 stands in for one that waits: rank 0's work goes on until they have met three times.
TEST(WorkTogetherTest, RanksMeetWhileOneWorks) {
  std::promise<void> met;
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    if (ranks->rank() == 0) {
      const RankWork work = [&](const CancelToken&) {
        met.get_future().wait();
        return OkStatus();
      };
      EXPECT_EQ(WorkTogether(*ranks, nullptr, work, "test"), OkStatus());
      return;
    }
    int meetings = 0;
    for (bool busy = true; busy;) {
      const torch::Tensor sum = torch::zeros({1});
      ASSERT_TRUE(ranks->AllReduceSum(sum, "meeting").ok());
      busy = sum.item<float>() > 0;
      if (++meetings == 3) met.set_value();
    }
    EXPECT_GT(meetings, 3);
  });
}

TEST(WorkTogetherTest, AllReturnOnceAllAreDone) {
  std::atomic<int> worked = 0;
  RunRanks(3, [&](std::unique_ptr<Communicator> ranks) {
    const RankWork work = [&](const CancelToken&) {
      ++worked;
      return OkStatus();
    };
    EXPECT_EQ(WorkTogether(*ranks, nullptr, ranks->rank() == 1 ? nullptr : work, "test"),
              OkStatus());
    EXPECT_EQ(worked, 2);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

// A token that is cancelled is waited for, not slept for.
Status UntilCancelled(const CancelToken& cancel) {
  std::promise<void> cancelled;
  const CancelToken::Registration on_cancel(&cancel, [&] { cancelled.set_value(); });
  cancelled.get_future().wait();
  return cancel.Check();
}

TEST(WorkTogetherTest, ARankThatFailsEndsTheWorkOfTheOthers) {
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    if (ranks->rank() == 0) {
      const Status status = WorkTogether(
          *ranks, nullptr, [](const CancelToken&) { return DataLoss("a bad row"); }, "reading");
      EXPECT_EQ(status, DataLoss("a bad row"));
      return ranks->Leave(ToString(status));
    }
    const Status status = WorkTogether(*ranks, nullptr, UntilCancelled, "reading");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(Message(status), testing::AllOf(HasSubstr("reading"), HasSubstr("a bad row")));
  });
}

TEST(WorkTogetherTest, WhoIsCancelledCancelsTheWork) {
  for (const int world_size : {1, 2}) {
    CancelToken cancel;
    cancel.Cancel();
    RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
      const bool works = ranks->rank() == 0;
      const Status status =
          WorkTogether(*ranks, &cancel, works ? RankWork(UntilCancelled) : RankWork(), "reading");
      EXPECT_EQ(status.code(),
                works ? absl::StatusCode::kCancelled : absl::StatusCode::kUnavailable)
          << status;
      ranks->Leave(ToString(status));
    });
  }
}

TEST(WorkTogetherTest, OneRankWorksOnItsOwnThread) {
  const auto alone = *Communicator::Join({});
  const auto thread = std::this_thread::get_id();
  const RankWork work = [&](const CancelToken&) {
    EXPECT_EQ(std::this_thread::get_id(), thread);
    return OkStatus();
  };
  EXPECT_EQ(WorkTogether(*alone, nullptr, work, "test"), OkStatus());
  EXPECT_EQ(WorkTogether(*alone, nullptr, nullptr, "test"), OkStatus());
}

TEST(CommunicatorFailureTest, AMissingRankIsNamed) {
  GroupOptions options = LoopbackGroup(0, 3, FreePort());
  options.timeout = std::chrono::milliseconds(200);
  const Status status = Communicator::Join(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("rank 1, rank 2"));
}

// Two runs with one port: whoever comes from the other one leaves, and those who meet there do.
TEST(CommunicatorFailureTest, ARankOfAnotherJobIsRefusedAndDisturbsNobody) {
  GroupOptions options = LoopbackGroup(0, 2, FreePort());
  options.job = "one";
  auto first = std::async(std::launch::async, [options] { return Communicator::Join(options); });
  options.process = 1;
  options.job = "other";
  const Status refused = Communicator::Join(options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(Message(refused), HasSubstr("rank 1 is of job 'other'"));
  EXPECT_THAT(Message(refused), HasSubstr("are of job 'one'"));
  EXPECT_THAT(Message(refused), HasSubstr("--job"));
  options.job = "one";
  const auto second = Communicator::Join(options);
  EXPECT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(first.get().ok());
}

TEST(CommunicatorFailureTest, AnAbsentMasterIsNamed) {
  GroupOptions options = LoopbackGroup(1, 2, FreePort());
  options.timeout = std::chrono::milliseconds(200);
  const Status status = Communicator::Join(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr(fmt::format("127.0.0.1:{}", options.master_port)));
}

// The port is another program's, or rank 0 is stopped: the system takes the connection.
TEST(CommunicatorFailureTest, WhoTakesConnectionsAndSaysNothingIsNotWaitedForWithoutEnd) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(fd, 8), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  GroupOptions options = LoopbackGroup(1, 2, ntohs(address.sin_port));
  options.timeout = std::chrono::milliseconds(200);
  const Status status = Communicator::Join(options).status();
  close(fd);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(Message(status), HasSubstr(std::to_string(options.master_port)));
}

TEST(CommunicatorFailureTest, APortInUseIsNamed) {
  const int port = FreePort();
  const int fd = socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<uint16_t>(port));
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  testing::internal::CaptureStderr();
  const Status status = Communicator::Join(LoopbackGroup(0, 2, port)).status();
  const std::string lines = testing::internal::GetCapturedStderr();
  close(fd);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(Message(status), HasSubstr(std::to_string(port)));
  EXPECT_THAT(lines, testing::Not(HasSubstr("c10d"))) << "its own line beside the error";
}

TEST(CommunicatorFailureTest, AStopSignalEndsJoining) {
  std::atomic<bool> stop = true;
  for (int rank : {0, 1}) {
    GroupOptions options = LoopbackGroup(rank, 2, FreePort());
    options.stop = &stop;
    EXPECT_EQ(Communicator::Join(options).status().code(), absl::StatusCode::kCancelled);
  }
}

}  // namespace
}  // namespace halograph
