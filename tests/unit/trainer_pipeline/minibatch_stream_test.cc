#include "trainer/pipeline/minibatch_stream.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/opened_graph.h"
#include "tests/support/split_seeds.h"
#include "tests/unit/trainer_pipeline/late_answers.h"
#include "trainer/pipeline/sample_bulks.h"
#include "trainer/seeds/labeled_seeds.h"
#include "trainer/seeds/subgraph_seeds.h"

namespace halograph {
namespace {

class MinibatchStreamTest : public OpenedGraphTest {
 protected:
  void SetUp() override {
    TestGraphSpec spec = RandomGraph({.seed = 5, .parts = 3, .nodes = 120, .num_classes = 4});
    std::vector<float> weights(spec.relations[0].edges.size());
    std::iota(weights.begin(), weights.end(), 1.0F);
    spec.relations[0].features = {MakeTensor("w", weights)};
    Open(spec);
    auto task = ReadNodeTask(stores_, "");
    ASSERT_TRUE(task.ok()) << task.status();
    train_ = task->train;
    source_.emplace(0, train_.seeds, train_.labels);
  }
  BatchRecipe Recipe() {
    const Schema& schema = stores_.graph->info().schema;
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, std::vector<int32_t>{3, 2});
    recipe.inputs = {{0, TensorRef{false, "node", "feat"}, schema.node_types[0].features[0]}};
    recipe.by_source = BySource::kAll;
    recipe.compact = compact_;
    recipe.edge_weights = *ChooseEdgeWeights(schema, edge_weight_, recipe.sampling);
    return recipe;
  }
  SeedShards Shards(int world_size) {
    return SplitSeeds(train_.seeds, stores_.graph->info().book.NodeBoundaries(0), world_size);
  }
  // All minibatches of a stream, or the first so many.
  std::vector<Step> Drain(GraphStore* graph, StreamOptions options, size_t most = SIZE_MAX) {
    RowStore* const rows = options.cache != nullptr ? options.cache : stores_.rows.get();
    BatchRecipe recipe = Recipe();
    recipe.held = held_;
    const BatchMaker maker(graph, rows, recipe);
    MinibatchStream stream(&maker, &*source_, Shards(options.world_size), options);
    std::vector<Step> batches;
    while (batches.size() < most) {
      auto next = stream.Next();
      EXPECT_TRUE(next.ok()) << next.status();
      if (!next.ok() || !next->has_value()) return batches;
      batches.push_back(std::move(**next));
    }
    return batches;
  }
  // All rows are remote, and counted.
  std::unique_ptr<CachedRows> Cache(bool look_ahead, size_t memory) {
    auto cache = CachedRows::Create(stores_.rows, stores_.graph->info(),
                                    {.tensors = {TensorRef{false, "node", "feat"}},
                                     .memory_bytes = memory,
                                     .look_ahead = look_ahead,
                                     .count_reads = true});
    EXPECT_TRUE(cache.ok()) << cache.status();
    return *std::move(cache);
  }
  static std::vector<int64_t> SeedsOf(const Step& batch) {
    std::vector<int64_t> seeds;
    for (int32_t position : batch.minibatch.seed_positions.front()) {
      seeds.push_back(batch.minibatch.nodes[0][position]);
    }
    return seeds;
  }

  static std::vector<int64_t> LabelsOf(const Step& batch) {
    const auto labels = batch.labels.As<int64_t>();
    return {labels.begin(), labels.end()};
  }
  static void ExpectEqual(const Step& found, const Step& wanted) {
    EXPECT_EQ(found.minibatch, wanted.minibatch);
    EXPECT_EQ(found.labels.data, wanted.labels.data);
    EXPECT_TRUE(std::ranges::equal(found.features[0].values(), wanted.features[0].values()));
  }

  LabeledSeeds train_;
  std::optional<NodeSeeds> source_;
  std::shared_ptr<const HeldRows> held_;  // of what Drain makes
  CompactIds compact_ = {};
  std::string edge_weight_ = {};
};

TEST_F(MinibatchStreamTest, EachEpochVisitsEverySeedOfTheRanksOnceWithItsLabel) {
  constexpr int kWorld = 3, kEpochs = 2;
  std::vector<std::vector<int64_t>> visited(kEpochs);
  for (int rank = 0; rank < kWorld; ++rank) {
    const auto batches = Drain(stores_.graph.get(), {.rank = rank,
                                                     .world_size = kWorld,
                                                     .batch_size = 7,
                                                     .epochs = kEpochs,
                                                     .threads = 3,
                                                     .prefetch = 4});
    const size_t steps = batches.size() / kEpochs;
    EXPECT_EQ(steps, static_cast<size_t>(Shards(kWorld).Steps(7)));
    for (size_t i = 0; i < batches.size(); ++i) {
      const std::vector<int64_t> seeds = SeedsOf(batches[i]);
      const std::vector<int64_t> labels = LabelsOf(batches[i]);
      ASSERT_EQ(seeds.size(), labels.size());
      for (size_t s = 0; s < seeds.size(); ++s) {
        const auto row = std::lower_bound(train_.seeds.begin(), train_.seeds.end(), seeds[s]) -
                         train_.seeds.begin();
        EXPECT_EQ(labels[s], train_.labels.As<int64_t>()[row]);
        visited[i / steps].push_back(seeds[s]);
      }
    }
  }
  EXPECT_NE(visited[0], visited[1]) << "epochs are shuffled differently";
  for (std::vector<int64_t>& epoch : visited) {
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, train_.seeds);
  }
}

