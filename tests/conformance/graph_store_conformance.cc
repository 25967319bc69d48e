#include <deque>
#include <numeric>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/samplers/symmetry.h"
#include "tests/conformance/conformance_fixture.h"
#include "tests/conformance/started_call.h"
#include "tests/support/local_stores.h"
#include "tests/support/one_call.h"

namespace halograph {
namespace {

using Layers = std::vector<std::vector<RelationRule>>;

// A graph under test beside its reference.
struct Subject {
  Subject(const ConformanceFolder& folder, const StoreKind& kind) : graph(folder, kind) {
    auto opened = OpenLocalStores(graph.path, VerifyLevel::kHeaders, 0);
    EXPECT_TRUE(opened.ok()) << ToString(opened.status());
    if (opened.ok()) reference = std::move(*opened);
  }
  [[nodiscard]] bool ok() const { return graph.ok() && reference.graph != nullptr; }
  [[nodiscard]] const Schema& schema() const { return reference.graph->info().schema; }

  ConformanceGraphUnderTest graph;
  Stores reference;
};

// Random seeds with repeats.
std::vector<int64_t> Seeds(int64_t nodes, size_t count, uint64_t key) {
  CounterRng rng(Mix(key));
  std::vector<int64_t> seeds(count);
  for (int64_t& seed : seeds) {
    seed = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(nodes)));
  }
  return seeds;
}

void ExpectReference(Subject& subject, const SampleRequest& request) {
  const auto expected = SampleOne(*subject.reference.graph, request);
  const auto found = SampleOne(*subject.graph.stores.graph, request);
  ASSERT_TRUE(expected.ok()) << ToString(expected.status());
  ASSERT_TRUE(found.ok()) << ToString(found.status());
  EXPECT_EQ(found->nodes, expected->nodes);
  EXPECT_EQ(found->seed_positions, expected->seed_positions);
  EXPECT_EQ(found->sampled_edges, expected->sampled_edges);
  EXPECT_TRUE(*found == *expected);
}

void ExpectReferenceForFanouts(const StoreKind& kind, const ConformanceFolder& folder,
                               size_t num_seeds, const std::vector<int32_t>& fanouts,
                               bool replace) {
  Subject subject(folder, kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec sampling = SamplingSpec::Uniform(subject.schema(), fanouts, replace);
  for (int type = 0; type < static_cast<int>(subject.schema().node_types.size()); ++type) {
    const int64_t nodes = subject.schema().node_types[static_cast<size_t>(type)].count;
    const std::vector<int64_t> seeds = Seeds(nodes, num_seeds, 5 + static_cast<uint64_t>(type));
    for (const uint64_t batch_seed : {uint64_t{0}, uint64_t{42}, UINT64_MAX}) {
      ExpectReference(
          subject,
          {.seeds = {{.type = type, .ids = seeds}}, .batch_seed = batch_seed, .spec = &sampling});
    }
  }
}

void ExpectCode(const StoreKind& kind, const std::vector<int64_t>& seeds, const Layers& layers,
                absl::StatusCode code, const std::string& text) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec sampling{.layers = layers};
  const auto found =
      SampleOne(*subject.graph.stores.graph,
                {.seeds = {{.type = 0, .ids = seeds}}, .batch_seed = 1, .spec = &sampling});
  EXPECT_EQ(found.status().code(), code) << ToString(found.status());
  EXPECT_THAT(Message(found.status()), testing::HasSubstr(text));
}

void InfoIsThatOfTheFolder(const StoreKind& kind) {
  Subject subject(TypedConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const GraphInfo& info = subject.graph.stores.graph->info();
  EXPECT_EQ(info.identity, subject.reference.graph->info().identity);
  EXPECT_TRUE(info.schema == subject.schema());
  EXPECT_TRUE(info.book == subject.reference.graph->info().book);
  EXPECT_THAT(info.clusters, testing::IsEmpty());
}

void ClustersAreThoseOfTheFolder(const StoreKind& kind) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const GraphInfo& info = subject.graph.stores.graph->info();
  ASSERT_EQ(info.clusters.size(), 4U);
  for (int part = 0; part < 4; ++part) {
    std::vector<int64_t> bounds = {info.book.NodeRange(0, part).begin};
    for (const int64_t nodes : ConformanceGraph().spec.cluster_nodes[static_cast<size_t>(part)]) {
      bounds.push_back(bounds.back() + nodes);
    }
    EXPECT_EQ(info.clusters[static_cast<size_t>(part)], bounds);
  }
}

