// The rival of a pull: gRPC byte buffers of given sizes and nothing else. No gather, no scatter,
// no retries; the server sends the same memory every time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace halograph {

struct BareCall {
  int64_t request_bytes = 0;  // at least 8
  int64_t reply_bytes = 0;
};

// Serves until the process is killed; prints "listening on HOST:PORT". Returns only on failure.
int ServeBareBytes();

class BareClient {
 public:
  BareClient(const std::string& address, int channels, int calls_in_flight);
  ~BareClient();
  // Makes all calls, `calls_in_flight` outstanding; false if one failed.
  [[nodiscard]] bool Run(const std::vector<BareCall>& calls);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace halograph
