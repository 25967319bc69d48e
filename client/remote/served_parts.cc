#include "client/remote/served_parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/ranges.h>

#include "client/remote/columns.h"
#include "client/remote/message_io.h"

namespace halograph {

namespace {

int NumParts(const Descriptions& descriptions) {
  const auto described = [](const auto& description) { return description != nullptr; };
  return (*std::find_if(descriptions.begin(), descriptions.end(), described))
      ->graph.book.num_parts();
}

bool Serves(const ServerDescription* description, int part) {
  return description != nullptr && std::find(description->parts.begin(), description->parts.end(),
                                             part) != description->parts.end();
}

}  // namespace

const ReplicaSet* ReplicaSets::Find(int part) const {
  const int set = set_of_part[static_cast<size_t>(part)];
  return set < 0 ? nullptr : &sets[static_cast<size_t>(set)];
}

ServedParts::ServedParts(std::vector<std::string> addresses, Descriptions descriptions,
                         int64_t our_message_bytes, ReadColumns columns)
    : addresses_(std::move(addresses)),
      descriptions_(std::move(descriptions)),
      parts_(NumParts(descriptions_)),
      our_message_bytes_(our_message_bytes),
      features_(FindSets(&PartContents::features, columns.features)),
      topology_(FindSets(&PartContents::topology, columns.topology)) {}

ReplicaSets ServedParts::FindSets(bool PartContents::*what, int column) const {
  ReplicaSets found;
  found.set_of_part.assign(static_cast<size_t>(parts_), -1);
  std::map<std::vector<int>, int> sets;  // by servers
  for (int part = 0; part < parts_; ++part) {
    std::vector<int> servers;
    for (size_t server = 0; server < descriptions_.size(); ++server) {
      const ServerDescription* description = descriptions_[server].get();
      if (Serves(description, part) && description->serving.*what) {
        servers.push_back(static_cast<int>(server));
      }
    }
    if (servers.empty()) continue;
    const auto [at, fresh] = sets.try_emplace(servers, static_cast<int>(found.sets.size()));
    if (fresh) found.sets.push_back({.servers = std::move(servers)});
    found.sets[static_cast<size_t>(at->second)].parts.push_back(part);
    found.set_of_part[static_cast<size_t>(part)] = at->second;
  }
  for (ReplicaSet& set : found.sets) {
    set.name =
        fmt::format("part{} {}", set.parts.size() == 1 ? "" : "s", fmt::join(set.parts, ","));
    if (column >= 0) set.preferred = ServerOfColumn(addresses_, set.servers, column);
    int64_t bytes = our_message_bytes_;
    for (const int server : set.servers) bytes = std::min(bytes, MessageBytes(server));
    set.planned_bytes = PlannedBytes(bytes);
  }
  return found;
}

StatusOr<int> ServedParts::Owner(int part) const {
  std::vector<int> owners;
  std::vector<std::string> others;
  for (size_t server = 0; server < descriptions_.size(); ++server) {
    if (!Serves(descriptions_[server].get(), part)) continue;
    if (descriptions_[server]->keeps_state) {
      owners.push_back(static_cast<int>(server));
    } else {
      others.push_back(addresses_[server]);
    }
  }
  if (owners.size() == 1) return owners[0];
  if (owners.empty()) {
    return FailedPrecondition(
        "no server keeps the mutable tensors of part {} of {}: start one of its servers with "
        "--state DIR (now served by {})",
        part, parts_, others.empty() ? "nobody" : fmt::format("{}", fmt::join(others, ", ")));
  }
  return FailedPrecondition(
      "{} and {} both keep mutable tensors of part {} of {}, and a push to one is not seen by the "
      "other: start one of them without --state",
      addresses_[static_cast<size_t>(owners[0])], addresses_[static_cast<size_t>(owners[1])], part,
      parts_);
}

StatusOr<ReplicaSet> ServedParts::OwnerSet(int part) const {
  HG_ASSIGN_OR_RETURN(const int owner, Owner(part));
  return ReplicaSet{
      .servers = {owner},
      .parts = {part},
      .name = fmt::format("part {}", part),
      .planned_bytes = PlannedBytes(std::min(our_message_bytes_, MessageBytes(owner)))};
}

bool ServedParts::Knows(int server, std::string_view capability) const {
  const std::vector<std::string>& known = descriptions_[static_cast<size_t>(server)]->capabilities;
  return std::find(known.begin(), known.end(), capability) != known.end();
}

int ServedParts::FirstWithout(const ReplicaSet& set, std::string_view capability) const {
  const auto without = std::find_if(set.servers.begin(), set.servers.end(),
                                    [&](int server) { return !Knows(server, capability); });
  return without == set.servers.end() ? -1 : *without;
}

int64_t ServedParts::MessageBytes(int server) const {
  return descriptions_[static_cast<size_t>(server)]->max_message_bytes;
}

std::string ServedParts::Addresses(const ReplicaSet& set) const {
  std::vector<std::string> addresses;
  for (const int server : set.servers) addresses.push_back(addresses_[static_cast<size_t>(server)]);
  return fmt::format("{}", fmt::join(addresses, " or "));
}

}  // namespace halograph
