// The services as generated stubs see them: every value right, and the bytes written by hand
// those that generated code writes.
#include <cstring>
#include <map>

#include <grpcpp/client_context.h>

#include "common/graph/tensor_ref.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/request.h"
#include "common/state/import_mark.h"
#include "halograph/v1/admin.grpc.pb.h"
#include "halograph/v1/graph.grpc.pb.h"
#include "halograph/v1/kv.grpc.pb.h"
#include "server/convert.h"
#include "server/messages.h"
#include "server/stats_message.h"
#include "tests/integration/server/server_fixture.h"

namespace halograph::server {
namespace {

class ServicesTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerOptions options = Options();
    options.parts = {0, 2};
    Start(options);
    graph_ = v1::GraphService::NewStub(channel_);
    kv_ = v1::KVService::NewStub(channel_);
    admin_ = v1::AdminService::NewStub(channel_);
  }
  int NodeType(const char* name) const { return local_->schema().NodeTypeIndex(name).value(); }

  v1::SampleRequest LayerRequest(int32_t fanout) const {
    v1::SampleRequest request;
    request.set_batch_seed(99);
    request.set_layer(1);
    for (const char* relation : {"paper:cites:paper", "author:writes:paper"}) {
      v1::SampleGroup* group = request.add_groups();
      group->set_relation(relation);
      group->set_fanout(fanout);
      for (const int part : {2, 0}) {
        const IdRange range = local_->book().NodeRange(NodeType("paper"), part);
        for (int64_t id = range.begin; id < range.end; ++id) group->add_destinations(id);
      }
    }
    return request;
  }

  std::unique_ptr<v1::GraphService::Stub> graph_;
  std::unique_ptr<v1::KVService::Stub> kv_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  grpc::ClientContext context_;
};

TEST_F(ServicesTest, DescribeTellsTheWholeSchemaAndBook) {
  v1::DescribeReply reply;
  const grpc::Status status = graph_->Describe(&context_, {}, &reply);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.identity(), local_->identity());
  EXPECT_EQ(reply.sampling_contract(), kSamplingContract);
  EXPECT_EQ(reply.max_message_bytes(), 4194304);
  ASSERT_EQ(reply.parts_size(), 2);
  EXPECT_EQ(reply.parts(1), 2U);
  const Schema& schema = local_->schema();
  ASSERT_EQ(reply.schema().node_types_size(), static_cast<int>(schema.node_types.size()));
  ASSERT_EQ(reply.schema().relations_size(), static_cast<int>(schema.relations.size()));
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    const v1::Relation& relation = reply.schema().relations(static_cast<int>(r));
    EXPECT_EQ(relation.source() + ":" + relation.name() + ":" + relation.destination(),
              schema.relations[r].triple());
    EXPECT_EQ(relation.count(), schema.relations[r].count);
  }
  const int paper = NodeType("paper");
  const v1::NodeType& type = reply.schema().node_types(paper);
  EXPECT_EQ(type.count(), 200);
  ASSERT_EQ(type.features_size(), 2);
  EXPECT_EQ(type.features(0).name(), "feat");
  EXPECT_EQ(type.features(0).dtype(), v1::DTYPE_FLOAT32);
  EXPECT_EQ(type.features(0).dim(), 100);
  const auto boundaries = local_->book().NodeBoundaries(paper);
  EXPECT_EQ(std::vector<int64_t>(reply.book().nodes(paper).values().begin(),
                                 reply.book().nodes(paper).values().end()),
            std::vector<int64_t>(boundaries.begin(), boundaries.end()));
  ASSERT_EQ(reply.schema().tasks_size(), 2);
  EXPECT_EQ(reply.schema().tasks(0).metadata_json(), R"({"num_classes":3})");
  EXPECT_GT(reply.capabilities_size(), 0);
  // Of every set, in both parts.
  int row = 0;
  for (const v1::Task& task : reply.schema().tasks()) {
    for (const v1::TaskSetSpec& set : task.sets()) {
      for (const uint32_t part : {0, 2}) {
        ASSERT_LT(row, reply.task_rows_size());
        const v1::TaskRows& rows = reply.task_rows(row++);
        EXPECT_EQ(rows.task(), task.name());
        EXPECT_EQ(rows.set(), set.set());
        EXPECT_EQ(rows.type(), set.type());
        EXPECT_EQ(rows.part(), part);
        const TaskSetIndex index =
            FindTaskSet(schema, rows.task(), rows.set(), rows.type()).value();
        EXPECT_EQ(rows.rows(),
                  local_->Find(static_cast<int>(part))->TaskArray(index.task, index.set, 0).rows());
      }
    }
  }
  EXPECT_EQ(row, reply.task_rows_size());
}

