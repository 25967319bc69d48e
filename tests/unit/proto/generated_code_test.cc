// What is written by hand is, byte for byte, what generated code writes, and each reads the
// other's.
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "halograph/v1/graph.pb.h"
#include "halograph/v1/kv.pb.h"
#include "proto/wire/pull.h"
#include "proto/wire/push.h"
#include "proto/wire/read_replies.h"
#include "proto/wire/sample_reply.h"
#include "proto/wire/sample_request.h"
#include "proto/wire/snapshot_page.h"
#include "tests/unit/proto/pieces.h"

namespace halograph::wire {
namespace {

constexpr int kRounds = 300;

template <typename Repeated>
auto ToVector(const Repeated& repeated) {
  using T = std::decay_t<decltype(repeated[0])>;
  using Out = std::conditional_t<sizeof(T) == 8, int64_t, T>;
  return std::vector<Out>(repeated.begin(), repeated.end());
}

class GeneratedCodeTest : public testing::Test {
 protected:
  bool Coin() { return rng_.NextBounded(2) == 0; }
  std::vector<int64_t> Ids(size_t most) {
    std::vector<int64_t> ids(rng_.NextBounded(most + 1));
    for (int64_t& id : ids) id = static_cast<int64_t>(rng_.NextBounded(uint64_t{1} << 60));
    return ids;
  }
  // Small ones mostly, as they are.
  uint32_t Count() { return static_cast<uint32_t>(rng_.NextBounded(Coin() ? 20 : 400)); }

  // With a rule, or in the form of before rules.
  void AddGroup(bool rules, v1::SampleRequest* request) {
    v1::SampleGroup* group = request->add_groups();
    if (Coin()) group->set_relation("paper:cites:paper");
    const int32_t fanout = static_cast<int32_t>(rng_.NextBounded(1 << 20)) - (Coin() ? 0 : 1 << 19);
    if (rules) {
      v1::SampleRule* rule = group->mutable_rule();
      if (Coin()) rule->set_kind(static_cast<v1::SampleRule::Kind>(Count()));
      if (Coin()) rule->set_fanout(fanout);
      rule->set_replace(Coin());
      if (Coin()) rule->set_weight("strength");
    } else {
      group->set_fanout(fanout);
      if (Coin()) group->set_replace(Coin());
      if (Coin()) group->set_weight(Coin() ? "" : "strength");
    }
    for (const int64_t id : Ids(5)) group->add_destinations(static_cast<uint64_t>(id));
    if (Coin()) group->set_batch_seed(Coin() ? 0 : rng_.NextBounded(UINT64_MAX));
    if (Coin()) group->set_layer(Count());
    group->set_edge_ids(Coin());
    group->set_weights(Coin());
    group->set_degrees(Coin());
    if (Coin()) group->set_first_edge(Coin() ? Count() : rng_.NextBounded(UINT64_MAX));
    if (Coin()) group->set_max_edges(Coin() ? Count() : rng_.NextBounded(UINT64_MAX));
  }

