#include "tests/bench/hybrid/delay_server.h"

#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/bench/hybrid/delay_line.h"
#include "tests/bench/hybrid/tcp_socket.h"

namespace halograph {

class DelayServer::Connection {
 public:
  Connection(TcpSocket client, TcpSocket target, std::chrono::nanoseconds delay)
      : client_(std::move(client)),
        target_(std::move(target)),
        forth_(client_.fd(), target_.fd(), delay),
        back_(target_.fd(), client_.fd(), delay) {}
  ~Connection() {
    client_.Shutdown();
    target_.Shutdown();
  }

  [[nodiscard]] bool done() const { return forth_.done() && back_.done(); }

 private:
  // The lines go first: they borrow the sockets.
  const TcpSocket client_;
  const TcpSocket target_;
  DelayLine forth_;
  DelayLine back_;
};

StatusOr<std::unique_ptr<DelayServer>> DelayServer::Start(const std::string& listen,
                                                          const std::string& target,
                                                          std::chrono::nanoseconds delay) {
  HG_ASSIGN_OR_RETURN(TcpSocket socket, Listen(listen));
  HG_ASSIGN_OR_RETURN(std::string address, AddressOf(socket));
  return std::unique_ptr<DelayServer>(
      new DelayServer(socket.Release(), std::move(address), target, delay));
}

DelayServer::DelayServer(int socket, std::string address, std::string target,
                         std::chrono::nanoseconds delay)
    : socket_(socket),
      address_(std::move(address)),
      target_(std::move(target)),
      delay_(delay),
      thread_([this] { Accept(); }) {}

DelayServer::~DelayServer() {
  stop_.store(true);
  ::shutdown(socket_, SHUT_RDWR);  // accept returns
  thread_.join();
  connections_.clear();
  ::close(socket_);
}

void DelayServer::Accept() {
  while (true) {
    TcpSocket client(::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC));
    if (stop_.load()) return;
    if (client.fd() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      spdlog::error("{}", ToString(ErrnoStatus(errno, "accept on", address_)));
      return;
    }
    connections_.remove_if([](const auto& connection) { return connection->done(); });
    if (connections_.size() >= kMaxConnections) continue;
    const int on = 1;
    ::setsockopt(client.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    StatusOr<TcpSocket> joined = Connect(target_);
    if (!joined.ok()) {
      spdlog::warn("{}", ToString(joined.status()));
      continue;
    }
    connections_.push_back(
        std::make_unique<Connection>(std::move(client), std::move(joined).value(), delay_));
  }
}

}  // namespace halograph
