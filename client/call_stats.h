// What calls of a store cost, counted by the client.
#pragma once

#include <cstdint>

namespace halograph {

// What one request and its reply count.
inline constexpr int64_t kRoundsOfAnExchange = 2;

struct CallStats {
  // Rows gathered from mapped files. Sampling does not count what it reads there.
  int64_t local_bytes = 0;
  // Pull: rows that came from servers. Sample: requests and replies.
  int64_t remote_bytes = 0;
  // Communication rounds as FastSample counts them (arXiv 2311.17847): a request and its reply are
  // one each. What is asked of several servers or in several messages at a time is one request;
  // retries, and calls for what a reply left out, belong to it.
  int64_t rounds = 0;

  CallStats& operator+=(const CallStats& other) {
    local_bytes += other.local_bytes;
    remote_bytes += other.remote_bytes;
    rounds += other.rounds;
    return *this;
  }
};

}  // namespace halograph
