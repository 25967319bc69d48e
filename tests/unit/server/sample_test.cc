#include "server/handlers/sample.h"

#include <gmock/gmock.h>

#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/request.h"
#include "tests/unit/server/served_fixture.h"

namespace halograph::server {
namespace {

using testing::HasSubstr;

constexpr char kCites[] = "paper:cites:paper";
constexpr char kWrites[] = "author:writes:paper";

struct Answer {
  std::vector<uint32_t> counts;
  std::vector<int64_t> sources;
  std::vector<int64_t> edge_ids = {};
  std::vector<int64_t> degrees = {};
  bool operator==(const Answer&) const = default;
};

template <typename T>
void Append(const std::vector<T>& more, std::vector<T>* all) {
  all->insert(all->end(), more.begin(), more.end());
}

class SampleHandlerTest : public ServedTest {
 protected:
  Answer Draw(const SampleHandler& handler, const LayerSamplePlan& plan) {
    std::vector<uint32_t> narrow(plan.edges);
    EXPECT_EQ(plan.shape().source_bytes(), narrow.size() * sizeof(uint32_t));
    std::vector<int64_t> edge_ids(plan.draws.edge_ids ? plan.edges : 0);
    std::vector<int64_t> degrees(plan.draws.degrees ? plan.counts.size() : 0);
    const Status status =
        handler.Draw(plan, {.sources = reinterpret_cast<std::byte*>(narrow.data()),
                            .edge_ids = reinterpret_cast<std::byte*>(edge_ids.data()),
                            .degrees = reinterpret_cast<std::byte*>(degrees.data())});
    EXPECT_TRUE(status.ok()) << status;
    return {plan.counts, {narrow.begin(), narrow.end()}, edge_ids, degrees};
  }

  // Asks again from where each answer ends, as a client does. Also counts the rounds.
  std::vector<Answer> DrawAll(const SampleHandler& handler, LayerSampleRequest request,
                              int* rounds) {
    std::vector<Answer> answers(request.groups.size());
    for (size_t first = 0; !request.groups.empty(); ++*rounds) {
      const auto plans = handler.Plan(request);
      EXPECT_TRUE(plans.ok()) << plans.status();
      if (!plans.ok() || plans->empty()) return answers;
      for (size_t g = 0; g < plans->size(); ++g) {
        const Answer more = Draw(handler, (*plans)[g]);
        Answer& answer = answers[first + g];
        std::vector<uint32_t> counts = more.counts;
        std::vector<int64_t> degrees = more.degrees;
        if ((*plans)[g].first_edge > 0) {  // the rest of the destination before
          answer.counts.back() += counts.front();
          counts.erase(counts.begin());
          if (!degrees.empty()) {
            EXPECT_EQ(answer.degrees.back(), degrees.front());
            degrees.erase(degrees.begin());
          }
        }
        Append(degrees, &answer.degrees);
        Append(counts, &answer.counts);
        Append(more.sources, &answer.sources);
        Append(more.edge_ids, &answer.edge_ids);
      }
      const size_t last = plans->size() - 1;
      std::vector<int64_t>& rest = request.groups[last].destinations;
      const LayerSamplePlan& cut = (*plans)[last];
      const bool piece = cut.more_edges > 0;
      const auto answered = static_cast<int64_t>(cut.counts.size()) - (piece ? 1 : 0);
      request.groups[last].first_edge =
          piece ? static_cast<uint64_t>(cut.first_edge) + cut.counts.back() : 0;
      rest.erase(rest.begin(), rest.begin() + answered);
      const size_t done = rest.empty() ? last + 1 : last;
      request.groups.erase(request.groups.begin(), request.groups.begin() + done);
      first += done;
    }
    return answers;
  }

  // What the kernel draws over the whole graph.
  Answer Expected(const LayerSampleRequest& request, const LayerSampleGroup& group) {
    const int relation = all_->schema().RelationIndex(group.relation).value();
    NeighborPicks picks;
    const auto draws = MakeLayerDraws(
        all_->topology()[relation], {.fanout = group.rule.fanout, .replace = group.rule.replace},
        LayerKey(request.batch_seed, static_cast<int>(request.layer),
                 static_cast<int>(all_->schema().relations.size()), relation));
    EXPECT_TRUE(SampleNeighbors(*draws, group.destinations, nullptr, &picks).done());
    Answer answer{{}, picks.sources};
    for (size_t i = 1; i < picks.offsets.size(); ++i) {
      answer.counts.push_back(static_cast<uint32_t>(picks.offsets[i] - picks.offsets[i - 1]));
    }
    return answer;
  }

