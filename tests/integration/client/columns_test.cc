// Column sums and extracted edges of servers: as the kernel gives them over the whole graph,
// however parts, servers, replicas and message limits cut what is asked.
#include <atomic>

#include "client/remote/ask_call.h"
#include "common/graph/partition.h"
#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/kernel/extract_edges.h"
#include "halograph/v1/graph.pb.h"
#include "tests/integration/client/remote_fixture.h"
#include "tests/support/written_graph.h"

namespace halograph {
namespace {

class RemoteColumnsTest : public RemoteStoreTest {
 protected:
  static constexpr int kParts = 4;
  static constexpr int64_t kTiny = 4096;  // bytes of a message

  static void SetUpTestSuite() {
    path_ = WriteGraphInto(&graph_folder_,
                           RandomTypedGraph({.seed = 5, .parts = kParts, .nodes = 1000}));
    auto set = PartitionSet::Open(path_, {}, VerifyLevel::kHeaders);
    ASSERT_TRUE(set.ok()) << set.status();
    whole_ = std::move(*set);
    some_.clear(), others_.clear(), cited_.clear(), authors_.clear();
    cites_ = whole_->schema().RelationIndex("paper:cites:paper").value();
    writes_ = whole_->schema().RelationIndex("author:writes:paper").value();
    const int papers = whole_->schema().DestinationType(cites_);
    for (int64_t id = whole_->schema().node_types[papers].count - 1; id >= 0; --id) {
      (id % 3 == 0 ? some_ : others_).push_back(id);  // descending: in no order of owners
    }
    for (int64_t id = 0; id < NumSources(cites_); id += 3) cited_.push_back(id);
    for (int64_t id = 1; id < NumSources(writes_); id += 2) authors_.push_back(id);
  }
  static void TearDownTestSuite() {
    whole_.reset();
    graph_folder_.reset();
  }

  [[nodiscard]] static int64_t NumSources(int relation) {
    return whole_->schema().node_types[whole_->schema().SourceType(relation)].count;
  }

  // One exchange of all kinds of questions.
  [[nodiscard]] TopologyQuestions Questions() const {
    TopologyQuestions all;
    all.draws.push_back({.relation = cites_, .rule = {.fanout = 3}, .destinations = some_});
    for (const int relation : {cites_, writes_}) {
      all.sums.push_back({.relation = relation, .destinations = some_});
      all.sums.push_back(
          {.relation = relation, .value = ColumnValue::kDegreeShare, .destinations = others_});
      for (int part = 0; part < kParts; ++part) {
        all.sums.push_back(
            {.relation = relation, .page = ColumnGroup::Page{part, {7, NumSources(relation) - 9}}});
      }
    }
    for (int part = 0; part < kParts; ++part) {
      all.sums.push_back({.relation = cites_,
                          .value = ColumnValue::kAsymmetry,
                          .page = ColumnGroup::Page{part, {0, NumSources(cites_)}}});
    }
    all.sums.push_back({.relation = cites_});
    all.edges.push_back({.relation = cites_,
                         .wanted = {.edge_ids = true, .column_degrees = true},
                         .destinations = some_,
                         .columns = cited_});
    all.edges.push_back({.relation = writes_, .destinations = others_, .columns = authors_});
    all.edges.push_back({.relation = cites_, .destinations = some_, .columns = {}});
    all.edges.push_back({.relation = cites_,
                         .wanted = {.column_degrees = true},
                         .destinations = {},
                         .columns = cited_});
    all.edges.push_back({.relation = writes_, .destinations = {}, .columns = {}});
    return all;
  }

