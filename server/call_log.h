// The log of one server: who calls it, and calls that are slow or refused or fail, with the request
// id and rank that came in metadata. Each kind is limited to some lines a second, and what was left
// out is counted, so that no client can fill a disk. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/line_limit.h"
#include "common/base/status.h"
#include "proto/methods/methods.h"
#include "server/runtime/client_table.h"
#include "server/runtime/slow_calls.h"

namespace grpc {
class CallbackServerContext;
}

namespace halograph::server {

// What the log says of one call.
struct LoggedCall {
  Method method;
  std::string peer;  // as gRPC names it
  std::string host;
  std::string rank;            // "-": none
  std::string principal = {};  // empty: there is no policy, or it is nobody
  // As a trusted proxy says (server/proxied_identity.h); empty: none does.
  std::string identity = {};
};

class CallLog {
 public:
  using Clock = ClientTable::Clock;

  // From here on a call is slow: a warning, in parts of answering it and of sending the answer.
  static constexpr std::chrono::seconds kSlow{1};

  // A call begins. At info: a client that comes with it. Calls of Stats make no client.
  [[nodiscard]] LoggedCall Begin(const grpc::CallbackServerContext& context, Method method);
  // It is answered. At warning: errors. At info: calls that were refused (Unavailable) or
  // cancelled, which clients repeat. At debug: all others.
  void Answered(const grpc::CallbackServerContext& context, const LoggedCall& call,
                const Status& status, int64_t request_bytes, int64_t reply_bytes,
                std::chrono::nanoseconds latency);
  // Its reply is sent, or given up. Once for each Begin. `status`: "OK", "UNAVAILABLE".
  void End(const grpc::CallbackServerContext& context, const LoggedCall& call,
           std::string_view status, int64_t request_bytes, int64_t reply_bytes,
           std::chrono::nanoseconds answering, std::chrono::nanoseconds sending);
  // At info: clients that have left. Now and then; with a `now` of ClientTable::kSilence ahead all
  // of them.
  void LogLeft(Clock::time_point now);

  [[nodiscard]] const ClientTable& clients() const { return clients_; }
  [[nodiscard]] const SlowCalls& slow_calls() const { return slow_calls_; }

 private:
  ClientTable clients_;
  SlowCalls slow_calls_;
  LineLimit errors_{20};
  LineLimit refused_{1};
  LineLimit slow_{2};
};

}  // namespace halograph::server
