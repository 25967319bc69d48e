// What clients check of a server's certificate: that it is not revoked, and that it is for the name
// by which the server is listed.
#include <memory>
#include <string>
#include <vector>

#include "common/base/host_port.h"
#include "tests/integration/client/named_hosts.h"
#include "tests/integration/client/tls_fixture.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class TlsRevokedServerTest : public TlsTest {
 protected:
  const fs::path list_ = folder_.path() / "revoked.pem";
  // As --tls-cert, --tls-key, --tls-ca and --tls-crl.
  const TlsOptions listing_ = {.certificate = client_tls_ / "tls.crt",
                               .key = client_tls_ / "tls.key",
                               .roots = client_tls_ / "ca.crt",
                               .crl = list_,
                               .refresh = std::chrono::milliseconds(50)};
};

// An error that is FailedPrecondition is of the first attempt that had it: nothing is tried again.
TEST_F(TlsRevokedServerTest, IsRefusedAtTheStartAndByWhoIsConnectedOnceOfAge) {
  const TestPair stolen = ca_.Make({.common_name = "stolen"});
  WriteTlsFolder(server_tls_, stolen, ca_.root());
  server::ServerOptions options = ServerTls();
  options.connection_age = std::chrono::seconds(1);
  const auto server = Serve(graph_, {}, options);
  ASSERT_NE(server, nullptr);
  WriteCrl(list_);
  const RemoteOptions calls = With(*server, listing_, std::chrono::minutes(2));
  const Stores stores = Open(calls);
  ASSERT_NE(stores.rows, nullptr);
  ASSERT_TRUE(Pull(*stores.rows, {0, 50}).ok());
  ca_.Revoke(stolen);
  WriteCrl(list_);
  Status refused;
  EXPECT_TRUE(Await([&] {
    refused = Pull(*stores.rows, {0, 50});
    return !refused.ok();
  }));
  const std::vector<std::string> why = {server->address(), "the server's certificate", "revoked"};
  ExpectError(refused, absl::StatusCode::kFailedPrecondition, why);
  ExpectError(OpenRemoteStores(calls).status(), absl::StatusCode::kFailedPrecondition, why);
  EXPECT_TRUE(CallOnce(*server, client_).ok());  // which has no list
}

constexpr char kName[] = "graph.halograph.test";

// Servers of a part each that are one name: at addresses of their own, and at one port.
class TlsNamedServersTest : public TlsTest {
 protected:
  ~TlsNamedServersTest() override { NameHost(kName, {}); }

  // Null: something else has the port.
  [[nodiscard]] std::unique_ptr<server::Server> ServeAt(const std::string& number, int part,
                                                        const std::string& alternative_names) {
    server::ServerOptions options = ServerTls();
    options.graph = graph_;
    options.parts = {part};
    options.listen = number + ":" + std::to_string(port_);
    options.tls.folder = folder_.path() / ("tls-of-" + number);
    WriteTlsFolder(options.tls.folder, ca_.Make({.alternative_names = alternative_names}),
                   ca_.root());
    auto server = server::Server::Start(options);
    return server.ok() ? *std::move(server) : nullptr;
  }
  // Both parts, at 127.0.0.1 and 127.0.0.2, with certificates for these names.
  void ServeBoth(const std::string& alternative_names) {
    for (int tries = 0; tries < 20 && second_ == nullptr; ++tries) {
      port_ = 0;
      first_ = ServeAt("127.0.0.1", 0, alternative_names);
      ASSERT_NE(first_, nullptr);
      port_ = ParseHostPort(first_->address())->port;
      second_ = ServeAt("127.0.0.2", 1, alternative_names);
    }
    ASSERT_NE(second_, nullptr);
    NameHost(kName, {"127.0.0.1", "127.0.0.2"});
  }
  [[nodiscard]] RemoteOptions Named() const {
    return With({kName + (":" + std::to_string(port_))}, client_, std::chrono::minutes(1));
  }
  [[nodiscard]] RemoteOptions Numbered() const {
    return With({first_->address(), second_->address()}, client_, std::chrono::minutes(1));
  }
  // What each of the servers that these options find says.
  static void ExpectRefused(RemoteOptions options, const std::vector<std::string>& texts) {
    EXPECT_TRUE(
        options.FindServers(std::chrono::steady_clock::now() + std::chrono::minutes(1)).ok());
    ASSERT_EQ(options.servers.size(), 2);
    RpcClient client(options);
    for (int server = 0; server < 2; ++server) {
      const Status refused = Ask(client, {server});
      ExpectError(refused, absl::StatusCode::kFailedPrecondition, texts);
      EXPECT_THAT(Message(refused), HasSubstr(client.address(server)));
    }
  }

  std::unique_ptr<server::Server> first_;
  std::unique_ptr<server::Server> second_;
  int port_ = 0;
};

TEST_F(TlsNamedServersTest, TheNameInTheListIsWhatACertificateIsFor) {
  ServeBoth(std::string("DNS:") + kName);
  const Stores stores = Open(Named());
  ASSERT_NE(stores.graph, nullptr);
  EXPECT_TRUE(Sample(*stores.graph, {0, 199}).ok());
  EXPECT_TRUE(Pull(*stores.rows, {0, 199}).ok());
  ExpectRefused(Numbered(), {"is not for 127.0.0.", "subjectAltName"});
}

TEST_F(TlsNamedServersTest, TheAddressBehindTheNameIsNot) {
  ServeBoth("DNS:other.halograph.test,IP:127.0.0.1,IP:127.0.0.2");
  EXPECT_TRUE(Pull(*Open(Numbered()).rows, {0, 199}).ok());
  ExpectRefused(Named(), {std::string("is not for ") + kName, "subjectAltName"});
}

// Until then others may come to stand for the name.
TEST_F(TlsNamedServersTest, WhatWasFoundIsSaidAtTheTimeoutAndNotThatNobodyAnswered) {
  ServeBoth("DNS:other.halograph.test");
  RemoteOptions options = Named();
  options.timeout = kPatience;
  CapturedLog log;
  Status status;
  // Unless the machine was too slow to find anything.
  EXPECT_TRUE(Await([&] {
    status = OpenRemoteStores(options).status();
    return log.Has("looks for servers until --timeout");
  }));
  log.End();
  ExpectError(status, absl::StatusCode::kFailedPrecondition, {std::string("is not for ") + kName});
}

TEST_F(TlsNamedServersTest, AServerThatMovedShowsTheNamesCertificateAndAnImpostorDoesNot) {
  ServeBoth(std::string("DNS:") + kName);
  CapturedLog log;
  {
    const Stores stores = Open(Named());
    ASSERT_NE(stores.rows, nullptr);
    ASSERT_TRUE(Pull(*stores.rows, {0, 199}).ok());
    const auto impostor = ServeAt("127.0.0.3", 1, "DNS:other.halograph.test,IP:127.0.0.3");
    second_ = ServeAt("127.0.0.4", 1, std::string("DNS:") + kName);
    ASSERT_TRUE(impostor != nullptr && second_ != nullptr);
    NameHost(kName, {"127.0.0.1", "127.0.0.3", "127.0.0.4"});
    const Status pulled = Pull(*stores.rows, {0, 199});
    EXPECT_TRUE(pulled.ok()) << ToString(pulled);
  }
  EXPECT_THAT(log.End(), AllOf(HasSubstr("has moved to 127.0.0.4:"),
                               Not(HasSubstr("has moved to 127.0.0.3:"))));
}

}  // namespace
}  // namespace halograph
