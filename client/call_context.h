// What a call to a store goes by: how long it may take, who can end it, what it counted, how logs
// name it, and who goes on with it when answers have come. One object for one call, or for several
// that are made one after the other: their figures add up.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/pulled_rows.h"
#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/base/trace_context.h"

namespace halograph {

// What one request and its reply count.
inline constexpr int64_t kRoundsOfAnExchange = 2;

struct CallStats {
  // Rows gathered from mapped files, or from a cache. Sampling does not count what it reads there.
  int64_t local_bytes = 0;
  // Pull: rows that came from servers. Sample: requests and replies.
  int64_t remote_bytes = 0;
  // Communication rounds as FastSample counts them (arXiv 2311.17847): a request and its reply are
  // one each. What is asked of several servers, or in several messages at a time, is one request;
  // retries, and calls for what a reply left out, belong to it.
  int64_t rounds = 0;
  // Times that a call went on at another server of its part, since one did not answer, was full, or
  // refused it; or began at one of another column (RemoteOptions::columns), for the first two.
  int64_t failovers = 0;
  // Nodes whose neighbours a layer asked for and got none, since they lie beyond what a part that
  // is sampled alone knows; one a minibatch, layer and node.
  int64_t cut_nodes = 0;
  // Nodes whose rows are not here, and of which a cache was asked (client/cached): those that it
  // had, and those that it fetched.
  int64_t cache_hits = 0;
  int64_t cache_misses = 0;
  // Of the misses, those of rows that an earlier step had fetched: with room for all rows the cache
  // would have had them.
  int64_t cache_refetches = 0;
  // Per server, by its number in RemoteOptions::servers, how long requests were under way there, in
  // seconds: of several at once, while there was one. Servers behind its end were not asked. (GCC
  // 12 takes it for uninitialized in a context whose ids are copied, if `= {}` stands here.)
  std::vector<double> server_seconds;

  void AddServerSeconds(size_t server, double seconds) {
    if (server >= server_seconds.size()) server_seconds.resize(server + 1);
    server_seconds[server] += seconds;
  }

  CallStats& operator+=(const CallStats& other) {
    local_bytes += other.local_bytes;
    remote_bytes += other.remote_bytes;
    rounds += other.rounds;
    failovers += other.failovers;
    cut_nodes += other.cut_nodes;
    cache_hits += other.cache_hits;
    cache_misses += other.cache_misses;
    cache_refetches += other.cache_refetches;
    for (size_t server = 0; server < other.server_seconds.size(); ++server) {
      AddServerSeconds(server, other.server_seconds[server]);
    }
    return *this;
  }
};

// Takes work of a call that is started (client/started.h), to be run once by a thread of the
// caller's. Called by the thread that drives a client's calls, so it only enqueues. Must not throw.
using PostWork = std::function<void(std::function<void()> work)>;

// Used by one call at a time; a store changes nothing of it but `stats`.
struct CallContext {
  // Who can end the calls; null: nobody. Outlives them.
  const CancelToken* cancel = nullptr;
  // When the calls end with DeadlineExceeded. Each request has the store's own timeout besides; the
  // earlier one counts.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  // Added to by every call; after an error by what it had done.
  CallStats stats = {};
  // In the metadata of every request, in the servers' logs and in error messages; printable ASCII.
  // Every request gets a number behind the request id, so that no two of a process are alike;
  // empty: behind an id that is made. A trace id joins the calls of one step; empty: none.
  std::string request_id = {};
  TraceId trace_id = {};
  // Which announced step a pull is of, for stores that were told of it before (client/cached);
  // others look past it. Empty: of none. It is the context's, and not a request's: a step is one
  // call, and what is composed of stores hands it on as it does the other names of the call.
  std::optional<int64_t> ticket = {};
  // Is told of the rows that a pull brings; null: nobody. Outlives the call.
  PulledRows* pulled = nullptr;
  // Of a call that is started: is given what is left to do when answers have come. Empty: the
  // thread that drives the calls does it.
  PostWork post = {};

  // Cancelled or DeadlineExceeded, whichever holds; else OK. Thread-safe.
  [[nodiscard]] Status Check() const { return limits().Check(); }
  [[nodiscard]] WorkLimits limits() const { return {.cancel = cancel, .deadline = deadline}; }
  // Rows of a tensor that are there now. Bytes of the figures are not its matter.
  void Pulled(const TensorRef& tensor, PulledFrom from, size_t rows, size_t row_bytes) const {
    if (pulled == nullptr || rows == 0) return;
    pulled->Add(tensor, from, static_cast<int64_t>(rows), static_cast<int64_t>(rows * row_bytes));
  }
};

// The context of a call that a store makes of another one for its caller: the same but for the
// figures.
[[nodiscard]] inline CallContext InnerContext(const CallContext& context) {
  return {.cancel = context.cancel,
          .deadline = context.deadline,
          .request_id = context.request_id,
          .trace_id = context.trace_id,
          .ticket = context.ticket,
          .pulled = context.pulled,
          .post = context.post};
}

}  // namespace halograph