void AllNodesAsSeedsInAnyOrder(const StoreKind& kind) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{-1}, false);
  std::vector<int64_t> seeds(3000);
  std::iota(seeds.rbegin(), seeds.rend(), 0);
  ExpectReference(subject,
                  {.seeds = {{.type = 0, .ids = seeds}}, .batch_seed = 3, .spec = &sampling});
}

// All hubs at once: each of two servers owns five, of which four fit into 64 KiB.
void SameMinibatchOfHubsBeyondOneMessage(const StoreKind& kind) {
  Subject subject(HubConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  std::vector<int64_t> seeds;
  for (const int64_t part : {3, 0, 2, 1}) {
    for (int64_t i = 0; i < 5; ++i) seeds.push_back(part * 500 + i);
  }
  for (const auto& [fanouts, replace] :
       {std::pair{std::vector<int32_t>{-1, 2}, false}, {{3400, -1}, false}, {{3400}, true}}) {
    const SamplingSpec sampling = SamplingSpec::Uniform(subject.schema(), fanouts, replace);
    ExpectReference(subject,
                    {.seeds = {{.type = 0, .ids = seeds}}, .batch_seed = 6, .spec = &sampling});
  }
}

void NoSeedsGiveAnEmptyMinibatch(const StoreKind& kind) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{5, 5}, false);
  ExpectReference(subject, {.seeds = {{.type = 0, .ids = {}}}, .batch_seed = 3, .spec = &sampling});
}

// Relations of different fanouts, one of them left out, one not sampled at all.
void LayersMayDifferInRelations(const StoreKind& kind) {
  Subject subject(TypedConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const int paper = *subject.schema().NodeTypeIndex("paper");
  const SamplingSpec sampling{.layers = {{Neighbors(0, 3), Neighbors(1, 0), Neighbors(3, -1)},
                                         {Neighbors(1, 2), Neighbors(2, 4)}}};
  const std::vector<int64_t> seeds = Seeds(600, 200, 8);
  ExpectReference(subject,
                  {.seeds = {{.type = paper, .ids = seeds}}, .batch_seed = 4, .spec = &sampling});
}

// Both modes and all kinds of fanouts; layers of no draws beside them.
void SameMinibatchByWeight(const StoreKind& kind) {
  Subject subject(WeightedConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  for (const bool replace : {false, true}) {
    for (const std::vector<int32_t>& fanouts :
         {std::vector<int32_t>{4, 3}, {-1, 2}, {0, 5}, {60, 11}}) {
      SamplingSpec sampling = SamplingSpec::Uniform(subject.schema(), fanouts, replace);
      ASSERT_TRUE(sampling.DrawBy(subject.schema(), "w").ok());
      for (int type = 0; type < static_cast<int>(subject.schema().node_types.size()); ++type) {
        const int64_t nodes = subject.schema().node_types[static_cast<size_t>(type)].count;
        const std::vector<int64_t> seeds = Seeds(nodes, 150, 9);
        ExpectReference(
            subject, {.seeds = {{.type = type, .ids = seeds}}, .batch_seed = 7, .spec = &sampling});
      }
    }
  }
}

void WeightWithoutTablesIsNotFoundNamingRelationAndRemedy(const StoreKind& kind) {
  Subject subject(WeightedConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const int cites = *subject.schema().RelationIndex("paper:cites:paper");
  const int paper = *subject.schema().NodeTypeIndex("paper");
  const std::vector<int64_t> seeds = {0};
  SamplingSpec sampling{.layers = {{Neighbors(cites, 3)}}};
  const auto expect_refused = [](const Status& status, const std::string& weight) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << ToString(status);
    EXPECT_THAT(Message(status),
                testing::AllOf(testing::HasSubstr("'paper:cites:paper'"), testing::HasSubstr("'w'"),
                               testing::HasSubstr(fmt::format("--sampling-weights {}", weight))));
  };
  // The second is a feature without tables.
  for (const std::string weight : {"nowhere", "weight"}) {
    expect_refused(sampling.DrawBy(subject.schema(), weight), weight);
  }
  const std::vector<TensorSpec>& features =
      subject.schema().relations[static_cast<size_t>(cites)].features;
  const auto without = std::find_if(features.begin(), features.end(),
                                    [](const TensorSpec& spec) { return spec.name == "weight"; });
  sampling.layers[0][0].rule.weight = static_cast<int>(without - features.begin());
  const auto found =
      SampleOne(*subject.graph.stores.graph,
                {.seeds = {{.type = paper, .ids = seeds}}, .batch_seed = 1, .spec = &sampling});
  expect_refused(found.status(), "weight");
}

void FourThreadsAtOnceGiveWhatOneGives(const StoreKind& kind) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{6, 4}, false);
  const std::vector<int64_t> seeds = Seeds(3000, 300, 6);
  const auto sample = [&](GraphStore& store, uint64_t batch_seed) {
    return SampleOne(
        store, {.seeds = {{.type = 0, .ids = seeds}}, .batch_seed = batch_seed, .spec = &sampling});
  };
  constexpr int kBatches = 6;
  std::vector<std::vector<StatusOr<Minibatch>>> found(4);
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&] {
      for (uint64_t batch = 0; batch < kBatches; ++batch) {
        mine.push_back(sample(*subject.graph.stores.graph, batch));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    const auto expected = sample(*subject.reference.graph, batch);
    ASSERT_TRUE(expected.ok());
    for (const auto& mine : found) {
      ASSERT_TRUE(mine[batch].ok()) << ToString(mine[batch].status());
      EXPECT_TRUE(*mine[batch] == *expected);
    }
  }
}

