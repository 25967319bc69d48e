// Who serves what: out of the servers' descriptions, the sets of servers that answer alike. A
// value: when a description changes, another one is made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/remote/description.h"
#include "common/base/status.h"

namespace halograph {

// Servers of which each answers reads of all these parts with the same bits: where a part is served
// by one server, these are that server and all that it serves alone.
struct ReplicaSet {
  std::vector<int> servers = {};  // ascending, at least one
  std::vector<int> parts = {};    // ascending, at least one
  // Of `servers`, the one to ask while it can be asked; -1: the least busy.
  int preferred = -1;
  std::string name = {};      // of the parts, for messages: "part 0", "parts 0,2"
  int64_t planned_bytes = 0;  // what requests to and replies from each of them should stay under
};

// Reads of one kind: each part with a server is in one set.
struct ReplicaSets {
  std::vector<ReplicaSet> sets;
  std::vector<int> set_of_part;  // index into sets; -1: nobody serves it

  // Null: nobody serves the part.
  [[nodiscard]] const ReplicaSet* Find(int part) const;
};

// The columns of which a client reads (columns.h), modulo their number; -1: of any server of a
// part.
struct ReadColumns {
  int topology = -1;
  int features = -1;
};

class ServedParts {
 public:
  // All of one graph; one of them at least is there. `our_message_bytes`: of this client.
  ServedParts(std::vector<std::string> addresses, Descriptions descriptions,
              int64_t our_message_bytes, ReadColumns columns = {});

  // Of features and task sets.
  [[nodiscard]] const ReplicaSets& features() const { return features_; }
  [[nodiscard]] const ReplicaSets& topology() const { return topology_; }

  // The server that keeps the mutable tensors of a part: there is one, whatever number of servers
  // has the part's immutable data, since a push to one is not seen by the others.
  //   FailedPrecondition  no server that is described keeps state of the part, or two do: named
  [[nodiscard]] StatusOr<int> Owner(int part) const;
  // The owner as a set of one. Errors as Owner.
  [[nodiscard]] StatusOr<ReplicaSet> OwnerSet(int part) const;

  // Of servers that are described:
  // Whether the server knows what is beside the first version of the protocol.
  [[nodiscard]] bool Knows(int server, std::string_view capability) const;
  // The first server of the set that does not know it; -1: all do.
  [[nodiscard]] int FirstWithout(const ReplicaSet& set, std::string_view capability) const;
  // The largest message that the server sends and takes.
  [[nodiscard]] int64_t MessageBytes(int server) const;

  [[nodiscard]] const Descriptions& descriptions() const { return descriptions_; }
  // "a:1", "a:1 or b:2".
  [[nodiscard]] std::string Addresses(const ReplicaSet& set) const;

 private:
  [[nodiscard]] ReplicaSets FindSets(bool PartContents::*what, int column) const;

  std::vector<std::string> addresses_;
  Descriptions descriptions_;
  int parts_;
  int64_t our_message_bytes_;
  ReplicaSets features_;
  ReplicaSets topology_;
};

}  // namespace halograph