TEST_F(ServicesTest, PulledRowsAndBytesAreThoseOfGeneratedCode) {
  v1::PullRequest request;
  request.set_type("paper");
  request.set_name("feat");
  const int paper = NodeType("paper");
  for (const int part : {2, 0}) {
    request.add_ids(local_->book().NodeRange(paper, part).begin);
    request.add_ids(local_->book().NodeRange(paper, part).end - 1);
  }
  v1::PullReply reply;
  const grpc::Status status = kv_->Pull(&context_, request, &reply);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.dtype(), v1::DTYPE_FLOAT32);
  EXPECT_EQ(std::vector<int64_t>(reply.shape().begin(), reply.shape().end()),
            (std::vector<int64_t>{4, 100}));
  const ResolvedTensor tensor =
      ResolveTensor(local_->schema(), {.edge = false, .type = "paper", .name = "feat"}).value();
  std::string expected;
  for (const uint64_t id : request.ids()) {
    const int owner = local_->book().NodeOwner(paper, static_cast<int64_t>(id));
    const TensorRows rows = RowsOf(*local_->Find(owner), tensor);
    const auto row = rows.bytes.subspan((id - rows.ids.begin) * 400, 400);
    expected.append(reinterpret_cast<const char*>(row.data()), row.size());
  }
  EXPECT_EQ(reply.rows(), expected);
  EXPECT_EQ(RawCall(channel_, kPull, request.SerializeAsString()).bytes, reply.SerializeAsString());
  request.clear_ids();
  const RawReply empty = RawCall(channel_, kPull, request.SerializeAsString());
  ASSERT_TRUE(reply.ParseFromString(empty.bytes));
  EXPECT_EQ(reply.shape(0), 0);
  EXPECT_TRUE(reply.rows().empty());
}

TEST_F(ServicesTest, UnpackedIdsAndUnknownFieldsAreRead) {
  const int64_t id = local_->book().NodeRange(NodeType("paper"), 0).begin;
  std::string request = "\x12\x05paper\x1a\x04year";
  for (int i = 0; i < 2; ++i) {
    request += '\x21';
    request.append(reinterpret_cast<const char*>(&id), sizeof(id));
  }
  request += std::string("\x78\x05\x72\x03xyz", 7);  // fields 15 and 14
  const RawReply raw = RawCall(channel_, kPull, request);
  ASSERT_TRUE(raw.status.ok()) << raw.status.error_message();
  v1::PullReply reply;
  ASSERT_TRUE(reply.ParseFromString(raw.bytes));
  EXPECT_EQ(reply.shape(0), 2);
}

TEST_F(ServicesTest, SampledSourcesAndBytesAreThoseOfGeneratedCode) {
  for (const int32_t fanout : {3, -1, 0}) {
    const v1::SampleRequest request = LayerRequest(fanout);
    const RawReply raw = RawCall(channel_, kSample, request.SerializeAsString());
    ASSERT_TRUE(raw.status.ok()) << raw.status.error_message();
    v1::SampleReply reply;
    ASSERT_TRUE(reply.ParseFromString(raw.bytes));
    EXPECT_EQ(reply.SerializeAsString(), raw.bytes);
    ASSERT_EQ(reply.groups_size(), 2);
    for (int g = 0; g < 2; ++g) {
      const int relation = local_->schema().RelationIndex(request.groups(g).relation()).value();
      const std::vector<int64_t> destinations(request.groups(g).destinations().begin(),
                                              request.groups(g).destinations().end());
      NeighborPicks picks;
      const auto draws = MakeLayerDraws(
          local_->topology()[relation], {.fanout = fanout},
          LayerKey(99, 1, static_cast<int>(local_->schema().relations.size()), relation));
      ASSERT_TRUE(draws.ok()) << draws.status();
      const FusedOutcome outcome = SampleNeighbors(*draws, destinations, nullptr, &picks);
      EXPECT_TRUE(outcome.done());
      const auto& sources = reply.groups(g).sources32();
      EXPECT_EQ(std::vector<int64_t>(sources.begin(), sources.end()), picks.sources);
      EXPECT_EQ(reply.groups(g).counts_size(), static_cast<int>(destinations.size()));
    }
  }
}

