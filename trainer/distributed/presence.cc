#include "trainer/distributed/presence.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/log.h"

namespace halograph {
namespace {

constexpr char kFirstToStop[] = "halograph/first-to-stop";
constexpr char kReason[] = "halograph/first-reason";

std::string KeyOfCount(int process) { return fmt::format("halograph/count/{}", process); }
std::string KeyOfKnows(int process) { return fmt::format("halograph/knows/{}", process); }

}  // namespace

Presence::Presence(std::function<StorePtr()> connect, int process)
    : connect_(std::move(connect)), process_(process), thread_([this] { Run(); }) {}

Presence::~Presence() {
  {
    const MutexLock lock(mutex_);
    end_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

int64_t Presence::CountOf(::c10d::Store& store, int process) {
  return store.add(KeyOfCount(process), 0);
}

void Presence::Tell(::c10d::Store& store, int process, std::string_view reason) {
  if (store.add(kFirstToStop, 1) != 1) return;
  const std::string text = fmt::format("{}:{}", process, reason);
  store.set(kReason, std::vector<uint8_t>(text.begin(), text.end()));
}

void Presence::SetKnows(::c10d::Store& store, int process) {
  store.set(KeyOfKnows(process), std::vector<uint8_t>{'1'});
}

bool Presence::Knows(::c10d::Store& store, int process) {
  return store.check({KeyOfKnows(process)});
}

std::string Presence::Heard() {
  const MutexLock lock(mutex_);
  return heard_;
}

void Presence::Run() {
  do {
    try {
      const StorePtr store = connect_();
      do {
        Listen(*store);
      } while (Pause());
      return;
    } catch (const std::exception& error) {
      spdlog::debug("process {} lost the store where the ranks meet: {}", process_,
                    TorchMessage(error));
    }
  } while (Pause());
}

bool Presence::Pause() {
  const MutexLock lock(mutex_);
  const auto ended = [this]() HG_REQUIRES(mutex_) { return end_; };
  return !changed_.WaitFor(mutex_, kInterval, ended);
}

void Presence::Listen(::c10d::Store& store) {
  store.add(KeyOfCount(process_), 1);
  if (!Heard().empty() || !store.check({kReason})) return;
  const std::vector<uint8_t> text = store.get(kReason);
  const std::string told(text.begin(), text.end());
  const size_t colon = told.find(':');
  if (told.substr(0, colon) == std::to_string(process_)) return;
  {
    const MutexLock lock(mutex_);
    heard_ = told.substr(colon + 1);
  }
  SetKnows(store, process_);
}

}  // namespace halograph
