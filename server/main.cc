// halograph-server: serves partitions of a graph until it is told to stop.
// Exit codes: 0 done, 1 failed, 2 wrong usage.
#include <iostream>

#include <malloc.h>

#include "common/base/build_info.h"
#include "common/base/bus_error.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/storage/file.h"
#include "server/flags.h"
#include "server/server.h"
#include "server/signals.h"

namespace halograph::server {
namespace {

// Anonymous memory stays small and is not faulted in again for every message: few arenas, and
// freed messages stay with the process up to a bound.
void TuneMalloc() {
  constexpr int kArenas = 4;
  constexpr int kKeptBytes = 8 << 20;
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
}

void WarnIfOpen(const std::string& address) {
  const StatusOr<HostPort> parsed = ParseHostPort(address);
  if (parsed.ok() && !IsLoopback(parsed->host)) {
    spdlog::warn(
        "{} can be reached from other machines, without encryption or authentication: let only a "
        "trusted network reach it",
        address);
  }
}

Status Serve(const ServerOptions& options, StopSignals& signals) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::Start(options));
  signals.Arm();
  WarnIfOpen(server->address());
  if (!options.address_file.empty()) {
    HG_RETURN_IF_ERROR(WriteFileAtomically(options.address_file, server->address()));
  }
  std::cout << "listening on " << server->address() << std::endl;
  const int signal = signals.Wait();
  spdlog::info("signal {}: draining for at most {}", signal,
               FormatSeconds(std::chrono::duration<double>(options.drain_timeout).count()));
  if (!server->Drain(options.drain_timeout)) {
    spdlog::warn("calls still in flight after --drain-timeout were cancelled");
  }
  spdlog::info("stopped");
  return OkStatus();
}

int Main(int argc, char** argv) {
  TuneMalloc();
  EndOnBusErrors("halograph-server");
  static StopSignals& signals = *new StopSignals;  // its thread outlives main
  int exit_code = 0;
  const std::optional<Flags> flags = ParseFlags(argc, argv, &exit_code);
  if (!flags.has_value()) return exit_code;
  if (Status status = InitLog("halograph-server", flags->log_level); !status.ok()) {
    std::cerr << "halograph-server: --log-level: " << Message(status) << "\n";
    return 2;
  }
  spdlog::info("version {}", BuildVersion());
  if (Status status = Serve(flags->options, signals); !status.ok()) {
    spdlog::error("{}", Message(status));
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace halograph::server

int main(int argc, char** argv) { return halograph::server::Main(argc, argv); }
