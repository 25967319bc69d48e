// The ranks of one run as threads of the test: processes that meet over loopback, with one rank
// each or several.
#pragma once

#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/free_port.h"
#include "trainer/distributed/communicator.h"

namespace halograph {

inline GroupOptions LoopbackGroup(int rank, int world_size, int port) {
  GroupOptions options;
  options.process = rank;
  options.num_processes = world_size;
  options.master_addr = "127.0.0.1";
  options.master_port = port;
  options.timeout = std::chrono::minutes(2);
  return options;
}

// Runs `body` on every rank of some processes with `ranks_each`, each in its thread, once all have
// joined: a rank that leaves at once must not end the joining of another. Returns when all are
// done. `timeout`: of the collectives.
inline void RunHostedRanks(int processes, int ranks_each,
                           const std::function<void(std::unique_ptr<Communicator>)>& body,
                           std::chrono::nanoseconds timeout = std::chrono::minutes(2)) {
  const int port = FreePort();
  std::latch all_joined(processes * ranks_each);
  std::vector<std::unique_ptr<HostedRanks>> hosts;
  std::vector<std::thread> threads;
  for (int process = 0; process < processes; ++process) {
    hosts.push_back(std::make_unique<HostedRanks>(process, processes, ranks_each));
    for (int index = 0; index < ranks_each; ++index) {
      const RankSeat seat{hosts.back().get(), index};
      threads.emplace_back([&, seat, process] {
        GroupOptions options = LoopbackGroup(process, processes, port);
        options.timeout = timeout;
        auto joined = Communicator::Join(options, seat);
        all_joined.arrive_and_wait();  // also after a failure, so that nobody waits for ever
        ASSERT_TRUE(joined.ok()) << joined.status();
        body(std::move(*joined));
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

// The same with a process for each.
inline void RunRanks(int world_size,
                     const std::function<void(std::unique_ptr<Communicator>)>& body) {
  RunHostedRanks(world_size, 1, body);
}

}  // namespace halograph