// Shards differ in size: the last step of the smaller ones has no rows.
TEST_F(MinibatchStreamTest, ARankWhoseLastStepIsEmptyGoesThroughItToo) {
  int empty = 0;
  for (int world_size = 2; world_size <= 8; ++world_size) {
    const SeedShards shards = Shards(world_size);
    int64_t fewest = shards.of_rank[0].size();
    for (const IdRange& shard : shards.of_rank) fewest = std::min(fewest, shard.size());
    for (int rank = 0; rank < world_size; ++rank) {
      const std::vector<Step> steps = Drain(
          stores_.graph.get(), {.rank = rank, .world_size = world_size, .batch_size = fewest});
      ASSERT_EQ(std::ssize(steps), shards.Steps(fewest));
      int64_t rows = 0;
      for (const Step& step : steps) {
        rows += step.rows;
        empty += step.rows == 0 ? 1 : 0;
      }
      EXPECT_EQ(rows, shards.of_rank[static_cast<size_t>(rank)].size());
    }
  }
  EXPECT_GT(empty, 0) << "all shards are of one size";
}

TEST_F(MinibatchStreamTest, TellsOfEachStageOfEachStepOnce) {
  for (const size_t prefetch : {0, 3}) {
    Mutex mutex;
    std::map<std::string, std::vector<StepId>> told;
    const auto steps =
        Drain(stores_.graph.get(),
              {.batch_size = 8,
               .epochs = 2,
               .threads = 2,
               .prefetch = prefetch,
               .on_stage = [&](std::string_view stage, const StepId& step, auto begin, auto end) {
                 EXPECT_LE(begin, end);
                 const MutexLock lock(mutex);
                 told[std::string(stage)].push_back(step);
               }});
    EXPECT_EQ(told.size(), 3U);
    for (const char* stage : {"schedule", "sample", "gather"}) {
      ASSERT_EQ(told[stage].size(), steps.size()) << stage;
      for (const Step& step : steps) EXPECT_EQ(std::ranges::count(told[stage], step.key), 1);
    }
  }
}

TEST_F(MinibatchStreamTest, ThreadsAndPrefetchChangeNothing) {
  const StreamOptions one{.seed = 9, .batch_size = 8, .epochs = 3, .threads = 1, .prefetch = 1};
  const auto wanted = Drain(stores_.graph.get(), one);
  for (const auto& [threads, prefetch] : {std::pair<size_t, size_t>{2, 3}, {4, 16}}) {
    StreamOptions more = one;
    more.threads = threads;
    more.prefetch = prefetch;
    const auto found = Drain(stores_.graph.get(), more);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) ExpectEqual(found[i], wanted[i]);
  }
}

TEST_F(MinibatchStreamTest, ACacheChangesNothingButWhatIsAskedFor) {
  StreamOptions options{.seed = 9, .batch_size = 8, .epochs = 4, .threads = 3, .prefetch = 6};
  const auto wanted = Drain(stores_.graph.get(), options);
  for (const bool look_ahead : {true, false}) {
    for (const size_t prefetch : {0, 1, 6}) {
      const auto cache = Cache(look_ahead, 6000);
      int told = 0;
      options.prefetch = prefetch;
      options.cache = cache.get();
      options.small_cache = [&](int64_t rows, int64_t room) {
        EXPECT_GT(rows, room);
        ++told;
      };
      const auto found = Drain(stores_.graph.get(), options);
      ASSERT_EQ(found.size(), wanted.size());
      CallStats all;
      for (size_t i = 0; i < found.size(); ++i) {
        ExpectEqual(found[i], wanted[i]);
        all += found[i].pulled;
        EXPECT_EQ(found[i].pulled.cache_hits + found[i].pulled.cache_misses,
                  std::ssize(found[i].minibatch.nodes[0]));
        if (!look_ahead && found[i].key.epoch == 0) {
          EXPECT_EQ(found[i].pulled.cache_hits, 0) << "nothing ranks in the first epoch";
        }
      }
      EXPECT_GT(all.cache_hits, 0);
      EXPECT_EQ(told, cache->largest_step() > cache->slots() ? 1 : 0);
    }
  }
}

