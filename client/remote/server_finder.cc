#include "client/remote/server_finder.h"

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "common/base/log.h"

namespace halograph {

StatusOr<std::unique_ptr<ServerFinder>> ServerFinder::Start(Hooks hooks) {
  std::unique_ptr<ServerFinder> finder(new ServerFinder(std::move(hooks)));
  try {
    finder->thread_ = std::thread([self = finder.get()] { self->Run(); });
  } catch (const std::system_error& error) {
    return ResourceExhausted("no thread to look for servers that moved: {}", error.what());
  }
  return finder;
}

ServerFinder::~ServerFinder() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void ServerFinder::Gone(int server) {
  const MutexLock lock(mutex_);
  gone_.insert(server);
  changed_.NotifyAll();
}

void ServerFinder::Run() {
  std::chrono::milliseconds pause = kFirstPause;
  for (;;) {
    const std::set<int> gone = WaitForGone();
    if (gone.empty()) return;
    pause = Look(gone) ? kFirstPause : std::min(2 * pause, kLongestPause);
    Pause(pause);
  }
}

std::set<int> ServerFinder::WaitForGone() {
  const MutexLock lock(mutex_);
  changed_.Wait(mutex_, [this]() HG_REQUIRES(mutex_) { return stopping_ || !gone_.empty(); });
  return stopping_ ? std::set<int>() : std::exchange(gone_, {});
}

void ServerFinder::Pause(std::chrono::milliseconds pause) {
  if (hooks_.wait) return hooks_.wait(pause);
  const MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, pause, [this]() HG_REQUIRES(mutex_) { return stopping_; });
}

bool ServerFinder::Look(const std::set<int>& gone) {
  const StatusOr<std::vector<ServerPlace>> found = hooks_.find();
  WarnOnce(found.status());
  if (!found.ok()) return false;
  const auto listed = [&](const ServerPlace& place) {
    return std::any_of(found->begin(), found->end(),
                       [&](const ServerPlace& other) { return other.address == place.address; });
  };
  bool all = true;
  for (const int server : gone) {
    const std::vector<ServerPlace> places = hooks_.places();
    if (listed(places[static_cast<size_t>(server)])) continue;
    const bool moved = std::any_of(found->begin(), found->end(), [&](const ServerPlace& place) {
      const bool taken = std::any_of(places.begin(), places.end(), [&](const ServerPlace& other) {
        return other.address == place.address;
      });
      return !taken && hooks_.move(server, place).ok();
    });
    all = all && moved;
  }
  return all;
}

void ServerFinder::WarnOnce(const Status& status) {
  const std::string text = status.ok() ? "" : Message(status);
  if (!text.empty() && text != warned_of_) {
    spdlog::warn("where the servers are cannot be found out, and they stay where they were: {}",
                 text);
  }
  warned_of_ = text;
}

}  // namespace halograph
