// Servers and clients over TLS, with a certificate authority of the test's own.
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <openssl/ssl.h>

#include "client/ctl/status_table.h"
#include "common/tls/openssl_types.h"
#include "common/tls/tls_files.h"
#include "tests/integration/client/tls_fixture.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

// The name of the certificate that `server` shows to who shows none.
std::string ServedName(const server::Server& server) {
  using Context = std::unique_ptr<SSL_CTX, openssl::FreeBy<SSL_CTX_free>>;
  const Context context(SSL_CTX_new(TLS_client_method()));
  const openssl::BioPtr connection(BIO_new_ssl_connect(context.get()));
  BIO_set_conn_hostname(connection.get(), server.address().c_str());
  if (BIO_do_connect(connection.get()) != 1) return openssl::TakeError();
  SSL* ssl = nullptr;
  BIO_get_ssl(connection.get(), &ssl);
  const openssl::CertificatePtr shown(SSL_get1_peer_certificate(ssl));
  if (shown == nullptr) return "none";
  return openssl::ToText(X509_get_subject_name(shown.get()));
}

TEST_F(TlsTest, WithACertificateAllIsAsWithout) {
  const auto server = Serve(graph_, {}, ServerTls());
  ASSERT_NE(server, nullptr);
  const RemoteOptions options = With(*server, client_, std::chrono::seconds(60));
  const Stores stores = Open(options);
  ASSERT_NE(stores.graph, nullptr);
  EXPECT_TRUE(Sample(*stores.graph, {0, 50}).ok());
  EXPECT_TRUE(Pull(*stores.rows, {0, 50}).ok());
  EXPECT_TRUE(AskStatus(options)[0].reachable.ok());
  EXPECT_EQ(ServedName(*server), "CN=server");
}

TEST_F(TlsTest, WithoutItsFilesNothingIsSent) {
  const auto server = Serve(graph_, {}, ServerTls());
  RemoteOptions options = Options({server->address()});
  options.tls = client_;
  ExpectError(Ask(options), absl::StatusCode::kInternal, {"nothing is sent unencrypted"});
}

TEST_F(TlsTest, WhoIsRefusedIsToldWhatToLookAt) {
  const auto server = Serve(graph_, {}, Counting(ServerTls()));
  ASSERT_NE(server, nullptr);
  double failed = CountHandshakes().failed;
  const auto expect_more = [&] {  // which the server counts
    const double before = failed;
    EXPECT_TRUE(Await([&] { return (failed = CountHandshakes().failed) > before; }));
  };
  EXPECT_THAT(Refused(*server, {}, "Socket closed"), HasSubstr("if it wants TLS, give --tls-dir"));
  expect_more();
  EXPECT_THAT(Refused(*server, {.roots = client_tls_ / "ca.crt"}, "Socket closed"),
              HasSubstr("give --tls-cert and --tls-key"));
  expect_more();
  TestCa other(SecondsSince1970(), "other root");
  const fs::path foreign = folder_.path() / "foreign";
  WriteTlsFolder(foreign, other.Make({.common_name = "foreign"}), ca_.root() + other.root());
  EXPECT_THAT(Refused(*server, {.folder = foreign}, "Socket closed"),
              AllOf(HasSubstr("check yours: CN=foreign of " + (foreign / "tls.crt").string()),
                    HasSubstr("which expires 20"), HasSubstr("no root of the server")));
  expect_more();
  EXPECT_TRUE(CallOnce(*server, client_).ok());
}

TEST_F(TlsTest, OfTwoServersThatRefuseNeitherIsWaitedFor) {
  const auto one = Serve(graph_, {}, ServerTls());
  const auto two = Serve(graph_, {}, ServerTls());
  RemoteOptions options = Options({one->address(), two->address()}, kPatience);
  options.tls = {.roots = client_tls_ / "ca.crt"};
  options.server_timeout = std::chrono::hours(1);
  ASSERT_TRUE(options.OpenTls().ok());
  RpcClient client(options);
  EXPECT_TRUE(Await([&] {
    const auto begin = std::chrono::steady_clock::now();
    const Status status = Ask(client, {0, 1});
    EXPECT_FALSE(status.ok());
    return std::chrono::steady_clock::now() - begin < std::chrono::minutes(1);
  }));
}

TEST_F(TlsTest, AnExpiredCertificateIsRefusedByTheServerAndByItsOwner) {
  const auto server = Serve(graph_, {}, ServerTls());
  ASSERT_NE(server, nullptr);
  const double now = SecondsSince1970();
  WriteTlsFolder(client_tls_, ca_.Make({.common_name = "late", .not_after = -60}), ca_.root());
  RemoteOptions refused = Options({server->address()});
  refused.tls = client_;
  ExpectError(refused.OpenTls(), absl::StatusCode::kFailedPrecondition, {"CN=late has expired"});
  // By a clock that is an hour behind it has not.
  std::atomic<double> clock = now - 3600;
  auto behind =
      TlsFiles::Start(TlsPathsIn(client_tls_), TlsRole::kClient,
                      {.pace = std::chrono::hours(1), .now = [&] { return clock.load(); }});
  ASSERT_TRUE(behind.ok()) << behind.status();
  RemoteOptions options = Options({server->address()}, kPatience);
  options.tls = client_;
  options.tls_files = *std::move(behind);
  EXPECT_TRUE(Await([&] {
    const std::string text = Message(Ask(options));
    return text.find("check yours: CN=late of") != std::string::npos;
  }));
  clock = now;
  EXPECT_TRUE(Await([&] { return absl::IsFailedPrecondition(Ask(options)); }));
}