TEST_F(MinibatchStreamTest, ACacheIsToldOfNoRowThatIsHeld) {
  StreamOptions options{.seed = 9, .batch_size = 8, .epochs = 2, .threads = 3, .prefetch = 6};
  const auto wanted = Drain(stores_.graph.get(), options);
  for (const int64_t step : {2, 1}) {  // every other node, all nodes
    std::vector<int64_t> ids;
    for (int64_t id = 0; id < 120; id += step) ids.push_back(id);
    held_ = std::make_shared<const HeldRows>(HeldRows{HeldIds(ids, 120)});
    const auto cache = Cache(true, 6000);
    options.cache = cache.get();
    const auto found = Drain(stores_.graph.get(), options);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].minibatch, wanted[i].minibatch);
      const std::vector<int32_t>& gathered = found[i].split.places[0].gathered;
      EXPECT_EQ(gathered.empty(), step == 1);
      EXPECT_EQ(found[i].pulled.cache_hits + found[i].pulled.cache_misses, std::ssize(gathered));
      ASSERT_EQ(found[i].features[0].rows(), std::ssize(gathered));
      for (size_t row = 0; row < gathered.size(); ++row) {
        EXPECT_EQ(found[i].features[0].values()[row * 4],
                  wanted[i].features[0].values()[static_cast<size_t>(gathered[row]) * 4]);
      }
    }
    EXPECT_EQ(cache->largest_step() == 0, step == 1);
  }
}

TEST_F(MinibatchStreamTest, StepsAreSampledUntilTheCacheKnowsWhatToKeep) {
  constexpr size_t kPlan = 2;
  const StreamOptions options{
      .seed = 9, .batch_size = 2, .epochs = 20, .threads = 2, .prefetch = 1, .sampled_ahead = 2};
  constexpr int64_t kAhead = 1 + 2;  // prefetch, sampled_ahead
  for (const bool look_ahead : {true, false}) {
    // Room for more rows than a few steps read, and fewer than there are.
    const auto cache = Cache(look_ahead, 6000);
    StreamOptions cached = options;
    cached.cache = cache.get();
    const BatchMaker maker(stores_.graph.get(), cache.get(), Recipe());
    MinibatchStream stream(&maker, &*source_, Shards(1), cached);
    for (int64_t taken = 1; taken <= 20; ++taken) {
      ASSERT_TRUE(stream.Next().ok());
      if (!look_ahead) {
        EXPECT_LE(cache->announced(), taken - 1 + kAhead);
      }
    }
    if (look_ahead) stream.AwaitStage(kPlan, 20 + 3 * kAhead);
  }
}

TEST_F(MinibatchStreamTest, AStreamThatIsLeftEarlyLeavesItsCacheToTheNext) {
  const auto cache = Cache(true, 6000);
  const StreamOptions options{
      .seed = 9, .batch_size = 8, .epochs = 2, .threads = 2, .prefetch = 3, .cache = cache.get()};
  StreamOptions without = options;
  without.cache = nullptr;
  const auto wanted = Drain(stores_.graph.get(), without);
  EXPECT_EQ(Drain(stores_.graph.get(), options, 2).size(), 2U);
  const auto found = Drain(stores_.graph.get(), options);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) ExpectEqual(found[i], wanted[i]);
}

TEST_F(MinibatchStreamTest, AStreamThatBeginsLaterGivesTheRestOfTheWhole) {
  const StreamOptions whole{.seed = 9, .batch_size = 8, .epochs = 3, .threads = 2};
  const auto wanted = Drain(stores_.graph.get(), whole);
  const size_t steps = wanted.size() / 3;
  ASSERT_GT(steps, 3U);
  for (const auto& [epoch, step] : {std::pair<size_t, size_t>{0, 1}, {1, 0}, {2, 3}, {3, 0}}) {
    StreamOptions later = whole;
    later.first_epoch = static_cast<int64_t>(epoch);
    later.first_step = static_cast<int64_t>(step);
    const auto found = Drain(stores_.graph.get(), later);
    const size_t first = epoch * steps + step;
    ASSERT_EQ(found.size(), wanted.size() - first) << epoch << " " << step;
    for (size_t i = 0; i < found.size(); ++i) ExpectEqual(found[i], wanted[first + i]);
  }
}

TEST_F(MinibatchStreamTest, AStreamOfSomeStepsEndsThere) {
  const StreamOptions whole{.seed = 9, .batch_size = 8, .epochs = 3, .threads = 2};
  const auto wanted = Drain(stores_.graph.get(), whole);
  const size_t steps = wanted.size() / 3;
  StreamOptions some = whole;
  some.first_epoch = 1;
  some.first_step = 1;
  some.max_steps = static_cast<int64_t>(steps) + 3;
  const auto found = Drain(stores_.graph.get(), some);
  ASSERT_EQ(found.size(), 2U);
  for (size_t i = 0; i < found.size(); ++i) ExpectEqual(found[i], wanted[steps + 1 + i]);
  some.max_steps = 1;  // before the first
  EXPECT_TRUE(Drain(stores_.graph.get(), some).empty());
  some.max_steps = 1000;
  EXPECT_EQ(Drain(stores_.graph.get(), some).size(), wanted.size() - steps - 1);
}

