#include "common/http/http_options.h"

#include <string_view>
#include <utility>

#include "common/base/host_port.h"

namespace halograph {

Status HttpOptions::Validate() const {
  if (!listen.empty()) return OkStatus();
  for (const auto& [name, path] : {std::pair<std::string_view, const std::filesystem::path&>(
                                       "--http-address-file", address_file),
                                   {"--http-token-file", token_file}}) {
    if (path.empty()) continue;
    return InvalidArgument(
        "{} {} says nothing without --http-listen: add --http-listen HOST:PORT, or leave it out",
        name, path.string());
  }
  return OkStatus();
}

void AddHttpRows(OptionTable& rows, HttpOptions* options) {
  rows.Group("HTTP port");
  rows.Add("http-listen", &options->listen,
           "address of the HTTP port, which has /metrics, /livez, /readyz, /status and /ui; port 0 "
           "picks a free one")
      .Check([](const std::string& address) {
        return address.empty() ? OkStatus() : ParseHostPort(address).status();
      })
      .ValueName("HOST:PORT")
      .DefaultText("there is none");
  rows.Add(
      "http-address-file", &options->address_file,
      "file that gets the address of the HTTP port, HOST:PORT, once it listens, and is removed "
      "when the program stops");
  rows.Add("http-token-file", &options->token_file,
           "file with the token that /status and /ui want, one line of at least 16 characters, "
           "readable by its owner only; it crosses the network in plain text; without it they are "
           "served at loopback only");
}

}  // namespace halograph
