// The standard health service, and reflection, by name and by option.
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/integration/server/server_fixture.h"

namespace halograph::server {
namespace {

using grpc::StatusCode;
using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
constexpr char kReflect[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
const std::string kListServices("\x3a\x00", 2);
constexpr size_t kMostWatches = 128;

// A stream of Health/Watch. Cancelled when it goes.
class Watching {
 public:
  Watching(const std::shared_ptr<grpc::Channel>& channel, const std::string& service)
      : stub_(Health::NewStub(channel)) {
    HealthCheckRequest request;
    request.set_service(service);
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    reader_ = stub_->Watch(&context_, request);
  }
  ~Watching() { End(); }

  // The next status; -1: the stream has ended.
  int Next() {
    HealthCheckResponse response;
    if (reader_->Read(&response)) return response.status();
    ended_ = true;
    return -1;
  }
  // How the stream ended; cancels it if it did not.
  grpc::Status End() {
    if (reader_ == nullptr) return {};
    if (!ended_) context_.TryCancel();
    const grpc::Status status = reader_->Finish();
    reader_.reset();
    return status;
  }

 private:
  const std::unique_ptr<Health::Stub> stub_;
  grpc::ClientContext context_;
  bool ended_ = false;
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader_;
};

class HealthTest : public ServerTest {
 protected:
  void SetUp() override { Start(Options()); }

  int Check(const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    const RawReply reply = RawCall(channel_, kCheck, request.SerializeAsString());
    HealthCheckResponse response;
    EXPECT_TRUE(reply.status.ok()) << service << ": " << reply.status.error_message();
    EXPECT_TRUE(response.ParseFromString(reply.bytes));
    return response.status();
  }
};

TEST_F(HealthTest, TheServerAndEachServiceAreChecked) {
  for (const char* service :
       {"", "halograph.v1.GraphService", "halograph.v1.KVService", "halograph.v1.AdminService"}) {
    EXPECT_EQ(Check(service), HealthCheckResponse::SERVING) << service;
  }
  server_->TurnUnhealthy();
  for (const char* service :
       {"", "halograph.v1.GraphService", "halograph.v1.KVService", "halograph.v1.AdminService"}) {
    EXPECT_EQ(Check(service), HealthCheckResponse::NOT_SERVING) << service;
  }
}

TEST_F(HealthTest, CheckOfAnUnknownServiceIsNotFound) {
  for (const char* name : {"GraphService", "halograph.v1.Graph", "halograph.v1.KVService/Pull"}) {
    HealthCheckRequest request;
    request.set_service(name);
    const RawReply reply = RawCall(channel_, kCheck, request.SerializeAsString());
    EXPECT_EQ(reply.status.error_code(), StatusCode::NOT_FOUND) << name;
    EXPECT_THAT(reply.status.error_message(), HasSubstr(name));
  }
}

TEST_F(HealthTest, BadRequestsAreRefused) {
  EXPECT_EQ(RawCall(channel_, kCheck, "\x0a\x05x").status.error_code(),
            StatusCode::INVALID_ARGUMENT);
  const std::string unknown("\xa2\x06\x00", 3);  // field 100, empty
  std::string request;
  while (request.size() <= 64 << 10) request += unknown;
  const RawReply large = RawCall(channel_, kCheck, request);
  EXPECT_EQ(large.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(large.status.error_message(), HasSubstr("at most 65536"));
  for (const std::string& bad : {request, std::string("\x0a\x05x")}) {
    const StatusCode code =
        bad == request ? StatusCode::RESOURCE_EXHAUSTED : StatusCode::INVALID_ARGUMENT;
    EXPECT_EQ(RawStream(channel_, kWatch, bad).status.error_code(), code);
  }
}

TEST_F(HealthTest, AWatchTellsTheStatusAndItsChanges) {
  Watching whole(channel_, "");
  Watching service(channel_, "halograph.v1.KVService");
  EXPECT_EQ(whole.Next(), HealthCheckResponse::SERVING);
  EXPECT_EQ(service.Next(), HealthCheckResponse::SERVING);
  server_->TurnUnhealthy();
  server_->TurnUnhealthy();  // no change
  EXPECT_EQ(whole.Next(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(service.Next(), HealthCheckResponse::NOT_SERVING);
  EXPECT_TRUE(server_->Drain(seconds(60)));
  EXPECT_EQ(whole.Next(), -1) << "told twice, or not ended";
  EXPECT_EQ(whole.End().error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(HealthTest, AWatchOfAnUnknownServiceStaysOpen) {
  Watching unknown(channel_, "halograph.v1.Graph");
  EXPECT_EQ(unknown.Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  EXPECT_TRUE(server_->Drain(seconds(60)));
  EXPECT_EQ(unknown.Next(), -1) << "told of the status of others";
  EXPECT_EQ(unknown.End().error_code(), StatusCode::UNAVAILABLE) << "it had ended before";
}

TEST_F(HealthTest, WatchesAreBoundedAndMakeRoomWhenTheyEnd) {
  std::vector<std::unique_ptr<Watching>> watches;
  for (size_t i = 0; i < kMostWatches; ++i) {
    watches.push_back(std::make_unique<Watching>(channel_, ""));
    ASSERT_EQ(watches.back()->Next(), HealthCheckResponse::SERVING) << i;
  }
  const auto refused = [this] { return RawStream(channel_, kWatch, ""); };
  const RawReply more = refused();
  EXPECT_EQ(more.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(more.status.error_message(), HasSubstr("128 watches"));
  EXPECT_EQ(Check(""), HealthCheckResponse::SERVING);
  watches.pop_back();
  int first = -1;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (first < 0 && std::chrono::steady_clock::now() < patience) {  // the server must hear of it
    Watching again(channel_, "");
    first = again.Next();
  }
  EXPECT_EQ(first, HealthCheckResponse::SERVING);
}

// One that does not read costs one message, and the drain waits for none.
TEST_F(HealthTest, WatchesDoNotHoldUpTheDrain) {
  std::vector<std::unique_ptr<Watching>> unread;
  for (int i = 0; i < 5; ++i) unread.push_back(std::make_unique<Watching>(channel_, ""));
  Watching read(channel_, "");
  EXPECT_EQ(read.Next(), HealthCheckResponse::SERVING);
  StatusOr<Ticket> call = server_->dispatcher().Enter(1);  // the drain waits for it
  ASSERT_TRUE(call.ok()) << ToString(call.status());
  bool drained = false;
  std::thread drainer([&] { drained = server_->Drain(seconds(60)); });
  EXPECT_EQ(read.Next(), HealthCheckResponse::NOT_SERVING) << "not told of the drain";
  { const Ticket ended = std::move(call).value(); }
  drainer.join();
  EXPECT_TRUE(drained);
  EXPECT_EQ(read.Next(), -1);
}

TEST_F(ServerTest, ReflectionIsByOption) {
  ServerOptions options = Options();
  for (const auto& [choice, reflects] : {std::pair{Reflection::kAuto, true},
                                         {Reflection::kOff, false},
                                         {Reflection::kOn, true},
                                         {Reflection::kOff, false}}) {
    options.reflection = choice;
    Start(options);
    const RawReply services = RawStream(channel_, kReflect, kListServices);
    if (!reflects) {
      EXPECT_EQ(services.status.error_code(), StatusCode::UNIMPLEMENTED);
      EXPECT_THAT(services.bytes, Not(HasSubstr("Service")));
      continue;
    }
    for (const char* name : {"halograph.v1.GraphService", "halograph.v1.KVService",
                             "halograph.v1.AdminService", "grpc.health.v1.Health"}) {
      EXPECT_THAT(services.bytes, HasSubstr(name));
      const std::string by_symbol =
          std::string("\x22") + static_cast<char>(std::string(name).size()) + name;
      EXPECT_THAT(RawStream(channel_, kReflect, by_symbol).bytes, HasSubstr(".proto")) << name;
    }
  }
}

}  // namespace
}  // namespace halograph::server