TEST_F(MinibatchStreamTest, ASubgraphsStepIsAboutTheRowsThatItHas) {
  const SubgraphSeeds found(&*source_, 0, train_);
  BatchRecipe recipe = Recipe();
  const DrawRule rule{.kind = DrawKind::kSaintNode, .fanout = 2};
  recipe.sampling.layers = {{{0, rule}}, {{0, rule}}};
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  MinibatchStream stream(&maker, &found, Shards(1), {.batch_size = 7, .epochs = 9, .threads = 1});
  const int64_t rows = std::ssize(train_.seeds);
  EXPECT_EQ(stream.steps_per_epoch(), (rows + 6) / 7);
  int steps = 0, empty = 0;
  for (;; ++steps) {
    auto next = stream.Next();
    ASSERT_TRUE(next.ok()) << next.status();
    if (!next->has_value()) break;
    const Step& step = **next;
    if (step.rows == 0) {
      ++empty;
      EXPECT_EQ(step.minibatch, Minibatch());
      EXPECT_TRUE(step.counts()) << "its estimate of the loss is 0";
      continue;
    }
    const std::vector<int64_t>& nodes = step.minibatch.nodes[0];
    const std::vector<int64_t> seeds = SeedsOf(step);
    EXPECT_EQ(step.seed_types, (std::vector<int>{0}));
    ASSERT_EQ(std::ssize(seeds), step.rows);
    int64_t expected = 0;
    for (const int64_t node : nodes) {
      expected += std::count(train_.seeds.begin(), train_.seeds.end(), node);
    }
    EXPECT_EQ(step.rows, expected);
    for (size_t i = 0; i < seeds.size(); ++i) {
      const auto row = std::lower_bound(train_.seeds.begin(), train_.seeds.end(), seeds[i]);
      EXPECT_EQ(LabelsOf(step)[i], train_.labels.As<int64_t>()[row - train_.seeds.begin()]);
      EXPECT_EQ(step.row_weights[i],
                step.minibatch.node_weights[step.minibatch.seed_positions[0][i]]);
    }
    EXPECT_EQ(step.features[0].rows(), std::ssize(nodes));
  }
  EXPECT_EQ(steps, 9 * stream.steps_per_epoch());
  EXPECT_GT(empty, 0);
  EXPECT_LT(empty, steps);
}

// Remembers the keys that it was asked with; a row is a node.
class RecordingSource final : public SeedSource {
 public:
  explicit RecordingSource(const NodeSeeds* seeds) : seeds_(seeds) {}
  std::span<const int64_t> part_rows() const override { return seeds_->part_rows(); }
  Status Collect(std::span<const int64_t> rows, uint64_t key, StepSeeds* step) const override {
    {
      std::lock_guard lock(mutex_);
      keys_.push_back(key);
    }
    return seeds_->Collect(rows, key, step);
  }
  std::vector<uint64_t> keys() const { return keys_; }

 private:
  const NodeSeeds* seeds_;
  mutable std::mutex mutex_;
  mutable std::vector<uint64_t> keys_;
};

TEST_F(MinibatchStreamTest, WhatATaskDrawsIsKeyedByPurposeEpochStepAndRank) {
  std::vector<uint64_t> all;
  std::vector<uint64_t> whole, later;
  for (const auto purpose : {BatchPurpose::kTrain, BatchPurpose::kValid}) {
    for (int rank : {0, 1}) {
      for (int64_t first_epoch : {0, 1}) {
        const RecordingSource recording(&*source_);
        const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), Recipe());
        MinibatchStream stream(&maker, &recording, Shards(2),
                               {.purpose = purpose,
                                .rank = rank,
                                .world_size = 2,
                                .batch_size = 8,
                                .epochs = 2,
                                .first_epoch = first_epoch,
                                .threads = 1});
        while (true) {
          auto next = stream.Next();
          ASSERT_TRUE(next.ok()) << next.status();
          if (!next->has_value()) break;
        }
        const std::vector<uint64_t> keys = recording.keys();
        if (first_epoch == 0) all.insert(all.end(), keys.begin(), keys.end());
        if (purpose == BatchPurpose::kTrain && rank == 1) (first_epoch == 0 ? whole : later) = keys;
      }
    }
  }
  ASSERT_GT(all.size(), 8U);
  whole.erase(whole.begin(), whole.begin() + static_cast<int64_t>(whole.size() / 2));
  EXPECT_EQ(later, whole);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
}

