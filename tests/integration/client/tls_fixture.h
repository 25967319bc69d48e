// Servers and clients over TLS in this process, with a certificate authority of the test's own.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/remote/message_io.h"
#include "common/base/call_metadata.h"
#include "common/base/wall_clock.h"
#include "tests/integration/client/remote_fixture.h"
#include "tests/support/raw_http_client.h"
#include "tests/support/test_ca.h"

namespace halograph {

class TlsTest : public RemoteStoreTest {
 protected:
  // Of an attempt that is refused, spent in full.
  static constexpr std::chrono::seconds kPatience{1};

  TlsTest() {
    WriteTlsFolder(server_tls_, ca_.Make({.common_name = "server"}), ca_.root());
    WriteTlsFolder(client_tls_, ca_.Make({.common_name = "client"}), ca_.root());
  }

  [[nodiscard]] server::ServerOptions ServerTls() const {
    server::ServerOptions options;
    options.tls = {.folder = server_tls_, .refresh = std::chrono::milliseconds(50)};
    return options;
  }
  [[nodiscard]] static RemoteOptions With(const std::vector<std::string>& servers,
                                          const TlsOptions& tls, std::chrono::nanoseconds timeout) {
    RemoteOptions options = Options(servers, timeout);
    options.tls = tls;
    EXPECT_TRUE(options.OpenTls().ok());
    return options;
  }
  // By one connection.
  [[nodiscard]] static RemoteOptions With(const server::Server& server, const TlsOptions& tls,
                                          std::chrono::nanoseconds timeout) {
    RemoteOptions options = With(std::vector{server.address()}, tls, timeout);
    options.channels_per_server = 1;
    return options;
  }
  // Has the authority's list of what it revoked in this file, all at once.
  void WriteCrl(const std::filesystem::path& file) {
    const std::string written = file.string() + ".new";
    WriteTestFile(written, ca_.MakeCrl());
    std::filesystem::rename(written, file);
  }
  // A call of a client that this makes for it alone: a handshake of its own.
  [[nodiscard]] Status CallOnce(const server::Server& server, const TlsOptions& tls,
                                std::chrono::nanoseconds timeout = std::chrono::seconds(60)) const {
    return Ask(With(server, tls, timeout));
  }
  [[nodiscard]] static Status Ask(const RemoteOptions& options) {
    RpcClient client(options);
    return Ask(client);
  }
  [[nodiscard]] static Status Ask(RpcClient& client, std::vector<int> servers = {0}) {
    Rpc rpc;
    rpc.servers = std::move(servers);
    rpc.method = Method::kDescribe;
    rpc.make_request = [] { return std::string(); };
    rpc.on_reply = [](ReplyPieces, std::vector<Rpc>*) { return OkStatus(); };
    return Run(client, std::move(rpc));
  }
  // The same with an HTTP port, of which CountHandshakes asks: that makes no connection of its own.
  [[nodiscard]] server::ServerOptions Counting(server::ServerOptions options) const {
    options.http.listen = "127.0.0.1:0";
    options.http.address_file = http_address_;
    return options;
  }
  struct Handshakes {
    double failed = 0;  // of all servers in this process
    double all = 0;     // with the server; one that goes on is no failed one yet
  };
  [[nodiscard]] Handshakes CountHandshakes() const {
    const std::string page = Get(ReadTextFile(http_address_).value_or("?"), "/metrics").body;
    const auto value = [&](const std::string& name) {
      const size_t at = page.find("\n" + name + " ");
      EXPECT_NE(at, std::string::npos) << "the server does not count " << name;
      return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
    };
    return {.failed = value("halograph_tls_handshakes_failed_total"),
            .all = value("halograph_server_connections_accepted_total")};
  }
  [[nodiscard]] static Status Run(RpcClient& client, Rpc rpc) {
    CallContext context{.deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1)};
    std::vector<Rpc> calls;
    calls.push_back(std::move(rpc));
    return client.Run(context, std::move(calls));
  }
  // Until `done`, which a slow machine may delay; false after minutes.
  [[nodiscard]] static bool Await(const std::function<bool()>& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    while (!done()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }

  // What a client with `tls` gets that is refused: as soon as `reason` is in it.
  [[nodiscard]] std::string Refused(const server::Server& server, const TlsOptions& tls,
                                    const std::string& reason) const {
    RemoteOptions options = With(server, tls, kPatience);
    // With TLS it is there: no time is given to one that went away.
    if (tls.given()) options.server_timeout = std::chrono::hours(1);
    std::string text;
    EXPECT_TRUE(Await([&] {
      const Status status = Ask(options);
      EXPECT_FALSE(status.ok());
      text = Message(status);
      const bool said = text.find(reason) != std::string::npos;
      if (said) {
        EXPECT_EQ(ReasonOf(status), kClosedAtOnce);
      }
      return status.ok() || said;
    })) << text;
    return text;
  }

  const std::filesystem::path graph_ = WriteGraph();
  const std::filesystem::path server_tls_ = folder_.path() / "server-tls";
  const std::filesystem::path client_tls_ = folder_.path() / "client-tls";
  const std::filesystem::path http_address_ = folder_.path() / "http-address";
  const TlsOptions client_ = {.folder = client_tls_, .refresh = std::chrono::milliseconds(50)};
  TestCa ca_{SecondsSince1970()};
};

}  // namespace halograph
