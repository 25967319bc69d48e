#include "client/push_clients.h"

#include <chrono>
#include <random>

namespace halograph {
namespace {

// How often a wait looks at its token.
constexpr std::chrono::milliseconds kLook{50};

uint64_t DrawClient() {
  std::random_device device;
  for (;;) {
    const uint64_t drawn = (uint64_t{device()} << 32) | device();
    if (drawn != 0) return drawn;
  }
}

}  // namespace

StatusOr<PushClients::Numbers> PushClients::Take(int part, int count, const WorkLimits& limits) {
  const MutexLock lock(mutex_);
  Part& of = parts_[static_cast<size_t>(part)];
  const auto fits = [&]() HG_REQUIRES(mutex_) {
    const uint64_t last = of.next + static_cast<uint64_t>(count) - 1;
    return of.open.empty() || last < *of.open.begin() + kPushWindow;
  };
  for (;;) {
    HG_RETURN_IF_ERROR(limits.Check());
    if (answered_.WaitFor(mutex_, kLook, fits)) break;
  }
  if (of.client == 0) of.client = DrawClient();
  const Numbers numbers{.part = part, .client = of.client, .first = of.next, .count = count};
  of.next += static_cast<uint64_t>(count);
  of.open.insert(numbers.first);
  return numbers;
}

void PushClients::Answered(const Numbers& numbers) {
  const MutexLock lock(mutex_);
  Part& of = parts_[static_cast<size_t>(numbers.part)];
  if (of.client == numbers.client) of.open.erase(numbers.first);
  answered_.NotifyAll();
}

void PushClients::GiveUp(const Numbers& numbers) {
  const MutexLock lock(mutex_);
  Part& of = parts_[static_cast<size_t>(numbers.part)];
  if (of.client == numbers.client) of = {};
  answered_.NotifyAll();
}

}  // namespace halograph
