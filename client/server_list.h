// Where the servers of a graph are, as --servers says it:
//   HOST:PORT  a number, or a name. One that stands for several addresses of one family (that which
//              the system gives first) is as many servers: a headless service of Kubernetes, say
//   @FILE      a file of such, a line each or with commas between; what follows a '#' does not
//   count
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "client/name_lookup.h"
#include "common/base/status.h"

namespace halograph {

// One server.
struct ServerPlace {
  std::string address;  // HOST:PORT to connect to
  std::string name;     // HOST:PORT as it was listed: whose certificate the server shows
  bool operator==(const ServerPlace&) const = default;
};

class ServerList {
 public:
  using Ask = std::function<StatusOr<HostAddresses>(const HostPort&)>;

  // Words of --servers, which ReadServerWords returned. `ask` is called by several threads at a
  // time.
  explicit ServerList(std::vector<std::string> words, Ask ask = AskSystem)
      : words_(std::move(words)), ask_(std::move(ask)) {}

  // Whether it may say something else later: there is a file, or a name.
  [[nodiscard]] bool may_change() const;

  // The servers of now, each address once, in the order of the words. A name with one address stays
  // as it is, and so does one of which the name service has none (yet), or says none in time: gRPC
  // asks for that by itself.
  //   NotFound         a file is missing
  //   InvalidArgument  a file has a line that is no address, or none at all: file and line
  //   else             errors of ReadTextFile
  [[nodiscard]] StatusOr<std::vector<ServerPlace>> Find(
      std::chrono::steady_clock::time_point deadline) const;
  // The same as numbers alone: a name without an address is left out.
  [[nodiscard]] StatusOr<std::vector<ServerPlace>> FindNumbers(
      std::chrono::steady_clock::time_point deadline) const;

 private:
  [[nodiscard]] StatusOr<std::vector<ServerPlace>> FindAll(
      std::chrono::steady_clock::time_point deadline, bool numbers) const;

  std::vector<std::string> words_;
  Ask ask_;
};

// The words of a list with commas between, addresses as ToString has them
// (common/base/host_port.h). InvalidArgument with the text: one is neither an address to call nor
// an @FILE, or is listed twice.
[[nodiscard]] StatusOr<std::vector<std::string>> ReadServerWords(
    const std::vector<std::string>& words);

}  // namespace halograph
