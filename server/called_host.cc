#include "server/called_host.h"

#include <array>
#include <climits>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include "common/base/host_name.h"
#include "common/base/host_port.h"

namespace halograph::server {
namespace {

bool Resolves(const std::string& name, int family) {
  addrinfo wanted{};
  wanted.ai_family = family;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, &wanted, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

// Empty of another family, and of what only neighbours on its link reach.
std::string AddressOf(const sockaddr& address, int family) {
  if (address.sa_family != family) return "";
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  } else {
    const in6_addr& ipv6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&ipv6) != 0) return "";
    bytes = &ipv6;
  }
  const char* const written = inet_ntop(family, bytes, text.data(), text.size());
  return written == nullptr ? "" : written;
}

std::vector<std::string> AddressesOf(const ifaddrs* interfaces, int family) {
  std::vector<std::string> addresses;
  for (const ifaddrs* at = interfaces; at != nullptr; at = at->ifa_next) {
    const bool up = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
    if (!up || at->ifa_addr == nullptr) continue;
    std::string address = AddressOf(*at->ifa_addr, family);
    if (!address.empty()) addresses.push_back(std::move(address));
  }
  return addresses;
}

}  // namespace

MachineNames ThisMachine(std::string_view wildcard) {
  const bool ipv4_only = wildcard.find(':') == std::string_view::npos;
  MachineNames machine;
  machine.name = HostName();
  machine.resolves =
      !machine.name.empty() && Resolves(machine.name, ipv4_only ? AF_INET : AF_UNSPEC);
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return machine;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(interfaces, freeifaddrs);
  machine.addresses = AddressesOf(interfaces, AF_INET);
  if (ipv4_only) return machine;
  for (std::string& address : AddressesOf(interfaces, AF_INET6)) {
    machine.addresses.push_back(std::move(address));
  }
  return machine;
}

CalledHost HostToCall(const MachineNames& machine) {
  std::string why_not;
  if (machine.name.empty()) {
    why_not = "this machine has no name";
  } else if (!ParseHost(machine.name).ok()) {
    why_not =
        fmt::format("this machine's name, '{}', is none that others could call", machine.name);
  } else if (IsLoopback(machine.name)) {
    why_not = fmt::format("this machine's name, {}, is every machine's own", machine.name);
  } else if (!machine.resolves) {
    why_not = fmt::format("this machine's name, {}, cannot be resolved", machine.name);
  } else {
    return {machine.name, ""};
  }
  return {machine.addresses.empty() ? "127.0.0.1" : machine.addresses.front(), why_not};
}

}  // namespace halograph::server
