// What a server is told at start: every bound has its name, default and range here.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition.h"
#include "common/http/http_options.h"
#include "common/program/options.h"
#include "common/state/options/state_folder_options.h"
#include "common/tls/tls_options.h"
#include "server/called_host.h"
#include "server/listener/peer_address.h"

namespace halograph::server {

// Whether the server tells what its services and messages are, as grpcurl asks.
enum class Reflection { kOff, kOn, kAuto };

struct ServerOptions {
  std::filesystem::path graph;         // the partition folder, that holds part-XXXX
  std::vector<int> parts;              // served; empty: all
  std::string listen = "127.0.0.1:0";  // HOST:PORT; port 0 picks a free one
  int threads = 0;                     // that work on calls; 0: as AvailableProcessors
  int queue = 256;                     // calls that wait for a thread; more are UNAVAILABLE
  // Threads of calls that may wait for the disk of the mutable tensors, and such calls that wait
  // for a thread; more are UNAVAILABLE.
  int state_threads = 16;
  int state_queue = 256;
  int64_t max_message_bytes = 4194304;  // of a request or reply; beyond: RESOURCE_EXHAUSTED
  // Bytes of requests in flight, and of replies being built or sent; beyond: UNAVAILABLE.
  // 0: 16 and 48 MiB, or four messages where that is more.
  int64_t request_memory = 0;
  int64_t reply_memory = 0;
  // How long a reply may take to be read by its client; then it is given up, and its memory free.
  std::chrono::nanoseconds reply_timeout = std::chrono::seconds(30);
  // Connections in all, and of one address but loopback and trusted proxies; more are closed at
  // once. 0: what descriptors there are but 256, and at most 4,096.
  int connections = 0;
  int connections_per_address = 64;
  // Loopback has no bound per address, of connections or of calls: all programs of a machine share
  // it. False in tests that attack from loopback.
  bool loopback_is_free = true;
  // Bytes that a connection may have sent that belong to no call yet, for longer than a second;
  // those of an address and of all as below. Beyond: the one with most is shut down. 0: 1.25 times
  // the request memory.
  int64_t unaccounted_bytes = 0;
  // Addresses of proxies that stand for many clients and say who these are.
  std::vector<std::string> trusted_proxies;
  // How long a connection may be silent until its client is asked whether it is there; and be
  // without a call until it is closed.
  std::chrono::nanoseconds keepalive = std::chrono::seconds(20);
  std::chrono::nanoseconds connection_idle = std::chrono::minutes(10);
  std::filesystem::path address_file;  // empty: none
  // HOST[:PORT] that others call; empty: where it listens, by the machine's name (or address) if
  // that is a wildcard. Without a port: the one that was bound.
  std::string advertise;
  // How long a server that is told to stop says that it is unhealthy, and answers as before, until
  // it takes no more calls; then how long those in flight may go on.
  std::chrono::nanoseconds drain_delay = std::chrono::seconds(0);
  std::chrono::nanoseconds drain_timeout = std::chrono::seconds(10);
  Reflection reflection = Reflection::kAuto;
  std::filesystem::path policy;  // who may do what (server/rights); empty: everybody everything
  VerifyLevel verify = VerifyLevel::kContents;
  PartContents contents;     // what is opened and served (--serve)
  StateFolderOptions state;  // mutable tensors of the parts served
  HttpOptions http;          // pages for probes, scrapers and operators; by default none
  TlsOptions tls;            // by default nothing is encrypted
  ClientCertificates tls_clients = ClientCertificates::kRequired;
  bool insecure = false;  // beyond loopback without TLS
  // After how long a connection takes no more calls, so that its certificate is looked at again; it
  // is closed once those that it has have ended, or after a minute, or drain_timeout where that is
  // more. 0: 30 minutes, with TLS 10.
  std::chrono::nanoseconds connection_age = std::chrono::seconds(0);
  // HOST:PORT of the servers of the graph, which its pages show too; may have its own. Empty: it
  // shows itself alone.
  std::vector<std::string> peers;

  // InvalidArgument naming the option, the value and what is allowed.
  [[nodiscard]] Status Validate() const;

  // The defaults resolved. Require valid options.
  [[nodiscard]] int NumThreads() const;
  [[nodiscard]] int64_t RequestMemory() const;
  [[nodiscard]] int64_t ReplyMemory() const;
  [[nodiscard]] std::chrono::nanoseconds ConnectionAge() const;
  [[nodiscard]] int64_t Connections() const;
  // Of requests, gRPC takes in so many times RequestMemory() at most before anybody here sees them.
  static constexpr int64_t kQuotaInRequestMemories = 4;
  [[nodiscard]] int64_t UnaccountedBytes() const;
  // Five times as many, and more than gRPC takes in.
  [[nodiscard]] int64_t UnaccountedBytesOfAddress() const;
  [[nodiscard]] AddressRanges TrustedProxies() const;
  // By itself a server that guards anything does not reflect.
  [[nodiscard]] bool Reflects() const {
    if (reflection == Reflection::kAuto) return !tls.given() && policy.empty();
    return reflection == Reflection::kOn;
  }
  // What others call, HOST:PORT, of a server that listens at `address`, which has the bound port.
  // Of a wildcard as HostToCall, with a warning where that is not the machine's name.
  // InvalidArgument: `address` is none.
  [[nodiscard]] StatusOr<std::string> Advertised(
      const std::string& address,
      const std::function<MachineNames(std::string_view wildcard)>& machine = ThisMachine) const;
  // Of all parts together; requires `state`.
  [[nodiscard]] StateOptions State() const;

 private:
  [[nodiscard]] Status CheckPeers() const;
  [[nodiscard]] Status CheckSecure() const;
};

// A row for each of them; ranges are there. What several together make wrong is Validate's.
void AddServerOptions(OptionTable& rows, ServerOptions* options);

// "all" gives none (which means all); "0,2" gives 0 and 2. InvalidArgument for anything else, and
// for a part given twice.
[[nodiscard]] StatusOr<std::vector<int>> ParseParts(std::string_view text);

// "all", or "features": everything but the topology, whose files need not be there.
// InvalidArgument for anything else.
[[nodiscard]] StatusOr<PartContents> ParseServe(std::string_view text);

}  // namespace halograph::server
