// Pushes that wait for other ranks, and pulls that wait for pushes, as calls to a server of two
// parts: what memory and how many places they may have, and what one is told that gets none.
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>

#include "halograph/v1/kv.grpc.pb.h"
#include "proto/methods/methods.h"
#include "tests/integration/server/server_fixture.h"

namespace halograph::server {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;

constexpr auto kPatience = std::chrono::minutes(2);
constexpr int64_t kNeverGiven = int64_t{1} << 60;  // no LSN

v1::PullRequest PullOf(int64_t id, int64_t min_lsn) {
  v1::PullRequest request;
  request.set_name("emb");
  request.add_ids(static_cast<uint64_t>(id));
  request.set_min_lsn(min_lsn);
  return request;
}

float NumberIn(const v1::PullReply& reply) {
  float value = NAN;
  if (reply.rows().size() == sizeof(value)) std::memcpy(&value, reply.rows().data(), sizeof(value));
  return value;
}

// A pull without a deadline. Cancelled when it goes.
class StartedPull {
 public:
  StartedPull(const std::shared_ptr<grpc::Channel>& channel, const v1::PullRequest& request)
      : stub_(v1::KVService::NewStub(channel)),
        reader_(stub_->AsyncPull(&context_, request, &queue_)) {
    reader_->Finish(&reply_, &status_, this);
  }
  ~StartedPull() {
    context_.TryCancel();
    static_cast<void>(End());
  }
  // Waits for it. UNKNOWN: it has not ended after a long time.
  grpc::Status End() {
    void* tag = nullptr;
    bool ok = false;
    if (!ended_) {
      const auto until = std::chrono::system_clock::now() + kPatience;
      ended_ = queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::GOT_EVENT;
    }
    return ended_ ? status_ : grpc::Status(StatusCode::UNKNOWN, "it waits yet");
  }
  [[nodiscard]] float value() const { return NumberIn(reply_); }  // when it has ended

 private:
  const std::unique_ptr<v1::KVService::Stub> stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  v1::PullReply reply_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::PullReply>> reader_;
  bool ended_ = false;
};

// Parts 0 and 2 of three, and a tensor "emb" of ten rows of one number in each part.
class WaitingTest : public ServerTest {
 protected:
  static constexpr int64_t kOf0 = 3;   // a row of part 0
  static constexpr int64_t kOf2 = 24;  // of part 2

