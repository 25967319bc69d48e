#include "client/remote/sample_call.h"

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/remote/pull_call.h"
#include "halograph/v1/graph.pb.h"

namespace halograph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two types: `big` needs ids of 64 bits, `small` does not.
Schema TwoTypes() {
  Schema schema;
  schema.node_types = {{"big", int64_t{1} << 33, {}}, {"small", 1000, {}}};
  schema.relations = {{"big", "of", "small", 10000, {}}, {"small", "of", "small", 10000, {}}};
  return schema;
}

class SampleCallTest : public testing::Test {
 protected:
  SampleCallTest() {
    ids_.resize(1000);
    std::iota(ids_.begin(), ids_.end(), 0);
    share_ = {.ids = ids_, .positions = ids_};
    for (const int relation : {0, 1}) {
      groups_.push_back({.relation = relation,
                         .rule = {.fanout = 2},
                         .batch_seed = 9,
                         .layer = 1,
                         .destinations = share_.ids});
    }
    spec_ = {.schema = &schema_, .groups = groups_};
  }

  Status Decode(const v1::SampleReply& reply, const std::vector<SamplePiece>& pieces) {
    const std::string message = reply.SerializeAsString();
    const auto bytes = std::as_bytes(std::span(message));
    // In two pieces, as it may come from the network.
    const std::vector<std::span<const std::byte>> cut = {bytes.first(bytes.size() / 2),
                                                         bytes.subspan(bytes.size() / 2)};
    answers_.clear();
    rest_.clear();
    return DecodeSampleReply(spec_, pieces, cut, &answers_, &rest_, edge_pieces_);
  }

  // The first `destinations` of a piece of relation 1, two edges each.
  static v1::SampleReply Reply(int destinations) {
    v1::SampleReply reply;
    v1::SampleGroupReply* group = reply.add_groups();
    for (int i = 0; i < destinations; ++i) {
      group->add_counts(2);
      group->add_sources32(static_cast<uint32_t>(i));
      group->add_sources32(static_cast<uint32_t>(i + 1));
    }
    return reply;
  }

  void ExpectDataLoss(const v1::SampleReply& reply, const std::string& text) {
    const Status status = Decode(reply, {Piece(1, 0, 10)});
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << ToString(status);
    EXPECT_THAT(Message(status), HasSubstr(text));
  }

  SamplePiece Piece(size_t group, size_t begin, size_t end) { return {group, &share_, begin, end}; }

  const Schema schema_ = TwoTypes();
  std::vector<int64_t> ids_;
  IdShare share_;
  std::vector<LayerGroup> groups_;
  SampleLayerSpec spec_;
  std::vector<SampleAnswer> answers_;
  std::vector<SamplePiece> rest_;
  bool edge_pieces_ = false;
};

TEST_F(SampleCallTest, PlansEveryDestinationOnceInOrderUnderTheLimit) {
  for (const int64_t limit : {100, 500, 2000, 5000, 100000}) {
    const auto requests = PlanSampleRequests(spec_, {Piece(0, 0, 1000), Piece(1, 0, 1000)}, limit);
    size_t group = 0;
    size_t next = 0;
    for (const std::vector<SamplePiece>& request : requests) {
      ASSERT_FALSE(request.empty());
      EXPECT_LE(EncodeSampleRequest(spec_, request).size(), static_cast<size_t>(limit));
      for (const SamplePiece& piece : request) {
        if (piece.group != group) {
          EXPECT_EQ(next, 1000U);
          group = piece.group;
          next = 0;
        }
        EXPECT_EQ(piece.begin, next);
        EXPECT_GT(piece.end, piece.begin);
        next = piece.end;
      }
    }
    EXPECT_EQ(group, 1U);
    EXPECT_EQ(next, 1000U);
    if (limit == 100000) {
      EXPECT_EQ(requests.size(), 1U);
    }
  }
}

TEST_F(SampleCallTest, ADestinationThatDoesNotFitTravelsAlone) {
  const auto requests = PlanSampleRequests(spec_, {Piece(1, 0, 3)}, 10);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2][0].begin, 2U);
}

