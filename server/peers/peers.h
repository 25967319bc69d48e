// What the other servers of a graph (--peers) say of themselves. They are asked when somebody
// looks, at most once in PeerBounds::pace, all at the same time; while nobody looks, nobody is
// asked, and after a while nothing is kept of them either.
//
// A look waits for those that answered the last time, or were never asked, until their deadline.
// For those that failed the last time it waits for PeerBounds::grace only: they have their whole
// deadline too, and the next look shows how they fared. So a server that is silent delays one look,
// and not each.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/wall_clock.h"

namespace halograph::server {

// Asks servers for their figures. Thread-safe.
class StatsCaller {
 public:
  using Done = std::function<void(StatusOr<std::string> reply)>;  // a StatsReply's bytes

  virtual ~StatsCaller() = default;  // ends what is under way; no `done` runs when it returns
  // Asks the server at `address`. `done` is called once, from any thread, about when `deadline` is
  // reached at the latest; not if this throws.
  virtual void Ask(const std::string& address, std::chrono::steady_clock::time_point deadline,
                   Done done) = 0;
  // Closes connections; the next question opens them again.
  virtual void Disconnect() = 0;
};

struct PeerBounds {
  std::chrono::nanoseconds deadline = std::chrono::seconds(1);  // of a question, and of a look
  std::chrono::nanoseconds grace = std::chrono::milliseconds(100);
  std::chrono::nanoseconds pace = std::chrono::seconds(1);  // between two rounds of questions
  size_t in_flight = 64;                                    // questions at a time
  int64_t reply_bytes = int64_t{16} << 20;                  // of all replies that are kept
  // How long after the last look answers and connections are kept.
  std::chrono::nanoseconds kept = std::chrono::seconds(10);
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  std::function<double()> unix_seconds = SecondsSince1970;
};

// What is known of a server.
struct PeerAnswer {
  std::string address = {};
  Status error = {};                              // OK: `reply` is what it answered
  std::shared_ptr<const std::string> reply = {};  // a StatsReply's bytes
  double round_trip_seconds = 0;
  double here_unix_seconds = 0;  // by this machine's clock, halfway between question and answer
};

struct PeersLook {
  double asked_seconds_ago = 0;
  std::vector<PeerAnswer> peers = {};  // in the order of the addresses
};

// Thread-safe.
class Peers {
 public:
  // More addresses are refused where options are read.
  static constexpr size_t kMost = 1024;

  Peers(std::vector<std::string> addresses, std::unique_ptr<StatsCaller> caller,
        PeerBounds bounds = {});
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // Asks if the last round began PeerBounds::pace ago or earlier; returns within
  // PeerBounds::deadline. Errors are those of the caller, and
  //   DeadlineExceeded   no answer in time, or no room to ask in time
  //   ResourceExhausted  no room for the reply beside those of the others
  [[nodiscard]] PeersLook Look() HG_EXCLUDES(mutex_);

  // Called now and then: forgets what it knows, and closes connections, once nobody has looked for
  // PeerBounds::kept. Never waits for a server.
  void ForgetOld() HG_EXCLUDES(mutex_);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Peer {
    PeerAnswer answer;
    bool known = false;      // it has answered, or failed
    bool in_flight = false;  // a question is under way
    bool awaited = false;    // the look that is under way waits for it until the deadline
    TimePoint begun;         // when it was asked last
  };

  void BeginRound(TimePoint now) HG_REQUIRES(mutex_);
  void EndRound() HG_REQUIRES(mutex_);
  // Asks the next ones, as many as there is room for.
  void AskNext() HG_EXCLUDES(mutex_);
  void Take(size_t index, StatusOr<std::string> reply) HG_EXCLUDES(mutex_);
  // Whether one of those that are awaited, or of all, has not been asked or has not answered yet.
  [[nodiscard]] bool Pending(bool awaited_only) const HG_REQUIRES(mutex_);
  // Lets go of what the server answered before.
  void Set(Peer& peer, Status error) HG_REQUIRES(mutex_);
  [[nodiscard]] PeersLook Found() const HG_REQUIRES(mutex_);

  const PeerBounds bounds_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Peer> peers_ HG_GUARDED_BY(mutex_);
  std::deque<size_t> waiting_ HG_GUARDED_BY(mutex_);  // that are to be asked in this round
  size_t under_way_ HG_GUARDED_BY(mutex_) = 0;
  int64_t kept_bytes_ HG_GUARDED_BY(mutex_) = 0;
  bool looking_ HG_GUARDED_BY(mutex_) = false;
  bool ever_asked_ HG_GUARDED_BY(mutex_) = false;
  bool forgotten_ HG_GUARDED_BY(mutex_) = true;
  TimePoint round_begun_ HG_GUARDED_BY(mutex_);
  TimePoint round_deadline_ HG_GUARDED_BY(mutex_);
  TimePoint last_look_ HG_GUARDED_BY(mutex_);
  std::unique_ptr<StatsCaller> caller_;  // the last: its end ends what calls this
};

}  // namespace halograph::server