void ACancelledTokenEndsItsCallsAndNoOthers(const StoreKind& kind) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{5}, false);
  const std::vector<int64_t> seeds = {1, 2, 3};
  const SampleRequest request{
      .seeds = {{.type = 0, .ids = seeds}}, .batch_seed = 1, .spec = &sampling};
  GraphStore& store = *subject.graph.stores.graph;
  CancelToken token;
  EXPECT_TRUE(SampleOne(store, request, nullptr, &token).ok());
  token.Cancel();
  token.Cancel();
  EXPECT_EQ(SampleOne(store, request, nullptr, &token).status().code(),
            absl::StatusCode::kCancelled);
  CallContext context{.cancel = &token};
  std::vector<NeighborPicks> picks;
  EXPECT_EQ(AskForDraws(store, {}, context, &picks).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(SampleOne(store, request).ok());
}

// Sampling threads that run into a cancelled token end with OK or Cancelled, and they end.
void CancellingEndsCallsUnderWay(const StoreKind& kind) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{5, 5}, false);
  const std::vector<int64_t> seeds = Seeds(3000, 100, 7);
  CancelToken token;
  std::vector<Status> last(3);
  std::vector<std::thread> threads;
  for (Status& status : last) {
    threads.emplace_back([&] {
      while (status.ok()) {
        status =
            SampleOne(*subject.graph.stores.graph,
                      {.seeds = {{.type = 0, .ids = seeds}}, .batch_seed = 1, .spec = &sampling},
                      nullptr, &token)
                .status();
      }
    });
  }
  token.Cancel();
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : last) {
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << ToString(status);
  }
}

void APassedDeadlineIsDeadlineExceeded(const StoreKind& kind) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{5}, false);
  const std::vector<int64_t> seeds = {1, 2, 3};
  CallContext context{.deadline = std::chrono::steady_clock::now()};
  Minibatch minibatch;
  EXPECT_EQ(
      subject.graph.stores.graph
          ->Sample({.seeds = {{.type = 0, .ids = seeds}}, .spec = &sampling}, context, &minibatch)
          .code(),
      absl::StatusCode::kDeadlineExceeded);
}