  Status Refused(const LayerSampleRequest& request, int64_t limit = kLimit) {
    return SampleHandler(all_.get(), limit).Plan(request).status();
  }
};

TEST_F(SampleHandlerTest, DrawsWhatTheKernelDrawsOverTheWholeGraph) {
  for (const bool replace : {false, true}) {
    for (int part = 0; part < 3; ++part) {
      const auto served = Open({part});
      const SampleHandler handler(served.get(), kLimit);
      LayerSampleRequest request{.batch_seed = 11, .layer = 1, .groups = {}};
      for (const int32_t fanout : {3, -1, 0, 1 << 20}) {
        if (replace && fanout > 3) continue;
        request.groups.push_back({kCites, {.fanout = fanout}, Owned(NodeType("paper"), part)});
        request.groups.push_back({kWrites, {.fanout = fanout}, Owned(NodeType("paper"), part)});
      }
      request.groups.push_back({kCites, {.fanout = 2}, {}});
      for (LayerSampleGroup& group : request.groups) group.rule.replace = replace;
      const auto plans = handler.Plan(request);
      ASSERT_TRUE(plans.ok()) << plans.status();
      ASSERT_EQ(plans->size(), request.groups.size());
      for (size_t g = 0; g < plans->size(); ++g) {
        EXPECT_EQ(Draw(handler, (*plans)[g]), Expected(request, request.groups[g])) << g;
      }
    }
  }
}

// Groups of several minibatches and layers in one request: each is answered as if it had come
// alone.
TEST_F(SampleHandlerTest, GroupsWithKeysOfTheirOwnAreDrawnByThem) {
  const SampleHandler handler(all_.get(), kLimit);
  LayerSampleRequest request{.batch_seed = 11, .layer = 1, .groups = {}};
  const LayerSampleGroup plain{kCites, {.fanout = 3, .replace = true}, All(NodeType("paper"))};
  std::vector<LayerSampleRequest> alone;
  for (const uint64_t seed : {0, 11, 12}) {
    for (const uint32_t layer : {0, 2}) {
      for (const bool replace : {false, true}) {
        LayerSampleGroup group = plain;
        group.batch_seed = seed;
        group.layer = layer;
        group.rule.replace = replace;
        request.groups.push_back(group);
        alone.push_back({.batch_seed = seed, .layer = layer, .groups = {group}});
      }
    }
  }
  request.groups.push_back(plain);
  alone.push_back({.batch_seed = 11, .layer = 1, .groups = {plain}});
  const auto plans = handler.Plan(request);
  ASSERT_TRUE(plans.ok()) << plans.status();
  ASSERT_EQ(plans->size(), request.groups.size());
  for (size_t g = 0; g < plans->size(); ++g) {
    EXPECT_EQ(Draw(handler, (*plans)[g]), Expected(alone[g], alone[g].groups[0])) << g;
  }
}

TEST_F(SampleHandlerTest, AnswersCutAtTheLimitAddUpToTheWhole) {
  LayerSampleRequest request{.batch_seed = 5, .layer = 0, .groups = {}};
  request.groups.push_back({kCites, {.fanout = 40, .replace = true}, All(NodeType("paper"))});
  request.groups.push_back({kWrites, {.fanout = 7, .replace = true}, All(NodeType("paper"))});
  request.groups.push_back({kCites, {.fanout = -1, .replace = true}, All(NodeType("paper"))});
  LayerSampleRequest with_edge_ids = request;
  for (LayerSampleGroup& group : with_edge_ids.groups) group.edge_ids = true;
  int whole = 0;
  const auto edges = DrawAll(SampleHandler(all_.get(), 1 << 20), with_edge_ids, &whole);
  ASSERT_EQ(whole, 1);
  for (const int64_t limit : {1000, 4096}) {
    int rounds = 0;
    EXPECT_EQ(DrawAll(SampleHandler(all_.get(), limit), with_edge_ids, &rounds), edges);
    EXPECT_GT(rounds, 1);
  }
  for (const int64_t limit : {300, 1000, 4096, 1 << 20}) {
    int rounds = 0;
    const auto answers = DrawAll(SampleHandler(all_.get(), limit), request, &rounds);
    for (size_t g = 0; g < answers.size(); ++g) {
      EXPECT_EQ(answers[g], Expected(request, request.groups[g])) << limit << " group " << g;
    }
    EXPECT_EQ(rounds == 1, limit == 1 << 20);
  }
}

// A node has up to 100 edges and a message room for few: of 300 bytes, less than 75.
TEST_F(SampleHandlerTest, EdgesBeyondTheLimitAddUpToTheWholeInPieces) {
  LayerSampleRequest request{.batch_seed = 5, .edge_pieces = true, .groups = {}};
  request.groups.push_back({kCites, {.fanout = 1000, .replace = true}, All(NodeType("paper"))});
  request.groups.push_back({kWrites, {.fanout = 3, .replace = true}, All(NodeType("paper"))});
  request.groups.push_back({kCites, {.fanout = -1, .replace = true}, All(NodeType("paper"))});
  LayerSampleRequest with_edge_ids = request;
  for (LayerSampleGroup& group : with_edge_ids.groups) group.edge_ids = true;
  int whole = 0;
  const auto edges = DrawAll(SampleHandler(all_.get(), 64 << 20), with_edge_ids, &whole);
  ASSERT_EQ(whole, 1);
  for (const int64_t limit : {100, 300, 5000}) {
    int rounds = 0;
    EXPECT_EQ(DrawAll(SampleHandler(all_.get(), limit), with_edge_ids, &rounds), edges) << limit;
    EXPECT_GT(rounds, 1);
  }
}

TEST_F(SampleHandlerTest, APieceIsAsLargeAsAskedForAndStaysWithinTheLimit) {
  const int64_t node = GlobalNodeIds(spec_, "paper")[0];
  LayerSampleGroup group{kCites, {.fanout = 1000, .replace = true}, {node, node}};
  group.first_edge = 10;
  group.max_edges = 7;
  LayerSampleRequest request{.edge_pieces = true, .groups = {group, group}};
  auto plans = SampleHandler(all_.get(), 1 << 20).Plan(request);
  ASSERT_TRUE(plans.ok()) << plans.status();
  ASSERT_EQ(plans->size(), 1U) << "the answer ends with a piece";
  EXPECT_THAT(plans->front().counts, testing::ElementsAre(7));
  EXPECT_EQ(plans->front().more_edges, 983);
  request.groups[0].max_edges = 0;
  for (int64_t limit = 60; limit < 600; limit += 13) {
    plans = SampleHandler(all_.get(), limit).Plan(request);
    ASSERT_TRUE(plans.ok()) << plans.status();
    const int64_t bytes = static_cast<int64_t>(wire::SampleGroupReplyBytes(plans->front().shape()));
    EXPECT_LE(bytes, limit);
    EXPECT_GT(bytes, limit - 45);
  }
}

TEST_F(SampleHandlerTest, APieceThatCannotBeIsRefused) {
  const int64_t node = GlobalNodeIds(spec_, "paper")[0];
  LayerSampleGroup group{kCites, {.fanout = 20, .replace = true}, {node}};
  group.first_edge = 20;
  Status status = Refused({.edge_pieces = true, .groups = {group}});
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("edges from 20 on of the 20 drawn"));
  status = Refused({.groups = {group}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("takes no pieces"));
  group.destinations.clear();
  status = Refused({.edge_pieces = true, .groups = {group}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

// Each id is of an in-edge of its destination, and of the source beside it; nothing else changes.
TEST_F(SampleHandlerTest, EdgeIdsAreThoseOfTheEdgesDrawn) {
  for (const int part : {0, 2}) {
    const auto served = Open({part});
    const SampleHandler handler(served.get(), kLimit);
    LayerSampleRequest request{.batch_seed = 3, .groups = {}};
    for (const int32_t fanout : {-1, 0, 2, 60}) {
      for (const char* relation : {kCites, kWrites}) {
        request.groups.push_back({relation, {.fanout = fanout}, Owned(NodeType("paper"), part)});
        request.groups.back().edge_ids = true;
        request.groups.back().rule.replace = fanout == 2;
      }
    }
    const auto plans = handler.Plan(request);
    ASSERT_TRUE(plans.ok()) << plans.status();
    for (size_t g = 0; g < plans->size(); ++g) {
      const LayerSamplePlan& plan = (*plans)[g];
      LayerSampleGroup plain = request.groups[g];
      plain.edge_ids = false;
      const LayerSampleRequest alone{.batch_seed = 3, .groups = {plain}};
      const Answer answer = Draw(handler, plan);
      EXPECT_EQ((Answer{answer.counts, answer.sources}), Expected(alone, plain));
      ASSERT_EQ(answer.edge_ids.size(), answer.sources.size());
      const CscSegment& segment = served->parts()[0]->Edges(plan.relation);
      size_t edge = 0;
      for (size_t i = 0; i < answer.counts.size(); ++i) {
        const int64_t node = plan.destinations[i] - segment.nodes.begin;
        for (uint32_t n = 0; n < answer.counts[i]; ++n, ++edge) {
          const int64_t at = answer.edge_ids[edge] - segment.first_edge;
          EXPECT_GE(at, segment.indptr[node]);
          ASSERT_LT(at, segment.indptr[node + 1]);
          EXPECT_EQ(segment.Source(at), answer.sources[edge]);
        }
      }
    }
  }
}

// One a destination, whatever is drawn and however answers are cut.
TEST_F(SampleHandlerTest, DegreesAreThoseOfTheGraph) {
  LayerSampleRequest request{.batch_seed = 5, .edge_pieces = true, .groups = {}};
  for (const int32_t fanout : {0, 2, -1}) {
    request.groups.push_back({kCites, {.fanout = fanout}, All(NodeType("paper"))});
    request.groups.push_back({kWrites, {.fanout = fanout}, All(NodeType("paper"))});
  }
  for (LayerSampleGroup& group : request.groups) group.degrees = true;
  for (const int64_t limit : {100, 300, 5000, 1 << 20}) {
    const SampleHandler handler(all_.get(), limit);
    int rounds = 0;
    const auto answers = DrawAll(handler, request, &rounds);
    EXPECT_EQ(rounds == 1, limit == 1 << 20);
    for (size_t g = 0; g < answers.size(); ++g) {
      Answer expected = Expected(request, request.groups[g]);
      for (const uint32_t count : Expected(request, request.groups[4 + g % 2]).counts) {
        expected.degrees.push_back(count);
      }
      EXPECT_EQ(answers[g], expected) << limit << " group " << g;
    }
    const auto plans = handler.Plan(request);
    ASSERT_TRUE(plans.ok()) << plans.status();
    size_t bytes = 0;
    for (const LayerSamplePlan& plan : *plans) bytes += wire::SampleGroupReplyBytes(plan.shape());
    EXPECT_LE(bytes, static_cast<size_t>(limit));
  }
}

TEST_F(SampleHandlerTest, WeightsOfUniformDrawsAreInvalid) {
  LayerSampleGroup group{kCites, {.fanout = 5}, {}};
  group.weights = true;
  const Status status = Refused({.groups = {group}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("draws are uniform"));
  group.rule.fanout = 0;
  EXPECT_TRUE(Refused({.groups = {group}}).ok());
}

TEST_F(SampleHandlerTest, PlannedBytesStayWithinTheLimit) {
  for (int64_t limit = 200; limit < 1200; limit += 37) {
    for (const bool edge_ids : {false, true}) {
      const SampleHandler handler(all_.get(), limit);
      LayerSampleRequest request{.batch_seed = 1,
                                 .groups = {{kCites, {.fanout = 5}, All(NodeType("paper"))},
                                            {kWrites, {.fanout = 5}, All(NodeType("paper"))}}};
      for (LayerSampleGroup& group : request.groups) group.edge_ids = edge_ids;
      const auto plans = handler.Plan(request);
      ASSERT_TRUE(plans.ok());
      size_t bytes = 0;
      for (const LayerSamplePlan& plan : *plans) {
        bytes += wire::SampleGroupReplyBytes(plan.shape());
      }
      EXPECT_LE(bytes, static_cast<size_t>(limit));
      // What is left would not hold another destination's edges.
      EXPECT_GT(bytes + 48 + 5 * (edge_ids ? 12 : 4) + 1, static_cast<size_t>(limit));
    }
  }
}

TEST_F(SampleHandlerTest, DestinationTooLargeAloneIsRefusedWithAdvice) {
  const Status status = Refused(
      {.batch_seed = 1,
       .groups = {{kCites, {.fanout = 1000, .replace = true}, {GlobalNodeIds(spec_, "paper")[0]}}}},
      300);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(Message(status), HasSubstr("draws 1000 edges"));
  EXPECT_THAT(Message(status), HasSubstr("lower the fanout 1000"));
}

TEST_F(SampleHandlerTest, ManyEmptyGroupsAreCutAtTheLimitToo) {
  LayerSampleRequest request{.batch_seed = 1, .groups = {}};
  for (int i = 0; i < 100; ++i) request.groups.push_back({kCites, {.fanout = 5}, {}});
  const auto plans = SampleHandler(all_.get(), 300).Plan(request);
  ASSERT_TRUE(plans.ok());
  EXPECT_GT(plans->size(), 0U);
  EXPECT_LT(plans->size(), 100U);
}

TEST_F(SampleHandlerTest, DrawsThatDisagreeWithTheCountsAreDataLoss) {
  const SampleHandler handler(all_.get(), kLimit);
  const LayerSampleRequest request{.groups = {{kCites, {.fanout = -1}, All(NodeType("paper"))}}};
  const auto plans = handler.Plan(request);
  ASSERT_TRUE(plans.ok()) << plans.status();
  LayerSamplePlan plan = plans->front();
  ++plan.counts.back();  // as if the files had held other edges
  ++plan.edges;
  std::vector<uint32_t> sources(plan.edges);
  const Status status =
      handler.Draw(plan, {.sources = reinterpret_cast<std::byte*>(sources.data())});
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr(kCites));
  EXPECT_THAT(Message(status), HasSubstr(std::to_string(plan.edges) + " edges were counted"));
}

TEST_F(SampleHandlerTest, UnknownRelationIsNotFound) {
  const Status status = Refused({.groups = {{"paper:likes:paper", {.fanout = 5}, {0}}}});
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(Message(status), HasSubstr("paper:likes:paper"));
}

TEST_F(SampleHandlerTest, FanoutBeyondItsBoundsIsOutOfRange) {
  for (const int32_t fanout : {-2, (1 << 20) + 1}) {
    const Status status = Refused({.groups = {{kCites, {.fanout = fanout}, {0}}}});
    EXPECT_TRUE(absl::IsOutOfRange(status)) << fanout;
    EXPECT_THAT(Message(status), HasSubstr(std::to_string(fanout)));
  }
}

TEST_F(SampleHandlerTest, ForeignDestinationOfALaterGroupIsOutOfRange) {
  const auto served = Open({0});
  const int64_t foreign = all_->book().NodeRange(NodeType("paper"), 2).begin;
  const SampleHandler handler(served.get(), 200);  // the first group alone would be cut
  const Status status = handler
                            .Plan({.groups = {{kCites, {.fanout = -1}, Owned(NodeType("paper"), 0)},
                                              {kCites, {.fanout = 1}, {foreign}}}})
                            .status();
  EXPECT_TRUE(absl::IsOutOfRange(status));
  EXPECT_THAT(Message(status), HasSubstr("owned by part 2"));
  EXPECT_THAT(Message(status), HasSubstr("serves part 0"));
}

TEST_F(SampleHandlerTest, TooManyGroupsAndLayersAreInvalid) {
  LayerSampleRequest request;
  request.groups.resize(SampleHandler::kMaxGroups + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(Refused(request)));
  EXPECT_TRUE(absl::IsInvalidArgument(Refused({.layer = 1U << 31, .groups = {}})));
  LayerSampleGroup group{kCites, {.fanout = 1}, {}};
  group.layer = 1U << 31;
  EXPECT_TRUE(absl::IsInvalidArgument(Refused({.groups = {group}})));
}

TEST_F(SampleHandlerTest, AKindOfRuleThatIsNotKnownIsInvalidAndNamed) {
  const Status status = Refused({.groups = {{kCites, {.kind = kDrawKinds, .fanout = 1}, {}}}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status), testing::AllOf(HasSubstr(kCites), HasSubstr("older version")));
}

TEST_F(SampleHandlerTest, ServerOfFeaturesRefusesAndSaysWhatToDo) {
  const auto served = Open({1}, {.topology = false});
  const Status status = SampleHandler(served.get(), 4 << 20).Plan({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  for (const char* text : {"part 1", "--serve all", "--topology DIR", "--topology local"}) {
    EXPECT_THAT(Message(status), HasSubstr(text));
  }
}

}  // namespace
}  // namespace halograph::server
