#include "server/listener/accept_loop.h"

#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/log.h"

namespace halograph::server {
namespace {

// Of one socket, before the others have their turn.
constexpr int kMostOfRound = 64;

}  // namespace

AcceptLoop::AcceptLoop(std::vector<int> sockets, ConnectionTable* table,
                       std::function<void(int, int)> take)
    : sockets_(std::move(sockets)),
      table_(*table),
      take_(std::move(take)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {}

AcceptLoop::~AcceptLoop() {
  ending_ = true;
  if (wake_ >= 0) eventfd_write(wake_, 1);
  thread_.join();
  for (const int socket : sockets_) close(socket);
  if (wake_ >= 0) close(wake_);
}

void AcceptLoop::Run() {
  pthread_setname_np(pthread_self(), "hg-accept");
  std::vector<pollfd> polled{{wake_, POLLIN, 0}};
  for (const int socket : sockets_) polled.push_back({socket, POLLIN, 0});
  bool rests = false;
  for (;;) {
    // Sockets at which somebody waits are ready all the time: while it rests, it looks at none.
    const nfds_t count = rests ? 1 : polled.size();
    for (pollfd& one : polled) one.revents = 0;
    poll(polled.data(), count, rests || wake_ < 0 ? static_cast<int>(kRest.count()) : -1);
    if (ending_) return;
    rests = false;
    for (const int socket : sockets_) rests |= !AcceptSome(socket);
    if (rests) TellOfDescriptors();
  }
}

bool AcceptLoop::AcceptSome(int socket) {
  for (int i = 0; i < kMostOfRound; ++i) {
    const ConnectionTable::Accepted accepted = table_.Accept(socket);
    switch (accepted.outcome) {
      case ConnectionTable::Outcome::kTaken:
        take_(socket, accepted.fd);
        break;
      case ConnectionTable::Outcome::kRefused:
        TellOfRefused();
        break;
      case ConnectionTable::Outcome::kNone:
        return true;
      case ConnectionTable::Outcome::kNoDescriptors:
        return false;
    }
  }
  return true;
}

void AcceptLoop::TellOfDescriptors() {
  if (!of_descriptors_.Allow()) return;
  spdlog::warn(
      "no descriptors are left: new connections wait until some are free; raise the limit of the "
      "process (ulimit -Hn, LimitNOFILE=), or lower --connections");
}

void AcceptLoop::TellOfRefused() {
  if (!of_refused_.Allow()) return;
  const ConnectionCounts counts = table_.counts();
  const ConnectionCounts before = std::exchange(told_, counts);
  const int64_t all = counts.refused_all - before.refused_all;
  const int64_t address = counts.refused_address - before.refused_address;
  const int64_t penalty = counts.refused_penalty - before.refused_penalty;
  spdlog::warn(
      "{} connections refused: {} since there are {} (raise --connections), {} since their address "
      "has as many as it may (raise --connections-per-address, or, if it is a proxy of yours, name "
      "it in --trusted-proxies), {} soon after one of their address was shut down",
      all + address + penalty, all, table_.most(), address, penalty);
}

}  // namespace halograph::server
