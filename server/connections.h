// The connections of a server as the system has them: gRPC closes none while it writes to it, and
// to one whose peer does not read it writes for ever.
#pragma once

#include <chrono>
#include <set>
#include <string>

namespace halograph::server {

// Shuts down, at the socket, this process's connections to these peers, named as gRPC names them
// ("ipv4:127.0.0.1:7000"). gRPC then ends their calls. Returns how many there were. Thread-safe.
int ShutConnections(const std::set<std::string>& peers);

// The same of all that others have made to this port of this process, until gRPC has closed every
// one, but at most for `patience`. Whether none is left.
bool EndConnectionsTo(int port, std::chrono::nanoseconds patience);

}  // namespace halograph::server
