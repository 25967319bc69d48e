// A server whose state lies on a disk that hangs or fails: what does not need the disk goes on.
#include <sstream>

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>

#include "common/base/log.h"
#include "common/graph/manifest.h"
#include "halograph/v1/admin.pb.h"
#include "halograph/v1/graph.pb.h"
#include "halograph/v1/kv.grpc.pb.h"
#include "halograph/v1/kv.pb.h"
#include "tests/integration/server/server_fixture.h"
#include "tests/support/failing_files.h"
#include "tests/support/plain_env.h"

namespace halograph::server {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;

constexpr char kListTensors[] = "/halograph.v1.KVService/ListTensors";
constexpr char kSnapshotTensors[] = "/halograph.v1.KVService/SnapshotTensors";
constexpr char kRestoreSnapshot[] = "/halograph.v1.KVService/RestoreSnapshot";

using Call = std::future<RawReply>;

class HungDiskTest : public ServerTest {
 protected:
  HungDiskTest() {
    switches_.before_write = [this](const std::filesystem::path& path) {
      if (path.parent_path().filename() == "log") log_writes_.Pass();
    };
    switches_.sync_of = [this](const std::filesystem::path& path) {
      if (path.parent_path().filename() == "log") log_syncs_.Pass();
      return OkStatus();
    };
  }
  ~HungDiskTest() override {
    log_writes_.Open();
    log_syncs_.Open();
    server_.reset();  // before the gates
  }

  // Of part 0, with one thread for reads.
  ServerOptions WithState() const {
    ServerOptions options = Options();
    options.parts = {0};
    options.threads = 1;
    options.state.folder = state_folder_.path();
    options.state.segment_bytes = 1 << 20;
    options.state.sync_interval = std::chrono::milliseconds(1);
    return options;
  }
  void StartWithTensor(const ServerOptions& options, int64_t dim = 4) {
    auto started = Server::Start(
        options, std::make_unique<PlainEnv>(std::make_unique<FailingFiles>(&switches_)));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = std::move(started).value();
    channel_ = Connect(server_->address());
    Create("emb", dim);
  }
  void Create(const std::string& name, int64_t dim) {
    v1::CreateTensorRequest request;
    request.mutable_spec()->set_type("paper");
    request.mutable_spec()->set_name(name);
    request.mutable_spec()->set_dim(dim);
    request.mutable_spec()->mutable_optimizer()->set_kind(v1::RowOptimizer::SGD);
    ExpectOk(RawCall(channel_, kCreateTensor, request.SerializeAsString()));
  }

  static uint64_t FirstPaper() {
    return local_->book().NodeRange(local_->schema().NodeTypeIndex("paper").value(), 0).begin;
  }
  // Of `rows` rows of emb, which all go to one row.
  static std::string PushOf(uint64_t sequence, size_t rows = 1) {
    v1::PushRequest push;
    push.set_type("paper");
    push.set_name("emb");
    push.set_client(7);
    push.set_sequence(sequence);
    push.set_dtype(v1::DTYPE_FLOAT32);
    for (size_t i = 0; i < rows; ++i) push.add_ids(FirstPaper());
    push.set_rows(std::string(rows * 4 * sizeof(float), '\0'));
    return push.SerializeAsString();
  }
  static std::string PullOf(const std::string& name, size_t rows = 1) {
    v1::PullRequest pull;
    pull.set_type("paper");
    pull.set_name(name);
    for (size_t i = 0; i < rows; ++i) pull.add_ids(FirstPaper());
    return pull.SerializeAsString();
  }
  static std::string SampleOf() {
    v1::SampleRequest sample;
    v1::SampleGroup* group = sample.add_groups();
    group->set_relation("paper:cites:paper");
    group->set_fanout(3);
    group->add_destinations(FirstPaper());
    return sample.SerializeAsString();
  }

  // A connection each, as clients have.
  Call Begin(const char* method, const std::string& request) const {
    return std::async(std::launch::async, [address = server_->address(), method, request] {
      return RawCall(Connect(address), method, request);
    });
  }
  [[nodiscard]] size_t Queued() const { return server_->dispatcher().pool(Lane::kState).queued(); }
  [[nodiscard]] v1::StatsReply Stats() const {
    v1::StatsReply stats;
    EXPECT_TRUE(stats.ParseFromString(RawCall(channel_, kStats, "").bytes));
    return stats;
  }
  void AwaitQueued(size_t calls) const {
    Await([&] { return Queued() >= calls; });
  }
  // They are on threads, and wait for the log.
  void AwaitLogged(int64_t pushes) const {
    Await([&] {
      const v1::StatsReply stats = Stats();
      return stats.state_size() == 1 && stats.state(0).lsn() >= pushes;
    });
  }
  static void ExpectOk(const RawReply& reply) {
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
  }
  void ExpectReadsGoOn() {
    ExpectOk(RawCall(channel_, kPull, PullOf("feat")));
    ExpectOk(RawCall(channel_, kSample, SampleOf()));
    ExpectOk(RawCall(channel_, kListTensors, ""));
  }
  static void ExpectBusy(const RawReply& reply, const std::string& why) {
    EXPECT_EQ(reply.status.error_code(), StatusCode::UNAVAILABLE) << reply.status.error_message();
    EXPECT_THAT(reply.status.error_message(), HasSubstr(why));
    ASSERT_EQ(reply.trailers.count("grpc-retry-pushback-ms"), 1U);
    EXPECT_GT(std::stoi(reply.trailers.at("grpc-retry-pushback-ms")), 0);
  }