// Of different seeds, specs and types; into objects that hold other minibatches.
void OneCallOfSeveralRequestsGivesWhatOneEachGives(const StoreKind& kind) {
  Subject subject(WeightedConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const Schema& schema = subject.schema();
  const SamplingSpec uniform = SamplingSpec::Uniform(schema, std::vector<int32_t>{4, 3}, false);
  const SamplingSpec deep = SamplingSpec::Uniform(schema, std::vector<int32_t>{2, -1, 2}, true);
  SamplingSpec weighted = SamplingSpec::Uniform(schema, std::vector<int32_t>{3, 0}, false);
  ASSERT_TRUE(weighted.DrawBy(schema, "w").ok());
  std::vector<std::vector<int64_t>> seeds;
  for (uint64_t i = 0; i < 4; ++i) seeds.push_back(Seeds(50, 20, i));
  const std::vector<SampleRequest> requests = {
      {.seeds = {{.type = 0, .ids = seeds[0]}}, .batch_seed = 4, .spec = &uniform},
      {.seeds = {{.type = 1, .ids = seeds[1]}}, .batch_seed = 5, .spec = &deep},
      {.seeds = {{.type = 0, .ids = seeds[2]}, {.type = 1, .ids = seeds[3]}},
       .batch_seed = 4,
       .spec = &weighted},
      {.seeds = {{.type = 1, .ids = {}}}, .batch_seed = 6, .spec = &uniform}};
  std::vector<Minibatch> found(requests.size());
  for (int round = 0; round < 2; ++round) {
    CallContext context;
    const Status status = subject.graph.stores.graph->Sample(requests, context, found);
    ASSERT_TRUE(status.ok()) << ToString(status);
    EXPECT_LE(context.stats.rounds, 3 * kRoundsOfAnExchange) << "one exchange a layer";
    for (size_t i = 0; i < requests.size(); ++i) {
      const auto expected = SampleOne(*subject.reference.graph, requests[i]);
      ASSERT_TRUE(expected.ok()) << ToString(expected.status());
      EXPECT_TRUE(found[i] == *expected) << i;
    }
  }
}

SamplingSpec Labor(const Schema& schema, const std::vector<int32_t>& fanouts, bool one_key) {
  SamplingSpec spec = SamplingSpec::Uniform(schema, fanouts, false);
  for (auto& layer : spec.layers) {
    for (auto& [relation, rule] : layer) {
      rule.kind = DrawKind::kLabor;
      rule.one_key = one_key;
    }
  }
  return spec;
}

void SameLaborMinibatches(const StoreKind& kind) {
  Subject subject(TypedConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const std::vector<int64_t> papers = Seeds(40, 12, 3);
  for (const bool one_key : {false, true}) {
    SamplingSpec sampling = Labor(subject.schema(), {2, 3, -1}, one_key);
    sampling.layers[1][1].rule.fanout = 0;
    ExpectReference(subject, {.seeds = {{.type = 0, .ids = papers}},
                              .batch_seed = 12,
                              .spec = &sampling,
                              .edge_ids = one_key,
                              .source_degrees = !one_key});
  }
}

// Of hubs, whose edges do not fit one message, and nodes with fewer than the fanout.
void SameLaborMinibatchOfHubs(const StoreKind& kind) {
  Subject subject(HubConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < 20; ++i) seeds.push_back(i % 4 * 500 + i / 4);
  for (const int32_t fanout : {3000, 20, -1}) {
    const SamplingSpec sampling = Labor(subject.schema(), {fanout, 5}, false);
    ExpectReference(subject, {.seeds = {{.type = 0, .ids = seeds}},
                              .batch_seed = 6,
                              .spec = &sampling,
                              .edge_ids = fanout == 20,
                              .source_degrees = true});
  }
}

// In-degrees are told without them.
void SameLaborMinibatchWithEdgesLeftOut(const StoreKind& kind) {
  Subject subject(HubConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const std::vector<int64_t> seeds = {1500, 2, 1001, 503};
  std::vector<int64_t> sources;
  std::vector<int64_t> destinations;
  for (int64_t i = 0; i < 1200; ++i) {
    sources.push_back(i / 2);
    destinations.push_back(seeds[i % 2]);
  }
  const SamplingSpec sampling = Labor(subject.schema(), {50, 5}, false);
  ExpectReference(subject,
                  {.seeds = {{.type = 0, .ids = seeds}},
                   .batch_seed = 6,
                   .spec = &sampling,
                   .exclude = {{.relation = 0, .sources = sources, .destinations = destinations}},
                   .source_degrees = true});
}

// Layer-wise: by every W, of all candidates and of a few, with everything beside.
void SameLayerWiseMinibatches(const StoreKind& kind) {
  Subject subject(TypedConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const std::vector<int64_t> papers = Seeds(40, 12, 3);
  for (const LayerProbability probability : {LayerProbability::kDegree, LayerProbability::kSqrt,
                                             LayerProbability::kCount, LayerProbability::kCount2}) {
    for (const int32_t nodes : {-1, 7}) {
      SamplingSpec sampling =
          SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{nodes, nodes}, false);
      for (auto& layer : sampling.layers) {
        for (auto& [relation, rule] : layer) {
          rule.kind = DrawKind::kLadies;
          rule.probability = probability;
          if (relation == 1) rule.fanout = 0;
        }
      }
      ExpectReference(subject, {.seeds = {{.type = 0, .ids = papers}},
                                .batch_seed = 12,
                                .spec = &sampling,
                                .edge_ids = nodes < 0,
                                .source_degrees = true});
    }
  }
}

void SameMinibatchesOfFastGcn(const StoreKind& kind) {
  Subject subject(TypedConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{9, 20}, false);
  for (auto& layer : sampling.layers) {
    for (auto& [relation, rule] : layer) rule.kind = DrawKind::kFastGcn;
  }
  const std::vector<int64_t> papers = Seeds(40, 12, 3);
  for (const uint64_t batch_seed : {1, 2}) {  // the second time the out-degrees are there
    ExpectReference(subject, {.seeds = {{.type = 0, .ids = papers}},
                              .batch_seed = batch_seed,
                              .spec = &sampling,
                              .source_degrees = true});
  }
}

// Every part answers for itself, wherever it is, and all together tell.
void WhetherARelationIsSymmetricIsToldByAllParts(const StoreKind& kind) {
  for (const bool symmetric : {false, true}) {
    Subject subject(symmetric ? SymmetricConformanceGraph() : ConformanceGraph(), kind);
    ASSERT_TRUE(subject.ok());
    CallContext context;
    std::vector<ColumnSums> found;
    const Status status = CheckSymmetric(
        subject.schema(), 0, 4, [&](const TopologyQuestions& questions, TopologyAnswers* answers) {
          TopologyAnswers expected;
          HG_RETURN_IF_ERROR(subject.reference.graph->Ask(questions, context, &expected));
          HG_RETURN_IF_ERROR(subject.graph.stores.graph->Ask(questions, context, answers));
          EXPECT_TRUE(answers->sums == expected.sums);
          found = answers->sums;
          return OkStatus();
        });
    EXPECT_EQ(status.code(),
              symmetric ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition)
        << ToString(status);
    ASSERT_EQ(found.size(), 4U);
    for (const ColumnSums& of_part : found) {
      EXPECT_THAT(of_part.sources, testing::ElementsAre(0));  // edges between parts
    }
  }
}

// Of hubs, whose sums and edges do not fit one message.
void SameLayerWiseMinibatchOfHubs(const StoreKind& kind) {
  Subject subject(HubConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{400, 50}, false);
  for (auto& layer : sampling.layers) layer[0].rule.kind = DrawKind::kLadies;
  const std::vector<int64_t> seeds = {1500, 2, 1001, 503};
  ExpectReference(subject, {.seeds = {{.type = 0, .ids = seeds}},
                            .batch_seed = 6,
                            .spec = &sampling,
                            .source_degrees = true});
}

void OneLayerIsThatOfTheEmbeddedStore(const StoreKind& kind) {
  Subject subject(TypedConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const Schema& schema = subject.schema();
  std::vector<std::vector<int64_t>> destinations;
  std::vector<LayerGroup> groups;
  for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
    const int64_t nodes = schema.node_types[static_cast<size_t>(schema.DestinationType(r))].count;
    std::vector<int64_t>& ids = destinations.emplace_back(static_cast<size_t>(nodes));
    std::iota(ids.rbegin(), ids.rend(), 0);
    groups.push_back({.relation = r,
                      .rule = {.fanout = r == 0 ? 0 : 3, .replace = r % 2 == 1},
                      .batch_seed = 7 + static_cast<uint64_t>(r % 2),
                      .layer = r % 3,
                      .degrees = r < 2,
                      .destinations = {}});
  }
  for (size_t g = 0; g < groups.size(); ++g) groups[g].destinations = destinations[g];
  CallContext context;
  std::vector<NeighborPicks> expected;
  std::vector<NeighborPicks> found;
  ASSERT_TRUE(AskForDraws(*subject.reference.graph, groups, context, &expected).ok());
  const Status status = AskForDraws(*subject.graph.stores.graph, groups, context, &found);
  ASSERT_TRUE(status.ok()) << ToString(status);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t g = 0; g < found.size(); ++g) {
    EXPECT_EQ(found[g].offsets, expected[g].offsets) << g;
    EXPECT_EQ(found[g].sources, expected[g].sources) << g;
    EXPECT_EQ(found[g].degrees, expected[g].degrees) << g;
    EXPECT_EQ(found[g].degrees.size(), groups[g].degrees ? destinations[g].size() : 0) << g;
  }
}

// All are under way at once, and go on by this thread when they are answered.
void SamplesStartedByOneThreadGiveTheSameMinibatches(const StoreKind& kind) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  const SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{5, 5, 5}, false);
  struct Started {
    explicit Started(PostedWork* work) : call(work) {}
    std::vector<int64_t> seeds;
    SampleRequest request = {};
    Minibatch minibatch = {};
    StartedCall<Status> call;
  };
  PostedWork work;
  std::deque<Started> samples;
  for (uint64_t i = 0; i < 10; ++i) {
    Started& sample = samples.emplace_back(&work);
    sample.seeds = Seeds(3000, i == 9 ? 0 : 50, 3 + i);
    sample.request = {
        .seeds = {{.type = 0, .ids = sample.seeds}}, .batch_seed = i, .spec = &sampling};
    subject.graph.stores.graph->StartSample({&sample.request, 1}, sample.call.context,
                                            {&sample.minibatch, 1}, sample.call.Done());
  }
  for (Started& sample : samples) {
    ASSERT_TRUE(sample.call.Await().ok()) << ToString(sample.call.Await());
    EXPECT_EQ(sample.call.ends(), 1);
    const auto expected = SampleOne(*subject.reference.graph, sample.request);
    ASSERT_TRUE(expected.ok());
    EXPECT_TRUE(sample.minibatch == *expected);
  }
}

