// A gRPC server that answers every method as a test says: with bytes of its choice, with errors,
// or never. No gRPC type shows here.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"

namespace halograph {

struct FakeCall {
  std::string method;  // "GraphService/Sample"
  std::string request;
  std::map<std::string, std::string> metadata;
  std::chrono::nanoseconds time_left{};  // until the caller gives up
};

struct FakeAnswer {
  Status status;      // not OK: sent instead of bytes
  std::string bytes;  // of the reply message
  std::optional<int64_t> pushback_ms;
  bool never = false;  // no answer until the caller gives up
};

class FakeServer {
 public:
  // `answer` runs on threads of gRPC, several at once.
  explicit FakeServer(std::function<FakeAnswer(const FakeCall&)> answer);
  ~FakeServer();
  [[nodiscard]] const std::string& address() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace halograph