TEST_F(SampleCallTest, RequestCarriesWhatTheContractIsMadeOf) {
  v1::SampleRequest request;
  ASSERT_TRUE(request.ParseFromString(EncodeSampleRequest(spec_, std::vector{Piece(1, 5, 8)})));
  EXPECT_EQ(request.batch_seed(), 9U);
  EXPECT_EQ(request.layer(), 1U);
  ASSERT_EQ(request.groups_size(), 1);
  EXPECT_EQ(request.groups(0).relation(), "small:of:small");
  EXPECT_EQ(request.groups(0).rule().fanout(), 2);
  EXPECT_THAT(request.groups(0).destinations(), ElementsAre(5, 6, 7));
}

TEST_F(SampleCallTest, GroupsOfAnotherMinibatchOrLayerSayTheirOwnKeys) {
  groups_[1].batch_seed = 0;
  groups_[1].layer = 0;
  groups_[1].rule.replace = true;
  const auto requests = PlanSampleRequests(spec_, {Piece(0, 0, 3), Piece(1, 5, 8)}, 100000);
  ASSERT_EQ(requests.size(), 1U);
  v1::SampleRequest request;
  ASSERT_TRUE(request.ParseFromString(EncodeSampleRequest(spec_, requests[0])));
  EXPECT_EQ(request.batch_seed(), 9U);
  ASSERT_EQ(request.groups_size(), 2);
  EXPECT_FALSE(request.groups(0).has_batch_seed());
  EXPECT_TRUE(request.groups(1).has_batch_seed());
  EXPECT_EQ(request.groups(1).batch_seed(), 0U);
  EXPECT_TRUE(request.groups(1).has_layer());
  EXPECT_EQ(request.groups(1).layer(), 0U);
  EXPECT_FALSE(request.groups(0).rule().replace());
  EXPECT_TRUE(request.groups(1).rule().replace());
}

// The first group's replace and weight stand in the request, and a group says what differs.
TEST_F(SampleCallTest, ForAServerThatKnowsNoRulesTheyGoInTheirOlderForm) {
  groups_[0].rule.replace = true;
  const std::vector<SamplePiece> pieces = {Piece(0, 0, 3), Piece(1, 5, 8)};
  v1::SampleRequest request;
  ASSERT_TRUE(request.ParseFromString(EncodeSampleRequest(spec_, pieces, {.rules = false})));
  ASSERT_EQ(request.groups_size(), 2);
  EXPECT_TRUE(request.replace());
  for (const v1::SampleGroup& group : request.groups()) {
    EXPECT_FALSE(group.has_rule());
    EXPECT_EQ(group.fanout(), 2);
  }
  EXPECT_FALSE(request.groups(0).has_replace());
  EXPECT_TRUE(request.groups(1).has_replace());
  EXPECT_FALSE(request.groups(1).replace());
}

TEST_F(SampleCallTest, ForAServerThatKnowsNoKeysOfGroupsTheyTravelApart) {
  groups_[1].batch_seed = 10;
  const auto requests =
      PlanSampleRequests(spec_, {Piece(0, 0, 3), Piece(1, 5, 8)}, 100000, /*group_keys=*/false);
  ASSERT_EQ(requests.size(), 2U);
  v1::SampleRequest request;
  ASSERT_TRUE(request.ParseFromString(EncodeSampleRequest(spec_, requests[1])));
  EXPECT_EQ(request.batch_seed(), 10U);
  EXPECT_FALSE(request.groups(0).has_batch_seed());
  groups_[1].batch_seed = 9;
  EXPECT_EQ(PlanSampleRequests(spec_, {Piece(0, 0, 3), Piece(1, 5, 8)}, 100000, false).size(), 1U);
}

TEST_F(SampleCallTest, EdgeIdsAndWeightsAreAskedForAndCountedInTheBudget) {
  // 4 + 2 * 4 bytes a destination fit into one reply, 4 + 2 * 16 do not.
  EXPECT_EQ(PlanSampleRequests(spec_, {Piece(1, 0, 1000)}, 20000).size(), 1U);
  groups_[1].edge_ids = true;
  groups_[1].weights = true;
  EXPECT_EQ(PlanSampleRequests(spec_, {Piece(1, 0, 1000)}, 20000).size(), 2U);
  v1::SampleRequest request;
  ASSERT_TRUE(request.ParseFromString(EncodeSampleRequest(spec_, std::vector{Piece(1, 5, 8)})));
  EXPECT_TRUE(request.groups(0).edge_ids());
  EXPECT_TRUE(request.groups(0).weights());
}

