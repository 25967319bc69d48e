#include "server/peers/peers.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "common/base/units.h"

namespace halograph::server {
namespace {

double InSeconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Peers::Peers(std::vector<std::string> addresses, std::unique_ptr<StatsCaller> caller,
             PeerBounds bounds)
    : bounds_(std::move(bounds)), caller_(std::move(caller)) {
  for (std::string& address : addresses) {
    peers_.emplace_back().answer.address = std::move(address);
  }
}

Peers::~Peers() {
  const MutexLock lock(mutex_);
  waiting_.clear();  // answers that come now begin no questions
}

PeersLook Peers::Look() {
  bool asks = false;
  {
    const MutexLock lock(mutex_);
    last_look_ = bounds_.now();
    if (looking_) {  // who comes in the meantime gets what that look finds
      changed_.Wait(mutex_, [this]() HG_REQUIRES(mutex_) { return !looking_; });
      return Found();
    }
    forgotten_ = false;
    asks = !ever_asked_ || last_look_ - round_begun_ >= bounds_.pace;
    if (asks) BeginRound(last_look_);
  }
  if (asks) AskNext();
  const MutexLock lock(mutex_);
  if (asks) EndRound();
  return Found();
}

void Peers::BeginRound(TimePoint now) {
  looking_ = ever_asked_ = true;
  round_begun_ = now;
  round_deadline_ = now + bounds_.deadline;
  std::vector<size_t> failed;
  for (size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    peer.awaited = !peer.known || peer.answer.error.ok();
    if (!peer.in_flight) peer.awaited ? waiting_.push_back(i) : failed.push_back(i);
  }
  // The others do not wait for them; and each of them has its turn, however many they are.
  std::stable_sort(failed.begin(), failed.end(), [this](size_t a, size_t b) HG_REQUIRES(mutex_) {
    return peers_[a].begun < peers_[b].begun;
  });
  waiting_.insert(waiting_.end(), failed.begin(), failed.end());
}

void Peers::AskNext() {
  while (true) {
    size_t index = 0;
    std::string address;
    TimePoint deadline;
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty() || under_way_ >= bounds_.in_flight) return;
      index = waiting_.front();
      waiting_.pop_front();
      Peer& peer = peers_[index];
      peer.in_flight = true;
      peer.begun = bounds_.now();
      ++under_way_;
      address = peer.answer.address;
      deadline = round_deadline_;
    }
    try {
      caller_->Ask(address, deadline,
                   [this, index](StatusOr<std::string> reply) { Take(index, std::move(reply)); });
    } catch (const std::exception& error) {  // the look would wait for its answer for ever
      Take(index, Internal("it could not be asked: {}", error.what()));
    }
  }
}

void Peers::Take(size_t index, StatusOr<std::string> reply) {
  const TimePoint now = bounds_.now();
  const double unix_seconds = bounds_.unix_seconds();
  {
    const MutexLock lock(mutex_);
    Peer& peer = peers_[index];
    peer.in_flight = false;
    --under_way_;
    Set(peer, reply.status());
    if (reply.ok()) {
      const auto bytes = static_cast<int64_t>(reply->size());
      if (kept_bytes_ + bytes > bounds_.reply_bytes) {
        peer.answer.error = ResourceExhausted(
            "its figures take {} bytes, those of the other servers {}, and all together at most {}",
            bytes, kept_bytes_, bounds_.reply_bytes);
      } else {
        kept_bytes_ += bytes;
        peer.answer.reply = std::make_shared<const std::string>(*std::move(reply));
        peer.answer.round_trip_seconds = InSeconds(now - peer.begun);
        peer.answer.here_unix_seconds = unix_seconds - peer.answer.round_trip_seconds / 2;
      }
    }
  }
  AskNext();
  changed_.NotifyAll();
}

void Peers::Set(Peer& peer, Status error) {
  if (peer.answer.reply != nullptr) kept_bytes_ -= static_cast<int64_t>(peer.answer.reply->size());
  peer.answer.reply = nullptr;
  peer.answer.error = std::move(error);
  peer.known = true;
}

bool Peers::Pending(bool awaited_only) const {
  const auto counts = [&](const Peer& peer) { return peer.awaited || !awaited_only; };
  return std::any_of(peers_.begin(), peers_.end(),
                     [&](const Peer& peer) { return counts(peer) && peer.in_flight; }) ||
         std::any_of(waiting_.begin(), waiting_.end(),
                     [&](size_t index) HG_REQUIRES(mutex_) { return counts(peers_[index]); });
}

void Peers::EndRound() {
  changed_.WaitFor(mutex_, std::min(bounds_.grace, bounds_.deadline),
                   [this]() HG_REQUIRES(mutex_) { return !Pending(false); });
  changed_.WaitFor(mutex_, bounds_.deadline - std::min(bounds_.grace, bounds_.deadline),
                   [this]() HG_REQUIRES(mutex_) { return !Pending(true); });
  for (const size_t index : waiting_) {
    Peer& peer = peers_[index];
    if (peer.known && !peer.answer.error.ok()) continue;
    Set(peer, DeadlineExceeded("it was not asked within {}: too many others are silent",
                               FormatSeconds(InSeconds(bounds_.deadline))));
    peer.known = false;  // it comes before those that were asked and failed
  }
  waiting_.clear();
  for (Peer& peer : peers_) {
    if (!peer.in_flight || !peer.awaited) continue;
    Set(peer, DeadlineExceeded("no answer within {}", FormatSeconds(InSeconds(bounds_.deadline))));
  }
  looking_ = false;
  changed_.NotifyAll();
}

PeersLook Peers::Found() const {
  PeersLook look;
  look.asked_seconds_ago = std::max(0.0, InSeconds(bounds_.now() - round_begun_));
  for (const Peer& peer : peers_) look.peers.push_back(peer.answer);
  return look;
}

void Peers::ForgetOld() {
  {
    const MutexLock lock(mutex_);
    if (forgotten_ || looking_ || under_way_ > 0) return;
    if (bounds_.now() - last_look_ < bounds_.kept) return;
    for (Peer& peer : peers_) {
      Set(peer, OkStatus());
      peer.known = false;
    }
    ever_asked_ = false;
    forgotten_ = true;
  }
  caller_->Disconnect();
}

}  // namespace halograph::server
