// Who pushed what: the newest sequence numbers of each client, so that a push is applied once
// however often it is sent. A pure function of the pushes in the log, in their order. Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "common/base/status.h"
#include "common/state/row_push.h"

namespace halograph {

class ClientTable {
 public:
  // Requires max_clients > 0.
  explicit ClientTable(int max_clients) : max_clients_(static_cast<size_t>(max_clients)) {}

  // What to do with a push: apply it, or (`repeated`) acknowledge it again. `digest` tells pushes
  // apart.
  //   FailedPrecondition  another push had this number, or a client that is not known begins with a
  //                       number above kPushWindow
  //   ResourceExhausted   more than kPushWindow above the newest number
  //   InvalidArgument     number 0
  struct Verdict {
    bool repeated = false;
    int64_t lsn = 0;  // of the push that is repeated, or of a later one of the client
  };
  [[nodiscard]] StatusOr<Verdict> Check(PushId id, uint64_t digest) const;

  // Notes a push that Check allowed. May forget the client that has not pushed for longest.
  void Add(PushId id, uint64_t digest, int64_t lsn);

  [[nodiscard]] size_t size() const { return clients_.size(); }

  // For checkpoints: appends to `out`; reads back all of `bytes` (DataLoss if it is no such table).
  void Save(std::string* out) const;
  [[nodiscard]] Status Load(std::span<const std::byte> bytes);

 private:
  struct Seen {
    uint64_t sequence = 0;
    uint64_t digest = 0;
    int64_t lsn = 0;
  };
  struct Client {
    uint64_t newest = 0;
    int64_t last_lsn = 0;
    std::array<Seen, kPushWindow> window;  // number s at s % kPushWindow
  };

  size_t max_clients_;
  std::unordered_map<uint64_t, Client> clients_;
};

}  // namespace halograph