TEST_F(TlsTest, WhatNoRepetitionMendsIsNotRepeated) {
  const TlsOptions& yours = client_;
  const auto plain = Serve(graph_, {});
  ExpectError(CallOnce(*plain, yours), absl::StatusCode::kFailedPrecondition,
              {"it does not speak TLS"});
  const auto server = Serve(graph_, {}, ServerTls());
  TestCa other(SecondsSince1970(), "other root");
  const fs::path foreign = folder_.path() / "foreign";
  WriteTlsFolder(foreign, other.Make({.common_name = "foreign"}), other.root());
  ExpectError(CallOnce(*server, {.folder = foreign}), absl::StatusCode::kFailedPrecondition,
              {"leads to no root of --tls-ca"});
  server::ServerOptions elsewhere = ServerTls();
  elsewhere.tls.folder = folder_.path() / "elsewhere";
  WriteTlsFolder(elsewhere.tls.folder, ca_.Make({.alternative_names = "DNS:elsewhere"}),
                 ca_.root());
  const auto wrong = Serve(graph_, {}, elsewhere);
  ExpectError(CallOnce(*wrong, yours), absl::StatusCode::kFailedPrecondition,
              {"not for 127.0.0.1, by which it is called", "subjectAltName"});
}

TEST_F(TlsTest, WhereCertificatesAreOptionalThoseShownAreChecked) {
  server::ServerOptions options = ServerTls();
  options.tls_clients = ClientCertificates::kOptional;
  const auto server = Serve(graph_, {}, options);
  ASSERT_NE(server, nullptr);
  EXPECT_TRUE(CallOnce(*server, {.roots = client_tls_ / "ca.crt"}).ok());
  EXPECT_TRUE(CallOnce(*server, client_).ok());
  TestCa other(SecondsSince1970(), "other root");
  const fs::path foreign = folder_.path() / "foreign";
  WriteTlsFolder(foreign, other.Make({.common_name = "foreign"}), ca_.root() + other.root());
  EXPECT_THAT(Refused(*server, {.folder = foreign}, "Socket closed"), HasSubstr("CN=foreign"));
}

TEST_F(TlsTest, ARevokedClientIsCutOffAndAnotherIsNot) {
  const TestPair bad = ca_.Make({.common_name = "bad"});
  const fs::path bad_tls = folder_.path() / "bad";
  WriteTlsFolder(bad_tls, bad, ca_.root());
  server::ServerOptions options = ServerTls();
  options.connection_age = std::chrono::seconds(1);
  const auto server = Serve(graph_, {}, options);
  ASSERT_NE(server, nullptr);
  // Both have a connection.
  RpcClient revoked(With(*server, {.folder = bad_tls}, kPatience));
  RpcClient honest(With(*server, client_, std::chrono::seconds(60)));
  ASSERT_TRUE(Await([&] { return Ask(revoked).ok(); }));
  ASSERT_TRUE(Ask(honest).ok());
  ca_.Revoke(bad);
  WriteCrl(server_tls_ / "crl.pem");
  int failed = 0;
  EXPECT_TRUE(Await([&] {
    failed += Ask(honest).ok() ? 0 : 1;
    return Message(Ask(revoked)).find("check yours: CN=bad") != std::string::npos;
  }));
  EXPECT_FALSE(Ask(revoked).ok());
  EXPECT_TRUE(Ask(honest).ok());
  EXPECT_EQ(failed, 0);
}

// One refresh: from when the server has read the list, no handshake of the client succeeds. One
// connection age: its connection that is open then is its last.
TEST_F(TlsTest, ARevokedClientMakesNoConnectionAnew) {
  const TestPair bad = ca_.Make({.common_name = "bad"});
  const fs::path bad_tls = folder_.path() / "bad";
  WriteTlsFolder(bad_tls, bad, ca_.root());
  server::ServerOptions options = Counting(ServerTls());
  options.connection_age = std::chrono::seconds(1);
  const auto server = Serve(graph_, {}, options);
  ASSERT_NE(server, nullptr);
  RpcClient revoked(With(*server, {.folder = bad_tls}, kPatience));
  ASSERT_TRUE(Await([&] { return Ask(revoked).ok(); }));
  ca_.Revoke(bad);
  WriteCrl(server_tls_ / "crl.pem");
  EXPECT_TRUE(Await([&] { return !CallOnce(*server, {.folder = bad_tls}, kPatience).ok(); }));
  // Those that go on count until they have failed, which they do soon.
  const auto succeeded = [&] {
    const Handshakes now = CountHandshakes();
    return now.all - now.failed;
  };
  double before = succeeded();
  EXPECT_TRUE(Await([&] {
    before = std::min(before, succeeded());
    return !Ask(revoked).ok();
  }));
  EXPECT_TRUE(Await([&] { return succeeded() <= before; }));
}