TEST_F(SampleCallTest, ACutReplyLeavesTheRest) {
  ASSERT_TRUE(Decode(Reply(4), {Piece(1, 0, 10), Piece(1, 20, 30)}).ok());
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].piece.end, 4U);
  EXPECT_THAT(answers_[0].drawn.counts, ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(answers_[0].drawn.sources, ElementsAre(0, 1, 1, 2, 2, 3, 3, 4));
  ASSERT_EQ(rest_.size(), 2U);
  EXPECT_EQ(rest_[0].begin, 4U);
  EXPECT_EQ(rest_[0].end, 10U);
  EXPECT_EQ(rest_[1].begin, 20U);
}

TEST_F(SampleCallTest, APieceOfADestinationLeavesItsOtherEdges) {
  edge_pieces_ = true;
  groups_[1].rule.fanout = 100;
  v1::SampleReply reply = Reply(4);
  reply.mutable_groups(0)->set_more_edges(5);
  ASSERT_TRUE(Decode(reply, {Piece(1, 0, 10)}).ok());
  EXPECT_EQ(answers_[0].piece.end, 4U);
  ASSERT_EQ(rest_.size(), 1U);
  EXPECT_EQ(rest_[0].begin, 3U);
  EXPECT_EQ(rest_[0].first_edge, 2U);
  EXPECT_EQ(rest_[0].edges_left, 5U);

  // The next piece, two edges of it, and the one after that.
  SamplePiece next = rest_[0];
  next.max_edges = 2;
  v1::SampleRequest request;
  ASSERT_TRUE(
      request.ParseFromString(EncodeSampleRequest(spec_, {&next, 1}, {.edge_pieces = true})));
  EXPECT_TRUE(request.edge_pieces());
  EXPECT_EQ(request.groups(0).destinations(0), 3U);
  EXPECT_EQ(request.groups(0).first_edge(), 2U);
  EXPECT_EQ(request.groups(0).max_edges(), 2U);
  reply = Reply(1);
  reply.mutable_groups(0)->set_more_edges(3);
  ASSERT_TRUE(Decode(reply, {next}).ok());
  EXPECT_EQ(answers_[0].piece.first_edge, 2U);
  EXPECT_EQ(rest_[0].first_edge, 4U);
  EXPECT_EQ(rest_[0].edges_left, 3U);
  EXPECT_EQ(rest_[0].max_edges, 2U);
}

TEST_F(SampleCallTest, PiecesThatDoNotFitWhatWasAskedForOrLeftAreDataLoss) {
  v1::SampleReply reply = Reply(4);
  reply.mutable_groups(0)->set_more_edges(1);
  ExpectDataLoss(reply, "1 more edges behind the 2 of the last of 4 destinations, expected none");
  edge_pieces_ = true;
  reply.mutable_groups(0)->set_more_edges(3);
  ExpectDataLoss(reply, "expected at most 2");
  groups_[1].rule.fanout = -1;
  SamplePiece piece = Piece(1, 0, 10);
  piece.first_edge = 7;
  piece.edges_left = 4;
  for (const int more : {1, 3}) {  // 2 are given
    reply = Reply(1);
    reply.mutable_groups(0)->set_more_edges(more);
    const Status status = Decode(reply, {piece});
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(Message(status), HasSubstr("edges of a node from 7 on, 4 were left before"));
  }
  EXPECT_EQ(Decode(Reply(1), {piece}).code(), absl::StatusCode::kDataLoss) << "it ends too early";
}