  CounterRng rng_{Mix(23)};
};

// The hand-written form of a generated message.
std::string Written(const SampleRequest& request, bool rules) {
  std::vector<SampleGroupView> groups;
  for (const SampleGroup& group : request.groups) {
    groups.push_back({.relation = group.relation,
                      .rule = {.kind = group.rule.kind,
                               .fanout = group.rule.fanout,
                               .replace = group.rule.replace,
                               .weight = group.rule.weight},
                      .destinations = group.destinations,
                      .batch_seed = group.batch_seed,
                      .layer = group.layer,
                      .edge_ids = group.edge_ids,
                      .weights = group.weights,
                      .degrees = group.degrees,
                      .first_edge = group.first_edge,
                      .max_edges = group.max_edges});
  }
  return WriteSampleRequest({.batch_seed = request.batch_seed,
                             .layer = request.layer,
                             .edge_pieces = request.edge_pieces,
                             .rules = rules,
                             .groups = groups});
}

// What a generated request says of one of its groups.
v1::SampleRule RuleOf(const v1::SampleRequest& request, const v1::SampleGroup& group) {
  if (group.has_rule()) return group.rule();
  v1::SampleRule rule;
  rule.set_fanout(group.fanout());
  rule.set_replace(group.has_replace() ? group.replace() : request.replace());
  rule.set_weight(group.has_weight() ? group.weight() : request.weight());
  return rule;
}

TEST_F(GeneratedCodeTest, SampleRequests) {
  for (int round = 0; round < kRounds; ++round) {
    const bool rules = Coin();
    v1::SampleRequest generated;
    if (Coin()) generated.set_batch_seed(rng_.NextBounded(UINT64_MAX));
    if (Coin()) generated.set_layer(Count());
    if (!rules) generated.set_replace(Coin());
    if (!rules && Coin()) generated.set_weight("strength");
    generated.set_edge_pieces(Coin());
    for (uint64_t g = rng_.NextBounded(4); g > 0; --g) AddGroup(rules, &generated);
    const std::string message = generated.SerializeAsString();
    const CutMessage cut(message, {message.size() / 2});
    const auto request = ReadSampleRequest(cut.pieces(), 100);
    ASSERT_TRUE(request.ok()) << request.status();
    ASSERT_EQ(request->groups.size(), static_cast<size_t>(generated.groups_size()));
    const std::string again = Written(*request, rules);
    v1::SampleRequest written;
    ASSERT_TRUE(written.ParseFromString(again));
    ASSERT_EQ(written.SerializeAsString(), again) << generated.DebugString();
    for (size_t g = 0; g < request->groups.size(); ++g) {
      const v1::SampleGroup& expected = generated.groups(static_cast<int>(g));
      const v1::SampleRule rule = RuleOf(generated, expected);
      ASSERT_EQ(request->groups[g].rule.kind, static_cast<uint32_t>(rule.kind()));
      ASSERT_EQ(request->groups[g].rule.fanout, rule.fanout());
      ASSERT_EQ(request->groups[g].rule.replace, rule.replace());
      ASSERT_EQ(request->groups[g].rule.weight, rule.weight());
      v1::SampleGroup other = written.groups(static_cast<int>(g));
      ASSERT_EQ(RuleOf(written, other).SerializeAsString(), rule.SerializeAsString());
      // What a server of before rules reads.
      other.clear_rule();
      v1::SampleRule older = rule;
      older.set_kind(v1::SampleRule::NEIGHBOR);
      if (rule.kind() != v1::SampleRule::NEIGHBOR) older.set_fanout(-2);
      ASSERT_EQ(RuleOf(written, other).SerializeAsString(), older.SerializeAsString());
      ASSERT_EQ(request->groups[g].destinations, ToVector(expected.destinations()));
      ASSERT_EQ(request->groups[g].layer.has_value(), expected.has_layer());
      ASSERT_EQ(request->groups[g].degrees, expected.degrees());
    }
  }
}

TEST_F(GeneratedCodeTest, SampleReplies) {
  for (int round = 0; round < kRounds; ++round) {
    v1::SampleReply generated;
    std::string written;
    std::vector<SampleGroupExpected> expected;
    for (uint64_t g = rng_.NextBounded(4); g > 0; --g) {
      const bool last = g == 1;
      const bool wide = Coin();
      v1::SampleGroupReply* group = generated.add_groups();
      SampleGroupExpected& bounds = expected.emplace_back();
      bounds.source_nodes = wide ? int64_t{1} << 40 : 1000;
      bounds.edges = INT64_MAX;
      bounds.edge_ids = Coin();
      bounds.weights = Coin();
      bounds.degrees = Coin();
      bounds.destinations = rng_.NextBounded(20);
      std::vector<uint32_t> counts(bounds.destinations);
      std::generate(counts.begin(), counts.end(), [this] { return Count(); });
      const auto edges = std::accumulate(counts.begin(), counts.end(), int64_t{0});
      bounds.pieces = Coin();
      const bool cut = last && bounds.pieces && !counts.empty() && counts.back() > 0;
      const uint64_t more_edges = cut ? rng_.NextBounded(INT64_MAX) : 0;
      group->set_more_edges(more_edges);
      const SampleGroupShape shape{.counts = counts,
                                   .edges = edges,
                                   .wide = wide,
                                   .edge_ids = bounds.edge_ids,
                                   .weights = bounds.weights,
                                   .degrees = bounds.degrees,
                                   .more_edges = more_edges};
      std::string bytes(SampleGroupReplyBytes(shape), '\0');
      const SampleGroupArrays arrays =
          PutSampleGroupReply(shape, reinterpret_cast<std::byte*>(bytes.data()));
      for (const uint32_t count : counts) group->add_counts(count);
      for (size_t i = 0; bounds.degrees && i < counts.size(); ++i) {
        group->add_degrees(rng_.NextBounded(uint64_t{1} << 63));
        std::memcpy(arrays.degrees + i * 8, &group->degrees().at(static_cast<int>(i)), 8);
      }
      for (int64_t e = 0; e < edges; ++e) {
        const auto source = static_cast<uint32_t>(rng_.NextBounded(1000));
        if (wide) {
          const uint64_t id = (uint64_t{1} << 35) + source;
          group->add_sources64(id);
          std::memcpy(arrays.sources + e * 8, &id, 8);
        } else {
          group->add_sources32(source);
          std::memcpy(arrays.sources + e * 4, &source, 4);
        }
        if (bounds.edge_ids) {
          group->add_edge_ids(uint64_t{source} << 20);
          std::memcpy(arrays.edge_ids + e * 8, &group->edge_ids().at(static_cast<int>(e)), 8);
        }
        if (bounds.weights) {
          group->add_weights(static_cast<float>(source) / 3);
          std::memcpy(arrays.weights + e * 4, &group->weights().at(static_cast<int>(e)), 4);
        }
      }
      written += bytes;
    }
    const std::string message = generated.SerializeAsString();
    ASSERT_EQ(written, message);
    const CutMessage cut(message, {message.size() / 3});
    std::vector<SampleGroupReply> groups;
    const Status status = ReadSampleReply(cut.pieces(), expected, &groups);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(groups.size(), expected.size());
    for (size_t g = 0; g < groups.size(); ++g) {
      const v1::SampleGroupReply& group = generated.groups(static_cast<int>(g));
      ASSERT_EQ(groups[g].counts, ToVector(group.counts()));
      ASSERT_EQ(groups[g].edge_ids, ToVector(group.edge_ids()));
      ASSERT_EQ(groups[g].weights, ToVector(group.weights()));
      ASSERT_EQ(groups[g].degrees, ToVector(group.degrees()));
      ASSERT_EQ(groups[g].more_edges, group.more_edges());
      std::vector<int64_t> sources(group.sources32().begin(), group.sources32().end());
      sources.insert(sources.end(), group.sources64().begin(), group.sources64().end());
      ASSERT_EQ(groups[g].sources, sources);
    }
  }
}

TEST_F(GeneratedCodeTest, PullRequests) {
  for (int round = 0; round < kRounds; ++round) {
    v1::PullRequest generated;
    generated.set_edge(Coin());
    if (Coin()) generated.set_type("paper");
    if (Coin()) generated.set_name("feat");
    const std::vector<int64_t> ids = Ids(30);
    generated.mutable_ids()->Add(ids.begin(), ids.end());
    if (Coin()) generated.set_min_lsn(Count());
    const std::string message = generated.SerializeAsString();
    ASSERT_EQ(WritePullRequest(generated.edge(), generated.type(), generated.name(), ids,
                               generated.min_lsn()),
              message);
    const CutMessage cut(message, {message.size() / 2});
    const auto request = ReadPullRequest(cut.pieces());
    ASSERT_TRUE(request.ok());
    ASSERT_EQ(request->edge, generated.edge());
    ASSERT_EQ(request->type, generated.type());
    ASSERT_EQ(request->name, generated.name());
    ASSERT_EQ(request->ids, ids);
    ASSERT_EQ(request->min_lsn, generated.min_lsn());
  }
}

TEST_F(GeneratedCodeTest, PushRequests) {
  for (int round = 0; round < kRounds; ++round) {
    v1::PushRequest generated;
    generated.set_edge(Coin());
    if (Coin()) generated.set_type("paper");
    if (Coin()) generated.set_name("emb");
    if (Coin()) generated.set_part(Count());
    if (Coin()) generated.set_kind(v1::PUSH_ASSIGN);
    if (Coin()) generated.set_client(rng_.NextBounded(UINT64_MAX));
    if (Coin()) generated.set_sequence(rng_.NextBounded(UINT64_MAX));
    if (Coin()) {
      v1::SyncStep* step = generated.mutable_step();
      step->set_step(static_cast<int64_t>(Count()) - 5);
      step->set_rank(static_cast<int32_t>(Count()) - 5);
      step->set_world_size(static_cast<int32_t>(Count()));
      if (Coin()) step->set_run(rng_.NextBounded(UINT64_MAX));
      if (Coin()) step->set_chunk(2);
      if (Coin()) step->set_chunks(3);
    }
    const std::vector<int64_t> ids = Ids(30);
    generated.mutable_ids()->Add(ids.begin(), ids.end());
    if (Coin()) generated.set_dtype(v1::DTYPE_BFLOAT16);
    generated.set_rows(std::string(ids.size() * 6, 'r'));
    const std::string message = generated.SerializeAsString();
    const CutMessage cut(message, {message.size() / 3, message.size() / 2});
    const auto request = ReadPushRequest(cut.pieces());
    ASSERT_TRUE(request.ok());
    ASSERT_EQ(request->ids, ids);
    ASSERT_EQ(request->rows.size(), generated.rows().size());
    ASSERT_EQ(request->header.step.has_value(), generated.has_step());
    ASSERT_EQ(WritePushRequest(request->header,
                               {.ids = ids, .rows = request->rows.data(), .row_bytes = 6}),
              message);
  }
}

TEST_F(GeneratedCodeTest, PushReplies) {
  for (int round = 0; round < kRounds; ++round) {
    v1::PushReply generated;
    if (Coin()) generated.set_lsn(Count());
    if (Coin()) generated.set_applied_before(true);
    const std::string message = generated.SerializeAsString();
    ASSERT_EQ(WritePushReply({generated.lsn(), generated.applied_before()}), message);
    const CutMessage cut(message);
    ASSERT_EQ(ReadPushReply(cut.pieces())->lsn, generated.lsn());
  }
}

TEST_F(GeneratedCodeTest, ReadSnapshotReplies) {
  for (int round = 0; round < kRounds; ++round) {
    v1::ReadSnapshotReply reply;
    for (const int64_t id : Ids(5)) reply.add_rows(static_cast<uint64_t>(id));
    if (Coin()) reply.set_images(std::string(Count(), 'i'));
    PageEnd end;
    if (Coin()) {
      end.next = PagePlace{.file = Coin() ? 0 : Count(),
                           .offset = Coin() ? 0 : -1 - Ids(1).empty(),
                           .section = Coin() ? 0 : UINT64_MAX,
                           .row = Coin() ? 0 : Count()};
      reply.mutable_next()->set_file(end.next->file);
      reply.mutable_next()->set_offset(end.next->offset);
      reply.mutable_next()->set_section(end.next->section);
      reply.mutable_next()->set_row(end.next->row);
    }
    if (Coin()) {
      end.step = Coin() ? -1 : static_cast<int64_t>(Count()) - 1;
      reply.set_step(*end.step);
    }
    const std::string generated = reply.SerializeAsString();
    const std::vector<int64_t> rows = ToVector(reply.rows());
    const auto images = std::as_bytes(std::span(reply.images()));
    std::string written(SnapshotPageBytes(rows.size(), images.size()), '\0');
    auto* const begin = reinterpret_cast<std::byte*>(written.data());
    const auto bytes = static_cast<size_t>(PutSnapshotPage(rows, images, end, begin) - begin);
    ASSERT_LE(bytes, written.size());
    ASSERT_EQ(written.substr(0, bytes), generated);
    const CutMessage cut(generated, {generated.size() / 2});
    const auto read = ReadSnapshotPage(cut.pieces());
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->rows, rows);
    ASSERT_TRUE(std::equal(images.begin(), images.end(), read->images.begin(), read->images.end()));
    ASSERT_EQ(read->end.next, end.next);
    ASSERT_EQ(read->end.step, end.step);
  }
}

TEST_F(GeneratedCodeTest, PullReplies) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{7, 100}, {7}, {0, 100}, {1 << 20, 1}}) {
    v1::PullReply generated;
    generated.set_dtype(v1::DTYPE_UINT8);
    generated.mutable_shape()->Add(shape.begin(), shape.end());
    const auto row_bytes = static_cast<size_t>(shape.size() == 2 ? shape[1] : 1);
    generated.set_rows(std::string(static_cast<size_t>(shape[0]) * row_bytes, 'r'));
    std::string header(kPullReplyHeaderBytes, '\0');
    auto* const begin = reinterpret_cast<std::byte*>(header.data());
    header.resize(static_cast<size_t>(
        PutPullReplyHeader(v1::DTYPE_UINT8, shape, generated.rows().size(), begin) - begin));
    const std::string message = generated.SerializeAsString();
    ASSERT_EQ(header + generated.rows(), message);
    std::string rows(generated.rows().size(), '\0');
    const CutMessage cut(message, {message.size() / 2});
    const Status status = ReadPullReply(
        cut.pieces(),
        {.dtype = v1::DTYPE_UINT8, .dtype_name = "uint8", .shape = shape, .row_bytes = row_bytes},
        {}, reinterpret_cast<std::byte*>(rows.data()));
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(rows, generated.rows());
  }
}