  // By the kernel, over the whole graph.
  [[nodiscard]] TopologyAnswers Expected(const TopologyQuestions& questions) const {
    TopologyAnswers answers;
    ColumnWorkspace workspace;
    for (const ColumnGroup& group : questions.sums) {
      ColumnSums& sums = answers.sums.emplace_back();
      if (group.value == ColumnValue::kAsymmetry) {
        const auto sum = SumAsymmetry(Edges(group.relation), group.page->part);
        EXPECT_TRUE(sum.ok() && *sum != 0) << sum.status();
        sums = {{0}, {sum.value_or(0)}};
        continue;
      }
      std::vector<int64_t> owned;
      if (group.page) {
        const IdRange range = whole_->book().NodeRange(
            whole_->schema().DestinationType(group.relation), group.page->part);
        for (int64_t id = range.begin; id < range.end; ++id) owned.push_back(id);
      }
      ColumnSums all;
      EXPECT_TRUE(SumColumns(Edges(group.relation),
                             group.page ? std::span<const int64_t>(owned) : group.destinations,
                             group.value, &workspace, &all)
                      .ok());
      for (size_t i = 0; i < all.sources.size(); ++i) {
        if (group.page && !group.page->sources.contains(all.sources[i])) continue;
        sums.sources.push_back(all.sources[i]);
        sums.sums.push_back(all.sums[i]);
      }
    }
    for (const EdgeGroup& group : questions.edges) {
      EXPECT_TRUE(ExtractEdges(Edges(group.relation), group.destinations, group.columns,
                               group.wanted, &workspace, &answers.edges.emplace_back())
                      .ok());
    }
    return answers;
  }
  [[nodiscard]] ColumnEdges Edges(int relation) const {
    return {.topology = &whole_->topology()[relation],
            .num_sources = NumSources(relation),
            .relation = "a relation"};
  }

  static Status Ask(const RemoteOptions& options, const TopologyQuestions& questions,
                    TopologyAnswers* answers, CallStats* stats = nullptr) {
    auto cluster = Cluster::Connect(options);
    for (int i = 0; i < 100 && absl::IsDeadlineExceeded(cluster.status()); ++i) {
      cluster = Cluster::Connect(options);
    }
    HG_RETURN_IF_ERROR(cluster.status());
    return Ask(cluster->get(), questions, answers, stats);
  }
  static Status Ask(Cluster* cluster, const TopologyQuestions& questions, TopologyAnswers* answers,
                    CallStats* stats = nullptr) {
    CallContext context;
    const Status status = StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
      StartAskRemotely(cluster, questions, inner, answers, std::move(done));
    });
    if (stats != nullptr) *stats = context.stats;
    return status;
  }

  // What a server that changes its replies makes of a question. It forwards to one of all parts.
  using Change = std::function<void(const FakeCall& call, FakeAnswer* answer)>;
  Status AskChanged(const std::string& server, const TopologyQuestions& questions,
                    const Change& change, std::string* address = nullptr, int64_t limit = 0,
                    TopologyAnswers* answers = nullptr) {
    FakeServer fake([&](const FakeCall& call) {
      FakeAnswer answer = Forward(server, call);
      change(call, &answer);
      return answer;
    });
    if (address != nullptr) *address = fake.address();
    RemoteOptions options = Options({fake.address()});
    options.calls_in_flight = 1;  // of several, forwarding would block all of gRPC's threads
    options.plain_ids = true;     // tests change sources32
    if (limit > 0) options.max_message_bytes = limit;
    TopologyAnswers unused;
    return Ask(options, questions, answers != nullptr ? answers : &unused);
  }

  static inline std::unique_ptr<TestFolder> graph_folder_;
  static inline std::filesystem::path path_;
  static inline std::unique_ptr<PartitionSet> whole_;
  static inline int cites_ = 0;
  static inline int writes_ = 0;
  static inline std::vector<int64_t> some_, others_;    // papers
  static inline std::vector<int64_t> cited_, authors_;  // columns
};

