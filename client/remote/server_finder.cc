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
  using Clock = std::chrono::steady_clock;
  std::chrono::milliseconds pause = kFirstPause;
  Clock::time_point last;
  for (;;) {
    const std::set<int> gone = WaitForGone();
    if (gone.empty()) return;
    if (Clock::now() - last > 2 * kLongestPause) pause = kFirstPause;
    pause = Look(gone) ? kFirstPause : std::min(2 * pause, kLongestPause);
    Pause(pause);
    last = Clock::now();
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
  bool moved = false;
  for (const int server : gone) moved = LookFor(server, gone, *found) || moved;
  return moved;
}

bool ServerFinder::LookFor(int server, const std::set<int>& gone,
                           const std::vector<ServerPlace>& found) {
  const std::vector<ServerPlace> places = hooks_.places();
  const ServerPlace& own = places[static_cast<size_t>(server)];
  const auto at_own = std::find_if(found.begin(), found.end(), [&](const ServerPlace& place) {
    return place.address == own.address;
  });
  if (at_own != found.end()) {
    const Status there = hooks_.move(server, own);
    if (there.ok() || absl::IsUnavailable(there) || absl::IsDeadlineExceeded(there)) return false;
  }
  return std::any_of(found.begin(), found.end(), [&](const ServerPlace& place) {
    if (place.address == own.address) return false;
    for (size_t other = 0; other < places.size(); ++other) {
      // Where another one is that answers; of those that do not, any may have come there.
      if (places[other].address == place.address && !gone.contains(static_cast<int>(other))) {
        return false;
      }
    }
    return hooks_.move(server, place).ok();
  });
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
