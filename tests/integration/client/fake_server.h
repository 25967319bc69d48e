// A gRPC server that answers every method as a test says: with bytes of its choice, with errors,
// or never. No gRPC type shows here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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

// Holds answers back until a test lets them go. Thread-safe. Outlives the servers that use it.
class FakeGate {
 public:
  // So many answers are held now.
  void AwaitHeld(size_t answers);
  // Sends what is held; what comes later is held again.
  void LetHeld();
  // Sends what is held, and everything that comes later.
  void Open();

  // Of a server: `send` is called when the answer may go, unless it is forgotten before.
  void Hold(const void* who, std::function<void()> send);
  void Forget(const void* who);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<const void*, std::function<void()>> held_;
  bool open_ = false;
};

struct FakeAnswer {
  Status status;      // not OK: sent instead of bytes
  std::string bytes;  // of the reply message
  std::optional<int64_t> pushback_ms;
  bool never = false;        // no answer until the caller gives up
  FakeGate* gate = nullptr;  // holds it back
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