void AStartedAskAndABadStartedSampleEndOnce(const StoreKind& kind) {
  Subject subject(ConformanceGraph(), kind);
  ASSERT_TRUE(subject.ok());
  GraphStore& store = *subject.graph.stores.graph;
  const std::vector<int64_t> ids = {1, 2999, 7};
  const LayerGroup group{.rule = {.fanout = 3}, .destinations = ids};
  PostedWork work;
  StartedCall<Status> layer(&work);
  const TopologyQuestions questions{.draws = {group}, .sums = {}, .edges = {}};
  TopologyAnswers answers;
  std::vector<NeighborPicks> expected;
  store.StartAsk(questions, layer.context, &answers, layer.Done());
  ASSERT_TRUE(layer.Await().ok()) << ToString(layer.Await());
  CallContext blocking;
  ASSERT_TRUE(AskForDraws(store, {&group, 1}, blocking, &expected).ok());
  EXPECT_EQ(answers.draws[0].offsets, expected[0].offsets);
  EXPECT_EQ(answers.draws[0].sources, expected[0].sources);

  const std::vector<int64_t> outside = {3000};
  const SamplingSpec sampling =
      SamplingSpec::Uniform(subject.schema(), std::vector<int32_t>{5}, false);
  const SampleRequest bad{.seeds = {{.type = 0, .ids = outside}}, .spec = &sampling};
  Minibatch minibatch;
  StartedCall<Status> sample(&work);
  store.StartSample({&bad, 1}, sample.context, {&minibatch, 1}, sample.Done());
  EXPECT_EQ(sample.Await().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(layer.ends(), 1);
  EXPECT_EQ(sample.ends(), 1);
}

}  // namespace

