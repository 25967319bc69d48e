#include "server/rights/rights.h"

#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace halograph::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kReaderToken[] = "reader-token-0001";
constexpr char kPolicy[] = R"(
principals:
  reader:
    certificates: [reader]
    tokens: ["sha256:READER"]
    may: {sample: ["a:*"], pull: ["paper/*", "task:t"]}
  writer:
    certificates: [writer]
    may: {push: ["paper/emb"], create: ["paper/emb"], snapshot: ["paper/*"]}
  keeper:
    certificates: [keeper]
    may: {snapshot: ["*"], admin: ["paper/*"]}
  root:
    certificates: [root]
    may: {sample: ["*"], pull: ["*"], push: ["*"], create: ["*"], snapshot: ["*"], admin: ["*"]}
  guest: {certificates: [guest]}
)";

std::string Hex(const TokenHash& hash) {
  std::string text;
  for (const uint8_t byte : hash.bytes) text += fmt::format("{:02x}", byte);
  return text;
}

class RightsTest : public testing::Test {
 protected:
  RightsTest() {
    std::string text = kPolicy;
    text.replace(text.find("READER"), 6, Hex(*HashOfToken(kReaderToken)));
    auto file = PolicyFile::Open(
        "policy.yaml", {.pace = std::chrono::hours(24),
                        .read = [text](const auto&) -> StatusOr<std::string> { return text; }});
    EXPECT_TRUE(file.ok()) << file.status();
    rights_ = std::make_unique<Rights>(*std::move(file), &metrics_);
    EXPECT_TRUE(metrics_.status().ok()) << metrics_.status();
  }

  Access As(const std::string& name) {
    StatusOr<Access> access = rights_->Of({.certificate_names = {name}});
    EXPECT_TRUE(access.ok()) << access.status();
    return access.ok() ? *std::move(access) : Access();
  }
  std::string Refused(const CallerFacts& facts) {
    const Status status = rights_->Of(facts).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
    return std::string(Message(status));
  }

  MetricRegistry metrics_;
  std::unique_ptr<Rights> rights_;
};

// What each method asks for, of the tensor paper/emb, the relation a:b:c or the task t.
Status AskFor(Method method, Access* access) {
  const TensorRef tensor = {.edge = false, .type = "paper", .name = "emb"};
  const Right right = RowOf(method).right;
  switch (method) {
    case Method::kSample:
    case Method::kReadTopology:
    case Method::kColumnSums:
    case Method::kExtract:
      return access->ToRelation(right, "a:b:c");
    case Method::kGraphReadTaskSet:
    case Method::kReadTaskSet:
      return access->ToTask(right, "t");
    case Method::kSnapshotTensors:
    case Method::kDeleteSnapshot:
    case Method::kRestoreSnapshot:
      return access->ToEverything(right);
    case Method::kRegisterClient:
    case Method::kListSnapshots:
    case Method::kDescribe:
    case Method::kListTensors:
    case Method::kStats:
      return access->ToAnything(right);
    default:
      return access->ToTensor(right, tensor);
  }
}

TEST_F(RightsTest, EachMethodIsForThoseWhoHaveItsVerb) {
  struct Row {
    Method method;
    std::string_view may;  // first letters: reader, writer, keeper, guest, and root (which is "o")
  };
  constexpr auto kRows = std::to_array<Row>({
      {Method::kDescribe, "rwkgo"},
      {Method::kSample, "ro"},
      {Method::kGraphReadTaskSet, "ro"},
      {Method::kReadTopology, "ro"},
      {Method::kColumnSums, "ro"},
      {Method::kExtract, "ro"},
      {Method::kPull, "ro"},
      {Method::kReadTaskSet, "ro"},
      {Method::kPush, "wo"},
      {Method::kRegisterClient, "wo"},
      {Method::kCreateTensor, "wo"},
      {Method::kDropTensor, "wo"},
      {Method::kListTensors, "rwkgo"},
      {Method::kSnapshotTensors, "ko"},
      {Method::kListSnapshots, "wko"},
      {Method::kReadSnapshot, "wko"},
      {Method::kDeleteSnapshot, "ko"},
      {Method::kRestoreSnapshot, "o"},
      {Method::kStats, "rwkgo"},
  });
  static_assert(HasRowOfEachMethod(kRows), "a method has no row of rights in this test");
  const std::map<char, std::string> roles = {
      {'r', "reader"}, {'w', "writer"}, {'k', "keeper"}, {'g', "guest"}, {'o', "root"}};
  for (const Row& row : kRows) {
    for (const auto& [letter, role] : roles) {
      Access access = As(role);
      const Status status = AskFor(row.method, &access);
      const bool may = row.may.find(letter) != std::string_view::npos;
      EXPECT_EQ(status.ok(), may) << MethodName(row.method) << " of " << role << ": " << status;
      EXPECT_TRUE(access.decided());
      if (may) continue;
      EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
      EXPECT_THAT(Message(status),
                  HasSubstr(fmt::format("{} may not {}: ", role, WordOf(RowOf(row.method).right))));
    }
    Access everybody;
    EXPECT_TRUE(AskFor(row.method, &everybody).ok()) << "without a policy";
  }
}

