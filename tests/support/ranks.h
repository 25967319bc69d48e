// The ranks of one run as threads of the test, meeting over loopback.
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
  options.rank = rank;
  options.world_size = world_size;
  options.master_addr = "127.0.0.1";
  options.master_port = port;
  options.timeout = std::chrono::seconds(20);
  return options;
}

// Runs `body` on every rank, each in its thread, once all have joined: a rank that leaves at once
// must not end the joining of another. Returns when all are done.
inline void RunRanks(int world_size,
                     const std::function<void(std::unique_ptr<Communicator>)>& body) {
  const int port = FreePort();
  std::latch all_joined(world_size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      auto joined = Communicator::Join(LoopbackGroup(rank, world_size, port));
      all_joined.arrive_and_wait();  // also after a failure, so that nobody waits for ever
      ASSERT_TRUE(joined.ok()) << joined.status();
      body(std::move(*joined));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace halograph