// Remembers the batch seeds that it was asked with.
class RecordingStore final : public GraphStore {
 public:
  explicit RecordingStore(GraphStore* store) : store_(store) {}
  const GraphInfo& info() const override { return store_->info(); }
  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    {
      std::lock_guard lock(mutex_);
      for (const SampleRequest& request : requests) batch_seeds.push_back(request.batch_seed);
    }
    return store_->Sample(requests, context, minibatches);
  }
  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    return store_->Ask(questions, context, answers);
  }

  std::vector<uint64_t> batch_seeds;

 private:
  GraphStore* store_;
  std::mutex mutex_;
};

TEST_F(MinibatchStreamTest, BatchSeedsAreTheContracts) {
  RecordingStore recording(stores_.graph.get());
  const StreamOptions options{.purpose = BatchPurpose::kTrain,
                              .seed = 3,
                              .rank = 1,
                              .world_size = 2,
                              .batch_size = 10,
                              .epochs = 2,
                              .threads = 1};
  (void)Drain(&recording, options);
  std::vector<uint64_t> wanted;
  for (uint64_t epoch : {0, 1}) {
    for (uint64_t step : {0, 1, 2}) {
      wanted.push_back(BatchSeed(3, BatchPurpose::kTrain, epoch, step, 2, 1));
    }
  }
  EXPECT_EQ(recording.batch_seeds, wanted);
}

// The other way to the same steps: a stage of its own ends them before rows are planned.
TEST_F(MinibatchStreamTest, ALastLayerThatIsCompactedApartChangesNoStep) {
  const StreamOptions options{.batch_size = 6, .epochs = 2, .threads = 2, .prefetch = 2};
  const auto wanted = Drain(stores_.graph.get(), options);
  RecordingStore elsewhere(stores_.graph.get());
  BuilderWorkspaces workspaces(&stores_.graph->info().schema, 1);
  std::atomic<size_t> compacted = 0;
  compact_ = [&, by_map = CompactByMap(&workspaces)](std::span<const IdsToCompact> types) {
    ++compacted;
    return by_map(types);
  };
  const auto expect_the_same = [&](StreamOptions other) {
    compacted = 0;
    const auto found = Drain(&elsewhere, other);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      ExpectEqual(found[i], wanted[i]);
      ASSERT_EQ(found[i].blocks.layers.size(), 2U);
      for (size_t layer = 0; layer < 2; ++layer) {
        EXPECT_EQ(found[i].blocks.layers[layer].transposed[0].edges,
                  wanted[i].blocks.layers[layer].transposed[0].edges);
      }
      EXPECT_EQ(found[i].bytes.all(), wanted[i].bytes.all());
    }
    EXPECT_EQ(compacted, wanted.size());
  };
  expect_the_same(options);
  StreamOptions other = options;
  other.prefetch = 0;
  expect_the_same(other);
  other = options;
  const auto cache = Cache(true, 2000);
  other.cache = cache.get();
  std::mutex mutex;
  std::map<std::string, size_t> told;
  other.on_stage = [&](std::string_view stage, const StepId&, auto, auto) {
    const std::lock_guard lock(mutex);
    ++told[std::string(stage)];
  };
  const auto found = Drain(&elsewhere, other);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) ExpectEqual(found[i], wanted[i]);
  EXPECT_EQ(told["compact"], wanted.size());
  EXPECT_EQ(told["plan"], wanted.size());
  EXPECT_TRUE(elsewhere.batch_seeds.empty());
  // Where sampling asks nobody it is compact already.
  compacted = 0;
  static_cast<void>(Drain(stores_.graph.get(), options));
  EXPECT_EQ(compacted, 0U);
}

TEST_F(MinibatchStreamTest, AnErrorOfTheCompactionEndsTheStream) {
  RecordingStore elsewhere(stores_.graph.get());
  compact_ = [](std::span<const IdsToCompact>) { return ResourceExhausted("no room there"); };
  const BatchMaker maker(&elsewhere, stores_.rows.get(), Recipe());
  MinibatchStream stream(&maker, &*source_, Shards(1), {.batch_size = 6});
  const Status status = stream.Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), testing::HasSubstr("compacting a minibatch: no room there"));
}

TEST_F(MinibatchStreamTest, EvaluationKeepsTheOrder) {
  const auto batches =
      Drain(stores_.graph.get(), {.purpose = BatchPurpose::kTest, .batch_size = 9, .threads = 2});
  std::vector<int64_t> seeds;
  for (const Step& batch : batches) {
    for (int64_t seed : SeedsOf(batch)) seeds.push_back(seed);
  }
  EXPECT_EQ(seeds, train_.seeds);
}

