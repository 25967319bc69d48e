// Load of honest clients, which must not be taken for an attack.
#include <atomic>
#include <functional>

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include "common/base/wall_clock.h"
#include "halograph/v1/kv.pb.h"
#include "tests/integration/server/attacked_server.h"
#include "tests/support/test_ca.h"

namespace halograph::server {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr int kPushers = 8;
constexpr int kPullsInFlight = 256;
constexpr int kStatsInFlight = 64;
constexpr int kDim = 1000;
constexpr int kRowsOfPush = 1040;  // nearly what a message may have

std::string TensorForPushes() {
  v1::CreateTensorRequest request;
  v1::MutableTensorSpec* const spec = request.mutable_spec();
  spec->set_name("emb");
  spec->set_placement(v1::PLACEMENT_RANGE);
  spec->set_rows(30);  // ten a part
  spec->set_dim(kDim);
  return request.SerializeAsString();
}

// A push to part 0, to which only the number is missing.
v1::PushRequest LargePush(uint64_t client) {
  v1::PushRequest push;
  push.set_name("emb");
  push.set_kind(v1::PUSH_ADD);
  push.set_client(client);
  push.set_dtype(v1::DTYPE_FLOAT32);
  for (int i = 0; i < kRowsOfPush; ++i) push.add_ids(static_cast<uint64_t>(i % 10));
  push.set_rows(std::string(sizeof(float) * kDim * kRowsOfPush, '\0'));
  return push;
}

class HonestLoadTest : public AttackedServerTest {
 protected:
  // Pulls of features and calls of Stats in flight, and pushes of nearly a message, which are
  // applied, one at a time of each pusher, until `done`: all on connections of their own, but
  // pulls.
  using Connector = std::function<std::shared_ptr<grpc::Channel>(const std::string& address)>;

  void Load(const std::function<bool()>& done) { Load(LoadedOptions(), Connect, done); }
  void LoadOverTls(const std::function<bool()>& done) {
    TestCa ca(SecondsSince1970());
    WriteTlsFolder(state_.path() / "tls", ca.Make(), ca.root());
    ServerOptions options = LoadedOptions();
    options.tls.folder = state_.path() / "tls";
    const TestPair client = ca.Make({.common_name = "client"});
    const auto connect = [&](const std::string& address) {
      const grpc::SslCredentialsOptions tls = {ca.root(), client.key, client.certificate};
      return grpc::CreateChannel(address, grpc::SslCredentials(tls));
    };
    Load(options, connect, done);
  }

 private:
  ServerOptions LoadedOptions() const {
    ServerOptions options = AttackedOptions();
    options.state.folder = state_.path() / "state";
    options.state.sync = SyncLevel::kNever;
    options.state.log_bytes = 256 << 20;
    return options;
  }

  void Load(const ServerOptions& options, const Connector& connect,
            const std::function<bool()>& done) {
    Start(options);
    ASSERT_NE(server_, nullptr);
    channel_ = connect(server_->address());
    ASSERT_TRUE(RawCall(channel_, kCreateTensor, TensorForPushes()).status.ok());
    std::atomic<bool> over = false;
    int stats = 0;
    std::atomic<int> pushes = 0;
    std::vector<std::thread> clients;
    for (int i = 1; i <= kPushers; ++i) {
      clients.emplace_back([&, push = LargePush(static_cast<uint64_t>(i)),
                            channel = connect(server_->address())]() mutable {
        for (uint64_t number = 1; !over;) {
          push.set_sequence(number);
          const grpc::Status status = RawCall(channel, kPush, push.SerializeAsString()).status;
          // One for which there is no room is refused, and comes again.
          EXPECT_TRUE(status.ok() || IsRefusal(status)) << status.error_message();
          if (!status.ok()) continue;
          ++number;
          ++pushes;
        }
      });
    }
    clients.emplace_back([&, channel = connect(server_->address())] {
      const auto is_ok = [](const grpc::Status& status) { return status.ok(); };
      stats = KeepInFlight(channel, kStats, "", kStatsInFlight, is_ok, [&] { return over.load(); });
    });
    std::string ids;
    for (char id = 0; id < 60; ++id) ids += std::string({id, 0, 0, 0, 0, 0, 0, 0});
    const std::string pull =
        "\x12\x05paper\x1a\x04"
        "feat\x22" +
        std::string(1, static_cast<char>((ids.size() & 0x7f) | 0x80)) +
        std::string(1, static_cast<char>(ids.size() >> 7)) + ids;
    const auto has_connection = [](const grpc::Status& status) {
      return status.error_message().find("ocket") == std::string::npos;
    };
    const int pulls = KeepInFlight(channel_, kPull, pull, kPullsInFlight, has_connection, done);
    over = true;
    for (std::thread& one : clients) one.join();
    EXPECT_EQ(Shut(), 0);
    EXPECT_EQ(Metric("halograph_server_connections_refused_total"), 0);
    EXPECT_GT(pulls, 0);
    EXPECT_GT(pushes, 0);
    EXPECT_GT(stats, 0);
    RecordProperty("pushes", pushes);
    RecordProperty("stats", stats);
    server_.reset();  // before its folder
  }

  // Refused calls have a reason; those of an ended connection lack it.
  static bool IsRefusal(const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
           status.error_message().find("ocket") == std::string::npos;
  }

  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer reply;
    grpc::Status status;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  };

  const TestFolder state_;

  // So many calls at a time, from this thread, until `done`; how many had no error. `may_be`: what
  // every one may come to.
  static int KeepInFlight(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                          const std::string& request, int in_flight,
                          const std::function<bool(const grpc::Status&)>& may_be,
                          const std::function<bool()>& done) {
    grpc::GenericStub stub(channel);
    grpc::CompletionQueue queue;
    const grpc::Slice slice(request);
    const grpc::ByteBuffer bytes(&slice, 1);
    const auto start = [&] {
      auto* const call = new Call;
      call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
      call->reader = stub.PrepareUnaryCall(&call->context, method, bytes, &queue);
      call->reader->StartCall();
      call->reader->Finish(&call->reply, &call->status, call);
    };
    for (int i = 0; i < in_flight; ++i) start();
    int answered = 0;
    bool ends = false;
    for (int left = in_flight; left > 0;) {
      void* tag = nullptr;
      bool ok = false;
      if (!queue.Next(&tag, &ok)) {
        ADD_FAILURE() << "the queue has ended";
        return answered;
      }
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      EXPECT_TRUE(may_be(call->status)) << call->status.error_message();
      if (call->status.ok()) ++answered;
      ends = ends || done();
      if (ends) {
        --left;
      } else {
        start();
      }
    }
    return answered;
  }
};

TEST_F(HonestLoadTest, ShutsNothing) {
  int pulls = 0;
  Load([&] { return ++pulls > 5000; });
}

TEST_F(HonestLoadTest, ShutsNothingOverTls) {
  int pulls = 0;
  LoadOverTls([&] { return ++pulls > 5000; });
}

class HonestLoadLongTest : public HonestLoadTest {};

TEST_F(HonestLoadLongTest, ShutsNothing) {
  const auto until = Clock::now() + seconds(60);
  Load([&] { return Clock::now() > until; });
}

TEST_F(HonestLoadLongTest, ShutsNothingOverTls) {
  const auto until = Clock::now() + seconds(60);
  LoadOverTls([&] { return Clock::now() > until; });
}

}  // namespace
}  // namespace halograph::server