TEST_F(RemoteColumnsTest, SumsAndEdgesAreTheKernelsWhateverServersAndLimits) {
  const TopologyQuestions questions = Questions();
  const TopologyAnswers expected = Expected(questions);
  const std::vector<std::vector<std::vector<int>>> layouts = {
      {{}}, {{0, 2}, {1, 3}}, {{0}, {1}, {2}, {3}}, {{0, 1, 2}, {2, 3}, {}, {1}}};
  for (const auto& layout : layouts) {
    for (const auto& [of_server, of_client] :
         {std::pair{4 << 20, int64_t{4 << 20}}, {1 << 16, int64_t{4 << 20}}, {4 << 20, kTiny}}) {
      std::vector<std::unique_ptr<server::Server>> servers;
      std::vector<std::string> addresses;
      for (const std::vector<int>& parts : layout) {
        server::ServerOptions options;
        options.max_message_bytes = of_server;
        servers.push_back(Serve(path_, parts, options));
        addresses.push_back(servers.back()->address());
      }
      RemoteOptions options = Options(addresses);
      options.max_message_bytes = of_client;
      options.plain_ids = layout.size() == 2;  // the others as differences
      // Columns of one group fill a message of this client; so there are fewer.
      TopologyQuestions asked = questions;
      TopologyAnswers wanted = expected;
      if (of_client == kTiny) {
        for (EdgeGroup& group : asked.edges) {
          group.columns = group.columns.first(std::min<size_t>(group.columns.size(), 100));
        }
        wanted = Expected(asked);
      }
      TopologyAnswers found;
      CallStats stats;
      const Status status = Ask(options, asked, &found, &stats);
      ASSERT_TRUE(status.ok()) << ToString(status);
      ASSERT_EQ(found.sums.size(), wanted.sums.size());
      for (size_t g = 0; g < wanted.sums.size(); ++g) {
        EXPECT_TRUE(found.sums[g] == wanted.sums[g]) << g;
      }
      ASSERT_EQ(found.edges.size(), wanted.edges.size());
      for (size_t g = 0; g < wanted.edges.size(); ++g) {
        EXPECT_TRUE(found.edges[g] == wanted.edges[g]) << g;
      }
      EXPECT_EQ(found.draws[0].offsets.size(), some_.size() + 1);
      EXPECT_EQ(stats.rounds, kRoundsOfAnExchange);
      EXPECT_GT(stats.remote_bytes, 0);
    }
  }
}

// The server is of a version before this.
void Forget(std::string_view capability, FakeAnswer* answer) {
  v1::DescribeReply reply;
  EXPECT_TRUE(reply.ParseFromString(answer->bytes));
  auto* known = reply.mutable_capabilities();
  const auto at = std::find(known->begin(), known->end(), capability);
  EXPECT_TRUE(at != known->end()) << capability;
  if (at != known->end()) known->erase(at);
  answer->bytes = reply.SerializeAsString();
}

// What ColumnSums of these questions asked for and got: groups with differences asked for, groups
// with some given, and groups with ids. And groups of Extract with differences.
struct SeenDeltas {
  int columns = 0;
  int asked = 0;
  int given = 0;
  int as_ids = 0;
  int64_t bytes = 0;  // of replies
};

// With and without differences of ids, and between versions of which one knows none, either way.
TEST_F(RemoteColumnsTest, IdsAsDifferencesAreTheSameAnswersWhateverVersionsMeet) {
  const auto server = Serve(path_, {});
  const TopologyQuestions questions = Questions();
  const TopologyAnswers expected = Expected(questions);
  // A client that asks for them or does not, of a server that tells of them or does not, and one
  // that told of them and is back in an older version, which does not know the field.
  struct Case {
    bool client, told, answers;
  };
  std::vector<SeenDeltas> seen;
  for (const Case& c :
       {Case{true, true, true}, {false, true, true}, {true, false, false}, {true, true, false}}) {
    SeenDeltas& of_case = seen.emplace_back();
    FakeServer fake([&](const FakeCall& call) {
      FakeCall forwarded = call;
      if (call.method == "GraphService/ColumnSums") {
        v1::ColumnSumsRequest sums;
        EXPECT_TRUE(sums.ParseFromString(call.request));
        for (v1::ColumnSumsGroup& group : *sums.mutable_groups()) {
          of_case.asked += group.source_deltas() ? 1 : 0;
          if (!c.answers) group.clear_source_deltas();
        }
        forwarded.request = sums.SerializeAsString();
      }
      if (call.method == "GraphService/Extract") {
        v1::ExtractRequest edges;
        EXPECT_TRUE(edges.ParseFromString(call.request));
        for (const v1::ExtractGroup& group : edges.groups()) {
          of_case.columns += group.column_deltas_size() > 0 ? 1 : 0;
        }
      }
      FakeAnswer answer = Forward(server->address(), forwarded);
      if (call.method == "GraphService/Describe" && !c.told) Forget("sample-delta-ids", &answer);
      if (call.method == "GraphService/ColumnSums") {
        v1::ColumnSumsReply reply;
        EXPECT_TRUE(reply.ParseFromString(answer.bytes));
        of_case.bytes += static_cast<int64_t>(answer.bytes.size());
        for (const v1::ColumnSumsGroupReply& group : reply.groups()) {
          of_case.given += group.source_deltas_size() > 0 ? 1 : 0;
          of_case.as_ids += group.sources32_size() > 0 ? 1 : 0;
        }
      }
      return answer;
    });
    RemoteOptions options = Options({fake.address()});
    options.calls_in_flight = 1;
    options.plain_ids = !c.client;
    TopologyAnswers found;
    const Status status = Ask(options, questions, &found);
    ASSERT_TRUE(status.ok()) << ToString(status);
    EXPECT_TRUE(found.sums == expected.sums);
    EXPECT_TRUE(found.edges == expected.edges);
  }
  EXPECT_GT(seen[0].given, 0);
  EXPECT_EQ(seen[0].as_ids, 0);
  EXPECT_EQ(seen[1].asked, 0);
  EXPECT_EQ(seen[2].asked, 0) << "a server that does not tell of it";
  EXPECT_EQ(seen[3].asked, seen[0].asked);
  EXPECT_GT(seen[0].columns, 0);
  EXPECT_EQ(seen[1].columns + seen[2].columns, 0);
  for (size_t i = 1; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].given, 0) << i;
    EXPECT_EQ(seen[i].as_ids, seen[0].given) << i;
    EXPECT_LT(seen[0].bytes, seen[i].bytes) << i;
  }
}

