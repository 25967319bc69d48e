// Listens, and joins each connection to a target through two delay lines.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "common/base/status.h"

namespace halograph {

class DelayServer {
 public:
  static constexpr size_t kMaxConnections = 256;  // more are closed at once

  // `listen`, `target`: IPv4 HOST:PORT; port 0 picks a free one. `delay`: each way.
  //   InvalidArgument  an address that is none
  //   else             as ErrnoStatus
  [[nodiscard]] static StatusOr<std::unique_ptr<DelayServer>> Start(const std::string& listen,
                                                                    const std::string& target,
                                                                    std::chrono::nanoseconds delay);
  // Ends all connections.
  ~DelayServer();
  DelayServer(const DelayServer&) = delete;
  DelayServer& operator=(const DelayServer&) = delete;

  // HOST:PORT that it listens on.
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  class Connection;
  DelayServer(int socket, std::string address, std::string target, std::chrono::nanoseconds delay);
  void Accept();

  const int socket_;
  const std::string address_;
  const std::string target_;
  const std::chrono::nanoseconds delay_;
  std::atomic<bool> stop_{false};
  std::list<std::unique_ptr<Connection>> connections_;  // of the accepting thread
  std::thread thread_;
};

}  // namespace halograph
