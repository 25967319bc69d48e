// The modes as OpenStores composes them, over servers in this process.
#include "client/open/open_stores.h"

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

#include "common/storage/npy.h"
#include "partitioner/run/partition_graph.h"
#include "tests/integration/client/remote_fixture.h"
#include "tests/support/one_call.h"

namespace halograph {
namespace {

class OpenStoresTest : public RemoteStoreTest {
 protected:
  // A typed graph of two parts, with features on all of its three node types.
  void SetUp() override {
    TestGraphSpec spec = RandomTypedGraph({.seed = 3, .parts = 2, .nodes = 400, .feature_dim = 4});
    std::vector<float> size(spec.node_types[0].owners.size());
    std::iota(size.begin(), size.end(), 0.5F);
    spec.node_types[0].features = {MakeTensor("size", size)};
    ServeGraph(WriteGraph(spec), "paper");
  }

  // Serves both parts of `graph`. `seed_type`: node type of the seeds of Make.
  void ServeGraph(const std::filesystem::path& graph, const std::string& seed_type) {
    graph_ = graph;
    seed_type_ = seed_type;
    for (const int part : {0, 1}) {
      servers_.push_back(Serve(graph_, {part}));
      remote_.servers.push_back(servers_.back()->address());
    }
    auto embedded = OpenStores({.graph = graph_.string()});
    ASSERT_TRUE(embedded.ok()) << ToString(embedded.status());
    embedded_ = std::move(*embedded);
  }

  struct Batch {
    Minibatch minibatch;
    std::vector<std::vector<float>> features;  // per node type, of its input nodes
    CallStats sampled;
    CallStats pulled;
  };
  // A minibatch of three layers with the first float feature of every type, in two calls.
  [[nodiscard]] Batch Make(const Stores& stores) const {
    const Schema& schema = stores.graph->info().schema;
    const SamplingSpec sampling =
        SamplingSpec::Uniform(schema, std::vector<int32_t>{3, 3, 3}, false);
    const std::vector<int64_t> seeds = {1, 5, 100, 250, 399};
    Batch batch;
    CallContext context;
    const Status sampled =
        stores.graph->Sample({.seeds = {{.type = *schema.NodeTypeIndex(seed_type_), .ids = seeds}},
                              .batch_seed = 3,
                              .spec = &sampling},
                             context, &batch.minibatch);
    EXPECT_TRUE(sampled.ok()) << ToString(sampled);
    batch.sampled = std::exchange(context.stats, {});
    std::vector<RowRequest> requests;
    batch.features.resize(schema.node_types.size());
    for (size_t t = 0; t < schema.node_types.size(); ++t) {
      for (const TensorSpec& spec : schema.node_types[t].features) {
        if (spec.dtype != DType::kFloat32) continue;
        const std::vector<int64_t>& ids = batch.minibatch.nodes[t];
        batch.features[t].resize(ids.size() * static_cast<size_t>(spec.dim));
        requests.push_back({.tensor = {false, schema.node_types[t].name, spec.name},
                            .ids = ids,
                            .out = std::as_writable_bytes(std::span(batch.features[t]))});
        EXPECT_FALSE(ids.empty());
      }
    }
    EXPECT_EQ(requests.size(), 3U);
    const Status pulled = stores.rows->Pull(requests, context);
    EXPECT_TRUE(pulled.ok()) << ToString(pulled);
    batch.pulled = context.stats;
    return batch;
  }
  // Opens, and expects what the embedded mode gives.
  Batch MakeIn(const StoreOptions& options) {
    auto stores = OpenStores(options);
    EXPECT_TRUE(stores.ok()) << ToString(stores.status());
    if (!stores.ok()) return {};
    EXPECT_EQ(stores->graph->info().identity, embedded_.graph->info().identity);
    EXPECT_EQ(stores->graph->info().task_rows, embedded_.graph->info().task_rows);
    const Batch expected = Make(embedded_);
    Batch found = Make(*stores);
    EXPECT_TRUE(found.minibatch == expected.minibatch);
    EXPECT_EQ(found.features, expected.features);
    return found;
  }

  std::filesystem::path graph_;
  std::string seed_type_;
  std::vector<std::unique_ptr<server::Server>> servers_;
  RemoteOptions remote_;
  Stores embedded_;
};

TEST_F(OpenStoresTest, HybridTakesTwoRoundsForFeaturesOfThreeNodeTypes) {
  const Batch batch = MakeIn({.remote = remote_, .topology = graph_.string()});
  EXPECT_EQ(batch.sampled.rounds, 0);
  EXPECT_EQ(batch.pulled.rounds, 2);
  EXPECT_EQ(batch.pulled.local_bytes, 0);
}

// The data set imdb-hetero, with a feature added to each of its three node types.
class OpenImdbTest : public OpenStoresTest {
 protected:
  void SetUp() override {
    const char* data = std::getenv("HALOGRAPH_DATA");
    if (data == nullptr || *data == '\0') {
      GTEST_SKIP() << "HALOGRAPH_DATA is not set, so imdb-hetero is not there";
    }
    constexpr auto kOurs = std::filesystem::perms::owner_all;  // data may be read-only
    const std::filesystem::path input = folder_.path() / "imdb";
    std::filesystem::copy(std::filesystem::path(data) / "imdb-hetero", input,
                          std::filesystem::copy_options::recursive);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(input)) {
      if (entry.is_directory()) std::filesystem::permissions(entry, kOurs);
    }
    std::filesystem::permissions(input, kOurs);
    AddFeatures(input);
    PartitionRun run;
    run.input = input;
    run.output = folder_.path() / "imdb-parts";
    run.method = "metis";
    run.options.parts = 2;
    const auto written = PartitionGraph(run);
    ASSERT_TRUE(written.ok()) << ToString(written.status());
    ServeGraph(run.output, "movie");
  }