// It does not know the field, and would answer none of the edges: so `columns` is one it refuses.
TEST_F(RemoteColumnsTest, AServerBackInAnOlderVersionRefusesColumnsAsDifferences) {
  const auto server = Serve(path_, {});
  FakeServer fake([&](const FakeCall& call) {
    FakeCall forwarded = call;
    if (call.method == "GraphService/Extract") {
      v1::ExtractRequest edges;
      EXPECT_TRUE(edges.ParseFromString(call.request));
      for (v1::ExtractGroup& group : *edges.mutable_groups()) group.clear_column_deltas();
      forwarded.request = edges.SerializeAsString();
    }
    return Forward(server->address(), forwarded);
  });
  TopologyQuestions edges;
  edges.edges.push_back({.relation = cites_, .destinations = some_, .columns = cited_});
  TopologyAnswers unused;
  ExpectError(Ask(Options({fake.address()}), edges, &unused), absl::StatusCode::kOutOfRange,
              {fake.address(), "column -1 is no source"});
}

TEST_F(RemoteColumnsTest, AReplicaThatIsLostChangesNothing) {
  const auto first = Serve(path_, {});
  auto second = Serve(path_, {0, 1});
  auto third = Serve(path_, {1, 2, 3});
  const auto cluster =
      Cluster::Connect(Hasty({first->address(), second->address(), third->address()}));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  second.reset();
  third.reset();
  const TopologyQuestions questions = Questions();
  const TopologyAnswers expected = Expected(questions);
  TopologyAnswers found;
  const Status status = Ask(cluster->get(), questions, &found);
  ASSERT_TRUE(status.ok()) << ToString(status);
  EXPECT_TRUE(found.sums == expected.sums);
  EXPECT_TRUE(found.edges == expected.edges);
}

// Of as many destinations as `kept`, or other nodes.
void CutReply(int kept, v1::ExtractGroupReply* group) {
  int edges = 0;
  for (int i = 0; i < std::min(kept, group->counts_size()); ++i) {
    edges += static_cast<int>(group->counts(i));
  }
  const auto cut = [](int size, auto* field) { field->Truncate(std::min(size, field->size())); };
  if (group->counts_size() > kept) group->clear_other_degrees();
  cut(kept, group->mutable_counts());
  cut(kept, group->mutable_degrees());
  cut(kept, group->mutable_other_degrees());
  cut(edges, group->mutable_columns());
  cut(edges, group->mutable_edge_ids());
}