TEST_F(ServicesTest, EdgeIdsAndBytesAreThoseOfGeneratedCodeAndChangeNoSource) {
  v1::SampleRequest request = LayerRequest(3);
  v1::SampleReply plain;
  ASSERT_TRUE(plain.ParseFromString(RawCall(channel_, kSample, request.SerializeAsString()).bytes));
  request.mutable_groups(1)->set_edge_ids(true);
  request.mutable_groups(1)->set_batch_seed(99);
  request.set_batch_seed(1);
  request.mutable_groups(0)->set_batch_seed(99);
  const RawReply raw = RawCall(channel_, kSample, request.SerializeAsString());
  ASSERT_TRUE(raw.status.ok()) << raw.status.error_message();
  v1::SampleReply reply;
  ASSERT_TRUE(reply.ParseFromString(raw.bytes));
  EXPECT_EQ(reply.SerializeAsString(), raw.bytes);
  ASSERT_EQ(reply.groups_size(), 2);
  EXPECT_EQ(reply.groups(0).edge_ids_size(), 0);
  ASSERT_GT(reply.groups(1).sources32_size(), 0);
  EXPECT_EQ(reply.groups(1).edge_ids_size(), reply.groups(1).sources32_size());
  reply.mutable_groups(1)->clear_edge_ids();
  EXPECT_EQ(reply.SerializeAsString(), plain.SerializeAsString());
}

TEST_F(ServicesTest, TaskSetPagesAndBytesAreThoseOfGeneratedCode) {
  ServerOptions options = Options();
  options.max_message_bytes = 64 << 10;
  Start(options);
  v1::ReadTaskSetRequest request;
  request.set_task("link_prediction");
  request.set_set("train");
  request.set_type("paper:cites:paper");
  request.set_part(1);
  const RawReply raw = RawCall(channel_, kReadTaskSet, request.SerializeAsString());
  ASSERT_TRUE(raw.status.ok()) << raw.status.error_message();
  EXPECT_EQ(RawCall(channel_, kGraphReadTaskSet, request.SerializeAsString()).bytes, raw.bytes);
  v1::ReadTaskSetReply reply;
  ASSERT_TRUE(reply.ParseFromString(raw.bytes));
  EXPECT_EQ(reply.SerializeAsString(), raw.bytes);
  ASSERT_EQ(reply.arrays_size(), 2);
  EXPECT_EQ(reply.arrays(0).name(), "seeds");
  EXPECT_EQ(reply.arrays(0).shape_size(), 2);
  EXPECT_EQ(reply.arrays(1).shape_size(), 1);
  EXPECT_EQ(reply.rows(), reply.total_rows());
  const auto seeds = local_->Find(1)->TaskArray(1, 0, 0).data();
  EXPECT_EQ(reply.arrays(0).data(),
            std::string(reinterpret_cast<const char*>(seeds.data()), seeds.size()));
  request.set_first_row(2);
  request.set_max_rows(3);
  ASSERT_TRUE(
      reply.ParseFromString(RawCall(channel_, kReadTaskSet, request.SerializeAsString()).bytes));
  EXPECT_EQ(reply.rows(), 3);
  const auto range = seeds.subspan(2 * 16, 3 * 16);
  EXPECT_EQ(reply.arrays(0).data(),
            std::string(reinterpret_cast<const char*>(range.data()), range.size()));
}