void RegisterGraphStoreConformance(const StoreKind& kind) {
  const auto add = [&](const char* name, const std::function<void(const StoreKind&)>& body) {
    RegisterCase("GraphStoreConformance", kind, name, body);
  };
  const auto add_fanouts = [&](const char* name, const std::vector<int32_t>& fanouts,
                               bool replace) {
    add(name, [=](const StoreKind& k) {
      ExpectReferenceForFanouts(k, ConformanceGraph(), 400, fanouts, replace);
    });
  };
  add("InfoIsThatOfTheFolder", InfoIsThatOfTheFolder);
  add("SameLaborMinibatches", SameLaborMinibatches);
  add("SameLaborMinibatchOfHubs", SameLaborMinibatchOfHubs);
  add("SameLaborMinibatchWithEdgesLeftOut", SameLaborMinibatchWithEdgesLeftOut);
  add("SameLayerWiseMinibatches", SameLayerWiseMinibatches);
  add("WhetherARelationIsSymmetricIsToldByAllParts", WhetherARelationIsSymmetricIsToldByAllParts);
  add("SameMinibatchesOfFastGcn", SameMinibatchesOfFastGcn);
  add("SameLayerWiseMinibatchOfHubs", SameLayerWiseMinibatchOfHubs);
  add("ClustersAreThoseOfTheFolder", ClustersAreThoseOfTheFolder);
  add_fanouts("SameMinibatchWithoutReplacement", {10, 5}, false);
  add_fanouts("SameMinibatchWithReplacement", {10, 5}, true);
  add_fanouts("SameMinibatchOfFullNeighbourhoods", {-1, -1}, false);
  add_fanouts("SameMinibatchOfFanoutZeroAndOne", {1, 0, 1}, false);
  add_fanouts("SameMinibatchOfTheLargestFanout", {kMaxFanout}, false);
  add("SameMinibatchOfTypedGraph", [](const StoreKind& k) {
    ExpectReferenceForFanouts(k, TypedConformanceGraph(), 100, {4, 3, -1}, false);
  });
  add("SameMinibatchOfTypedGraphWithReplacement", [](const StoreKind& k) {
    ExpectReferenceForFanouts(k, TypedConformanceGraph(), 100, {4, 3}, true);
  });
  add("SameMinibatchOfDuplicateSeeds", [](const StoreKind& k) {
    ExpectReferenceForFanouts(k, ConformanceGraph(), 9000, {3}, false);
  });
  add("SameMinibatchOfHubsBeyondOneMessage", SameMinibatchOfHubsBeyondOneMessage);
  add("AllNodesAsSeedsInAnyOrder", AllNodesAsSeedsInAnyOrder);
  add("NoSeedsGiveAnEmptyMinibatch", NoSeedsGiveAnEmptyMinibatch);
  add("LayersMayDifferInRelations", LayersMayDifferInRelations);
  add("SameMinibatchByWeight", SameMinibatchByWeight);
  add("WeightWithoutTablesIsNotFoundNamingRelationAndRemedy",
      WeightWithoutTablesIsNotFoundNamingRelationAndRemedy);
  add("SeedOutOfRangeIsOutOfRangeNamingIt", [](const StoreKind& k) {
    ExpectCode(k, {0, 3000}, {{Neighbors(0, 5)}}, absl::StatusCode::kOutOfRange, "3000");
    ExpectCode(k, {-1}, {{Neighbors(0, 5)}}, absl::StatusCode::kOutOfRange, "-1");
  });
  add("FanoutOutOfRangeIsOutOfRangeNamingIt", [](const StoreKind& k) {
    ExpectCode(k, {0}, {{Neighbors(0, -2)}}, absl::StatusCode::kOutOfRange, "-2");
  });
  add("UnknownRelationIsInvalidArgument", [](const StoreKind& k) {
    ExpectCode(k, {0}, {{Neighbors(1, 5)}}, absl::StatusCode::kInvalidArgument, "1");
  });
  add("FourThreadsAtOnceGiveWhatOneGives", FourThreadsAtOnceGiveWhatOneGives);
  add("ACancelledTokenEndsItsCallsAndNoOthers", ACancelledTokenEndsItsCallsAndNoOthers);
  add("CancellingEndsCallsUnderWay", CancellingEndsCallsUnderWay);
  add("APassedDeadlineIsDeadlineExceeded", APassedDeadlineIsDeadlineExceeded);
  add("OneCallOfSeveralRequestsGivesWhatOneEachGives",
      OneCallOfSeveralRequestsGivesWhatOneEachGives);
  add("OneLayerIsThatOfTheEmbeddedStore", OneLayerIsThatOfTheEmbeddedStore);
  add("SamplesStartedByOneThreadGiveTheSameMinibatches",
      SamplesStartedByOneThreadGiveTheSameMinibatches);
  add("AStartedAskAndABadStartedSampleEndOnce", AStartedAskAndABadStartedSampleEndOnce);
}

}  // namespace halograph
