// Servers in this process over the parts of a conformance graph.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "client/remote/remote_store.h"
#include "common/base/status.h"
#include "common/graph/partition.h"

namespace halograph {

struct ServedSetup {
  std::string name;
  int servers = 1;
  int replicas = 1;  // servers of each share of the parts
  int threads = 1;
  int64_t server_message_bytes = 4194304;
  int64_t client_message_bytes = 4194304;
  PartContents contents = {};  // what they serve
  bool state = false;          // with mutable tensors, in a new folder
};

struct StartedServers {
  std::shared_ptr<void> servers;  // that run until this is released
  RemoteOptions options;          // that reach them
};

// Server i of n serves the parts i, i + n, ...: what it owns is not contiguous. With replicas there
// are as many of each. Listed last to first: order must not matter.
[[nodiscard]] StatusOr<StartedServers> StartServers(const ServedSetup& setup,
                                                    const std::filesystem::path& graph);

}  // namespace halograph