TEST_F(ServicesTest, TopologyRangesAndBytesAreThoseOfGeneratedCode) {
  const std::string path = EdgeFolder("paper:cites:paper") + "/indices.npy";
  const auto file = MappedFile::Open(graph_folder_ / "part-0002" / path);
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string bytes(reinterpret_cast<const char*>(file->bytes().data()),
                          file->bytes().size());
  v1::ReadTopologyRequest request;
  request.set_part(2);
  request.set_path(path);
  request.set_offset(7);
  for (const int64_t length : {0, 100}) {
    request.set_length(length);
    const RawReply raw = RawCall(channel_, kReadTopology, request.SerializeAsString());
    ASSERT_TRUE(raw.status.ok()) << raw.status.error_message();
    v1::ReadTopologyReply reply;
    ASSERT_TRUE(reply.ParseFromString(raw.bytes));
    EXPECT_EQ(reply.SerializeAsString(), raw.bytes);
    EXPECT_EQ(reply.file_bytes(), static_cast<int64_t>(bytes.size()));
    EXPECT_EQ(reply.data(), bytes.substr(7, length == 0 ? std::string::npos : length));
  }
  request.set_offset(static_cast<int64_t>(bytes.size()));
  request.set_length(0);
  const RawReply end = RawCall(channel_, kReadTopology, request.SerializeAsString());
  v1::ReadTopologyReply reply;
  ASSERT_TRUE(reply.ParseFromString(end.bytes));
  EXPECT_TRUE(reply.data().empty());
}

// Requests of ids may be as large as messages: 64 KiB are not the limit.
TEST_F(ServicesTest, ColumnSumsAndEdgesAreThoseOfGeneratedCode) {
  const int cites = local_->schema().RelationIndex("paper:cites:paper").value();
  const IdRange papers = local_->book().NodeRange(NodeType("paper"), 2);
  std::map<int64_t, uint64_t> expected;
  const CscSegment& segment = local_->parts()[2]->Edges(cites);
  const int64_t edges = segment.indptr[segment.nodes.size()];
  for (int64_t e = 0; e < edges; ++e) ++expected[segment.Source(e)];
  v1::ColumnSumsRequest sums;
  v1::ColumnSumsGroup* group = sums.add_groups();
  group->set_relation("paper:cites:paper");
  for (int64_t id = papers.begin; id < papers.end; ++id) {
    group->add_destinations(static_cast<uint64_t>(id));
  }
  constexpr int kMore = 3000;
  for (int i = 0; i < kMore; ++i) {
    group = sums.add_groups();
    group->set_relation("paper:cites:paper");
    group->add_destinations(static_cast<uint64_t>(papers.begin));
  }
  ASSERT_GT(sums.ByteSizeLong(), size_t{64 << 10});
  const RawReply raw = RawCall(channel_, kColumnSums, sums.SerializeAsString());
  ASSERT_TRUE(raw.status.ok()) << raw.status.error_message();
  v1::ColumnSumsReply reply;
  ASSERT_TRUE(reply.ParseFromString(raw.bytes));
  EXPECT_EQ(reply.SerializeAsString(), raw.bytes);
  ASSERT_EQ(reply.groups_size(), 1 + kMore);
  std::map<int64_t, uint64_t> found;
  for (int i = 0; i < reply.groups(0).sums_size(); ++i) {
    found[reply.groups(0).sources32(i)] = reply.groups(0).sums(i);
  }
  EXPECT_EQ(found, expected);

  v1::ExtractRequest extract;
  v1::ExtractGroup* wanted = extract.add_groups();
  wanted->set_relation("paper:cites:paper");
  *wanted->mutable_destinations() = sums.groups(0).destinations();
  for (const auto& [source, sum] : expected) wanted->add_columns(static_cast<uint64_t>(source));
  wanted->set_edge_ids(true);
  const RawReply raw_edges = RawCall(channel_, kExtract, extract.SerializeAsString());
  ASSERT_TRUE(raw_edges.status.ok()) << raw_edges.status.error_message();
  v1::ExtractReply all;
  ASSERT_TRUE(all.ParseFromString(raw_edges.bytes));
  EXPECT_EQ(all.SerializeAsString(), raw_edges.bytes);
  ASSERT_EQ(all.groups_size(), 1);
  ASSERT_EQ(all.groups(0).edge_ids_size(), edges);
  for (int e = 0; e < edges; ++e) {
    EXPECT_EQ(all.groups(0).edge_ids(e), static_cast<uint64_t>(segment.first_edge + e));
    const auto column = static_cast<int>(all.groups(0).columns(e));
    EXPECT_EQ(wanted->columns(column), static_cast<uint64_t>(segment.Source(e)));
  }
}

