#include "server/options.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/processors.h"
#include "common/program/address_row.h"
#include "server/listener/descriptor_limit.h"
#include "server/peers/peers.h"

namespace halograph::server {
namespace {

constexpr int64_t kSmallestMessageBytes = 64 << 10;
constexpr int64_t kLargestMessageBytes = 1 << 30;  // gRPC counts in int
constexpr int64_t kRequestMemory = 16 << 20;
constexpr int64_t kReplyMemory = 48 << 20;
// Messages that the memory must hold at least: a buffer is up to twice its message.
constexpr int64_t kMessagesInMemory = 4;

constexpr int64_t kMostConnections = 4096;
constexpr int64_t kLeastConnections = 16;
// Descriptors that are left for files, the HTTP port and connections to other servers.
constexpr int64_t kOtherDescriptors = 256;

bool ParseNumber(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() &&
         text.front() != '-';
}

}  // namespace

Status ServerOptions::Validate() const {
  if (graph.empty()) return InvalidArgument("--graph is missing: name the partition folder");
  ServerOptions copy = *this;
  OptionTable rows;
  AddServerOptions(rows, &copy);
  HG_RETURN_IF_ERROR(rows.Validate());
  HG_RETURN_IF_ERROR(http.Validate());
  HG_RETURN_IF_ERROR(CheckPeers());
  HG_RETURN_IF_ERROR(CheckSecure());
  if (!policy.empty() && reflection == Reflection::kOn) {
    return InvalidArgument(
        "--reflection on answers everybody, and --policy does not: leave one of them out");
  }
  const int64_t least = kMessagesInMemory * max_message_bytes;
  for (const auto& [name, value] :
       {std::pair{"--request-memory", request_memory}, {"--reply-memory", reply_memory}}) {
    if (value != 0 && value < least) {
      return InvalidArgument(
          "{} is {}, expected at least {}: {} messages of --max-message-bytes {}", name, value,
          least, kMessagesInMemory, max_message_bytes);
    }
  }
  if (unaccounted_bytes != 0 && unaccounted_bytes < 2 * max_message_bytes) {
    return InvalidArgument(
        "--unaccounted-bytes is {}, expected at least {}: two requests of --max-message-bytes {}, "
        "which honest clients may be sending",
        unaccounted_bytes, 2 * max_message_bytes, max_message_bytes);
  }
  return OkStatus();
}

Status ServerOptions::CheckPeers() const {
  if (const Status read = ReadAddresses(peers).status(); !read.ok()) {
    return InvalidArgument("--peers: {}", Message(read));
  }
  if (peers.size() > Peers::kMost) {
    return InvalidArgument("--peers lists {} servers, expected at most {}", peers.size(),
                           Peers::kMost);
  }
  if (!peers.empty() && http.listen.empty()) {
    return InvalidArgument(
        "--peers says nothing without --http-listen: add --http-listen HOST:PORT, or leave it out");
  }
  if (!peers.empty() && !policy.empty() && !tls.given()) {
    return InvalidArgument(
        "--peers with --policy: a server is a principal by its certificate when it calls others: "
        "give --tls-dir, and name the certificate in {}",
        policy.string());
  }
  return OkStatus();
}

Status ServerOptions::CheckSecure() const {
  HG_RETURN_IF_ERROR(tls.Validate(TlsRole::kServer));
  if (tls.given()) {
    if (!insecure) return OkStatus();
    return InvalidArgument(
        "--insecure is for servers without TLS: leave it out, or --tls-dir and its like");
  }
  if (tls_clients != ClientCertificates::kRequired) {
    return InvalidArgument(
        "--tls-clients says nothing without TLS: add --tls-dir, or leave it out");
  }
  HG_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(listen));
  if (insecure || IsLoopback(address.host)) return OkStatus();
  return InvalidArgument(
      "--listen {}: other machines can reach it, and nothing would be encrypted, nor anybody asked "
      "who he is: give --tls-dir FOLDER (or --tls-cert, --tls-key and --tls-ca), or --insecure "
      "where only a trusted network reaches it",
      listen);
}

std::chrono::nanoseconds ServerOptions::ConnectionAge() const {
  if (connection_age.count() > 0) return connection_age;
  return tls.given() ? std::chrono::minutes(10) : std::chrono::minutes(30);
}

int ServerOptions::NumThreads() const { return threads > 0 ? threads : AvailableProcessors(); }

int64_t ServerOptions::RequestMemory() const {
  if (request_memory > 0) return request_memory;
  return std::max(kRequestMemory, kMessagesInMemory * max_message_bytes);
}

int64_t ServerOptions::ReplyMemory() const {
  if (reply_memory > 0) return reply_memory;
  return std::max(kReplyMemory, kMessagesInMemory * max_message_bytes);
}

