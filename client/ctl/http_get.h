// One page of an HTTP port, over a plain connection: bounded in time and size, no redirects. And
// who is at an address. Thread-safe: nothing here has state.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/host_port.h"
#include "common/base/status.h"

namespace halograph::ctl {

inline constexpr size_t kMostPageBytes = 8 << 20;

// The numbers of the addresses that a host name has, each once, in the order in which they are
// tried. NotFound with what the name service says. Takes as long as the name service does.
[[nodiscard]] StatusOr<std::vector<std::string>> ResolveHost(const HostPort& address);

// Whether something takes connections there within the time. Unavailable with the reason if not;
// DeadlineExceeded if nobody says anything.
[[nodiscard]] Status TryToConnect(const HostPort& address, std::chrono::nanoseconds timeout);

// The body of `path`, as HTTP/1.0. `token`: sent as a bearer token; empty: none.
//   Unavailable         nobody takes connections there, or the connection ended
//   DeadlineExceeded    not all within `timeout`
//   FailedPrecondition  401 or 403: a token is missing or wrong; what the port says
//   NotFound            404
//   DataLoss            no HTTP, or another status
//   ResourceExhausted   more than kMostPageBytes
[[nodiscard]] StatusOr<std::string> HttpGet(const HostPort& address, const std::string& path,
                                            const std::string& token,
                                            std::chrono::nanoseconds timeout);

// The first line of a file, without blanks around it. As it is sent in a header, it is of visible
// ASCII. InvalidArgument: it is not, or is empty; or why the file cannot be read.
[[nodiscard]] StatusOr<std::string> ReadBearerToken(const std::filesystem::path& path);

}  // namespace halograph::ctl