TEST_F(RightsTest, ADenialNamesWhatItIsAbout) {
  Access reader = As("reader");
  EXPECT_THAT(Message(reader.ToTensor(Right::kPull, {false, "author", "feat"})),
              AllOf(HasSubstr("reader may not pull: tensor author/feat"), HasSubstr("--policy")));
  EXPECT_THAT(Message(reader.ToRelation(Right::kSample, "b:c:d")),
              HasSubstr("may not sample: relation b:c:d"));
  EXPECT_THAT(Message(reader.ToTask(Right::kPull, "u")), HasSubstr("task set task:u"));
  EXPECT_THAT(
      Message(reader.ToRelation(Right::kSample, std::string("\x01") + std::string(9999, 'x'))),
      Not(HasSubstr("\x01")));
}

TEST_F(RightsTest, ATensorOfNoGraphObjectAndARelationsTensorHaveNamesToo) {
  EXPECT_EQ(NameInPolicy({true, "a:b:c", "year"}), "a:b:c/year");
  EXPECT_EQ(NameInPolicy({false, "", "counts"}), "/counts");
}

TEST_F(RightsTest, OthersAreSeenByWhoHasAVerbForThem) {
  const TensorRef emb = {false, "paper", "emb"};
  const TensorRef other = {false, "author", "emb"};
  EXPECT_TRUE(As("reader").Sees(emb));
  EXPECT_FALSE(As("reader").Sees(other));
  EXPECT_TRUE(As("keeper").Sees(other)) << "it has snapshot of everything";
  EXPECT_FALSE(As("guest").Sees(emb));
  EXPECT_TRUE(Access().Sees(other));
  EXPECT_TRUE(As("reader").SeesName("a:b:c"));
  EXPECT_FALSE(As("reader").SeesCallers());
  EXPECT_TRUE(As("keeper").SeesCallers());
  EXPECT_FALSE(As("keeper").SeesEverything());
  EXPECT_TRUE(As("root").SeesEverything());
  EXPECT_TRUE(Access().SeesEverything());
}

TEST_F(RightsTest, ATokenSaysWhoCallsBeforeTheCertificate) {
  const auto with = [](std::string authorization) {
    return CallerFacts{.certificate_names = {"root"},
                       .authorizations = {std::move(authorization)},
                       .is_private = true};
  };
  const StatusOr<Access> access = rights_->Of(with(fmt::format("Bearer {}", kReaderToken)));
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->name(), "reader");
  EXPECT_TRUE(rights_->Of(with(fmt::format("bearer {}", kReaderToken))).ok());
  const std::string wrong = Refused(with("Bearer not-the-token-0001"));
  EXPECT_THAT(wrong, AllOf(HasSubstr("the token is nobody's"), HasSubstr("--token-file"),
                           Not(HasSubstr("not-the-token"))))
      << "a wrong token does not fall back on the certificate";
  EXPECT_THAT(Refused(with("Basic abc")), HasSubstr("Bearer TOKEN"));
  EXPECT_THAT(Refused(with("Bearer ")), HasSubstr("Bearer TOKEN"));
  EXPECT_THAT(Refused(with("")), HasSubstr("Bearer TOKEN"));
}

TEST_F(RightsTest, WhoIsNobodyIsToldHowToBecomeSomebody) {
  EXPECT_THAT(Refused({}), AllOf(HasSubstr("--token-file"), HasSubstr("--tls-cert")));
  EXPECT_THAT(Refused({.certificate_names = {"x", "y"}}),
              AllOf(HasSubstr("the certificate (x, y) is nobody's"), HasSubstr("--policy")));
  EXPECT_THAT(Refused({.authorizations = {"Bearer a", "Bearer b"}, .is_private = true}),
              HasSubstr("send one"));
  const std::string plain = Refused({.authorizations = {fmt::format("Bearer {}", kReaderToken)}});
  EXPECT_THAT(plain, AllOf(HasSubstr("unencrypted"), HasSubstr("make a new one"),
                           Not(HasSubstr(kReaderToken))));
}

TEST_F(RightsTest, CallsAreCountedByWhoCalled) {
  EXPECT_EQ(As("reader").name(), "reader");
  Refused({});
  rights_->CountDenied("reader", Right::kPush);
  const MetricsSnapshot snapshot = metrics_.Take();
  EXPECT_EQ(snapshot.Value("halograph_server_principal_calls_total", {{"principal", "reader"}}), 1);
  ASSERT_NE(snapshot.FindSeries("halograph_server_principal_calls_total", {{"principal", "guest"}}),
            nullptr);
  EXPECT_EQ(snapshot.Value("halograph_server_unauthenticated_total"), 1);
  EXPECT_EQ(snapshot.Value("halograph_server_permission_denied_total",
                           {{"principal", "reader"}, {"verb", "push"}}),
            1);
  EXPECT_EQ(snapshot.Value("halograph_server_policy_stale"), 0);
}

}  // namespace
}  // namespace halograph::server
