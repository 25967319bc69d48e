#include "tests/bench/hybrid/delay_check.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include <sys/socket.h>

#include "common/base/rng.h"
#include "common/base/stopwatch.h"
#include "tests/bench/hybrid/delay_server.h"
#include "tests/bench/hybrid/tcp_socket.h"

namespace halograph {
namespace {

constexpr int kRoundTrips = 20;
constexpr size_t kStreamBytes = 64 << 20;  // four times what is on its way at most

bool SendAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return true;
}

// How many of the bytes came before the end.
size_t ReceiveAll(int fd, std::span<std::byte> bytes) {
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::recv(fd, bytes.data() + got, bytes.size() - got, 0);
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  return got;
}

// Sends one connection's bytes back to where they come from, and their end.
void Echo(const TcpSocket& listener) {
  const TcpSocket client(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  std::vector<std::byte> buffer(64 << 10);
  while (true) {
    const ssize_t got = ::recv(client.fd(), buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    if (!SendAll(client.fd(), std::span(buffer).first(static_cast<size_t>(got)))) break;
  }
}

StatusOr<std::vector<double>> MeasureRoundTrips(int fd, std::chrono::nanoseconds delay) {
  std::vector<double> seconds;
  for (int i = 0; i < kRoundTrips; ++i) {
    const std::byte sent{static_cast<unsigned char>(i)};
    std::byte got{};
    const Stopwatch watch;
    if (!SendAll(fd, {&sent, 1}) || ReceiveAll(fd, {&got, 1}) != 1 || got != sent) {
      return Internal("message {} did not come back", i);
    }
    seconds.push_back(watch.Seconds());
    if (seconds.back() < 2 * std::chrono::duration<double>(delay).count()) {
      return Internal("a round trip took {} s, with a delay of {} s each way", seconds.back(),
                      std::chrono::duration<double>(delay).count());
    }
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

StatusOr<double> MeasureStream(int fd) {
  std::vector<std::byte> sent(kStreamBytes);
  CounterRng rng(7);
  for (size_t i = 0; i < sent.size(); i += sizeof(uint64_t)) {
    const uint64_t word = rng.Next();
    std::memcpy(sent.data() + i, &word, sizeof(word));
  }
  std::vector<std::byte> got(kStreamBytes);
  const Stopwatch watch;
  std::thread sender([&] {
    if (SendAll(fd, sent)) ::shutdown(fd, SHUT_WR);
  });
  const size_t came = ReceiveAll(fd, got);
  const double seconds = watch.Seconds();
  if (came < got.size()) ::shutdown(fd, SHUT_RDWR);  // the sender may be stuck
  sender.join();
  if (came != got.size()) return Internal("{} of {} bytes came back", came, got.size());
  if (sent != got) return Internal("bytes came back changed");
  std::byte after{};
  if (ReceiveAll(fd, {&after, 1}) != 0) return Internal("more came back than was sent");
  return static_cast<double>(kStreamBytes) / seconds;
}

}  // namespace

StatusOr<Json> CheckDelayProxy(std::chrono::nanoseconds delay) {
  HG_ASSIGN_OR_RETURN(const TcpSocket listener, Listen("127.0.0.1:0"));
  HG_ASSIGN_OR_RETURN(const std::string target, AddressOf(listener));
  HG_ASSIGN_OR_RETURN(auto proxy, DelayServer::Start("127.0.0.1:0", target, delay));
  HG_ASSIGN_OR_RETURN(const TcpSocket client, Connect(proxy->address()));
  std::thread echo([&] { Echo(listener); });
  const auto trips = MeasureRoundTrips(client.fd(), delay);
  const auto rate = trips.ok() ? MeasureStream(client.fd()) : StatusOr<double>(trips.status());
  client.Shutdown();
  listener.Shutdown();  // should no connection have come
  proxy.reset();
  echo.join();
  if (!rate.ok()) return rate.status();
  return Json{{"delay_each_way_s", std::chrono::duration<double>(delay).count()},
              {"round_trip_median_s", (*trips)[trips->size() / 2]},
              {"round_trip_least_s", trips->front()},
              {"stream_bytes_per_s", *rate}};
}

}  // namespace halograph
