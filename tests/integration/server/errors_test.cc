// What a server says to requests that it cannot answer, whatever their bytes.
#include <random>

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/call_metadata.h"
#include "common/base/host_port.h"
#include "halograph/v1/graph.pb.h"
#include "halograph/v1/kv.pb.h"
#include "tests/integration/server/server_fixture.h"

namespace halograph::server {
namespace {

using grpc::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

class ErrorsTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerOptions options = Options();
    options.parts = {1};
    options.max_message_bytes = 64 << 10;
    Start(options);
  }
  void ExpectRefused(const char* method, const google::protobuf::Message& request, StatusCode code,
                     const testing::Matcher<const std::string&>& message) {
    const RawReply reply = RawCall(channel_, method, request.SerializeAsString());
    EXPECT_EQ(reply.status.error_code(), code) << reply.status.error_message();
    EXPECT_THAT(reply.status.error_message(), message);
  }
  static v1::PullRequest Pull(const std::string& type, const std::string& name, uint64_t id) {
    v1::PullRequest request;
    request.set_type(type);
    request.set_name(name);
    request.add_ids(id);
    return request;
  }
  static v1::SampleRequest Sample(const std::string& relation, int32_t fanout, uint64_t id) {
    v1::SampleRequest request;
    request.add_groups()->set_relation(relation);
    request.mutable_groups(0)->set_fanout(fanout);
    request.mutable_groups(0)->add_destinations(id);
    return request;
  }
  uint64_t Mine() const {
    return local_->book().NodeRange(local_->schema().NodeTypeIndex("paper").value(), 1).begin;
  }
  void ExpectAlive() {
    const RawReply reply = RawCall(channel_, kDescribe, "");
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
  }
};

TEST_F(ErrorsTest, UnknownNamesAreNotFound) {
  ExpectRefused(kPull, Pull("journal", "feat", 0), StatusCode::NOT_FOUND, HasSubstr("journal"));
  ExpectRefused(kPull, Pull("paper", "hue", 0), StatusCode::NOT_FOUND, HasSubstr("hue"));
  ExpectRefused(kSample, Sample("a:b:c", 5, 0), StatusCode::NOT_FOUND, HasSubstr("a:b:c"));
  v1::ReadTaskSetRequest request;
  request.set_task("ranking");
  ExpectRefused(kReadTaskSet, request, StatusCode::NOT_FOUND, HasSubstr("ranking"));
}

TEST_F(ErrorsTest, IdsAndFanoutsBeyondBoundsAreOutOfRange) {
  ExpectRefused(kPull, Pull("paper", "feat", 0), StatusCode::OUT_OF_RANGE,
                AllOf(HasSubstr("id 0 "), HasSubstr("owned by part 0"), HasSubstr("part 1")));
  ExpectRefused(kPull, Pull("paper", "feat", ~uint64_t{0}), StatusCode::OUT_OF_RANGE,
                HasSubstr("18446744073709551615"));
  ExpectRefused(kSample, Sample("paper:cites:paper", 5, 0), StatusCode::OUT_OF_RANGE,
                HasSubstr("owned by part 0"));
  ExpectRefused(kSample, Sample("paper:cites:paper", -7, Mine()), StatusCode::OUT_OF_RANGE,
                HasSubstr("-7"));
}