int64_t ServerOptions::Connections() const {
  if (connections > 0) return connections;
  return std::clamp(DescriptorLimit() - kOtherDescriptors, kLeastConnections, kMostConnections);
}

int64_t ServerOptions::UnaccountedBytes() const {
  return unaccounted_bytes > 0 ? unaccounted_bytes : RequestMemory() + RequestMemory() / 4;
}

int64_t ServerOptions::UnaccountedBytesOfAddress() const {
  return std::max(5 * UnaccountedBytes(), (kQuotaInRequestMemories + 1) * RequestMemory());
}

AddressRanges ServerOptions::TrustedProxies() const {
  return AddressRanges::Parse(trusted_proxies).value_or(AddressRanges());
}

StatusOr<std::string> ServerOptions::Advertised(
    const std::string& address,
    const std::function<MachineNames(std::string_view wildcard)>& machine) const {
  HG_ASSIGN_OR_RETURN(HostPort called, ParseHostPort(address));
  if (!advertise.empty()) {
    const int bound_port = called.port;
    HG_ASSIGN_OR_RETURN(called, ParseAdvertised(advertise));
    if (called.port == 0) called.port = bound_port;
  } else if (IsWildcard(called.host)) {
    CalledHost found = HostToCall(machine(called.host));
    called.host = std::move(found.host);
    if (!found.why_not_name.empty()) {
      spdlog::warn("{}: others are told {}; if they do not reach that, give --advertise HOST",
                   found.why_not_name, ToString(called));
    }
  }
  return ToString(called);
}

StateOptions ServerOptions::State() const { return ToStateOptions(state, max_message_bytes); }

namespace {

void AddConnectionRows(OptionTable& rows, ServerOptions* o) {
  rows.Group("Connections");
  rows.Add("connections", &o->connections, "connections; beyond: closed at once")
      .Range(0, 1 << 20)
      .DefaultText("the limit of descriptors less 256, at most 4096");
  rows.Add("connections-per-address", &o->connections_per_address,
           "connections of one address, but of loopback and of --trusted-proxies; beyond: closed "
           "at once")
      .Range(1, 1 << 20);
  rows.AddBytes(
          "unaccounted-bytes", &o->unaccounted_bytes,
          "bytes that a connection may have sent that belong to no call, for longer than a "
          "second; those of an address 5 times as many, and all 10 times; beyond: the one with "
          "most is shut down")
      .DefaultText("1.25 times --request-memory");
  rows.Add("trusted-proxies", &o->trusted_proxies,
           "addresses of proxies that stand for many clients, and whose x-halograph-identity is "
           "believed")
      .Check([](const std::vector<std::string>& texts) {
        return AddressRanges::Parse(texts).status();
      })
      .ValueName("CIDR,...")
      .DefaultText("none");
  rows.Add("keepalive", &o->keepalive,
           "how long a connection may be silent until its client is asked whether it is there; "
           "without an answer within 10 s it is closed")
      .Range(std::chrono::seconds(1), std::chrono::hours(1));
  rows.Add("connection-idle", &o->connection_idle,
           "how long a connection may have no call; beyond: closed")
      .Range(std::chrono::seconds(1), std::chrono::hours(24));
}

}  // namespace