TEST_F(ServicesTest, ServerOfFeaturesNeedsNoFileOfTheTopologyAndPullsAllTheSame) {
  const std::filesystem::path copy = folder_->path() / "features";
  std::filesystem::copy(graph_folder_, copy, std::filesystem::copy_options::recursive);
  for (const Relation& relation : local_->schema().relations) {
    for (const char* file : {"indptr.npy", "indices.npy"}) {
      ASSERT_TRUE(
          std::filesystem::remove(copy / "part-0002" / EdgeFolder(relation.triple()) / file));
    }
  }
  ServerOptions options = Options();
  options.graph = copy;
  options.parts = {2};
  EXPECT_EQ(Server::Start(options).status().code(), absl::StatusCode::kNotFound);
  options.contents.topology = false;
  Start(options);
  v1::DescribeReply description;
  ASSERT_TRUE(description.ParseFromString(RawCall(channel_, kDescribe, "").bytes));
  EXPECT_EQ(std::vector<std::string>(description.serving().begin(), description.serving().end()),
            (std::vector<std::string>{"features", "tasks"}));
  v1::StatsReply stats;
  ASSERT_TRUE(stats.ParseFromString(RawCall(channel_, kStats, "").bytes));
  EXPECT_EQ(stats.serving(), "features,tasks");
  v1::PullRequest pull;
  pull.set_type("paper");
  pull.set_name("feat");
  pull.add_ids(local_->book().NodeRange(NodeType("paper"), 2).begin);
  EXPECT_TRUE(RawCall(channel_, kPull, pull.SerializeAsString()).status.ok());
  v1::ReadTopologyRequest read;
  read.set_part(2);
  read.set_path("manifest.json");
  for (const auto& [method, request] : {std::pair{kSample, LayerRequest(2).SerializeAsString()},
                                        {kReadTopology, read.SerializeAsString()},
                                        {kColumnSums, std::string()},
                                        {kExtract, std::string()}}) {
    const grpc::Status status = RawCall(channel_, method, request).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_NE(status.error_message().find("--serve all"), std::string::npos);
  }
}

TEST_F(ServicesTest, StatisticsHaveListsOnlyWithMetrics) {
  EXPECT_TRUE(RawCall(channel_, kPull, "").status.error_code() != grpc::StatusCode::OK);
  v1::StatsRequest request;
  v1::StatsReply plain, whole;
  ASSERT_TRUE(plain.ParseFromString(RawCall(channel_, kStats, "").bytes));
  request.set_metrics(true);
  ASSERT_TRUE(whole.ParseFromString(RawCall(channel_, kStats, request.SerializeAsString()).bytes));
  EXPECT_EQ(plain.clients(), 1);
  EXPECT_EQ(plain.client_list_size(), 0);
  EXPECT_EQ(plain.metrics_size(), 0);
  EXPECT_EQ(whole.client_list_size(), 1);
  EXPECT_GT(whole.metrics_size(), 20);
  EXPECT_EQ(whole.left_out_size(), 0);
}

// What a snapshot of many figures says in a message of so many bytes.
v1::StatsReply ToldIn(const ServerSnapshot& snapshot, int64_t max_bytes) {
  auto bytes = ToStatsReply(snapshot, max_bytes);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  v1::StatsReply reply;
  if (!bytes.ok()) return reply;
  EXPECT_LE(static_cast<int64_t>(bytes->Length()), max_bytes);
  EXPECT_TRUE(Parse(&*bytes, &reply).ok());
  return reply;
}