// Answers in reverse order, when so many calls are under way; counts them, and what each asks for.
class LateStore final : public GraphStore {
 public:
  LateStore(GraphStore* store, int64_t together) : store_(store), answers_(together) {}
  const GraphInfo& info() const override { return store_->info(); }
  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return store_->Sample(requests, context, minibatches);
  }
  void StartSample(std::span<const SampleRequest> requests, CallContext& context,
                   std::span<Minibatch> minibatches, StatusDone done) override {
    {
      const std::lock_guard lock(mutex_);
      sizes_.push_back(requests.size());
    }
    answers_.Add(context.post,
                 [=, this, &context] { done(store_->Sample(requests, context, minibatches)); });
  }
  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    return store_->Ask(questions, context, answers);
  }
  [[nodiscard]] int64_t most() const { return answers_.most(); }
  // Requests of each call.
  [[nodiscard]] std::vector<size_t> sizes() const {
    const std::lock_guard lock(mutex_);
    return sizes_;
  }

 private:
  GraphStore* store_;
  mutable std::mutex mutex_;
  std::vector<size_t> sizes_;
  LateAnswers answers_;
};

TEST_F(MinibatchStreamTest, AThreadHasSeveralStepsAskedForAtOnce) {
  StreamOptions options{.seed = 9, .batch_size = 8, .epochs = 2, .threads = 1, .prefetch = 6};
  const auto wanted = Drain(stores_.graph.get(), options);
  for (const size_t samples : {8, 2}) {
    const auto at_once = static_cast<int64_t>(std::min<size_t>(4, samples));
    LateStore late(stores_.graph.get(), at_once);
    options.samples = samples;
    const auto found = Drain(&late, options);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) ExpectEqual(found[i], wanted[i]);
    EXPECT_EQ(late.most(), at_once);
  }
}

TEST_F(MinibatchStreamTest, StepsOfABulkMakeOneCallAndHaveTheBitsOfEachAlone) {
  StreamOptions options{.seed = 9, .batch_size = 8, .epochs = 2, .threads = 1, .prefetch = 3};
  const auto wanted = Drain(stores_.graph.get(), options);
  const size_t steps = wanted.size() / 2;
  for (const size_t bulk : {size_t{3}, steps - 1, size_t{60}}) {
    for (const size_t threads : {1, 3}) {
      for (const int64_t memory : {kNoBound, int64_t{1}}) {  // with less than a step takes, too
        SCOPED_TRACE(testing::Message() << bulk << " " << threads << " " << memory);
        LateStore late(stores_.graph.get(), 1);
        options.bulk = static_cast<int64_t>(bulk);
        options.threads = threads;
        options.memory = memory;
        const auto found = Drain(&late, options);
        ASSERT_EQ(found.size(), wanted.size());
        for (size_t i = 0; i < found.size(); ++i) ExpectEqual(found[i], wanted[i]);
        const size_t size = std::min(bulk, steps);  // no larger than an epoch
        std::vector<size_t> sizes(wanted.size() / size, size);
        if (wanted.size() % size > 0) sizes.push_back(wanted.size() % size);
        EXPECT_THAT(late.sizes(), testing::UnorderedElementsAreArray(sizes));
      }
    }
  }
}

TEST_F(MinibatchStreamTest, ABulkThatDoesNotFitTheMemoryIsToldOfWithWhatItNeeds) {
  StreamOptions options{.batch_size = 8, .threads = 1, .prefetch = 3};
  std::map<int64_t, int64_t> needed;
  for (const int64_t bulk : {1, 4}) {
    options.bulk = bulk;
    options.memory = 1;
    options.too_large = [&](int64_t bytes, int64_t) { needed[bulk] = bytes; };
    static_cast<void>(Drain(stores_.graph.get(), options, 1));
  }
  EXPECT_EQ(needed[4], 4 * needed[1]);
  // What one step has room in.
  options.memory = 2 * needed[1];
  needed.clear();
  options.too_large = [&](int64_t bytes, int64_t) { needed[4] = bytes; };
  static_cast<void>(Drain(stores_.graph.get(), options, 1));
  EXPECT_GT(needed[4], options.memory);
}

TEST_F(MinibatchStreamTest, AStreamThatIsLeftEndsBulksThatAreNotWhole) {
  LateStore late(stores_.graph.get(), 1);
  const BatchMaker maker(&late, stores_.rows.get(), Recipe());
  {
    MinibatchStream stream(&maker, &*source_, Shards(1),
                           {.batch_size = 8, .epochs = 9, .threads = 1, .bulk = 4, .sampled = 2});
    // No more than 16 steps are scheduled that are not sampled: with the 18th two wait in a bulk.
    stream.AwaitStage(0, 17);
  }
  EXPECT_TRUE(late.sizes().empty());
}

// Whose step that begins with row `bad` cannot be collected.
class FailingSource final : public SeedSource {
 public:
  FailingSource(const NodeSeeds* seeds, int64_t bad) : seeds_(seeds), bad_(bad) {}
  std::span<const int64_t> part_rows() const override { return seeds_->part_rows(); }
  Status Collect(std::span<const int64_t> rows, uint64_t key, StepSeeds* step) const override {
    if (rows.front() == bad_) return NotFound("row {} is gone", bad_);
    return seeds_->Collect(rows, key, step);
  }

 private:
  const NodeSeeds* const seeds_;
  const int64_t bad_;
};