TEST_F(GeneratedCodeTest, RepliesOfTopologyAndTaskSets) {
  for (const std::string& data : {std::string(), std::string(300, 'd')}) {
    v1::ReadTopologyReply topology;
    topology.set_file_bytes(data.empty() ? 0 : 12345);
    topology.set_data(data);
    std::string header(kTopologyReplyHeaderBytes, '\0');
    auto* const begin = reinterpret_cast<std::byte*>(header.data());
    header.resize(static_cast<size_t>(
        PutTopologyReplyHeader(topology.file_bytes(), data.size(), begin) - begin));
    EXPECT_EQ(header + data, topology.SerializeAsString());

    v1::ReadTaskSetReply set;
    set.set_total_rows(1000);
    set.set_rows(static_cast<int64_t>(data.size()) / 8);
    std::string written = TaskSetReplyHeader(set.total_rows(), set.rows());
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{set.rows(), 2}, std::vector<int64_t>{set.rows()}}) {
      v1::Tensor* array = set.add_arrays();
      array->set_name(shape.size() == 2 ? "seeds" : "labels");
      array->set_dtype(v1::DTYPE_INT32);
      array->mutable_shape()->Add(shape.begin(), shape.end());
      array->set_data(data.substr(0, data.size() / shape.size()));
      written += TaskSetArrayHeader(array->name(), v1::DTYPE_INT32, shape, array->data().size());
      written += array->data();
    }
    EXPECT_EQ(written, set.SerializeAsString());
  }
}

}  // namespace
}  // namespace halograph::wire