TEST(StatsMessageTest, WhatDoesNotFitIsLeftOutAndNamed) {
  ServerSnapshot snapshot;
  const auto add = [&snapshot](const std::string& name, int series) {
    FamilySnapshot& family = snapshot.metrics.families.emplace_back();
    family.name = name;
    for (int s = 0; s < series; ++s) {
      family.series.push_back({.labels = {{"tensor", std::to_string(s) + std::string(40, 'x')}},
                               .value = 1,
                               .histogram = {}});
    }
  };
  add("halograph_few", 3);
  add("halograph_many", 4000);
  add("halograph_last", 3);
  snapshot.latest_clients.resize(256);
  for (auto& client : snapshot.latest_clients) client.host = std::string(200, 'h');
  EXPECT_EQ(ToldIn(snapshot, 4 << 20).left_out_size(), 0);

  const v1::StatsReply without_one = ToldIn(snapshot, 128 << 10);
  ASSERT_EQ(without_one.left_out_size(), 1);
  EXPECT_EQ(without_one.left_out(0), "metric halograph_many (4000 series)");
  ASSERT_EQ(without_one.metrics_size(), 2);
  EXPECT_EQ(without_one.metrics(0).name(), "halograph_few");
  EXPECT_EQ(without_one.metrics(1).name(), "halograph_last");
  EXPECT_EQ(without_one.client_list_size(), 256);

  const v1::StatsReply without_lists = ToldIn(snapshot, 20 << 10);
  EXPECT_EQ(without_lists.client_list_size(), 0);
  EXPECT_EQ(without_lists.left_out(without_lists.left_out_size() - 1), "clients (256)");
  EXPECT_TRUE(absl::IsResourceExhausted(ToStatsReply(snapshot, 100).status()));
}

// Two parts of so many tensors, an import's mark last, with a metric and clients.
ServerSnapshot ManyTensors(int tensors) {
  ServerSnapshot snapshot;
  FamilySnapshot& family = snapshot.metrics.families.emplace_back();
  family.name = "halograph_few";
  family.series.emplace_back();
  snapshot.latest_clients.resize(3);
  for (const int part : {0, 1}) {
    StateStats& state = snapshot.state[part];
    state.lsn = 7;
    for (int i = 0; i < tensors; ++i) {
      state.tensors.emplace_back().spec.ref = {
          .type = "node", .name = fmt::format("{:05}", i) + std::string(200, 'x')};
    }
    state.tensors.emplace_back().spec = ImportMarkSpec(state.tensors[0].spec.ref, 2);
  }
  return snapshot;
}

// A state of many tensors costs neither metrics nor the other lists, nor the parts' own figures.
TEST(StatsMessageTest, TensorsThatDoNotFitAreLeftOutAndCounted) {
  const ServerSnapshot snapshot = ManyTensors(200);
  EXPECT_EQ(ToldIn(snapshot, 1 << 20).tensors_left_out(), 0);
  const v1::StatsReply reply = ToldIn(snapshot, 64 << 10);
  EXPECT_EQ(reply.metrics_size(), 1);
  EXPECT_EQ(reply.client_list_size(), 3);
  EXPECT_EQ(reply.left_out_size(), 0);
  ASSERT_EQ(reply.state_size(), 2);
  int64_t told = 0;
  for (const v1::PartState& part : reply.state()) {
    EXPECT_EQ(part.lsn(), 7);
    ASSERT_GT(part.tensors_size(), 50);
    EXPECT_EQ(part.tensors(0).spec().name().substr(0, 5), "00000");
    EXPECT_EQ(part.tensors(1).spec().name().substr(0, 5), "00001");
    EXPECT_TRUE(part.tensors(part.tensors_size() - 1).spec().name().starts_with("import-mark-"));
    told += part.tensors_size();
  }
  EXPECT_EQ(told + reply.tensors_left_out(), 402);
  EXPECT_GT(static_cast<int64_t>(reply.ByteSizeLong()), 56 << 10) << "no more than need be";
}

// Also where the tensors that stay fill the message to the last byte.
TEST(StatsMessageTest, TensorsThatAreLeftOutDriveOutNothingInMessagesOfAnySize) {
  const ServerSnapshot snapshot = ManyTensors(200);
  for (int64_t more = 0; more < 512; ++more) {
    const v1::StatsReply reply = ToldIn(snapshot, (64 << 10) + more);
    EXPECT_EQ(reply.state_size(), 2) << more;
    EXPECT_EQ(reply.left_out_size(), 0) << more;
  }
}

TEST(StatsMessageTest, MetricsDoNotDriveOutAFewTensors) {
  ServerSnapshot snapshot = ManyTensors(20);
  FamilySnapshot& family = snapshot.metrics.families.emplace_back();
  family.name = "halograph_many";
  for (int s = 0; s < 4000; ++s) {
    family.series.push_back(
        {.labels = {{"tensor", std::to_string(s)}}, .value = 1, .histogram = {}});
  }
  const v1::StatsReply reply = ToldIn(snapshot, 64 << 10);
  EXPECT_EQ(reply.tensors_left_out(), 0);
  ASSERT_EQ(reply.left_out_size(), 1);
  EXPECT_EQ(reply.left_out(0), "metric halograph_many (4000 series)");
}