void AddServerOptions(OptionTable& rows, ServerOptions* o) {
  rows.Group("Graph");
  rows.Add("graph", &o->graph, "partition folder, which holds part-XXXX").Required();
  rows.AddText(
          "part",
          [o](std::string_view text) -> Status {
            HG_ASSIGN_OR_RETURN(o->parts, ParseParts(text));
            return OkStatus();
          },
          [o] { return o->parts.empty() ? "all" : fmt::format("{}", fmt::join(o->parts, ",")); },
          "all, or numbers separated by commas", "partitions to serve")
      .ValueName("PARTS")
      .Required();
  rows.AddText(
      "serve",
      [o](std::string_view text) -> Status {
        HG_ASSIGN_OR_RETURN(o->contents, ParseServe(text));
        return OkStatus();
      },
      [o] { return o->contents.topology ? "all" : "features"; }, "all or features",
      "what is served; features: the topology is not opened, as trainers in hybrid mode have it");
  rows.AddChoice(
      "verify", &o->verify, VerifyLevelWords(),
      "what is checked of files as they are opened: their headers, or also every checksum");

  rows.Group("Service");
  rows.Add("listen", &o->listen, "address to listen at; port 0 picks a free one")
      .Check([](const std::string& address) { return ParseHostPort(address).status(); })
      .ValueName("HOST:PORT")
      .Required();
  rows.Add(
          "advertise", &o->advertise,
          "address that others reach the server at, which --address-file gets; without a port: the "
          "one that it listens at")
      .Check([](const std::string& address) {
        return address.empty() ? OkStatus() : ParseAdvertised(address).status();
      })
      .ValueName("HOST[:PORT]")
      .DefaultText(
          "as --listen; of 0.0.0.0 and [::] the machine's host name, or its "
          "address where that cannot be resolved");
  rows.Add("address-file", &o->address_file,
           "file that gets the address, HOST:PORT, once the server listens, and is removed when it "
           "stops");
  rows.Add("drain-delay", &o->drain_delay,
           "how long after SIGTERM the server takes calls as before, while its health says "
           "NOT_SERVING")
      .Range(std::chrono::seconds(0), std::chrono::hours(1));
  rows.Add("drain-timeout", &o->drain_timeout,
           "how long calls in flight may go on after SIGTERM and --drain-delay")
      .Range(std::chrono::seconds(0), std::chrono::hours(1));

  rows.AddChoice("reflection", &o->reflection,
                 {{"on", Reflection::kOn}, {"off", Reflection::kOff}, {"auto", Reflection::kAuto}},
                 "whether gRPC's reflection, which tools like grpcurl ask, tells what the services "
                 "and their messages are; auto: on without --policy and TLS");
  rows.Add("policy", &o->policy,
           "file that says who may do what, by certificates and tokens; read again as it changes")
      .DefaultText("everybody may do everything");

  AddTlsRows(rows, &o->tls);
  rows.AddChoice(
      "tls-clients", &o->tls_clients,
      {{"required", ClientCertificates::kRequired}, {"optional", ClientCertificates::kOptional}},
      "with TLS, whether a client must show a certificate; one that is shown is checked");
  rows.Add("insecure", &o->insecure,
           "listen beyond loopback without TLS: only a trusted network may reach the server");
  AddHttpRows(rows, &o->http);
  AddAddressRow(rows, "peers", &o->peers,
                "servers of the graph, which /ui and /status?cluster show too; the list may have "
                "this one, so that all servers can have the same")
      .DefaultText("this server is shown alone");
  AddStateRows(rows, &o->state, "the parts served");
  rows.Find("state")->DefaultText("there are none");

  rows.Group("Bounds");
  rows.Add("threads", &o->threads, "threads that work on calls; 0: one a processor that it may use")
      .Range(0, 1024);
  rows.Add("queue", &o->queue, "calls that wait for a thread; beyond: UNAVAILABLE")
      .Range(1, 1 << 20);
  rows.Add("state-threads", &o->state_threads,
           "threads for calls that may wait for the disk of the mutable tensors: pushes, and pulls "
           "of what --state-memory does not hold")
      .Range(1, 1024);
  rows.Add("state-queue", &o->state_queue, "such calls that wait for a thread; beyond: UNAVAILABLE")
      .Range(1, 1 << 20);
  rows.AddBytes("max-message-bytes", &o->max_message_bytes,
                "largest request or reply; beyond: RESOURCE_EXHAUSTED")
      .Range(kSmallestMessageBytes, kLargestMessageBytes);
  rows.AddBytes("request-memory", &o->request_memory,
                "bytes of requests in flight; beyond: UNAVAILABLE")
      .DefaultText("16MiB, or 4 messages where that is more");
  rows.AddBytes("reply-memory", &o->reply_memory,
                "bytes of replies that are not yet sent; beyond: UNAVAILABLE")
      .DefaultText("48MiB, or 4 messages where that is more");
  rows.Add("reply-timeout", &o->reply_timeout,
           "how long a client may take to read a reply; beyond: it is given up")
      .Range(std::chrono::seconds(1), std::chrono::hours(1));
  rows.Add("connection-age", &o->connection_age,
           "age at which a connection takes no more calls; those that it has may go on for a "
           "minute, "
           "or --drain-timeout where that is more; clients connect again")
      .Range(std::chrono::seconds(0), std::chrono::hours(24 * 365))
      .DefaultText("30m, with TLS 10m: only new connections look at certificates again");
  AddConnectionRows(rows, o);
}

StatusOr<std::vector<int>> ParseParts(std::string_view text) {
  std::vector<int> parts;
  if (text == "all") return parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int part = 0;
    if (!ParseNumber(text.substr(begin, end - begin), &part)) {
      return InvalidArgument("'{}' is no list of parts: give numbers separated by commas, or all",
                             text);
    }
    if (std::find(parts.begin(), parts.end(), part) != parts.end()) {
      return InvalidArgument("'{}' lists part {} twice", text, part);
    }
    parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

StatusOr<PartContents> ParseServe(std::string_view text) {
  if (text == "all") return PartContents{};
  if (text == "features") return PartContents{.topology = false};
  return InvalidArgument("'{}' is not all or features", text);
}

}  // namespace halograph::server
