#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "partitioner/generate/communities.h"
#include "partitioner/generate/hierarchical.h"
#include "partitioner/generate/rmat.h"
#include "partitioner/generate/sbm.h"
#include "partitioner/readers/reader.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

using EdgePair = std::pair<int64_t, int64_t>;

class GenerateTest : public testing::Test {
 protected:
  Dataset Open(const std::string& name) {
    StatusOr<Dataset> dataset = OpenDataset(folder_ / name, ReadOptions());
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? *std::move(dataset) : Dataset();
  }

  static std::vector<EdgePair> Edges(const Dataset& dataset) {
    std::vector<EdgePair> edges;
    const auto cursor = dataset.relations.at(0).edges->Open();
    EXPECT_TRUE(cursor.ok()) << cursor.status();
    EdgeChunk chunk;
    while (true) {
      const StatusOr<bool> more = (*cursor)->Next(&chunk);
      EXPECT_TRUE(more.ok()) << more.status();
      if (!more.ok() || !*more) return edges;
      for (size_t i = 0; i < chunk.size(); ++i) {
        edges.emplace_back(chunk.sources[i], chunk.destinations[i]);
      }
    }
  }

  // Every file below a folder: relative path and contents.
  static std::map<std::string, std::string> Contents(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      files[fs::relative(entry.path(), folder).string()] = text.str();
    }
    return files;
  }

  GenerateTarget Target(const std::string& name) const { return {folder_ / name, false}; }

  // Each edge of a generated folder is there in both directions, once, and none is a self-loop.
  void ExpectSymmetricWithoutLoopsOrDuplicates(const std::string& name) {
    const std::vector<EdgePair> edges = Edges(Open(name));
    const std::set<EdgePair> distinct(edges.begin(), edges.end());
    EXPECT_EQ(distinct.size(), edges.size());
    for (const auto& [source, destination] : edges) {
      ASSERT_NE(source, destination);
      ASSERT_TRUE(distinct.contains({destination, source}));
    }
  }

  template <typename Options>
  using Generate = Status (*)(const Options&, const GenerateTarget&);

  // Folders "a" and "b" of the same options are the same; "c" of another seed differs in `files`.
  template <typename Options>
  void ExpectBytesFollowTheSeed(Generate<Options> generate, Options options,
                                const std::vector<std::string>& files) {
    ASSERT_EQ(generate(options, Target("a")), OkStatus());
    ASSERT_EQ(generate(options, Target("b")), OkStatus());
    ++options.seed;
    ASSERT_EQ(generate(options, Target("c")), OkStatus());
    const auto a = Contents(folder_ / "a"), c = Contents(folder_ / "c");
    EXPECT_TRUE(a == Contents(folder_ / "b"));
    for (const std::string& file : files) EXPECT_FALSE(a.at(file) == c.at(file)) << file;
  }

  // InvalidArgument with `part` in its message, and nothing is written.
  template <typename Options>
  void ExpectRefused(Generate<Options> generate, const Options& options, const std::string& part) {
    const Status status = generate(options, Target("g"));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(Message(status), testing::HasSubstr(part));
    EXPECT_FALSE(fs::exists(folder_ / "g"));
  }

  const TestFolder own_;
  const fs::path folder_ = own_.path();
};

TEST(GaussianLikeTest, MeanVarianceAndBounds) {
  double sum = 0, squares = 0;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = GaussianLike(SubKey(7, i));
    ASSERT_LT(std::abs(x), 3.47);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.01);
}

using SbmTest = GenerateTest;

SbmOptions SmallSbm() {
  SbmOptions options;
  options.nodes = 8000;
  options.seed = 3;
  return options;
}

TEST_F(SbmTest, OpensAsGraphBoltFolderWithWhatWasAskedFor) {
  ASSERT_EQ(GenerateSbm(SmallSbm(), Target("g")), OkStatus());
  const Dataset dataset = Open("g");
  EXPECT_EQ(dataset.node_types.at(0).count, 8000);
  EXPECT_EQ(dataset.node_types[0].features.at(0).spec,
            (TensorSpec{"feat", DType::kFloat32, 2, 64}));
  EXPECT_NEAR(static_cast<double>(dataset.relations.at(0).edges->max_edges()), 80000, 1600);
  const InputTask& task = dataset.tasks.at(0);
  EXPECT_EQ(task.name, "node_classification");
  EXPECT_EQ(task.metadata, (Json{{"num_classes", 8}}));
  std::set<int64_t> seen;
  for (size_t i = 0; i < 3; ++i) {
    const auto seeds = task.sets.at(i).arrays.at(0).array->As<int64_t>();
    ASSERT_TRUE(seeds.ok());
    EXPECT_EQ(seeds->size(), i == 1 ? 400U : 800U);
    EXPECT_TRUE(std::is_sorted(seeds->begin(), seeds->end()));
    seen.insert(seeds->begin(), seeds->end());
  }
  EXPECT_EQ(seen.size(), 2000U);  // no node in two sets
}