  TestFolder state_folder_;
  FailingFiles::Switches switches_;
  Gate log_writes_;
  Gate log_syncs_;
};

TEST_F(HungDiskTest, PushesThatWaitLeaveThreadsToReads) {
  ServerOptions options = WithState();
  options.state_threads = 3;
  options.state_queue = 2;
  StartWithTensor(options);
  log_writes_.Close();
  std::vector<Call> pushes;
  for (uint64_t i = 1; i <= 3; ++i) {
    pushes.push_back(Begin(kPush, PushOf(i)));
    ASSERT_NO_FATAL_FAILURE(AwaitLogged(static_cast<int64_t>(i)));
  }
  for (uint64_t i = 4; i <= 5; ++i) pushes.push_back(Begin(kPush, PushOf(i)));
  ASSERT_NO_FATAL_FAILURE(AwaitQueued(2));
  ExpectReadsGoOn();
  ExpectOk(RawCall(channel_, kPull, PullOf("emb")));
  ExpectBusy(RawCall(channel_, kPush, PushOf(6)), "queue of 2 calls that may wait for the disk");
  const v1::StatsReply stats = Stats();
  EXPECT_EQ(stats.state_threads(), 3);
  EXPECT_EQ(stats.state_queued(), 2);
  EXPECT_EQ(stats.state_queue_capacity(), 2);
  log_writes_.Open();
  for (Call& push : pushes) ExpectOk(push.get());
  ExpectOk(RawCall(channel_, kPush, PushOf(6)));
}

TEST_F(HungDiskTest, PushesThatWaitLeaveRoomForTheRequestsOfReads) {
  ServerOptions options = WithState();
  options.max_message_bytes = 64 << 10;
  options.request_memory = 4 * options.max_message_bytes;
  StartWithTensor(options);
  constexpr size_t kRows = 2500;  // of 24 bytes: three such pushes are admitted
  log_writes_.Close();
  std::vector<Call> pushes;
  for (uint64_t i = 1; i <= 3; ++i) pushes.push_back(Begin(kPush, PushOf(i, kRows)));
  ASSERT_NO_FATAL_FAILURE(AwaitLogged(3));
  ExpectBusy(RawCall(channel_, kPush, PushOf(4, kRows)), "bytes are in work");
  ExpectOk(RawCall(channel_, kPull, PullOf("emb", 2500)));
  log_writes_.Open();
  for (Call& push : pushes) ExpectOk(push.get());
}

TEST_F(HungDiskTest, PushesThatWaitAreCutOffWhenTheServerIsToStop) {
  ServerOptions options = WithState();
  options.state_threads = 1;
  StartWithTensor(options);
  log_writes_.Close();
  std::vector<Call> pushes;
  for (uint64_t i = 1; i <= 3; ++i) pushes.push_back(Begin(kPush, PushOf(i)));
  ASSERT_NO_FATAL_FAILURE(AwaitQueued(2));
  EXPECT_FALSE(server_->Drain(std::chrono::milliseconds(1)));
  for (Call& push : pushes) EXPECT_FALSE(push.get().status.ok());
}

TEST_F(HungDiskTest, PullsDuringARestoreLeaveThreadsToOtherReads) {
  ServerOptions options = WithState();
  options.state_threads = 1;
  StartWithTensor(options);
  v1::SnapshotTensorsRequest snapshot;
  snapshot.set_name("s");
  ExpectOk(RawCall(channel_, kSnapshotTensors, snapshot.SerializeAsString()));
  log_syncs_.Close();
  ExpectOk(RawCall(channel_, kPush, PushOf(1)));
  v1::RestoreSnapshotRequest restore;
  restore.set_name("s");
  Call restored = Begin(kRestoreSnapshot, restore.SerializeAsString());
  std::vector<Call> pulls;  // some may come before the restore
  while (Queued() == 0 && pulls.size() < 200) {
    pulls.push_back(Begin(kPull, PullOf("emb")));
    pulls.back().wait_for(std::chrono::milliseconds(20));
  }
  ASSERT_NO_FATAL_FAILURE(AwaitQueued(1));
  ExpectReadsGoOn();
  log_syncs_.Open();
  ExpectOk(restored.get());
  for (Call& pull : pulls) ExpectOk(pull.get());
}

// As many as may wait, for a step that nobody pushes.
TEST_F(HungDiskTest, SnapshotsThatWaitForAStepHoldNobodyUpAndEndWithTheirClients) {
  StartWithTensor(WithState());
  v1::SnapshotTensorsRequest snapshot;
  snapshot.set_step(5);
  constexpr int kMany = 17;
  std::vector<grpc::ClientContext> contexts(kMany);
  std::vector<std::future<grpc::Status>> waiting;
  for (int i = 0; i < kMany; ++i) {
    snapshot.set_name("s" + std::to_string(i));
    waiting.push_back(std::async(std::launch::async, [this, i, &contexts, snapshot] {
      v1::SnapshotTensorsReply reply;
      return v1::KVService::NewStub(Connect(server_->address()))
          ->SnapshotTensors(&contexts[static_cast<size_t>(i)], snapshot, &reply);
    }));
  }
  // The last one to come is told so.
  std::vector<grpc::Status> told;
  Await([&] {
    for (auto& one : waiting) {
      if (one.valid() && one.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
        told.push_back(one.get());
      }
    }
    return !told.empty();
  });
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(told[0].error_message(), HasSubstr("5, 5"));

  Create("other", 4);
  snapshot.set_name("now");
  snapshot.clear_step();
  ExpectOk(RawCall(channel_, kSnapshotTensors, snapshot.SerializeAsString()));

  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (auto& one : waiting) {
    if (!one.valid()) continue;
    EXPECT_EQ(one.get().error_code(), StatusCode::CANCELLED);
  }
  const auto began = std::chrono::steady_clock::now();
  Await([&] {
    return server_->dispatcher().pool(Lane::kSlow).queued() == 0 &&
           server_->dispatcher().in_flight() == 0;
  });
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
}

TEST_F(HungDiskTest, AMarkThatWasNeverGivenIsDataLossAtOnce) {
  StartWithTensor(WithState());
  ExpectOk(RawCall(channel_, kPush, PushOf(1)));
  v1::PullRequest pull;
  ASSERT_TRUE(pull.ParseFromString(PullOf("emb")));
  pull.set_min_lsn(1);
  ExpectOk(RawCall(channel_, kPull, pull.SerializeAsString()));
  pull.set_min_lsn(int64_t{1} << 60);
  EXPECT_EQ(RawCall(channel_, kPull, pull.SerializeAsString()).status.error_code(),
            StatusCode::DATA_LOSS);
}

TEST_F(HungDiskTest, MarksOfImportsAreMadeAndDroppedByImportsAlone) {
  StartWithTensor(WithState());
  v1::CreateTensorRequest create;
  create.mutable_spec()->set_name("import-mark-0123456789abcdef");
  create.mutable_spec()->set_placement(v1::PLACEMENT_RANGE);
  create.mutable_spec()->set_rows(3);
  create.mutable_spec()->set_dim(1);
  v1::DropTensorRequest drop;
  drop.set_name(create.spec().name());
  const auto refused = [&](const char* method, const std::string& request) {
    const RawReply reply = RawCall(channel_, method, request);
    EXPECT_EQ(reply.status.error_code(), StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(reply.status.error_message(), HasSubstr("reserved for imports"));
  };
  constexpr char kDropTensor[] = "/halograph.v1.KVService/DropTensor";
  refused(kCreateTensor, create.SerializeAsString());
  create.set_of_import(true);
  ExpectOk(RawCall(channel_, kCreateTensor, create.SerializeAsString()));
  refused(kDropTensor, drop.SerializeAsString());
  drop.set_of_import(true);
  ExpectOk(RawCall(channel_, kDropTensor, drop.SerializeAsString()));
}

TEST_F(HungDiskTest, PullsOfRowsBeyondMemoryStandWithThePushes) {
  ServerOptions options = WithState();
  options.state_threads = 1;
  options.state_queue = 1;
  options.state.memory = 1 << 20;
  StartWithTensor(options);
  Create("large", 10'000);
  ExpectOk(RawCall(channel_, kPull, PullOf("large")));
  Blocker blocker(server_->dispatcher(), Lane::kState);
  ASSERT_TRUE(server_->dispatcher().Run([] {}, Lane::kState).ok());  // fills the queue
  ExpectBusy(RawCall(channel_, kPull, PullOf("large")), "queue of 1 calls that may wait");
  ExpectOk(RawCall(channel_, kPull, PullOf("emb")));
  ExpectReadsGoOn();
}

TEST_F(HungDiskTest, AFailureIsLoggedOnceWithPartFolderAndReason) {
  std::ostringstream text;
  const auto previous = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)));
  StartWithTensor(WithState());
  switches_.writes = true;
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(RawCall(channel_, kPush, PushOf(i)).status.error_code(), StatusCode::UNAVAILABLE);
  }
  ExpectReadsGoOn();
  server_.reset();
  spdlog::set_default_logger(previous);
  const std::string line = "[error] state of part 0 in " +
                           (state_folder_.path() / PartFolderName(0)).string() +
                           ": pushes are refused from now on, reads go on, since "
                           "the disk is broken. Mend that, then restart";
  const std::string log = text.str();
  const size_t found = log.find(line);
  ASSERT_NE(found, std::string::npos) << log;
  EXPECT_EQ(log.find("[error]", found + 1), std::string::npos) << log;
}

}  // namespace
}  // namespace halograph::server