  // Gives every node a `size`, in files beside those of the data set.
  static void AddFeatures(const std::filesystem::path& input) {
    std::string entries;
    const std::pair<std::string, size_t> types[] = {
        {"movie", 4278}, {"director", 2081}, {"actor", 5257}};
    for (const auto& [type, nodes] : types) {
      std::vector<float> size(nodes);
      std::iota(size.begin(), size.end(), 0.5F);
      const std::string file = "size_" + type + ".npy";
      ASSERT_TRUE(WriteNpy<float>(input / file, size, 0).ok());
      entries += fmt::format(
          "  - {{domain: node, type: {}, name: size, format: numpy, in_memory: false, path: {}}}\n",
          type, file);
    }
    std::stringstream text;
    text << std::ifstream(input / "metadata.yaml").rdbuf();
    std::string description = text.str();
    const std::string before = "feature_data:\n";
    const size_t at = description.find(before);
    ASSERT_NE(at, std::string::npos);
    std::filesystem::remove(input / "metadata.yaml");
    std::ofstream(input / "metadata.yaml") << description.insert(at + before.size(), entries);
  }
};

TEST_F(OpenImdbTest, HybridTakesTwoRoundsForFeaturesOfThreeNodeTypes) {
  const Batch batch = MakeIn({.remote = remote_, .topology = graph_.string()});
  EXPECT_EQ(batch.sampled.rounds, 0);
  EXPECT_EQ(batch.pulled.rounds, 2);
  EXPECT_EQ(batch.pulled.local_bytes, 0);
}

TEST_F(OpenStoresTest, HybridWithAFetchedTopologyTakesTwoRoundsToo) {
  const Batch batch = MakeIn({.remote = remote_,
                              .topology = std::string(kTopologyLocal),
                              .cache_dir = (folder_.path() / "cache").string()});
  EXPECT_EQ(batch.sampled.rounds + batch.pulled.rounds, 2);
}

TEST_F(OpenStoresTest, PartitionedTakesTwoRoundsALayerAndTwoForAllFeatures) {
  const Batch batch = MakeIn({.remote = remote_});
  EXPECT_EQ(batch.sampled.rounds, 6);
  EXPECT_EQ(batch.pulled.rounds, 2);
}

TEST_F(OpenStoresTest, PartsThatAreHereAreNotAskedFor) {
  const std::filesystem::path local = folder_.path() / "local";
  std::filesystem::create_directory(local);
  std::filesystem::create_directory_symlink(graph_ / "part-0001", local / "part-0001");
  for (const std::string& topology : {std::string(), graph_.string()}) {
    const Batch batch = MakeIn({.remote = remote_, .topology = topology, .local = local.string()});
    EXPECT_EQ(batch.pulled.rounds, 2);
    EXPECT_GT(batch.pulled.local_bytes, 0);
    EXPECT_GT(batch.pulled.remote_bytes, 0);
  }
}

TEST_F(OpenStoresTest, OptionsThatContradictEachOtherAreNamed) {
  ExpectError(OpenStores({}).status(), absl::StatusCode::kInvalidArgument,
              {"--graph", "--servers"});
  ExpectError(OpenStores({.graph = graph_.string(), .remote = remote_}).status(),
              absl::StatusCode::kInvalidArgument, {"exactly one"});
  ExpectError(OpenStores({.graph = graph_.string(), .topology = "x"}).status(),
              absl::StatusCode::kInvalidArgument, {"--topology", "--servers"});
  ExpectError(OpenStores({.remote = remote_, .topology = "local"}).status(),
              absl::StatusCode::kInvalidArgument, {"--cache-dir"});
  ExpectError(OpenStores({.remote = remote_, .cache_dir = "x"}).status(),
              absl::StatusCode::kInvalidArgument, {"--topology local"});
}

TEST_F(OpenStoresTest, AFolderOfAnotherGraphIsRefusedNamingTheOption) {
  const std::string other = WriteGraph(9).string();
  ExpectError(OpenStores({.remote = remote_, .topology = other}).status(),
              absl::StatusCode::kFailedPrecondition, {"--topology " + other, "is of graph"});
  ExpectError(OpenStores({.remote = remote_, .local = other}).status(),
              absl::StatusCode::kFailedPrecondition, {"--local " + other, "is of graph"});
}

}  // namespace
}  // namespace halograph
