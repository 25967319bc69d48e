#include "client/remote/remote_options.h"

#include <climits>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "common/base/host_port.h"

namespace halograph {

namespace {

Status CheckRange(std::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return OkStatus();
  return InvalidArgument("{} is {}, must be {} to {}", field, value, least, most);
}

}  // namespace

Status RemoteOptions::Validate() const {
  if (servers.empty()) return InvalidArgument("no servers given");
  absl::flat_hash_set<std::string> seen;
  for (const std::string& server : servers) {
    HG_RETURN_IF_ERROR(Annotate(ParseServerAddress(server).status(), "servers"));
    if (!seen.insert(server).second) return InvalidArgument("server '{}' is listed twice", server);
  }
  if (timeout <= std::chrono::nanoseconds::zero() || timeout > std::chrono::hours(24 * 365)) {
    return InvalidArgument("timeout is {} s, must be above 0 and at most a year",
                           std::chrono::duration<double>(timeout).count());
  }
  // gRPC counts message sizes in int; below the smallest not even a schema comes through.
  HG_RETURN_IF_ERROR(CheckRange("max_message_bytes", max_message_bytes, 4096, INT_MAX));
  HG_RETURN_IF_ERROR(CheckRange("channels_per_server", channels_per_server, 1, 64));
  HG_RETURN_IF_ERROR(CheckRange("calls_in_flight", calls_in_flight, 1, 1024));
  return OkStatus();
}

}  // namespace halograph