TEST_F(MinibatchStreamTest, AStepThatCannotBeCollectedEndsItsBulkAndNotTheOnesBefore) {
  const FailingSource failing(&*source_, 6 * 2);
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), Recipe());
  MinibatchStream stream(&maker, &failing, Shards(1),
                         {.purpose = BatchPurpose::kValid, .batch_size = 2, .bulk = 4});
  for (int step = 0; step < 4; ++step) {
    const auto next = stream.Next();
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ((*next)->key.step, step);
  }
  const auto next = stream.Next();
  EXPECT_EQ(next.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(next.status().message()), testing::HasSubstr("row 12 is gone"));
}

TEST_F(MinibatchStreamTest, StepsWaitForTheRestOfTheirBulkAndEndTogether) {
  LateStore late(stores_.graph.get(), 1);
  const BatchMaker maker(&late, stores_.rows.get(), Recipe());
  SampleBulks bulks(&maker, 2, 5);
  PostedWork posted;
  std::map<int64_t, Status> ended;
  std::array<Step, 5> steps;
  const auto start = [&](int64_t index) {
    Step& step = steps[static_cast<size_t>(index)];
    step.rows = 1;
    StepSeeds seeds;
    seeds.seeds = {{.type = 0, .ids = {index}}};
    CallContext context;
    context.post = [&](std::function<void()> work) { posted.Post(std::move(work)); };
    bulks.Start(index, {std::move(seeds), 7, &step}, context,
                [&, index](Status status) { ended[index] = std::move(status); });
  };
  start(1);
  start(2);
  EXPECT_TRUE(late.sizes().empty());
  start(0);
  EXPECT_TRUE(posted.RunOne());  // the store's answer
  EXPECT_TRUE(ended.empty());
  for (int each = 0; each < 2; ++each) EXPECT_TRUE(posted.RunOne());  // and each step's own end
  EXPECT_THAT(ended,
              testing::ElementsAre(testing::Pair(0, OkStatus()), testing::Pair(1, OkStatus())));
  EXPECT_EQ(steps[0].minibatch.nodes[0].front(), 0);
  EXPECT_EQ(steps[1].minibatch.nodes[0].front(), 1);
  start(4);  // the last, alone
  EXPECT_TRUE(posted.RunOne());
  EXPECT_EQ(ended.at(4), OkStatus());
  bulks.Close();
  EXPECT_EQ(ended.at(2).code(), absl::StatusCode::kCancelled);
  start(3);
  EXPECT_EQ(ended.at(3).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(late.sizes(), (std::vector<size_t>{2, 1}));
}

TEST_F(MinibatchStreamTest, AStepThatWillNotComeEndsThoseOfItsBulkThatAreThereAndThatCome) {
  LateStore late(stores_.graph.get(), 1);
  const BatchMaker maker(&late, stores_.rows.get(), Recipe());
  SampleBulks bulks(&maker, 3, 6);
  std::map<int64_t, Status> ended;
  const auto start = [&](int64_t index) {
    bulks.Start(index, {}, {}, [&, index](Status status) { ended[index] = std::move(status); });
  };
  start(0);
  start(3);
  bulks.Abort(1, NotFound("it is gone"));
  EXPECT_THAT(ended, testing::ElementsAre(testing::Pair(0, NotFound("it is gone"))));
  start(2);
  EXPECT_EQ(ended.at(2), NotFound("it is gone"));
  EXPECT_EQ(ended.count(3), 0U) << "another bulk";
  bulks.Close();
  EXPECT_EQ(ended.at(3).code(), absl::StatusCode::kCancelled);
  bulks.Abort(4, NotFound("too late"));
  start(5);
  EXPECT_EQ(ended.at(5).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(late.sizes().empty());
}

// As LateStore, of rows.
class LateRows final : public RowStore {
 public:
  explicit LateRows(std::shared_ptr<RowStore> rows) : rows_(std::move(rows)) {}
  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    return rows_->Pull(requests, context);
  }
  void StartPull(std::span<const RowRequest> requests, CallContext& context,
                 StatusDone done) override {
    answers_.Add(context.post, [=, this, &context] { done(rows_->Pull(requests, context)); });
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return rows_->Push(pushes, context);
  }

 private:
  const std::shared_ptr<RowStore> rows_;
  LateAnswers answers_;
};

TEST_F(MinibatchStreamTest, RowsThatComeLateAndOutOfOrderGoThroughACache) {
  StreamOptions options{.seed = 9, .batch_size = 8, .epochs = 4, .threads = 1, .prefetch = 6};
  const auto wanted = Drain(stores_.graph.get(), options);
  stores_.rows = std::make_shared<LateRows>(stores_.rows);
  const auto cache = Cache(true, 6000);
  options.cache = cache.get();
  LateStore late(stores_.graph.get(), 1);
  const auto found = Drain(&late, options);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) ExpectEqual(found[i], wanted[i]);
  EXPECT_EQ(cache->figures().missing, 0);
  EXPECT_GT(cache->figures().hits, 0);
}

