// What others call a server by that listens at all addresses of its machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halograph::server {

// What a machine knows of how it is called; tests have machines of their own.
struct MachineNames {
  std::string name;  // its host name; may be empty
  // Whether the machine itself finds an address by its name.
  bool resolves = false;
  // Of its network interfaces that are up, but loopback and link-local: IPv4 before IPv6.
  std::vector<std::string> addresses;
};

// This machine, for a server at `wildcard` ("0.0.0.0", "::"): the former has IPv4 addresses only.
// Asks the system's resolver, which may take the seconds of its own bound.
[[nodiscard]] MachineNames ThisMachine(std::string_view wildcard);

struct CalledHost {
  std::string host;
  std::string why_not_name;  // the machine's name was of no use; else empty
};

// The machine's name if others may call it by that; else its first address; of a machine without
// any, loopback ("127.0.0.1").
[[nodiscard]] CalledHost HostToCall(const MachineNames& machine);

}  // namespace halograph::server
