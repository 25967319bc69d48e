#include "trainer/distributed/communicator.h"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/ranks.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class CommunicatorTest : public testing::TestWithParam<int> {};

TEST_P(CommunicatorTest, AllReduceSumsAndGatherKeepsRankOrder) {
  const int world_size = GetParam();
  RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
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

INSTANTIATE_TEST_SUITE_P(WorldSizes, CommunicatorTest, testing::Values(1, 2, 3, 4));

TEST(CommunicatorAgreeTest, ARankWithOtherSettingsSaysWhich) {
  RunRanks(2, [](std::unique_ptr<Communicator> ranks) {
    const Status status =
        ranks->Agree({{"hidden", 16}, {"seed", ranks->rank()}, {"fanouts", {1, 2}}});
    if (ranks->rank() == 0) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(Message(status), HasSubstr("seed is 1 on rank 1 but 0 on rank 0"));
    }
    // Rank 0 holds the store that rank 1 asks.
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(CommunicatorFailureTest, ALeavingRankSaysWhyToTheOther) {
  for (int leaver : {0, 1}) {
    RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
      if (ranks->rank() == leaver) {
        ranks->Leave("UNAVAILABLE: server 10.0.0.7:1 does not answer Sample");
        return;
      }
      const Status status = ranks->Barrier("all-reduce of gradients");
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(Message(status), HasSubstr("all-reduce of gradients"));
      EXPECT_THAT(Message(status), HasSubstr(fmt::format("rank {} (host", leaver)));
      EXPECT_THAT(Message(status), HasSubstr("server 10.0.0.7:1 does not answer Sample"));
    });
  }
}

TEST(CommunicatorFailureTest, AMissingRankIsNamed) {
  GroupOptions options = LoopbackGroup(0, 3, FreePort());
  options.timeout = std::chrono::milliseconds(200);
  const Status status = Communicator::Join(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("1, 2"));
}

TEST(CommunicatorFailureTest, AnAbsentMasterIsNamed) {
  GroupOptions options = LoopbackGroup(1, 2, FreePort());
  options.timeout = std::chrono::milliseconds(200);
  const Status status = Communicator::Join(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr(fmt::format("127.0.0.1:{}", options.master_port)));
}

TEST(CommunicatorFailureTest, APortInUseIsNamed) {
  const int port = FreePort();
  const int fd = socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<uint16_t>(port));
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  const Status status = Communicator::Join(LoopbackGroup(0, 2, port)).status();
  close(fd);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(Message(status), HasSubstr(std::to_string(port)));
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