// The other server, whose connections have ten minutes, shows that a connection was open.
TEST_F(TlsTest, AnExpiredClientIsCutOffWhenItsConnectionIsOfAge) {
  server::ServerOptions young = ServerTls();
  young.connection_age = std::chrono::seconds(1);
  const auto server = Serve(graph_, {}, young);
  const auto other = Serve(graph_, {}, ServerTls());
  ASSERT_TRUE(server != nullptr && other != nullptr);
  const fs::path late_tls = folder_.path() / "late";
  RemoteOptions options = Options({server->address(), other->address()}, std::chrono::seconds(60));
  options.tls = {.folder = late_tls, .refresh = milliseconds(50)};
  options.channels_per_server = 1;
  // False: it ended before it was connected to both.
  std::optional<RpcClient> late;
  const auto connect = [&](double lifetime) {
    ca_.SetNow(SecondsSince1970());
    WriteTlsFolder(late_tls, ca_.Make({.common_name = "late", .not_after = lifetime}), ca_.root());
    if (!options.OpenTls().ok()) return false;
    late.emplace(options);
    return Ask(*late, {1}).ok() && Ask(*late, {0}).ok();
  };
  double lifetime = 2;
  while (!connect(lifetime) && lifetime < 100) lifetime *= 2;
  Status refused;
  EXPECT_TRUE(Await([&] {
    refused = Ask(*late, {0});
    return !refused.ok();
  }));
  ExpectError(refused, absl::StatusCode::kFailedPrecondition,
              {"the own certificate, CN=late of " + late_tls.string(), "has expired at 20"});
  EXPECT_TRUE(Ask(*late, {1}).ok());
  EXPECT_TRUE(CallOnce(*server, client_).ok());
}

TEST_F(TlsTest, AHalfWrittenPairIsNeverServedAndIsTold) {
  CapturedLog log;
  const auto server = Serve(graph_, {}, ServerTls());
  ASSERT_NE(server, nullptr);
  const TestPair next = ca_.Make({.common_name = "next"});
  WriteTestFile(server_tls_ / "tls.crt", next.certificate);
  ASSERT_TRUE(Await([&] { return log.Has("the key does not belong to the first certificate"); }));
  // Longer than gRPC takes to see what is in the private folder.
  const auto until = std::chrono::steady_clock::now() + milliseconds(1500);
  do {
    ASSERT_EQ(ServedName(*server), "CN=server");
    ASSERT_TRUE(CallOnce(*server, client_).ok());
  } while (std::chrono::steady_clock::now() < until);
  WriteTestFile(server_tls_ / "tls.key", next.key);
  EXPECT_TRUE(Await([&] { return ServedName(*server) == "CN=next"; }));
  EXPECT_TRUE(CallOnce(*server, client_).ok());
}

class TlsRotationTest : public TlsTest {
 protected:
  // Both ends get a new certificate so many times, while clients call; connections are young, so
  // that there are many handshakes.
  void RotateUnderLoad(int times);
};

void TlsRotationTest::RotateUnderLoad(int times) {
  server::ServerOptions options = ServerTls();
  options.connection_age = std::chrono::seconds(1);
  const auto server = Serve(graph_, {}, options);
  ASSERT_NE(server, nullptr);
  const RemoteOptions calls = With(*server, client_, std::chrono::seconds(60));
  std::atomic<bool> ending = false;
  std::atomic<int> failed = 0;
  std::atomic<int> called = 0;
  std::vector<std::thread> load;
  for (int i = 0; i < 2; ++i) {
    load.emplace_back([&] {
      while (!ending) {  // a client of its own each time: a handshake
        RpcClient client(calls);
        for (int j = 0; j < 50 && !ending; ++j) {
          const Status status = Ask(client);
          ++called;
          if (status.ok()) continue;
          ++failed;
          ADD_FAILURE() << ToString(status);
        }
      }
    });
  }
  for (int i = 0; i < times; ++i) {
    const std::string name = "server" + std::to_string(i);
    WriteTlsFolder(server_tls_, ca_.Make({.common_name = name}), ca_.root());
    WriteTlsFolder(client_tls_, ca_.Make({.common_name = "client" + std::to_string(i)}),
                   ca_.root());
    EXPECT_TRUE(Await([&] { return ServedName(*server) == "CN=" + name; })) << name;
  }
  ending = true;
  for (std::thread& thread : load) thread.join();
  EXPECT_EQ(failed, 0) << "of " << called;
  EXPECT_GT(called, times);
}

TEST_F(TlsRotationTest, FiveRotationsUnderLoadFailNoCall) { RotateUnderLoad(5); }

class TlsLongTest : public TlsRotationTest {};
TEST_F(TlsLongTest, AHundredRotationsUnderLoadFailNoCall) { RotateUnderLoad(100); }

}  // namespace
}  // namespace halograph