TEST_F(SampleCallTest, WideIdsComeIn64Bits) {
  v1::SampleReply reply;
  v1::SampleGroupReply* group = reply.add_groups();
  group->add_counts(1);
  group->add_sources64((uint64_t{1} << 33) - 1);
  ASSERT_TRUE(Decode(reply, {Piece(0, 0, 1)}).ok());
  EXPECT_THAT(answers_[0].drawn.sources, ElementsAre((int64_t{1} << 33) - 1));
  group->set_sources64(0, uint64_t{1} << 33);
  EXPECT_EQ(Decode(reply, {Piece(0, 0, 1)}).code(), absl::StatusCode::kDataLoss);
}

TEST_F(SampleCallTest, NoAnswerAtAllIsDataLoss) {
  ExpectDataLoss(v1::SampleReply(), "answers none");
  ExpectDataLoss(Reply(0), "answers none");
}

TEST_F(SampleCallTest, MoreCountsThanDestinationsAreDataLoss) {
  ExpectDataLoss(Reply(11), "11 counts for 10 destinations");
}

TEST_F(SampleCallTest, MoreGroupsThanAskedAreDataLoss) {
  v1::SampleReply reply = Reply(10);
  reply.add_groups();
  ExpectDataLoss(reply, "more groups than the 1 asked for");
}

TEST_F(SampleCallTest, ACutBeforeTheLastGroupIsDataLoss) {
  v1::SampleReply reply = Reply(4);
  *reply.add_groups() = Reply(10).groups(0);
  const Status status = Decode(reply, {Piece(1, 0, 10), Piece(1, 20, 30)});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("group 0 of 2: 4 of 10 destinations are answered"));
}

TEST_F(SampleCallTest, SourcesThatDoNotFitTheCountsAreDataLoss) {
  v1::SampleReply reply = Reply(10);
  reply.mutable_groups(0)->mutable_sources32()->RemoveLast();
  ExpectDataLoss(reply, "19 sources");
  reply.mutable_groups(0)->set_counts(0, UINT32_MAX);
  ExpectDataLoss(reply, "19 sources");
  reply = Reply(10);
  reply.mutable_groups(0)->add_sources64(1);
  ExpectDataLoss(reply, "1 in the other width");
}

TEST_F(SampleCallTest, MoreEdgesThanTheFanoutAreDataLoss) {
  v1::SampleReply reply = Reply(10);
  reply.mutable_groups(0)->set_counts(3, 3);
  reply.mutable_groups(0)->set_counts(4, 1);
  ExpectDataLoss(reply, "3 edges for a fanout of 2");
}

TEST_F(SampleCallTest, ASourceOutsideItsTypeIsDataLossNamingIt) {
  v1::SampleReply reply = Reply(10);
  reply.mutable_groups(0)->set_sources32(3, 1000);
  ExpectDataLoss(reply, "source 1000 of a type with 1000 nodes");
}

TEST_F(SampleCallTest, BytesThatAreNoMessageAreDataLoss) {
  const std::vector<std::byte> garbage(20, std::byte{0xff});
  const std::vector<std::span<const std::byte>> pieces = {garbage};
  const std::vector<SamplePiece> asked = {Piece(1, 0, 10)};
  EXPECT_EQ(DecodeSampleReply(spec_, asked, pieces, &answers_, &rest_).code(),
            absl::StatusCode::kDataLoss);
}

TEST(RowsPerCallTest, RepliesStayUnderTheLimitAndKeepCallsBusy) {
  constexpr int64_t kPlanned = 4194304 - 65536;
  // 40 MB over four calls in flight: at the limit.
  EXPECT_EQ(RowsPerCall(100000, 400, kPlanned, 4), (kPlanned - 64) / 400);
  // 4 MB: eight calls rather than one.
  EXPECT_EQ(RowsPerCall(10000, 400, kPlanned, 4), (1251 * 400 - 64) / 400);
  // Little is not split below 256 KiB.
  EXPECT_EQ(RowsPerCall(100, 400, kPlanned, 4), (262144 - 64) / 400);
  // Narrow rows: the request is what would be too long.
  EXPECT_EQ(RowsPerCall(100000000, 1, kPlanned, 4), (kPlanned - 1024) / 8);
  EXPECT_EQ(RowsPerCall(100, 5000, 2048, 4), 1);
}

}  // namespace
}  // namespace halograph
