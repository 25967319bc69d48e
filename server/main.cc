// halograph-server: serves partitions of a graph until it is told to stop.
// Exit codes: 0 done, 1 failed, 2 wrong usage.
#include <memory>
#include <string>
#include <thread>

#include <malloc.h>

#include "common/base/build_info.h"
#include "common/base/host_port.h"
#include "common/base/kept_memory.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/program/address_file.h"
#include "common/program/program.h"
#include "common/program/service_notice.h"
#include "server/listener/descriptor_limit.h"
#include "server/options.h"
#include "server/server.h"

namespace halograph::server {
namespace {

// Anonymous memory stays small and is not faulted in again for every message: few arenas, and
// freed messages stay with the process up to a bound.
void TuneMalloc() {
  constexpr int kArenas = 4;
  constexpr int kKeptBytes = 8 << 20;
  mallopt(M_ARENA_MAX, kArenas);
  KeepFreedMemory(kKeptBytes);
}

void WarnIfOpen(const ServerOptions& options, const std::string& address) {
  if (options.tls.given()) {
    if (options.tls_clients == ClientCertificates::kRequired) return;
    spdlog::warn("--tls-clients optional: who shows no certificate may call, too");
    return;
  }
  const StatusOr<HostPort> parsed = ParseHostPort(address);
  if (parsed.ok() && !IsLoopback(parsed->host)) {
    spdlog::warn(
        "{} can be reached from other machines, without encryption or authentication: let only a "
        "trusted network reach it",
        address);
  }
}

std::string Seconds(std::chrono::nanoseconds duration) {
  return FormatSeconds(std::chrono::duration<double>(duration).count());
}

Status Serve(const ServerOptions& options, StopSignal& stop) {
  stop.EndAtOnce(true);  // until it serves
  stop.ExtendTimeout(options.drain_delay + options.drain_timeout);
  RaiseDescriptorLimit();
  spdlog::info("version {}", BuildVersion());
  const std::unique_ptr<ServiceNotice> notice = ServiceNotice::OfEnvironment();
  notice->Doing("opening the partitions");
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::Start(options));
  stop.EndAtOnce(false);
  WarnIfOpen(options, server->address());
  const std::string& called = server->called();
  HG_ASSIGN_OR_RETURN(std::unique_ptr<AddressFile> address_file,
                      AddressFile::Write(options.address_file, called));
  Print("listening on {}{}\n", server->address(),
        called == server->address() ? "" : ", which others reach at " + called);
  static_cast<void>(FlushStdout());  // now; where it failed, the end says so
  if (notice->watchdog().count() > 0) {
    server->TellAlive(notice->watchdog() / 2, [&notice] { notice->Alive(); });
  }
  notice->Ready("serving at " + called);
  static_cast<void>(stop.Wait());
  notice->Stopping("draining");
  address_file.reset();  // who looks from here on must not come
  if (options.drain_delay.count() > 0) {
    server->TurnUnhealthy();
    spdlog::info("unhealthy from now on; draining in {}", Seconds(options.drain_delay));
    std::this_thread::sleep_for(options.drain_delay);
  }
  spdlog::info("draining for at most {}", Seconds(options.drain_timeout));
  if (!server->Drain(options.drain_timeout)) {
    spdlog::warn(
        "calls still in flight after --drain-timeout were cancelled: raise it, or lower "
        "--queue");
  }
  spdlog::info("stopped");
  return OkStatus();
}

int Main(int argc, char** argv) {
  TuneMalloc();
  Program program("halograph-server",
                  "Serves partitions of a graph: sampling, features, task sets.");
  program.set_out_of_memory_advice("lower --request-memory, --reply-memory or --threads");
  program.CatchStopSignals();
  program.AddStopTimeout();
  ServerOptions options;
  AddServerOptions(program.options(), &options);
  program.Check([&] { return options.Validate(); });
  program.Run([&] { return Serve(options, *program.stop_signal()); });
  return program.Main(argc, argv);
}

}  // namespace
}  // namespace halograph::server

int main(int argc, char** argv) { return halograph::server::Main(argc, argv); }
