// Who pushed what: the newest sequence numbers of each client, so that a push is applied once
// however often it is sent. A pure function of the records of the log, in their order. Not
// thread-safe.
//
// Clients whose ids were registered and those that drew them are kept apart: the same number may be
// the id of one of either. Of each the table has the last kPushWindow numbers: of a registered one
// those above the number up to which it says that all are answered, of the others those up to the
// newest. What is below is never acknowledged: nobody knows any more whether it was applied.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>

#include "common/base/status.h"
#include "common/state/engine/log/record.h"
#include "common/state/row_push.h"

namespace halograph {

class ClientTable {
 public:
  // `max_drawn`: clients with drawn ids. Requires that it is above 0.
  explicit ClientTable(int max_drawn) : max_drawn_(static_cast<size_t>(max_drawn)) {}

  // What to do with a push: apply it, or (`repeated`) acknowledge it again. `digest` tells pushes
  // apart.
  //   FailedPrecondition  another push had this number. With the reason kTooOldToTell: the client
  //   is
  //                       registered and not known, or drew its id, is not known and begins with a
  //                       number above kPushWindow; or the number is below those that are kept
  //   ResourceExhausted   a number above those that the client may send yet
  //   InvalidArgument     number 0, or not above those that the push says are answered
  struct Verdict {
    bool repeated = false;
    int64_t lsn = 0;  // of the push that is repeated
  };
  [[nodiscard]] StatusOr<Verdict> Check(PushId id, uint64_t digest) const;

  // When there is room for one more registered client.
  struct Room {
    int64_t most = 0;
    int64_t lsn = 0;     // now
    int64_t second = 0;  // the same
    // A client may leave for another one if it has not pushed for so long, and so many records came
    // since.
    int64_t age_s = 0;
    int64_t pushes = 0;
  };
  // The one that leaves if another comes, 0: none need leave. ResourceExhausted: none may, of those
  // that have not pushed for longest.
  [[nodiscard]] StatusOr<uint64_t> WhoLeaves(const Room& room) const;
  [[nodiscard]] bool IsRegistered(uint64_t client) const { return registered_.contains(client); }

  // Notes a record of the log: a push that Check allowed, which may make the table forget the drawn
  // id that has not pushed for longest, or a registration.
  void Take(const LogRecord& record);

  [[nodiscard]] size_t drawn() const { return drawn_.size(); }
  [[nodiscard]] size_t registered() const { return registered_.size(); }

  // For checkpoints. Load: DataLoss if the bytes are no such table.
  struct Saved {
    std::string drawn;
    std::string registered;
  };
  [[nodiscard]] Saved Save() const;
  [[nodiscard]] Status LoadDrawn(std::span<const std::byte> bytes);
  [[nodiscard]] Status LoadRegistered(std::span<const std::byte> bytes);

 private:
  struct Seen {
    uint64_t sequence = 0;
    uint64_t digest = 0;
    int64_t lsn = 0;
  };
  struct Client {
    // Of a registered client the number up to which it says that all are answered; else the newest.
    uint64_t mark = 0;
    int64_t last_lsn = 0;
    int64_t last_second = 0;
    std::array<Seen, kPushWindow> window = {};  // number s at s % kPushWindow
  };
  using Clients = std::unordered_map<uint64_t, Client>;

  [[nodiscard]] static Status CheckNumber(PushId id, const Client& client);
  [[nodiscard]] Status CheckUnknown(PushId id) const;
  static void Save(const Clients& clients, bool registered, std::string* out);
  void SetLast(uint64_t id, Client* client, const LogRecord& record);
  [[nodiscard]] static Status Load(std::span<const std::byte> bytes, bool registered,
                                   Clients* clients);

  size_t max_drawn_;
  Clients drawn_;
  Clients registered_;
  std::map<int64_t, uint64_t> silent_;  // registered ones by the LSN of their last record
};

}  // namespace halograph
