// What a client of servers tells of a call that has ended, to whoever traces calls.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "common/base/trace_context.h"

namespace halograph {

// Lives as long as the call of OnCallEnded.
struct CallRecord {
  std::string_view server;      // its address
  std::string_view method;      // "KVService/Pull"
  std::string_view request_id;  // as in the server's log
  TraceContext trace;           // the same: of the step, and the call's span; empty: none
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  int attempts = 0;       // so far, of the whole call
  bool answered = false;  // else it failed, was given up, or goes on at another server
};

// Told each time that a call has been at a server. By any thread; must not throw.
using OnCallEnded = std::function<void(const CallRecord& call)>;

}  // namespace halograph