TEST_F(ErrorsTest, NamesFromOutsideComeBackShortAndPrintable) {
  const RawReply reply = RawCall(
      channel_, kPull, Pull("a\nb\x01" + std::string(40000, 'x'), "feat", 0).SerializeAsString());
  EXPECT_EQ(reply.status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(reply.status.error_message(), HasSubstr("a\\x0ab\\x01xxx"));
  EXPECT_LT(reply.status.error_message().size(), 1100U);
}

TEST_F(ErrorsTest, MessagesOverTheLimitAreResourceExhausted) {
  v1::PullRequest request = Pull("paper", "feat", Mine());
  for (int i = 0; i < 200; ++i) request.add_ids(Mine());  // 201 * 400 bytes
  ExpectRefused(kPull, request, StatusCode::RESOURCE_EXHAUSTED,
                AllOf(HasSubstr("201 rows of 400 bytes"), HasSubstr("65536")));
  request.clear_ids();
  for (int i = 0; i < 9000; ++i) request.add_ids(Mine());  // 72000 bytes: gRPC refuses
  ExpectRefused(kPull, request, StatusCode::RESOURCE_EXHAUSTED, HasSubstr("65536"));
  v1::SampleRequest sample = Sample("paper:cites:paper", 1 << 20, Mine());
  sample.set_replace(true);
  ExpectRefused(kSample, sample, StatusCode::RESOURCE_EXHAUSTED, HasSubstr("lower the fanout"));
}

TEST_F(ErrorsTest, ACallForAnotherGraphIsRefusedNamingBothAndWithoutTheKeyServed) {
  const std::string other(32, 'a');
  const std::pair<const char*, std::string> calls[] = {
      {kPull, Pull("paper", "feat", Mine()).SerializeAsString()},
      {kSample, Sample("paper:cites:paper", 5, Mine()).SerializeAsString()},
      {kDescribe, ""},
      {kStats, ""}};
  for (const auto& [method, request] : calls) {
    for (const std::multimap<std::string, std::string>& metadata :
         {std::multimap<std::string, std::string>{}, {{kGraphKey, local_->identity()}}}) {
      const RawReply reply = RawCall(channel_, method, request, metadata);
      EXPECT_TRUE(reply.status.ok()) << method << ": " << reply.status.error_message();
    }
    const RawReply refused = RawCall(channel_, method, request, {{kGraphKey, other}});
    EXPECT_EQ(refused.status.error_code(), StatusCode::FAILED_PRECONDITION) << method;
    EXPECT_THAT(refused.status.error_message(),
                AllOf(HasSubstr("serves graph " + local_->identity()),
                      HasSubstr("for graph " + other), HasSubstr("restart the trainer")));
    EXPECT_EQ(refused.trailers.count("grpc-retry-pushback-ms"), 0U);
  }
}

// A client that waits for a drained server to come back would otherwise learn it only then.
TEST_F(ErrorsTest, ACallForAnotherGraphIsRefusedForThatWhileDrainingToo) {
  const std::string request = Pull("paper", "feat", Mine()).SerializeAsString();
  server_->dispatcher().CloseGate();
  EXPECT_EQ(
      RawCall(channel_, kPull, request, {{kGraphKey, local_->identity()}}).status.error_code(),
      StatusCode::UNAVAILABLE);
  EXPECT_EQ(RawCall(channel_, kPull, request, {{kGraphKey, "other"}}).status.error_code(),
            StatusCode::FAILED_PRECONDITION);
}

TEST_F(ErrorsTest, GraphsNamedFromOutsideComeBackShort) {
  const RawReply reply = RawCall(channel_, kDescribe, "", {{kGraphKey, std::string(3000, 'x')}});
  EXPECT_EQ(reply.status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(reply.status.error_message(),
              AllOf(HasSubstr(std::string(64, 'x') + "..."), HasSubstr("restart the trainer")));
}

TEST_F(ErrorsTest, RandomBytesAsRequestsNeverCrash) {
  std::mt19937_64 random(20240117);
  int invalid = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (const char* method :
         {kPull, kSample, kReadTaskSet, kGraphReadTaskSet, kDescribe, kStats}) {
      const StatusCode code = RawCall(channel_, method, bytes).status.error_code();
      EXPECT_NE(code, StatusCode::INTERNAL) << method;
      EXPECT_NE(code, StatusCode::UNAVAILABLE) << method;
      invalid += code == StatusCode::INVALID_ARGUMENT ? 1 : 0;
    }
  }
  EXPECT_GT(invalid, 1200);
  ExpectAlive();
}

TEST_F(ErrorsTest, DamagedRequestsNeverCrash) {
  std::mt19937_64 random(7);
  v1::SampleRequest sample = Sample("paper:cites:paper", 5, Mine());
  v1::PullRequest pull = Pull("paper", "feat", Mine());
  for (int i = 0; i < 8; ++i) {
    pull.add_ids(Mine());
    *sample.add_groups() = sample.groups(0);
  }
  const std::pair<const char*, std::string> requests[] = {{kPull, pull.SerializeAsString()},
                                                          {kSample, sample.SerializeAsString()}};
  for (const auto& [method, bytes] : requests) {
    ASSERT_TRUE(RawCall(channel_, method, bytes).status.ok());
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_NE(RawCall(channel_, method, bytes.substr(0, length)).status.error_code(),
                StatusCode::INTERNAL);
    }
    for (int i = 0; i < 500; ++i) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      EXPECT_NE(RawCall(channel_, method, damaged).status.error_code(), StatusCode::INTERNAL);
    }
  }
  ExpectAlive();
}

TEST_F(ErrorsTest, LengthsBeyondTheMessageAreInvalidAndTakeNoMemory) {
  for (const std::string& bytes :
       {std::string("\x22\xf8\xff\xff\xff\x07", 6), std::string("\x12\xff\xff\xff\xff\x07", 6),
        std::string("\x22\x03xyz", 5), std::string("\x22", 1), std::string("\x00", 1)}) {
    for (const char* method : {kPull, kSample}) {
      EXPECT_EQ(RawCall(channel_, method, bytes).status.error_code(), StatusCode::INVALID_ARGUMENT);
    }
  }
}

TEST_F(ErrorsTest, RandomBytesOnThePortNeverCrash) {
  std::mt19937_64 random(99);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(ParseHostPort(server_->address())->port));
  for (int i = 0; i < 60; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    std::string bytes = i % 2 == 0 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "";
    for (size_t n = random() % 5000; n > 0; --n) bytes += static_cast<char>(random());
    [[maybe_unused]] const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    close(fd);
  }
  ExpectAlive();
}

}  // namespace
}  // namespace halograph::server