TEST(StatsMessageTest, MethodsOfTheLastMinuteDoNotDriveOutTheStateOfParts) {
  ServerSnapshot snapshot = ManyTensors(200);
  for (MethodSnapshot& method : snapshot.recent.methods) method.seconds.counts.assign(300, 7);
  const v1::StatsReply reply = ToldIn(snapshot, 64 << 10);
  ASSERT_EQ(reply.left_out_size(), 1);
  EXPECT_THAT(reply.left_out(0), testing::StartsWith("methods of the last minute"));
  ASSERT_EQ(reply.state_size(), 2);
  EXPECT_GT(reply.state(0).tensors_size(), 20);
}

// What is not told for want of a whole list's room is counted, too.
TEST(StatsMessageTest, TensorsOfAListThatIsLeftOutAreCounted) {
  const ServerSnapshot snapshot = ManyTensors(200);
  const v1::StatsReply reply = ToldIn(snapshot, 10 << 10);
  int64_t told = 0;
  for (const v1::PartState& part : reply.state()) told += part.tensors_size();
  EXPECT_EQ(told + reply.tensors_left_out(), 402);
}

TEST(StatsMessageTest, TheStateOfPartsIsLeftOutWhereNothingElseIsLeft) {
  ServerSnapshot snapshot;
  for (int part = 0; part < 2000; ++part) snapshot.state[part].lsn = 7;
  const v1::StatsReply reply = ToldIn(snapshot, 16 << 10);
  EXPECT_EQ(reply.state_size(), 0);
  EXPECT_THAT(reply.left_out(), testing::Contains("state of parts (2000)"));
}

TEST(StatsMessageTest, ThePageStatusTellsWhatItLeavesOut) {
  const auto whole = ToStatusJson(ManyTensors(200), 1 << 20);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ((*whole)["tensors_left_out"], "0");
  const auto cut = ToStatusJson(ManyTensors(200), 64 << 10);
  ASSERT_TRUE(cut.ok()) << cut.status();
  const auto told = (*cut)["state"][0]["tensors"].size() + (*cut)["state"][1]["tensors"].size();
  EXPECT_EQ((*cut)["tensors_left_out"], std::to_string(402 - told));
  EXPECT_GT(told, 100U);
}

// What another server told in few bytes may take much memory here.
TEST(StatsMessageTest, TensorsThatTakeTooMuchMemoryAreLeftOutOfWhatOthersTold) {
  v1::StatsReply reply;
  v1::PartState* const state = reply.add_state();
  for (int i = 0; i < 100'000; ++i) state->add_tensors()->mutable_spec()->mutable_optimizer();
  const auto read = ReadStatsReply(reply.SerializeAsString());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)["tensors_left_out"], "100000");
}

