// A partition server within a process: maps its parts, listens, drains. What main runs, and what
// integration tests start on port 0. No gRPC type shows here.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/state/env.h"
#include "server/options.h"
#include "server/runtime/dispatcher.h"

namespace halograph::server {

class Server {
 public:
  // Opens the parts, binds, and serves. Writes no address file.
  //   InvalidArgument     options.Validate()
  //   FailedPrecondition  the address cannot be listened on: says why
  //   ResourceExhausted   the graph's description is larger than a message may be
  //   else                as PartitionSet::Open, and as PartStates::Open with options.state
  // `env`: what mutable tensors are kept by; null: the machine.
  [[nodiscard]] static StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                               std::unique_ptr<Env> env = nullptr);
  // Stops at once: calls in flight are cancelled.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // HOST:PORT with the port that was bound.
  [[nodiscard]] const std::string& address() const;
  // HOST:PORT that others call (ServerOptions::Advertised).
  [[nodiscard]] const std::string& called() const;

  // From now on until its end calls `alive` each `period`, as long as the threads that work on
  // calls do, and the one that keeps house: as Pulse (server/runtime/pulse.h).
  void TellAlive(std::chrono::nanoseconds period, std::function<void()> alive);

  // From now on health says NOT_SERVING; calls are taken as before.
  void TurnUnhealthy();

  // Health says NOT_SERVING and new calls get UNAVAILABLE. Calls in flight have `timeout` to
  // finish; then they are cancelled. Returns when no call is left; false if calls had to be
  // cancelled. Call it once only.
  [[nodiscard]] bool Drain(std::chrono::nanoseconds timeout);

  // The gate and threads that calls go through.
  [[nodiscard]] Dispatcher& dispatcher();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace halograph::server
