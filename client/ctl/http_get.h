// One page of an HTTP port, over a plain connection: bounded in time and size, no redirects.
// Thread-safe: nothing here has state.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "client/name_lookup.h"
#include "common/base/host_port.h"
#include "common/base/status.h"

namespace halograph::ctl {

inline constexpr size_t kMostPageBytes = 8 << 20;

// Whether something takes connections at one of them within the time, of which each gets a share.
// Why the last one failed: Unavailable with the reason, DeadlineExceeded if it says nothing.
[[nodiscard]] Status TryToConnect(const HostAddresses& addresses, std::chrono::nanoseconds timeout);

// The body of `path`, as HTTP/1.0. `token`: sent as a bearer token; empty: none.
//   Unavailable         nobody takes connections there, or the connection ended
//   DeadlineExceeded    not all within `timeout`, the name service's answer among it
//   FailedPrecondition  401 or 403: a token is missing or wrong; what the port says
//   NotFound            404, or the host has no address
//   DataLoss            no HTTP, or another status
//   ResourceExhausted   more than kMostPageBytes
[[nodiscard]] StatusOr<std::string> HttpGet(const HostPort& address, const std::string& path,
                                            const std::string& token,
                                            std::chrono::nanoseconds timeout);

// The first line of a file, without blanks around it. As it is sent in a header, it is of visible
// ASCII. InvalidArgument: it is not, or is empty; or why the file cannot be read.
[[nodiscard]] StatusOr<std::string> ReadBearerToken(const std::filesystem::path& path);

}  // namespace halograph::ctl