// Lists lie in the memory of replies, as long as they are not read.
TEST(ReplyMemoryTest, ListsCountInTheMemoryOfReplies) {
  const ServerSnapshot snapshot = ManyTensors(1000);
  const TensorPage page{.parts = snapshot.state, .next = ""};
  const auto pool = BufferPool::Create(3 << 19);
  std::vector<grpc::ByteBuffer> unread(4);
  ReplyMemory memory(pool.get(), "a");
  ASSERT_TRUE(WriteListTensorsReply(page, 1 << 20, memory, &unread[0]).ok());
  const auto bytes = static_cast<int64_t>(unread[0].Length());
  EXPECT_GE(pool->usage().in_use_bytes, bytes);
  EXPECT_TRUE(absl::IsUnavailable(WriteListTensorsReply(page, 1 << 20, memory, &unread[1])));
  EXPECT_EQ(memory.missing_bytes(), static_cast<size_t>(bytes)) << "the call waits for room";
  SnapshotInfo info{.name = "kept"};
  for (const auto& tensor : snapshot.state.at(0).tensors) info.tensors.push_back(tensor.spec);
  const SnapshotsPage snapshots{.parts = {{0, {info, info}}}, .next = ""};
  EXPECT_TRUE(absl::IsUnavailable(WriteListSnapshotsReply(snapshots, 1 << 20, memory, &unread[1])));
  EXPECT_TRUE(absl::IsResourceExhausted(WriteListTensorsReply(page, 10'000, memory, &unread[1])));
  // Statistics are told all the same.
  ASSERT_TRUE(WriteStatsReply(snapshot, 1 << 20, memory, &unread[1]).ok());
  v1::StatsReply stats;
  ASSERT_TRUE(Parse(&unread[1], &stats).ok());
  EXPECT_EQ(stats.tensors_left_out(), 2002);
  EXPECT_EQ(stats.metrics_size(), 1);
  unread[0].Clear();  // read
  EXPECT_EQ(pool->usage().in_use_bytes, 0);
  ASSERT_TRUE(WriteListSnapshotsReply(snapshots, 1 << 20, memory, &unread[2]).ok());
  unread[2].Clear();
  ASSERT_TRUE(WriteStatsReply(snapshot, 1 << 20, memory, &unread[3]).ok());
  EXPECT_GE(pool->usage().in_use_bytes, static_cast<int64_t>(unread[3].Length()));
  ASSERT_TRUE(Parse(&unread[3], &stats).ok());
  EXPECT_EQ(stats.tensors_left_out(), 0);
}

TEST_F(ServicesTest, AStatsRequestSaysHowLargeItsReplyMayBe) {
  v1::StatsRequest request;
  request.set_metrics(true);
  request.set_max_bytes(16 << 10);
  const std::string bytes = RawCall(channel_, kStats, request.SerializeAsString()).bytes;
  EXPECT_LE(bytes.size(), 16U << 10);
  v1::StatsReply reply;
  ASSERT_TRUE(reply.ParseFromString(bytes));
  EXPECT_GT(reply.left_out_size(), 0);
}

TEST_F(ServicesTest, StatisticsCountCallsErrorsAndBytes) {
  v1::PullRequest request;
  request.set_type("paper");
  request.set_name("year");
  request.add_ids(local_->book().NodeRange(NodeType("paper"), 0).begin);
  const std::string good = request.SerializeAsString();
  request.set_name("colour");
  const std::string bad = request.SerializeAsString();
  size_t reply_bytes = 0;
  for (int i = 0; i < 3; ++i) reply_bytes += RawCall(channel_, kPull, good).bytes.size();
  EXPECT_EQ(RawCall(channel_, kPull, bad).status.error_code(), grpc::StatusCode::NOT_FOUND);
  v1::StatsReply stats;
  // A call is counted when its reply is out: its client may be faster.
  const auto pull = [&]() -> const v1::MethodStats& {
    for (;;) {
      EXPECT_TRUE(stats.ParseFromString(RawCall(channel_, kStats, "").bytes));
      for (const v1::MethodStats& method : stats.methods()) {
        if (method.method() != "KVService/Pull" || method.in_flight() > 0) continue;
        if (method.calls() == 4) return method;
      }
    }
  }();
  EXPECT_EQ(pull.errors(), 1);
  EXPECT_EQ(pull.request_bytes(), static_cast<int64_t>(3 * good.size() + bad.size()));
  EXPECT_EQ(pull.reply_bytes(), static_cast<int64_t>(reply_bytes));
  int64_t counted = 0;
  for (const v1::Bucket& bucket : pull.latency()) counted += bucket.count();
  EXPECT_EQ(counted, 4);
  EXPECT_GT(pull.p99_seconds(), 0);
  EXPECT_GE(pull.p99_seconds(), pull.p50_seconds());
  EXPECT_EQ(stats.identity(), local_->identity());
  EXPECT_EQ(stats.graph_name(), "random-typed");
  EXPECT_EQ(stats.parts_size(), 2);
  EXPECT_EQ(stats.num_parts(), 3U);
  EXPECT_EQ(stats.recent_size(), stats.methods_size());
  EXPECT_GT(stats.recent_seconds(), 0);
  EXPECT_EQ(stats.pool_threads(), 2);
  EXPECT_FALSE(stats.draining());
}

}  // namespace
}  // namespace halograph::server