TEST_F(SbmTest, EdgesAreSymmetricWithoutLoopsOrDuplicates) {
  ASSERT_EQ(GenerateSbm(SmallSbm(), Target("g")), OkStatus());
  ExpectSymmetricWithoutLoopsOrDuplicates("g");
}

TEST_F(SbmTest, SameOptionsGiveTheSameBytesAndAnotherSeedDoesNot) {
  ExpectBytesFollowTheSeed(GenerateSbm, SmallSbm(),
                           {"edges/edge.npy", "features/feat.npy", "tasks/train_seeds.npy"});
  EXPECT_EQ(Contents(folder_ / "a").size(), 9U);
}

// The best class by the class means, from rows of `dim` floats; the share that is right.
double ClassMeanAccuracy(const std::vector<float>& rows, const std::vector<int64_t>& labels,
                         size_t dim, size_t classes) {
  std::vector<double> means(classes * dim);
  std::vector<double> counts(classes);
  for (size_t v = 0; v < labels.size(); ++v) {
    ++counts[labels[v]];
    for (size_t i = 0; i < dim; ++i) means[labels[v] * dim + i] += rows[v * dim + i];
  }
  for (size_t i = 0; i < means.size(); ++i) means[i] /= counts[i / dim];
  size_t right = 0;
  for (size_t v = 0; v < labels.size(); ++v) {
    size_t best = 0;
    double best_distance = 1e300;
    for (size_t c = 0; c < classes; ++c) {
      double distance = 0;
      for (size_t i = 0; i < dim; ++i) {
        const double difference = rows[v * dim + i] - means[c * dim + i];
        distance += difference * difference;
      }
      if (distance < best_distance) best = c;
      best_distance = std::min(best_distance, distance);
    }
    right += best == static_cast<size_t>(labels[v]);
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

TEST_F(SbmTest, FeaturesAloneAreNotEnoughButWithNeighboursTheyAre) {
  SbmOptions options = SmallSbm();
  options.shares = {1, 0, 0};  // every label is in the training set
  ASSERT_EQ(GenerateSbm(options, Target("g")), OkStatus());
  const Dataset dataset = Open("g");
  const auto labels = *dataset.tasks.at(0).sets.at(0).arrays.at(1).array->As<int64_t>();
  const auto features = *dataset.node_types.at(0).features.at(0).array->As<float>();
  const std::vector<int64_t> classes(labels.begin(), labels.end());
  const std::vector<float> alone(features.begin(), features.end());
  std::vector<float> smoothed = alone;
  int64_t within = 0;
  const std::vector<EdgePair> edges = Edges(dataset);
  for (const auto& [source, destination] : edges) {
    within += classes[source] == classes[destination];
    for (size_t i = 0; i < 64; ++i) smoothed[destination * 64 + i] += alone[source * 64 + i];
  }
  std::vector<float> degrees(classes.size(), 1);
  for (const auto& edge : edges) ++degrees[edge.second];
  for (size_t i = 0; i < smoothed.size(); ++i) smoothed[i] /= degrees[i / 64];
  EXPECT_NEAR(static_cast<double>(within) / static_cast<double>(edges.size()), 0.8, 0.01);
  const double by_features = ClassMeanAccuracy(alone, classes, 64, 8);
  const double by_both = ClassMeanAccuracy(smoothed, classes, 64, 8);
  EXPECT_GT(by_features, 0.5);
  EXPECT_LT(by_features, 0.7);
  EXPECT_GT(by_both, 0.93);
}

TEST_F(SbmTest, OptionsOutOfRangeAreNamed) {
  const auto expect = [&](const std::string& part, auto change) {
    SbmOptions options = SmallSbm();
    change(&options);
    ExpectRefused(GenerateSbm, options, part);
  };
  expect("nodes is 0", [](SbmOptions* o) { o->nodes = 0; });
  expect("classes is 0", [](SbmOptions* o) { o->classes = 0; });
  expect("homophily is 1.5", [](SbmOptions* o) { o->homophily = 1.5; });
  expect("average_degree is -1", [](SbmOptions* o) { o->average_degree = -1; });
  expect("feature_dim is -1", [](SbmOptions* o) { o->feature_dim = -1; });
  expect("noise is -1", [](SbmOptions* o) { o->noise = -1; });
  expect("their sum is above 1", [](SbmOptions* o) { o->shares = {0.6, 0.3, 0.3}; });
  expect("can hold", [](SbmOptions* o) {
    o->nodes = 20;
    o->average_degree = 20;
  });
}

TEST_F(SbmTest, ExistingFolderStaysUnlessReplaced) {
  SbmOptions options = SmallSbm();
  options.nodes = 100;
  ASSERT_EQ(GenerateSbm(options, Target("g")), OkStatus());
  EXPECT_EQ(GenerateSbm(options, Target("g")).code(), absl::StatusCode::kAlreadyExists);
  options.nodes = 200;
  EXPECT_EQ(GenerateSbm(options, {folder_ / "g/", true}), OkStatus());
  EXPECT_EQ(Open("g").node_types.at(0).count, 200);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(SbmTest, SmallestGraphs) {
  SbmOptions options = SmallSbm();
  options.nodes = options.classes = 1;
  options.average_degree = 0;
  ASSERT_EQ(GenerateSbm(options, Target("one")), OkStatus());
  EXPECT_TRUE(Edges(Open("one")).empty());
}

using RmatTest = GenerateTest;

RmatOptions SmallRmat() {
  RmatOptions options;
  options.log2_nodes = 12;
  options.edges = 40000;
  options.seed = 5;
  return options;
}

std::vector<int64_t> OutDegrees(const std::vector<EdgePair>& edges, int64_t nodes) {
  std::vector<int64_t> degrees(nodes);
  for (const EdgePair& edge : edges) ++degrees[edge.first];
  return degrees;
}

TEST_F(RmatTest, DegreesAreSkewedUnlessQuadrantsAreEqual) {
  RmatOptions options = SmallRmat();
  ASSERT_EQ(GenerateRmat(options, Target("skewed")), OkStatus());
  const Dataset dataset = Open("skewed");
  EXPECT_EQ(dataset.node_types.at(0).count, 4096);
  EXPECT_TRUE(dataset.tasks.empty());
  std::vector<int64_t> degrees = OutDegrees(Edges(dataset), 4096);
  EXPECT_EQ(std::accumulate(degrees.begin(), degrees.end(), int64_t{0}), 40000);
  EXPECT_GT(*std::max_element(degrees.begin(), degrees.end()), 200);
  options.a = options.b = options.c = options.d = 0.25;
  ASSERT_EQ(GenerateRmat(options, Target("even")), OkStatus());
  degrees = OutDegrees(Edges(Open("even")), 4096);
  EXPECT_LT(*std::max_element(degrees.begin(), degrees.end()), 40);
}

TEST_F(RmatTest, PermutedIdsGiveTheSameDegreesElsewhere) {
  RmatOptions options = SmallRmat();
  ASSERT_EQ(GenerateRmat(options, Target("permuted")), OkStatus());
  options.permute_ids = false;
  ASSERT_EQ(GenerateRmat(options, Target("plain")), OkStatus());
  std::vector<int64_t> permuted = OutDegrees(Edges(Open("permuted")), 4096);
  std::vector<int64_t> plain = OutDegrees(Edges(Open("plain")), 4096);
  EXPECT_EQ(std::max_element(plain.begin(), plain.end()) - plain.begin(), 0);
  EXPECT_FALSE(permuted == plain);
  std::sort(permuted.begin(), permuted.end());
  std::sort(plain.begin(), plain.end());
  EXPECT_TRUE(permuted == plain);  // only a bijection does that
}

TEST_F(RmatTest, DedupDropsLoopsAndDuplicates) {
  RmatOptions options = SmallRmat();
  ASSERT_EQ(GenerateRmat(options, Target("all")), OkStatus());
  const std::vector<EdgePair> all = Edges(Open("all"));
  std::set<EdgePair> expected(all.begin(), all.end());
  std::erase_if(expected, [](const EdgePair& edge) { return edge.first == edge.second; });
  options.dedup = true;
  ASSERT_EQ(GenerateRmat(options, Target("distinct")), OkStatus());
  const std::vector<EdgePair> distinct = Edges(Open("distinct"));
  EXPECT_LT(distinct.size(), all.size());
  EXPECT_TRUE(std::equal(distinct.begin(), distinct.end(), expected.begin(), expected.end()));
}

TEST_F(RmatTest, UndirectedListsBothDirections) {
  RmatOptions options = SmallRmat();
  options.undirected = true;
  ASSERT_EQ(GenerateRmat(options, Target("g")), OkStatus());
  const std::vector<EdgePair> edges = Edges(Open("g"));
  ASSERT_EQ(edges.size(), 80000U);
  for (size_t i = 0; i < edges.size(); i += 2) {
    ASSERT_EQ(edges[i].first, edges[i + 1].second);
    ASSERT_EQ(edges[i].second, edges[i + 1].first);
  }
}

TEST_F(RmatTest, FeaturesAndLabelsOnRequestAndTheSameBytesTwice) {
  RmatOptions options = SmallRmat();
  options.feature_dim = 16;
  options.classes = 5;
  ASSERT_EQ(GenerateRmat(options, Target("a")), OkStatus());
  ASSERT_EQ(GenerateRmat(options, Target("b")), OkStatus());
  EXPECT_TRUE(Contents(folder_ / "a") == Contents(folder_ / "b"));
  const Dataset dataset = Open("a");
  EXPECT_EQ(dataset.node_types.at(0).features.at(0).spec.dim, 16);
  EXPECT_EQ(dataset.tasks.at(0).metadata["num_classes"], 5);
}

TEST_F(RmatTest, OptionsOutOfRangeAreNamed) {
  const auto expect = [&](const std::string& part, auto change) {
    RmatOptions options = SmallRmat();
    change(&options);
    ExpectRefused(GenerateRmat, options, part);
  };
  expect("log2_nodes is 32", [](RmatOptions* o) { o->log2_nodes = 32; });
  expect("edges is -1", [](RmatOptions* o) { o->edges = -1; });
  expect("sum is 1.1", [](RmatOptions* o) { o->d = 0.15; });
  expect("each is 0 to 1", [](RmatOptions* o) { o->a = -0.5; });
  expect("classes is -1", [](RmatOptions* o) { o->classes = -1; });
}

using HierarchicalTest = GenerateTest;

HierarchicalOptions SmallHierarchical() {
  HierarchicalOptions options;
  options.nodes = 16000;
  options.blocks = {4, 4, 4};
  options.shares = {0.15, 0.2, 0.45};
  options.hubs = 0;
  options.feature_dim = 8;
  options.seed = 3;
  return options;
}

// Share of edges whose ends have the same label.
double SameLabelShare(const std::vector<EdgePair>& edges, std::span<const int64_t> seeds,
                      std::span<const int64_t> labels, int64_t nodes) {
  std::vector<int64_t> label(static_cast<size_t>(nodes), -1);
  for (size_t i = 0; i < seeds.size(); ++i) label[static_cast<size_t>(seeds[i])] = labels[i];
  int64_t same = 0;
  for (const auto& [u, v] : edges) {
    same += label[static_cast<size_t>(u)] == label[static_cast<size_t>(v)] ? 1 : 0;
  }
  return static_cast<double>(same) / static_cast<double>(edges.size());
}

TEST_F(HierarchicalTest, SharesOfEdgesStayWithinTheOutermostBlocks) {
  HierarchicalOptions options = SmallHierarchical();
  options.set_shares = {1, 0, 0};
  ASSERT_EQ(GenerateHierarchical(options, Target("g")), OkStatus());
  const Dataset dataset = Open("g");
  const std::vector<EdgePair> edges = Edges(dataset);
  EXPECT_NEAR(static_cast<double>(edges.size()), 16000 * 16, 3000);
  EXPECT_EQ(dataset.node_types.at(0).features.at(0).spec.dim, 8);
  EXPECT_EQ(dataset.tasks.at(0).metadata["num_classes"], 4);
  const auto seeds = *dataset.tasks.at(0).sets.at(0).arrays.at(0).array->As<int64_t>();
  const auto labels = *dataset.tasks.at(0).sets.at(0).arrays.at(1).array->As<int64_t>();
  // 80 % on purpose, and a quarter of the rest by chance.
  EXPECT_NEAR(SameLabelShare(edges, seeds, labels, 16000), 0.85, 0.01);
}

TEST_F(HierarchicalTest, InnerBlocksAreDenser) {
  HierarchicalOptions options = SmallHierarchical();
  options.shares = {0, 0, 1};
  options.labels = false;
  ASSERT_EQ(GenerateHierarchical(options, Target("g")), OkStatus());
  const Dataset dataset = Open("g");
  EXPECT_TRUE(dataset.tasks.empty());
  // With all edges within the innermost blocks there are 64 components, of 250 nodes about.
  std::vector<int64_t> root(16000);
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int64_t node) {
    while (root[static_cast<size_t>(node)] != node) node = root[static_cast<size_t>(node)];
    return node;
  };
  for (const auto& [u, v] : Edges(dataset)) {
    const int64_t a = find(u), b = find(v);
    root[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }
  std::map<int64_t, int64_t> sizes;
  for (int64_t node = 0; node < 16000; ++node) ++sizes[find(node)];
  EXPECT_EQ(sizes.size(), 64U);
  for (const auto& [node, size] : sizes) EXPECT_NEAR(static_cast<double>(size), 250, 80) << node;
}

TEST_F(HierarchicalTest, HubsHaveMostOfTheHighDegrees) {
  HierarchicalOptions options = SmallHierarchical();
  options.hubs = 0.002;
  ASSERT_EQ(GenerateHierarchical(options, Target("hubs")), OkStatus());
  std::vector<int64_t> degrees = OutDegrees(Edges(Open("hubs")), 16000);
  std::sort(degrees.begin(), degrees.end(), std::greater<>());
  // 12,800 edges start at 32 hubs: 400 each, the first one more.
  EXPECT_GT(degrees[0], 1000);
  EXPECT_GT(degrees[28], 100);
  EXPECT_LT(degrees[32], 60);
  options.hubs = 0;
  ASSERT_EQ(GenerateHierarchical(options, Target("none")), OkStatus());
  degrees = OutDegrees(Edges(Open("none")), 16000);
  EXPECT_LT(*std::max_element(degrees.begin(), degrees.end()), 60);
}

TEST_F(HierarchicalTest, EdgesAreSymmetricWithoutLoopsOrDuplicates) {
  HierarchicalOptions options = SmallHierarchical();
  options.hubs = 0.002;
  ASSERT_EQ(GenerateHierarchical(options, Target("g")), OkStatus());
  ExpectSymmetricWithoutLoopsOrDuplicates("g");
}

TEST_F(HierarchicalTest, SameOptionsGiveTheSameBytesAndAnotherSeedDoesNot) {
  HierarchicalOptions options = SmallHierarchical();
  options.nodes = 2000;
  options.hubs = 0.01;
  ExpectBytesFollowTheSeed(GenerateHierarchical, options, {"edges/edge.npy"});
}

TEST_F(HierarchicalTest, OptionsOutOfRangeAreNamed) {
  const auto expect = [&](const std::string& part, auto change) {
    HierarchicalOptions options = SmallHierarchical();
    change(&options);
    ExpectRefused(GenerateHierarchical, options, part);
  };
  expect("nodes is 0", [](HierarchicalOptions* o) { o->nodes = 0; });
  expect("average_degree is -1", [](HierarchicalOptions* o) { o->average_degree = -1; });
  expect("one number of each per level", [](HierarchicalOptions* o) { o->shares = {0.5}; });
  expect("blocks are 4,0,4", [](HierarchicalOptions* o) { o->blocks = {4, 0, 4}; });
  expect("product", [](HierarchicalOptions* o) { o->blocks = {1 << 20, 1 << 20, 1 << 30}; });
  expect("their sum is above 1", [](HierarchicalOptions* o) { o->shares = {0.5, 0.5, 0.5}; });
  expect("share of the edges is -0.5", [](HierarchicalOptions* o) { o->shares = {-0.5, 0, 0}; });
  expect("hubs is 2", [](HierarchicalOptions* o) { o->hubs = 2; });
  expect("hub_edges is -1", [](HierarchicalOptions* o) { o->hub_edges = -1; });
  expect("can hold", [](HierarchicalOptions* o) {
    o->nodes = 20;
    o->average_degree = 20;
  });
}

TEST_F(HierarchicalTest, SmallestGraphs) {
  HierarchicalOptions options = SmallHierarchical();
  options.nodes = 1;
  options.average_degree = 0;
  options.hubs = 1;
  ASSERT_EQ(GenerateHierarchical(options, Target("one")), OkStatus());
  EXPECT_TRUE(Edges(Open("one")).empty());
}

}  // namespace
}  // namespace halograph
