// A server with a policy: every method by every role, over loopback with tokens; what is told to
// whom; a policy that changes while the server runs; and clients, which do not repeat what was
// refused.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "client/remote/rpc.h"
#include "common/state/import_mark.h"
#include "common/storage/file.h"
#include "halograph/v1/admin.pb.h"
#include "halograph/v1/graph.pb.h"
#include "halograph/v1/kv.pb.h"
#include "proto/methods/methods.h"
#include "server/rights/token_hash.h"
#include "tests/integration/server/server_fixture.h"
#include "tests/support/captured_log.h"

namespace halograph::server {
namespace {

using grpc::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kHealthWatch[] = "/grpc.health.v1.Health/Watch";
constexpr char kReflectionPath[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr char kCites[] = "paper:cites:paper";

constexpr char kPolicy[] = R"(
principals:
  reader:
    tokens: ["{reader}"]
    may: {sample: ["paper:cites:*"], pull: ["paper/*", "task:*"]}
  writer:
    tokens: ["{writer}"]
    may: {push: ["paper/vec"], create: ["paper/*"]}
  keeper:
    tokens: ["{keeper}"]
    may: {snapshot: ["*"], pull: ["author/*"]}
  root:
    tokens: ["{root}"]
    may: {sample: ["*"], pull: ["*"], push: ["*"], create: ["*"], snapshot: ["*"], admin: ["*"]}
  guest:
    tokens: ["{guest}"]
)";
const std::vector<std::string> kRoles = {"reader", "writer", "keeper", "root", "guest"};

std::string TokenOfRole(const std::string& role) { return role + "-token-of-a-test"; }

std::string HashText(const std::string& role) {
  const TokenHash hash = HashOfToken(TokenOfRole(role)).value();
  std::string text = "sha256:";
  for (const uint8_t byte : hash.bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool IsRefused(const grpc::Status& status) {
  return status.error_code() == StatusCode::PERMISSION_DENIED ||
         status.error_code() == StatusCode::UNAUTHENTICATED;
}

class ServerRightsTest : public ServerTest {
 protected:
  void SetUp() override {
    WritePolicy(kPolicy);
    Start(WithPolicy());
    for (const char* type : {"paper", "author"}) {
      ASSERT_TRUE(As("root", Method::kCreateTensor, CreateOf(type, "vec")).status.ok());
    }
  }

  // With {role} in place of the hash of that role's token. At once, as renaming is.
  void WritePolicy(std::string text) const {
    for (const std::string& role : kRoles) {
      const std::string name = "{" + role + "}";
      for (size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
        text.replace(at, name.size(), HashText(role));
      }
    }
    ASSERT_TRUE(WriteFileAtomically(policy_, text).ok());
  }
  [[nodiscard]] std::filesystem::path TokenFileOf(const std::string& role) const {
    const auto path = of_test_.path() / (role + ".token");
    std::ofstream(path) << TokenOfRole(role) << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path;
  }
  // Of part 0, with state.
  [[nodiscard]] ServerOptions WithPolicy(const char* state = "state") const {
    ServerOptions options = Options();
    options.parts = {0};
    options.state.folder = of_test_.path() / state;
    options.state.segment_bytes = 1 << 20;
    options.policy = policy_;
    return options;
  }

  [[nodiscard]] RawReply As(const std::string& role, std::string_view path,
                            const std::string& request = "") const {
    return RawCall(channel_, std::string(path), request,
                   {{"authorization", "Bearer " + TokenOfRole(role)}});
  }
  [[nodiscard]] RawReply As(const std::string& role, Method method,
                            const std::string& request = "") const {
    return As(role, PathOf(method), request);
  }
  [[nodiscard]] v1::StatsReply StatsAs(const std::string& role) const {
    return StatsAs(role, channel_);
  }
  static v1::StatsReply StatsAs(const std::string& role,
                                const std::shared_ptr<grpc::Channel>& channel) {
    return StatsOf(channel, {{"authorization", "Bearer " + TokenOfRole(role)}});
  }

  static int64_t FirstOf(const char* type) {
    return local_->book().NodeRange(local_->schema().NodeTypeIndex(type).value(), 0).begin;
  }
  static std::string CreateOf(const std::string& type, const std::string& name) {
    v1::CreateTensorRequest request;
    request.mutable_spec()->set_type(type);
    request.mutable_spec()->set_name(name);
    request.mutable_spec()->set_dim(1);
    return request.SerializeAsString();
  }
  static std::string PullOf(const char* type, const std::string& name) {
    v1::PullRequest request;
    request.set_type(type);
    request.set_name(name);
    request.add_ids(static_cast<uint64_t>(FirstOf(type)));
    return request.SerializeAsString();
  }
  static std::string PushOf(v1::PushKind kind, const std::string& name = "vec") {
    v1::PushRequest request;
    request.set_type("paper");
    request.set_name(name);
    request.set_kind(kind);
    request.set_client(7);
    request.set_sequence(1);
    request.set_dtype(v1::DTYPE_FLOAT32);
    request.add_ids(static_cast<uint64_t>(FirstOf("paper")));
    request.set_rows(std::string(sizeof(float), '\0'));
    return request.SerializeAsString();
  }
  static std::string SampleOf(const std::vector<std::string>& relations) {
    v1::SampleRequest request;
    for (const std::string& relation : relations) {
      v1::SampleGroup* group = request.add_groups();
      group->set_relation(relation);
      group->set_fanout(3);
      group->add_destinations(static_cast<uint64_t>(FirstOf("paper")));
    }
    return request.SerializeAsString();
  }
  template <typename Request>
  static std::string ColumnsOf(const std::string& relation) {
    Request request;
    auto* group = request.add_groups();
    group->set_relation(relation);
    group->add_destinations(static_cast<uint64_t>(FirstOf("paper")));
    return request.SerializeAsString();
  }
  static std::string TopologyOf(const std::string& path) {
    v1::ReadTopologyRequest request;
    request.set_path(path);
    return request.SerializeAsString();
  }
  static std::string TaskOf() {
    const Task& task = local_->schema().tasks[0];
    v1::ReadTaskSetRequest request;
    request.set_task(task.name);
    request.set_set(task.sets[0].set);
    request.set_type(task.sets[0].type);
    return request.SerializeAsString();
  }
  template <typename Request>
  static std::string NameOf(const std::string& name) {
    Request request;
    request.set_name(name);
    return request.SerializeAsString();
  }
  // What the roles are asked for: relation paper:cites:paper, tensor paper/vec.
  static std::string RequestOf(Method method) {
    v1::ReadSnapshotRequest read;
    read.set_name("s");
    read.set_type("paper");
    read.set_tensor("vec");
    v1::DropTensorRequest drop;
    drop.set_type("paper");
    drop.set_name("none");
    switch (method) {
      case Method::kSample:
        return SampleOf({kCites});
      case Method::kGraphReadTaskSet:
      case Method::kReadTaskSet:
        return TaskOf();
      case Method::kReadTopology:
        return TopologyOf("edges/paper%3Acites%3Apaper/indptr.npy");
      case Method::kColumnSums:
        return ColumnsOf<v1::ColumnSumsRequest>(kCites);
      case Method::kExtract:
        return ColumnsOf<v1::ExtractRequest>(kCites);
      case Method::kPull:
        return PullOf("paper", "feat");
      case Method::kPush:
        return PushOf(v1::PUSH_ADD);
      case Method::kCreateTensor:
        return CreateOf("paper", "vec");
      case Method::kDropTensor:
        return drop.SerializeAsString();
      case Method::kReadSnapshot:
        return read.SerializeAsString();
      case Method::kSnapshotTensors:
        return NameOf<v1::SnapshotTensorsRequest>("s");
      case Method::kDeleteSnapshot:
        return NameOf<v1::DeleteSnapshotRequest>("none");
      case Method::kRestoreSnapshot:
        return NameOf<v1::RestoreSnapshotRequest>("none");
      default:
        return "";
    }
  }

  TestFolder of_test_;
  const std::filesystem::path policy_ = of_test_.path() / "policy.yaml";
};

TEST_F(ServerRightsTest, EachMethodIsForThoseWhoHaveItsVerb) {
  const std::map<Right, std::vector<std::string>> may = {
      {Right::kAny, kRoles},
      {Right::kSample, {"reader", "root"}},
      {Right::kPull, {"reader", "root"}},
      {Right::kPush, {"writer", "root"}},
      {Right::kCreate, {"writer", "root"}},
      {Right::kSnapshot, {"keeper", "root"}},
      {Right::kAdmin, {"root"}},
  };
  for (const MethodRow& row : kMethodRows) {
    const std::string request = RequestOf(row.method);
    const std::vector<std::string>& allowed = may.at(row.right);
    for (const std::string& role : kRoles) {
      const RawReply reply = As(role, row.method, request);
      const std::string what =
          fmt::format("{} of {}: {} {}", row.path, role,
                      static_cast<int>(reply.status.error_code()), reply.status.error_message());
      EXPECT_NE(reply.status.error_code(), StatusCode::INTERNAL) << what;
      EXPECT_EQ(reply.trailers.count("grpc-retry-pushback-ms"), 0U) << what;
      if (std::find(allowed.begin(), allowed.end(), role) != allowed.end()) {
        EXPECT_FALSE(IsRefused(reply.status)) << what;
        const bool answers = row.right == Right::kAny || row.right == Right::kPull ||
                             row.right == Right::kPush || row.method == Method::kSample ||
                             row.method == Method::kReadTopology ||
                             row.method == Method::kListSnapshots;
        EXPECT_TRUE(reply.status.ok() || !answers) << what;
        continue;
      }
      EXPECT_EQ(reply.status.error_code(), StatusCode::PERMISSION_DENIED) << what;
      EXPECT_THAT(reply.status.error_message(), HasSubstr(role + " may not ")) << what;
    }
    for (const char* nobody : {"nobody", "stranger"}) {
      const RawReply reply = As(nobody, row.method, request);
      EXPECT_EQ(reply.status.error_code(), StatusCode::UNAUTHENTICATED) << row.path;
      EXPECT_THAT(reply.status.error_message(), Not(HasSubstr(TokenOfRole(nobody))));
    }
    const RawReply silent = RawCall(channel_, std::string(row.path), request);
    EXPECT_EQ(silent.status.error_code(), StatusCode::UNAUTHENTICATED) << row.path;
    EXPECT_THAT(silent.status.error_message(), HasSubstr("--token-file"));
  }
}

TEST_F(ServerRightsTest, HealthIsForPrincipalsAndReflectionForNobody) {
  EXPECT_TRUE(As("guest", kHealthCheck).status.ok());
  EXPECT_EQ(As("nobody", kHealthCheck).status.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(RawCall(channel_, kHealthCheck, "").status.error_code(), StatusCode::UNAUTHENTICATED);
  const RawReply watch = RawStream(channel_, kHealthWatch, "");
  EXPECT_EQ(watch.status.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(watch.bytes, "");
  EXPECT_EQ(RawStream(channel_, kReflectionPath, std::string("\x3a\x00", 2)).status.error_code(),
            StatusCode::UNIMPLEMENTED);
  ServerOptions options = WithPolicy();
  options.reflection = Reflection::kOn;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--reflection on"));
  EXPECT_FALSE(WithPolicy().Reflects());
  EXPECT_TRUE(Options().Reflects());
}

TEST_F(ServerRightsTest, ADenialNamesWhatItIsAboutAndTellsNothingElse) {
  const auto denial = [&](const std::string& role, Method method, const std::string& request) {
    const RawReply reply = As(role, method, request);
    EXPECT_EQ(reply.status.error_code(), StatusCode::PERMISSION_DENIED)
        << reply.status.error_message();
    return reply.status.error_message();
  };
  EXPECT_THAT(denial("reader", Method::kSample, SampleOf({kCites, "author:writes:paper"})),
              HasSubstr("reader may not sample: relation author:writes:paper"))
      << "of every group";
  EXPECT_THAT(denial("reader", Method::kReadTopology,
                     TopologyOf("edges/author%3Awrites%3Apaper/indices.npy")),
              HasSubstr("relation author:writes:paper"));
  EXPECT_THAT(denial("reader", Method::kPull, PullOf("author", "vec")),
              HasSubstr("reader may not pull: tensor author/vec"));
  EXPECT_THAT(denial("writer", Method::kReadTaskSet, TaskOf()), HasSubstr("task set task:"));
  EXPECT_THAT(denial("writer", Method::kPush, PushOf(v1::PUSH_ADD, "other")),
              HasSubstr("writer may not push: tensor paper/other"));
  // Not that there is no such tensor.
  EXPECT_THAT(denial("reader", Method::kPull, PullOf("author", "no-such-tensor")),
              HasSubstr("author/no-such-tensor"));
  EXPECT_EQ(As("root", Method::kPull, PullOf("author", "no-such-tensor")).status.error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(ServerRightsTest, WhatPutsOthersPushesAsideIsForOperators) {
  for (const v1::PushKind kind : {v1::PUSH_IMAGE, v1::PUSH_BITS}) {
    EXPECT_THAT(As("writer", Method::kPush, PushOf(kind)).status.error_message(),
                HasSubstr("writer may not admin: tensor paper/vec"));
    EXPECT_FALSE(IsRefused(As("root", Method::kPush, PushOf(kind)).status));
  }
  v1::CreateTensorRequest mark;
  const TensorRef ref = ImportMarkOf({.edge = false, .type = "paper", .name = "vec"});
  mark.set_of_import(true);
  mark.mutable_spec()->set_type(ref.type);
  mark.mutable_spec()->set_name(ref.name);
  mark.mutable_spec()->set_placement(v1::PLACEMENT_RANGE);
  mark.mutable_spec()->set_rows(spec_.parts);
  mark.mutable_spec()->set_dim(1);
  EXPECT_THAT(As("writer", Method::kCreateTensor, mark.SerializeAsString()).status.error_message(),
              HasSubstr("writer may not admin: every tensor"));
  EXPECT_FALSE(IsRefused(As("root", Method::kCreateTensor, mark.SerializeAsString()).status));
}

TEST_F(ServerRightsTest, ListsAndStatisticsTellWhatTheCallerHasAVerbFor) {
  const auto listed = [&](const std::string& role) {
    v1::ListTensorsReply reply;
    EXPECT_TRUE(reply.ParseFromString(As(role, Method::kListTensors).bytes));
    std::vector<std::string> names;
    for (const v1::PartState& part : reply.parts()) {
      for (const v1::TensorState& tensor : part.tensors()) names.push_back(tensor.spec().type());
    }
    EXPECT_EQ(reply.parts_size(), 1) << "figures of the part are told to all";
    return names;
  };
  EXPECT_THAT(listed("root"), UnorderedElementsAre("paper", "author"));
  EXPECT_THAT(listed("reader"), ElementsAre("paper"));
  EXPECT_THAT(listed("guest"), ElementsAre());

  ASSERT_TRUE(
      As("root", Method::kSnapshotTensors, NameOf<v1::SnapshotTensorsRequest>("s")).status.ok());
  ASSERT_TRUE(As("root", Method::kPull, PullOf("author", "vec")).status.ok());
  const v1::StatsReply all = StatsAs("root");
  const v1::StatsReply some = StatsAs("reader");
  ASSERT_EQ(some.state_size(), 1);
  EXPECT_EQ(all.state(0).tensors_size(), 2);
  EXPECT_EQ(some.state(0).tensors_size(), 1);
  constexpr char kRows[] = "halograph_pull_rows_total";
  EXPECT_EQ(Metric(all, kRows, "author/vec"), 1);
  EXPECT_EQ(Metric(some, kRows, "author/vec"), -1);
  EXPECT_EQ(Metric(some, kRows, "paper/feat"), 0);
  constexpr char kEdges[] = "halograph_sampling_edges_total";
  EXPECT_GE(Metric(all, kEdges, "author:writes:paper"), 0);
  EXPECT_EQ(Metric(some, kEdges, "author:writes:paper"), -1);
  EXPECT_GE(Metric(some, kEdges, kCites), 0);
  constexpr char kCalls[] = "halograph_server_principal_calls_total";
  EXPECT_GE(Metric(all, kCalls, "reader"), 1);
  EXPECT_GE(Metric(some, kCalls, "reader"), 1);
  EXPECT_EQ(Metric(some, kCalls, "root"), -1) << "who else calls is for operators";
  EXPECT_GT(all.client_list_size(), 0);
  EXPECT_EQ(some.client_list_size(), 0);
}

TEST_F(ServerRightsTest, TheLogNamesThePrincipal) {
  CapturedLog log;
  EXPECT_TRUE(IsRefused(As("reader", Method::kPush, PushOf(v1::PUSH_ADD)).status));
  EXPECT_TRUE(IsRefused(RawCall(channel_, kPull, PullOf("paper", "feat")).status));
  Await([&] { return log.Has("UNAUTHENTICATED"); });
  EXPECT_THAT(log.End(), AllOf(HasSubstr(" as reader: PERMISSION_DENIED"),
                               Not(HasSubstr(TokenOfRole("reader")))));
}

TEST_F(ServerRightsTest, APolicyThatChangesHoldsSoonAndABrokenOneLeavesTheLast) {
  const auto may_push = [&] {
    return !IsRefused(As("reader", Method::kPush, PushOf(v1::PUSH_ADD)).status);
  };
  EXPECT_FALSE(may_push());
  std::string changed = kPolicy;
  changed.replace(changed.find("sample: [\"paper:cites:*\"]"), 0, "push: [\"paper/vec\"], ");
  WritePolicy(changed);
  Await(may_push);
  WritePolicy(changed + "  root: {tokens: [x]}\n");
  Await([&] { return Metric(StatsAs("root"), "halograph_server_policy_refused_total") == 1; });
  EXPECT_EQ(Metric(StatsAs("root"), "halograph_server_policy_stale"), 1);
  EXPECT_TRUE(may_push());
  EXPECT_TRUE(std::filesystem::remove(policy_));
  Await([&] { return Metric(StatsAs("root"), "halograph_server_policy_refused_total") == 2; });
  EXPECT_TRUE(may_push()) << "a file that is gone leaves the last, too";
  WritePolicy(kPolicy);
  Await([&] { return !may_push(); });
  EXPECT_EQ(Metric(StatsAs("root"), "halograph_server_policy_stale"), 0);
}

TEST_F(ServerRightsTest, AServerDoesNotStartWithABrokenPolicy) {
  WritePolicy("principals: {a: {certificates: [x], may: {read: ['*']}}}");
  const Status status = Server::Start(WithPolicy("other")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr("--policy: "), HasSubstr("policy.yaml:1"),
                                     HasSubstr("no verb `read`")));
  std::filesystem::remove(policy_);
  EXPECT_TRUE(absl::IsNotFound(Server::Start(WithPolicy("other")).status()));
}

// A push as the client's library makes it, of two servers that both could answer it.
Status PushAs(const std::filesystem::path& token, const std::vector<std::string>& servers,
              const std::string& request) {
  RpcClient client({.servers = servers, .token_file = token});
  std::vector<Rpc> calls(1);
  for (size_t s = 0; s < servers.size(); ++s) calls[0].servers.push_back(static_cast<int>(s));
  calls[0].method = Method::kPush;
  calls[0].make_request = [request] { return request; };
  calls[0].on_reply = [](ReplyPieces, std::vector<Rpc>*) { return OkStatus(); };
  CallContext context;
  return client.Run(context, std::move(calls));
}

TEST_F(ServerRightsTest, ClientsSendTheirTokenAndDoNotRepeatWhatWasRefused) {
  auto other = Server::Start(WithPolicy("other"));
  ASSERT_TRUE(other.ok()) << other.status();
  const std::vector<std::string> both = {server_->address(), (*other)->address()};
  const std::string request = PushOf(v1::PUSH_ADD);
  EXPECT_TRUE(PushAs(TokenFileOf("writer"), {server_->address()}, request).ok());

  // That came in, at both.
  const auto pushes = [&] {
    double sum = 0;
    for (const std::string& address : both) {
      const v1::StatsReply stats = StatsAs("root", Connect(address));
      sum += Metric(stats, "grpc_server_call_started_total", "halograph.v1.KVService/Push");
    }
    return sum;
  };
  const double before = pushes();
  const Status denied = PushAs(TokenFileOf("reader"), both, request);
  EXPECT_EQ(denied.code(), absl::StatusCode::kPermissionDenied) << denied;
  EXPECT_THAT(Message(denied), HasSubstr("reader may not push: tensor paper/vec"));
  EXPECT_EQ(pushes() - before, 1) << "asked again";
  const Status nobody = PushAs({}, both, request);
  EXPECT_EQ(nobody.code(), absl::StatusCode::kUnauthenticated) << nobody;
  EXPECT_THAT(Message(nobody), HasSubstr("--token-file"));
  EXPECT_EQ(pushes() - before, 2) << "asked again";
}

TEST_F(ServerRightsTest, ATokenIsNotSentInPlainTextBeyondLoopback) {
  const auto token = TokenFileOf("writer");
  RemoteOptions options = {.servers = {server_->address(), "10.1.2.3:7000"}, .token_file = token};
  EXPECT_THAT(Message(options.Validate()),
              AllOf(HasSubstr("unencrypted to 10.1.2.3:7000"), HasSubstr("--tls-ca")));
  options.servers = {"127.evil.example:7000"};
  EXPECT_FALSE(options.Validate().ok()) << "a name is no address";
  options.servers = {"localhost:1", "[::1]:1", "127.9.9.9:1"};
  EXPECT_TRUE(options.Validate().ok()) << options.Validate();
  options.token_file = of_test_.path() / "none";
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--token-file: "));
  // Nor by who did not validate: 0.0.0.0 reaches this server, and is no loopback address.
  const std::string address = "0.0.0.0" + server_->address().substr(server_->address().rfind(':'));
  const double before = Metric(StatsAs("root"), "halograph_server_principal_calls_total", "writer");
  const Status refused = PushAs(token, {address}, PushOf(v1::PUSH_ADD));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated) << refused;
  EXPECT_THAT(Message(refused), HasSubstr("would travel unencrypted"));
  EXPECT_EQ(Metric(StatsAs("root"), "halograph_server_principal_calls_total", "writer"), before);
}

}  // namespace
}  // namespace halograph::server
