#include "server/connections.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace halograph::server {
namespace {

std::string Text(int family, const void* address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, address, text, sizeof(text));
  return text;
}

// An end of a connection; `get` is getpeername or getsockname. nullopt: there is none.
std::optional<sockaddr_storage> EndOf(int fd, decltype(&getpeername) get) {
  sockaddr_storage end{};
  socklen_t length = sizeof(end);
  if (get(fd, reinterpret_cast<sockaddr*>(&end), &length) != 0) return std::nullopt;
  if (end.ss_family != AF_INET && end.ss_family != AF_INET6) return std::nullopt;
  return end;
}

int PortOf(const sockaddr_storage& end) {
  return ntohs(end.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(end).sin_port
                                        : reinterpret_cast<const sockaddr_in6&>(end).sin6_port);
}

// As gRPC names it.
std::string NameOf(const sockaddr_storage& end) {
  const int port = PortOf(end);
  if (end.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(end);
    return fmt::format("ipv4:{}:{}", Text(AF_INET, &v4.sin_addr), port);
  }
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(end).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    return fmt::format("ipv4:{}:{}", Text(AF_INET, &v6.s6_addr[12]), port);
  }
  return fmt::format("ipv6:%5B{}%5D:{}", Text(AF_INET6, &v6), port);
}

bool IsListener(int fd) {
  int listens = 0;
  socklen_t length = sizeof(listens);
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0;
}

// The sockets of this process for which `chosen` holds. Not closed: they are gRPC's. Should gRPC
// have closed one meanwhile, and another connection have its number, that one's client connects and
// asks again. Returns how many there were.
template <typename Chosen>
int ShutThose(const Chosen& chosen) {
  int count = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (!chosen(fd)) continue;
    ++count;
    shutdown(fd, SHUT_RDWR);
  }
  return count;
}

}  // namespace

int ShutConnections(const std::set<std::string>& peers) {
  if (peers.empty()) return 0;
  return ShutThose([&](int fd) {
    const std::optional<sockaddr_storage> there = EndOf(fd, &getpeername);
    return there.has_value() && peers.count(NameOf(*there)) > 0;
  });
}

bool EndConnectionsTo(int port, std::chrono::nanoseconds patience) {
  constexpr std::chrono::milliseconds kPause{2};
  const auto give_up = std::chrono::steady_clock::now() + patience;
  const auto shut = [port] {
    return ShutThose([port](int fd) {
      const std::optional<sockaddr_storage> here = EndOf(fd, &getsockname);
      return here.has_value() && PortOf(*here) == port && !IsListener(fd);
    });
  };
  while (shut() > 0) {
    if (std::chrono::steady_clock::now() >= give_up) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace halograph::server
