#include "client/push_clients.h"

#include <algorithm>
#include <chrono>

namespace halograph {
namespace {

// How often a wait looks at its token.
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

int64_t PushClients::Part::Largest() const {
  int64_t largest = 0;
  for (const auto& [tensor, lsn] : acknowledged) largest = std::max(largest, lsn);
  return largest;
}

Status PushClients::Part::Whole(size_t number) const {
  if (again == 0 || Largest() < again) return OkStatus();
  return DataLoss(
      "part {} came back without pushes: it had acknowledged LSN {} and gave LSN {} after that. "
      "Restart from a checkpoint, or restore a snapshot. The machine failed while a server ran "
      "with "
      "--sync interval or never, or its --state is an older copy, or a new folder",
      number, Largest(), again);
}

void PushClients::Part::NewClient(uint64_t id, bool given) {
  client = id;
  registered = given;
  next = 1;
  open.clear();
}

// What was forgotten since then does not count.
bool PushClients::Part::GaveAgain(int64_t lsn, int64_t before) {
  if (lsn > before || lsn > Largest()) return false;
  again = again == 0 ? lsn : std::min(again, lsn);
  return true;
}

std::shared_ptr<PushClients::Asking> PushClients::AskForId(int part) {
  const MutexLock lock(mutex_);
  Part& of = parts_[static_cast<size_t>(part)];
  if (of.client != 0 || of.asked_for) return nullptr;
  auto asking = std::make_shared<Asking>(this, part, of.Largest());
  of.asked_for = true;
  return asking;
}

PushClients::Asking::~Asking() {
  const MutexLock lock(clients_.mutex_);
  clients_.parts_[static_cast<size_t>(part_)].asked_for = false;
  clients_.answered_.NotifyAll();
}

Status PushClients::Asking::Register(uint64_t client, int64_t lsn) {
  const MutexLock lock(clients_.mutex_);
  Part& of = clients_.parts_[static_cast<size_t>(part_)];
  if (of.client == 0) of.NewClient(client, true);
  return of.GaveAgain(lsn, acknowledged_) ? of.Whole(static_cast<size_t>(part_)) : OkStatus();
}

StatusOr<PushClients::Numbers> PushClients::Take(int part, int count, const WorkLimits& limits) {
  const MutexLock lock(mutex_);
  Part& of = parts_[static_cast<size_t>(part)];
  const auto fits = [&]() HG_REQUIRES(mutex_) {
    const uint64_t last = of.next + static_cast<uint64_t>(count) - 1;
    if (of.client == 0 && of.asked_for) return false;
    return of.open.empty() || last < *of.open.begin() + kPushWindow;
  };
  for (;;) {
    HG_RETURN_IF_ERROR(limits.Check());
    if (answered_.WaitFor(mutex_, kLook, fits)) break;
  }
  HG_RETURN_IF_ERROR(of.Whole(static_cast<size_t>(part)));
  if (of.client == 0) of.NewClient(DrawClientId(), false);
  of.open.insert(of.next);
  const Numbers numbers{.part = part,
                        .client = of.client,
                        .first = of.next,
                        .count = count,
                        .acknowledged = of.Largest(),
                        .registered = of.registered,
                        .answered = *of.open.begin() - 1};
  of.next += static_cast<uint64_t>(count);
  return numbers;
}

void PushClients::Answered(const Numbers& numbers) {
  const MutexLock lock(mutex_);
  Part& of = parts_[static_cast<size_t>(numbers.part)];
  if (of.client == numbers.client) of.open.erase(numbers.first);
  answered_.NotifyAll();
}

void PushClients::GiveUp(const Numbers& numbers) {
  numbers.registered ? Answered(numbers) : Forgotten(numbers);
}

void PushClients::Forgotten(const Numbers& numbers) {
  const MutexLock lock(mutex_);
  Part& of = parts_[static_cast<size_t>(numbers.part)];
  if (of.client == numbers.client) of.NewClient(0, false);
  answered_.NotifyAll();
}

Status PushClients::Acknowledge(const Numbers& numbers, const TensorRef& tensor, int64_t lsn) {
  const MutexLock lock(mutex_);
  Part& of = parts_[static_cast<size_t>(numbers.part)];
  // Those that were sent side by side are answered in any order.
  if (of.GaveAgain(lsn, numbers.acknowledged)) return of.Whole(static_cast<size_t>(numbers.part));
  int64_t& largest = of.acknowledged[tensor.ToString()];
  largest = std::max(largest, lsn);
  return OkStatus();
}

Status PushClients::Check(std::span<const int64_t> after) {
  const MutexLock lock(mutex_);
  for (size_t part = 0; part < std::min(after.size(), parts_.size()); ++part) {
    const Part& of = parts_[part];
    if (after[part] >= of.again) HG_RETURN_IF_ERROR(of.Whole(part));
  }
  return OkStatus();
}

void PushClients::Forget(const TensorRef& tensor) {
  const MutexLock lock(mutex_);
  for (Part& of : parts_) {
    of.acknowledged.erase(tensor.ToString());
    if (of.Largest() < of.again) of.again = 0;
  }
}

void PushClients::ForgetAll() {
  const MutexLock lock(mutex_);
  for (Part& of : parts_) {
    of.acknowledged.clear();
    of.again = 0;
  }
}

}  // namespace halograph
