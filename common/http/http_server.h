// A program's HTTP port, for people, probes and scrapers: GET and HEAD of pages that the program
// makes. No file is ever served. libmicrohttpd is known to http_server.cc alone.
//
// Pages have exact paths, and nothing in a path is decoded: "/a/../status", "/%73tatus" and
// "//status" are no pages. A NUL byte ends a path, for the page as for who may read it.
//   400  a malformed request, a body, a token in the query, a Host or Authorization twice
//   401, 403  as http_access.h has it
//   404  no such page; the text lists those there are
//   405  neither GET nor HEAD
//   414, 431  a target of more than 4 KiB; headers of more than the bound
//   500  the page's handler threw: its text
//   503  the program ends, or the replies that others do not read take too much memory
// Every reply ends its connection, and has Cache-Control: no-store, X-Content-Type-Options: nosniff
// and a Content-Security-Policy by which a page can load and ask nothing but this port.
//
// Slow clients do not delay others: one thread serves all connections by epoll and never waits,
// pages that take their time are made in another (page_worker.h), and connections that last too
// long are ended by a third (connection_sweep.h). There is no bound by address: behind one address
// (a proxy, a NAT, a node's scrapers) are many honest clients, which it would close.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/http/connection_sweep.h"
#include "common/http/http_message.h"
#include "common/http/http_options.h"
#include "common/http/page_worker.h"
#include "common/http/token_file.h"
#include "common/program/address_file.h"

namespace halograph {

struct HttpBounds {
  // At the bound, further connections wait in the system's queue. Of three quarters of it on, a
  // connection may last for SweepBounds::longest_if_crowded only.
  int connections = 512;
  // A connection on which nothing moves for so long is closed. Whole seconds.
  std::chrono::seconds idle = std::chrono::seconds(3);
  size_t header_bytes = size_t{16}
                        << 10;  // memory of a connection: its request's head, its reply's
  // Of replies that are not yet read; beyond: 503. Of half of it on, as three quarters of
  // connections.
  int64_t reply_bytes = int64_t{64} << 20;
  SweepBounds sweep;
  TokenBounds token;
};

class HttpServer {
 public:
  // Listens, serves, logs where, and writes the address file. Null if `options.listen` is empty.
  // Handlers are called until the server ends, each from one thread at a time, but different ones
  // at once; what they use outlives the server.
  //   InvalidArgument     --http-listen is no address; --http-token-file has no token
  //   FailedPrecondition  the port is taken, or others may read the token: the text names the
  //   option others              as ReadToken and WriteFileAtomically
  [[nodiscard]] static StatusOr<std::unique_ptr<HttpServer>> Start(const HttpOptions& options,
                                                                   std::vector<HttpRoute> routes,
                                                                   HttpBounds bounds = {});
  // Ends all connections; waits for handlers that run.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it listens, HOST:PORT with the port that was bound: "0.0.0.0:9100", "[::1]:9100".
  [[nodiscard]] const std::string& address() const { return address_; }
  // What the address file has: that, but for a wildcard the machine's name.
  [[nodiscard]] const std::string& called() const { return called_; }
  [[nodiscard]] size_t connections() const { return sweep_.count(); }
  // Requests whose page is to be made.
  [[nodiscard]] size_t waiting() const { return worker_.waiting(); }

 private:
  struct Call;       // a request and its reply
  struct Callbacks;  // what libmicrohttpd calls
  struct Daemon;     // libmicrohttpd's own

  HttpServer(std::vector<HttpRoute> routes, HttpBounds bounds);
  [[nodiscard]] Status Begin(const HttpOptions& options);

  // Takes the descriptor.
  [[nodiscard]] Status StartDaemon(int fd);

  // The reply if it takes no handler, or one at once; else null, and whose page is made apart.
  [[nodiscard]] PageWorker::Reply Decide(Call& call, const HttpRoute** apart);
  // The refusal of who asks for a page, which may be none (null), or nullopt.
  [[nodiscard]] std::optional<HttpReply> Refuse(const Call& call, const HttpRoute* route);
  // What the page's handler gives; what it throws, as a reply. From any thread.
  [[nodiscard]] PageWorker::Reply Make(const HttpRoute& route, const HttpRequest& request);
  // Counts its bytes for as long as anybody has it.
  [[nodiscard]] PageWorker::Reply Keep(HttpReply reply);
  void WarnOfFailure(const std::string& path, const std::string& why);

  const std::vector<HttpRoute> routes_;
  const HttpBounds bounds_;
  std::string address_, called_;
  bool at_loopback_ = true;
  std::unique_ptr<TokenFile> token_;
  const std::shared_ptr<std::atomic<int64_t>> reply_bytes_ =
      std::make_shared<std::atomic<int64_t>>(0);
  Mutex mutex_;
  std::string last_failure_ HG_GUARDED_BY(mutex_);
  ConnectionSweep sweep_;
  PageWorker worker_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<AddressFile> address_file_;
};

}  // namespace halograph