  ServerOptions WithState() const {
    ServerOptions options = Options();
    options.parts = {0, 2};
    options.state.folder = state_.path() / "state";
    options.state.segment_bytes = 4 << 20;
    return options;
  }
  void StartWith(const ServerOptions& options) {
    Start(options);
    v1::CreateTensorRequest request;
    v1::MutableTensorSpec* const spec = request.mutable_spec();
    spec->set_name("emb");
    spec->set_placement(v1::PLACEMENT_RANGE);
    spec->set_rows(30);
    spec->set_dim(1);
    Must<v1::CreateTensorReply>(Method::kCreateTensor, request);
  }
  template <typename Reply>
  grpc::Status Call(Method method, const google::protobuf::Message& request, Reply* reply) const {
    const RawReply raw =
        RawCall(channel_, std::string(PathOf(method)), request.SerializeAsString());
    EXPECT_TRUE(!raw.status.ok() || reply->ParseFromString(raw.bytes));
    return raw.status;
  }
  template <typename Reply>
  Reply Must(Method method, const google::protobuf::Message& request) const {
    Reply reply;
    const grpc::Status status = Call(method, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  }

  // Adds 1 to a row, `times` times, as a rank does in step 0 of a world; each rank is a client.
  static v1::PushRequest One(int64_t id, int rank, int world_size, int times = 1) {
    v1::PushRequest request;
    request.set_name("emb");
    request.set_part(static_cast<uint32_t>(id / 10));
    request.set_kind(v1::PUSH_ADD);
    request.set_client(static_cast<uint64_t>(rank) + 1);
    request.set_sequence(1);
    request.mutable_step()->set_rank(rank);
    request.mutable_step()->set_world_size(world_size);
    request.mutable_step()->set_run(7);
    request.set_dtype(v1::DTYPE_FLOAT32);
    const float value = 1;
    for (int i = 0; i < times; ++i) {
      request.add_ids(static_cast<uint64_t>(id));
      request.mutable_rows()->append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    return request;
  }
  grpc::Status Push(const v1::PushRequest& request) {
    return Call(Method::kPush, request, &pushed_);
  }
  void MustPush(const v1::PushRequest& request) {
    const grpc::Status status = Push(request);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_FALSE(pushed_.applied_before());
  }
  // Ranks from `first` on push to the row until one is refused, whose number this gives.
  int PushUntilRefused(int64_t id, int first, int world_size) {
    for (int rank = first; rank < 200; ++rank) {
      refused_ = Push(One(id, rank, world_size));
      if (!refused_.ok()) return rank;
    }
    ADD_FAILURE() << "none was refused";
    return -1;
  }
  float Pull(int64_t id, int64_t min_lsn) {
    return NumberIn(Must<v1::PullReply>(Method::kPull, PullOf(id, min_lsn)));
  }
  double WaitingCalls() const { return Metric("halograph_server_waiting_calls"); }
  void AwaitWaitingCalls(double calls) {
    Await([&] { return WaitingCalls() >= calls; });
  }
  void ExpectRefused(const std::vector<std::string>& texts) const {
    EXPECT_EQ(refused_.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    for (const std::string& text : texts) EXPECT_THAT(refused_.error_message(), HasSubstr(text));
  }

  const TestFolder state_;
  v1::PushReply pushed_;  // of the last push
  grpc::Status refused_;
};

TEST_F(WaitingTest, PushesThatWaitHaveOneBoundInAllPartsAndWhatIsRefusedIsNotLogged) {
  constexpr int kSmall = 9;  // ranks
  constexpr int kLarge = 100;
  ServerOptions options = WithState();
  options.state.waiting = 16 << 10;
  StartWith(options);
  for (int rank = 0; rank + 1 < kSmall; ++rank) MustPush(One(kOf0, rank, kSmall));
  const int taken = PushUntilRefused(kOf2, 0, kLarge);
  ASSERT_GT(taken, kSmall);
  ASSERT_LT(taken + kSmall, kLarge - 1);
  ExpectRefused({"of 16384 bytes are free for it",
                 fmt::format("step 0 waits for the push of rank {}, {}", taken, taken + 1),
                 fmt::format("(world size {})", kLarge), "--state-waiting"});

  // A step of the other part is complete, and leaves the room of the pushes that waited.
  MustPush(One(kOf0, kSmall - 1, kSmall));
  EXPECT_EQ(Pull(kOf0, pushed_.lsn()), kSmall);
  const int more = PushUntilRefused(kOf2, taken, kLarge);
  EXPECT_EQ(more, taken + kSmall - 1);
  ExpectRefused({fmt::format("step 0 waits for the push of rank {}, {}", more, more + 1)});

  server_.reset();
  options.state.waiting = 1 << 20;
  StartWith(options);
  const v1::StatsReply stats = StatsOf(channel_);
  ASSERT_EQ(stats.state_size(), 2);
  EXPECT_EQ(stats.state(0).replayed_pushes(), kSmall);
  EXPECT_EQ(stats.state(1).replayed_pushes(), more);
  for (int rank = more; rank < kLarge; ++rank) MustPush(One(kOf2, rank, kLarge));
  EXPECT_EQ(pushed_.lsn(), kLarge);
  EXPECT_EQ(Pull(kOf2, pushed_.lsn()), kLarge);
}

TEST_F(WaitingTest, AStepThatDoesNotFitAloneSaysSoAndNamesTheOption) {
  constexpr int kHuge = 1 << 20;  // ranks
  ServerOptions options = WithState();
  options.state.waiting = 16 << 10;
  StartWith(options);
  const int taken = PushUntilRefused(kOf2, 0, kHuge);
  ExpectRefused({"step 0 does not fit", "even alone", "of 16384 bytes",
                 fmt::format("waits for the push of rank {}, {}", taken, taken + 1),
                 "(world size 1048576)", "--state-waiting"});
  refused_ = Push(One(kOf0, 0, 2, 5000));  // one push, too
  ExpectRefused({"step 0 does not fit", "even alone", "--state-waiting"});
  for (int starts = 0; starts < 2; ++starts) {
    server_.reset();
    StartWith(options);
    const v1::StatsReply stats = StatsOf(channel_);
    ASSERT_EQ(stats.state_size(), 2);
    EXPECT_EQ(stats.state(0).replayed_pushes(), 0);
    EXPECT_EQ(stats.state(1).replayed_pushes(), taken);
    EXPECT_EQ(PushUntilRefused(kOf2, taken, kHuge), taken) << "what waits has its room again";
  }
}

// Nobody pushes what they wait for, ever. Of so many connections they could have all places.
TEST_F(WaitingTest, PullsOfAnLsnThatWasNeverGivenTakeNobodysPlace) {
  const ServerOptions options = WithState();
  ASSERT_EQ(options.queue, 256);
  StartWith(options);
  MustPush(One(kOf0, 0, 2));
  const v1::PullRequest both = PullOf(kOf0, pushed_.lsn());  // of this step, when it is complete
  StartedPull before(Connect(server_->address()), both);
  AwaitWaitingCalls(1);
  std::vector<std::unique_ptr<StartedPull>> never;
  for (int connection = 0; connection < 4; ++connection) {
    const auto channel = Connect(server_->address());
    for (int i = 0; i < 64; ++i) {
      never.push_back(std::make_unique<StartedPull>(channel, PullOf(kOf0, kNeverGiven)));
    }
  }
  for (const auto& pull : never) {
    const grpc::Status status = pull->End();
    ASSERT_EQ(status.error_code(), StatusCode::DATA_LOSS) << status.error_message();
    EXPECT_THAT(status.error_message(),
                HasSubstr(fmt::format("min_lsn {} is above {}", kNeverGiven, pushed_.lsn())));
  }
  StartedPull behind(Connect(server_->address()), both);
  AwaitWaitingCalls(2);
  EXPECT_EQ(WaitingCalls(), 2);
  MustPush(One(kOf0, 1, 2));
  for (StartedPull* const pull : {&before, &behind}) {
    const grpc::Status status = pull->End();
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(pull->value(), 2);
  }
}

TEST_F(WaitingTest, AQuarterOfThePullsThatWaitIsOneConnections) {
  ServerOptions options = WithState();
  options.queue = 8;
  StartWith(options);
  MustPush(One(kOf0, 0, 2));
  const v1::PullRequest both = PullOf(kOf0, pushed_.lsn());
  const auto greedy = Connect(server_->address());
  StartedPull first(greedy, both);
  StartedPull second(greedy, both);
  AwaitWaitingCalls(2);
  StartedPull third(greedy, both);
  const grpc::Status refused = third.End();
  EXPECT_EQ(refused.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("2 calls of this connection wait for pushes that they must show, a quarter "
                        "of all that may: try again"));
  StartedPull others(Connect(server_->address()), both);
  AwaitWaitingCalls(3);
  MustPush(One(kOf0, 1, 2));
  for (StartedPull* const pull : {&first, &second, &others}) {
    const grpc::Status status = pull->End();
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(pull->value(), 2);
  }
}

}  // namespace
}  // namespace halograph::server