// A server's messages may be smaller than it says, and its edges more than are expected.
TEST_F(RemoteColumnsTest, WhatAReplyLeavesOutIsAskedForAgain) {
  const auto server = Serve(path_, {});
  const TopologyQuestions questions = Questions();
  const auto cut = [](const FakeCall& call, FakeAnswer* answer) {
    if (call.method == "GraphService/ColumnSums") {
      v1::ColumnSumsReply reply;
      EXPECT_TRUE(reply.ParseFromString(answer->bytes));
      v1::ColumnSumsGroupReply* group = reply.mutable_groups(0);
      const int kept = group->sums_size() - group->sums_size() / 3;
      group->set_more(kept < group->sums_size());
      group->mutable_sums()->Truncate(kept);
      group->mutable_sources32()->Truncate(kept);
      if (group->more()) reply.mutable_groups()->DeleteSubrange(1, reply.groups_size() - 1);
      answer->bytes = reply.SerializeAsString();
    }
    if (call.method == "GraphService/Extract") {
      v1::ExtractReply reply;
      EXPECT_TRUE(reply.ParseFromString(answer->bytes));
      reply.mutable_groups()->DeleteSubrange(1, reply.groups_size() - 1);
      CutReply(100, reply.mutable_groups(0));
      answer->bytes = reply.SerializeAsString();
    }
  };
  TopologyAnswers found;
  const Status status = AskChanged(server->address(), questions, cut, nullptr, 0, &found);
  ASSERT_TRUE(status.ok()) << ToString(status);
  const TopologyAnswers expected = Expected(questions);
  EXPECT_TRUE(found.sums == expected.sums);
  EXPECT_TRUE(found.edges == expected.edges);
}

TEST_F(RemoteColumnsTest, NothingToAskSendsNothing) {
  const auto server = Serve(path_, {});
  std::atomic<int> calls = 0;
  TopologyQuestions questions;
  questions.sums.push_back({.relation = cites_});
  questions.edges.push_back({.relation = writes_, .destinations = {}, .columns = authors_});
  const Status status =
      AskChanged(server->address(), questions, [&](const FakeCall&, FakeAnswer*) { ++calls; });
  EXPECT_TRUE(status.ok()) << ToString(status);
  EXPECT_EQ(calls, 1) << "Describe";
}

TEST_F(RemoteColumnsTest, AnOlderServerIsRefusedByName) {
  const auto server = Serve(path_, {});
  std::string address;
  const auto forget = [](const FakeCall& call, FakeAnswer* answer) {
    EXPECT_EQ(call.method, "GraphService/Describe");
    v1::DescribeReply reply;
    EXPECT_TRUE(reply.ParseFromString(answer->bytes));
    reply.clear_capabilities();
    answer->bytes = reply.SerializeAsString();
  };
  TopologyQuestions sums, edges;
  sums.sums.push_back({.relation = cites_, .destinations = some_});
  edges.edges.push_back({.relation = cites_, .destinations = some_, .columns = cited_});
  for (const TopologyQuestions& questions : {sums, edges}) {
    const Status status = AskChanged(server->address(), questions, forget, &address);
    ExpectError(status, absl::StatusCode::kFailedPrecondition,
                {address, "older version", "layer-wise samplers"});
  }
}

TEST_F(RemoteColumnsTest, ColumnsBeyondAMessageAreRefusedBeforeAnythingIsSent) {
  const auto server = Serve(path_, {});
  std::atomic<int> calls = 0;
  TopologyQuestions questions;
  questions.edges.push_back({.relation = cites_, .destinations = some_, .columns = cited_});
  const Status status = AskChanged(
      server->address(), questions, [&](const FakeCall&, FakeAnswer*) { ++calls; }, nullptr, kTiny);
  ExpectError(status, absl::StatusCode::kResourceExhausted,
              {std::to_string(cited_.size()) + " drawn nodes", "--max-message-bytes"});
  EXPECT_EQ(calls, 1) << "Describe";
  TopologyQuestions other_type;
  other_type.edges.push_back({.relation = writes_,
                              .wanted = {.column_degrees = true},
                              .destinations = some_,
                              .columns = authors_});
  ExpectError(AskChanged(server->address(), other_type, [](const FakeCall&, FakeAnswer*) {}),
              absl::StatusCode::kInvalidArgument, {"author:writes:paper", "another type"});
}