// Whose values come with the rows, to steps that may have been compacted apart.
TEST_F(MinibatchStreamTest, EdgesHaveTheSameWeightsWhicheverWayTheyCome) {
  StreamOptions options{.seed = 9, .batch_size = 8, .epochs = 2, .threads = 1, .prefetch = 0};
  const auto plain = Drain(stores_.graph.get(), options);
  edge_weight_ = "w";
  const auto wanted = Drain(stores_.graph.get(), options);
  ASSERT_EQ(wanted.size(), plain.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t edges = 0;
    for (const SampledLayer& layer : wanted[i].minibatch.layers) {
      EXPECT_THAT(layer.blocks[0].coefficients, testing::Each(testing::Ge(1)));
      EXPECT_EQ(layer.blocks[0].coefficients.size(), layer.blocks[0].indices.size());
      edges += std::ssize(layer.blocks[0].indices);
    }
    EXPECT_EQ(wanted[i].pulled.local_bytes, plain[i].pulled.local_bytes + edges * 4);
    EXPECT_EQ(wanted[i].blocks.layers.size(), 2U);
    // Weights, of the form by source too; ids; and ids and values while they are pulled.
    EXPECT_EQ(wanted[i].bytes.all(), plain[i].bytes.all() + edges * (2 * 4 + 8 + 8 + 4));
  }
  const auto expect_the_same = [&](GraphStore* graph) {
    const auto found = Drain(graph, options);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) ExpectEqual(found[i], wanted[i]);
  };
  options.threads = 3;
  options.prefetch = 4;
  expect_the_same(stores_.graph.get());
  RecordingStore elsewhere(stores_.graph.get());
  BuilderWorkspaces workspaces(&stores_.graph->info().schema, 1);
  compact_ = CompactByMap(&workspaces);
  expect_the_same(&elsewhere);
  stores_.rows = std::make_shared<LateRows>(stores_.rows);
  const auto cache = Cache(true, 6000);
  options.cache = cache.get();
  expect_the_same(&elsewhere);
  EXPECT_GT(cache->figures().hits, 0);
  EXPECT_EQ(cache->figures().hits + cache->figures().fetched, [&] {
    int64_t nodes = 0;
    for (const Step& step : wanted) nodes += std::ssize(step.minibatch.nodes[0]);
    return nodes;
  }()) << "edges are no rows that the cache counts";
}

TEST_F(MinibatchStreamTest, AnEdgeThatIsRefusedEndsTheStreamAndLeavesItsCacheUsable) {
  TestGraphSpec spec = RandomGraph({.seed = 5, .parts = 3, .nodes = 120, .num_classes = 4});
  spec.relations[0].features = {
      MakeTensor("w", std::vector<float>(spec.relations[0].edges.size(), -1.0F))};
  Open(spec);
  edge_weight_ = "w";
  const auto cache = Cache(true, 6000);
  const BatchMaker maker(stores_.graph.get(), cache.get(), Recipe());
  {
    MinibatchStream stream(&maker, &*source_, Shards(1), {.batch_size = 8, .cache = cache.get()});
    EXPECT_THAT(Message(stream.Next().status()),
                testing::AllOf(testing::StartsWith("--edge-weight w: edge "),
                               testing::HasSubstr("(original id)"), testing::HasSubstr("has -1")));
  }
  edge_weight_ = "";
  StreamOptions options{.batch_size = 8, .prefetch = 1};
  options.cache = cache.get();
  EXPECT_EQ(Drain(stores_.graph.get(), options).size(), static_cast<size_t>(Shards(1).Steps(8)));
}

// Blocks every call until its token is cancelled.
class HangingStore final : public GraphStore {
 public:
  explicit HangingStore(GraphStore* store) : store_(store) {}
  const GraphInfo& info() const override { return store_->info(); }
  Status Sample(std::span<const SampleRequest>, CallContext& context,
                std::span<Minibatch>) override {
    std::promise<void> cancelled;
    const CancelToken::Registration wait(context.cancel, [&] { cancelled.set_value(); });
    cancelled.get_future().wait();
    return context.Check();
  }
  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    return store_->Ask(questions, context, answers);
  }

 private:
  GraphStore* store_;
};

TEST_F(MinibatchStreamTest, CancellingCallsOfAHangingStoreEndsTheStream) {
  HangingStore hanging(stores_.graph.get());
  const BatchMaker maker(&hanging, stores_.rows.get(), Recipe());
  CancelToken token;
  MinibatchStream stream(&maker, &*source_, Shards(1),
                         {.batch_size = 10, .threads = 3, .prefetch = 4, .cancel = &token});
  std::thread stopper([&] { token.Cancel(); });
  EXPECT_EQ(stream.Next().status().code(), absl::StatusCode::kCancelled);
  stream.Close();
  stopper.join();
}

}  // namespace
}  // namespace halograph