// Nothing that a server says leads out of an array.
TEST_F(RemoteColumnsTest, RepliesThatDoNotFitAreDataLossNamingTheServer) {
  const auto server = Serve(path_, {});
  TopologyQuestions sums, edges;
  sums.sums.push_back({.relation = cites_, .destinations = some_});
  edges.edges.push_back(
      {.relation = cites_, .wanted = {.edge_ids = true}, .destinations = some_, .columns = cited_});
  using SumsGroup = v1::ColumnSumsGroupReply;
  const std::vector<std::function<void(v1::ColumnSumsReply*, SumsGroup*)>> of_sums = {
      [](auto*, auto* group) { group->add_sums(1); },
      [](auto*, auto* group) { group->set_sums(0, 0); },
      [](auto*, auto* group) { group->set_sources32(1, group->sources32(0)); },
      [](auto*, auto* group) { group->set_sources32(group->sums_size() - 1, 1 << 30); },
      [](auto*, auto* group) { *group = {}, group->set_more(true); },
      [](auto* reply, auto*) { reply->clear_groups(); },
      [](auto* reply, auto*) { reply->add_groups(); }};
  std::string address;
  for (size_t i = 0; i < of_sums.size(); ++i) {
    const auto change = [&](const FakeCall& call, FakeAnswer* answer) {
      if (call.method != "GraphService/ColumnSums") return;
      v1::ColumnSumsReply reply;
      EXPECT_TRUE(reply.ParseFromString(answer->bytes));
      of_sums[i](&reply, reply.mutable_groups(0));
      answer->bytes = reply.SerializeAsString();
    };
    const Status status = AskChanged(server->address(), sums, change, &address);
    ExpectError(status, absl::StatusCode::kDataLoss, {address + ": GraphService/ColumnSums"});
  }
  // An asymmetry is one sum, of the first source.
  TopologyQuestions asymmetry;
  asymmetry.sums.push_back({.relation = cites_,
                            .value = ColumnValue::kAsymmetry,
                            .page = ColumnGroup::Page{0, {0, NumSources(cites_)}}});
  for (const bool second : {false, true}) {
    const auto change = [&](const FakeCall& call, FakeAnswer* answer) {
      if (call.method != "GraphService/ColumnSums") return;
      v1::ColumnSumsReply reply;
      EXPECT_TRUE(reply.ParseFromString(answer->bytes));
      reply.mutable_groups(0)->set_sources32(0, second ? 1 : 0);
      reply.mutable_groups(0)->set_more(!second);
      answer->bytes = reply.SerializeAsString();
    };
    const Status status = AskChanged(server->address(), asymmetry, change, &address);
    ExpectError(status, absl::StatusCode::kDataLoss, {address + ": GraphService/ColumnSums"});
  }
  using EdgesGroup = v1::ExtractGroupReply;
  const std::vector<std::function<void(v1::ExtractReply*, EdgesGroup*)>> of_edges = {
      [](auto*, auto* group) { group->add_counts(0); },
      [](auto*, auto* group) { group->add_degrees(0); },
      [](auto*, auto* group) { group->set_counts(0, group->counts(0) + 1); },
      [&](auto*, auto* group) { group->set_columns(0, static_cast<uint32_t>(cited_.size())); },
      [](auto*, auto* group) { group->set_edge_ids(0, UINT64_MAX); },
      [](auto*, auto* group) { group->clear_edge_ids(); },
      [](auto*, auto* group) { group->set_degrees(0, UINT64_MAX); },
      [](auto*, auto* group) { group->add_other_degrees(1); },
      [](auto*, auto* group) { *group = {}; },
      [](auto* reply, auto*) { reply->clear_groups(); },
      [](auto* reply, auto*) { reply->add_groups(); }};
  for (size_t i = 0; i < of_edges.size(); ++i) {
    const auto change = [&](const FakeCall& call, FakeAnswer* answer) {
      if (call.method != "GraphService/Extract") return;
      v1::ExtractReply reply;
      EXPECT_TRUE(reply.ParseFromString(answer->bytes));
      of_edges[i](&reply, reply.mutable_groups(0));
      answer->bytes = reply.SerializeAsString();
    };
    const Status status = AskChanged(server->address(), edges, change, &address);
    ExpectError(status, absl::StatusCode::kDataLoss, {address + ": GraphService/Extract"});
  }
}

}  // namespace
}  // namespace halograph
