#include "partitioner/verify/verify.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/graph/halo.h"
#include "common/graph/manifest.h"
#include "common/graph/partition.h"
#include "common/storage/npy.h"
#include "partitioner/generate/rmat.h"
#include "partitioner/generate/sbm.h"
#include "partitioner/run/partition_graph.h"
#include "tests/support/test_folder.h"

// Partition folders as the partitioner writes them verify; each kind of damage, sealed again with
// right checksums, is found and named.

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class VerifyTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "scratch");
    run_.output = folder_ / "graph";
    run_.method = "random";
    run_.options.parts = 3;
  }

  void Partition(const fs::path& input) {
    run_.input = input;
    const auto summary = PartitionGraph(run_);
    ASSERT_TRUE(summary.ok()) << summary.status();
  }

  StatusOr<VerifyReport> VerifyIt(const fs::path& input, size_t max_differences = 10) {
    VerifyOptions options;
    options.max_differences = max_differences;
    options.scratch = folder_ / "scratch";
    return Verify(input, folder_ / "graph", options);
  }

  void ExpectVerifies(const fs::path& input, int64_t nodes, int64_t edges) {
    const StatusOr<VerifyReport> report = VerifyIt(input);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(report->differences, testing::IsEmpty());
    EXPECT_TRUE(report->ok());
    EXPECT_EQ(report->nodes, nodes);
    EXPECT_EQ(report->edges, edges);
  }

  void ExpectDifference(const std::vector<std::string>& parts) {
    const StatusOr<VerifyReport> report = VerifyIt(run_.input, 1000);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->ok());
    const std::string all = fmt::format("{}", fmt::join(report->differences, "\n"));
    for (const std::string& part : parts) EXPECT_THAT(all, HasSubstr(part));
  }

  void WriteText(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  template <typename T>
  void WriteArray(const std::string& name, const std::vector<T>& values, int64_t cols = 0) {
    ASSERT_EQ(WriteNpy<T>(folder_ / name, values, cols), OkStatus());
  }

  // Changes the elements of one array of part 0 .. and makes all checksums and digests right again,
  // as a faulty partitioner would have written it.
  template <typename T>
  void Damage(int part, const std::string& file, const std::function<void(std::span<T>)>& change) {
    const fs::path path = folder_ / "graph" / PartFolderName(part) / file;
    {
      const StatusOr<NpyArray> array = NpyArray::Open(path);
      ASSERT_TRUE(array.ok()) << array.status();
      const auto values = array->As<T>();
      ASSERT_TRUE(values.ok()) << values.status();
      std::vector<T> copy(values->begin(), values->end());
      const int64_t cols = array->shape().size() == 2 ? array->cols() : 0;
      change(copy);
      fs::remove(path);
      ASSERT_EQ(WriteNpy<T>(path, copy, cols), OkStatus());
    }
    Reseal();
  }

  void Reseal() {
    const fs::path graph = folder_ / "graph";
    StatusOr<GraphManifest> manifest = ReadGraphManifest(graph);
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    std::vector<PartManifest> parts;
    for (int p = 0; p < manifest->book.num_parts(); ++p) {
      StatusOr<PartManifest> part = ReadPartManifest(graph / PartFolderName(p));
      ASSERT_TRUE(part.ok()) << part.status();
      for (FileEntry& entry : part->files) {
        StatusOr<FileEntry> sealed = ChecksumFile(graph / PartFolderName(p), entry.path);
        ASSERT_TRUE(sealed.ok()) << sealed.status();
        entry = *std::move(sealed);
      }
      manifest->part_digests[p] = FilesDigest(part->files);
      parts.push_back(*std::move(part));
    }
    manifest->identity = GraphIdentity(manifest->schema, manifest->book, manifest->part_digests);
    for (int p = 0; p < manifest->book.num_parts(); ++p) {
      parts[p].identity = manifest->identity;
      ASSERT_EQ(WritePartManifest(graph / PartFolderName(p), parts[p]), OkStatus());
    }
    ASSERT_EQ(WriteGraphManifest(graph, *manifest), OkStatus());
  }

  const TestFolder own_;
  const fs::path folder_ = own_.path();
  PartitionRun run_;
};

TEST_F(VerifyTest, GeneratedGraphWithFeaturesAndTask) {
  SbmOptions options;
  options.nodes = 3000;
  options.classes = 4;
  options.feature_dim = 8;
  ASSERT_EQ(GenerateSbm(options, {folder_ / "input", false}), OkStatus());
  run_.method = "metis";
  Partition(folder_ / "input");
  const StatusOr<VerifyReport> report = VerifyIt(folder_ / "input");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->differences, testing::IsEmpty());
  EXPECT_EQ(report->nodes, 3000);
  EXPECT_EQ(report->feature_rows, 3000);
  EXPECT_EQ(report->task_rows, 750);
}

// Of one node type, with clusters.
class ClusterVerifyTest : public VerifyTest {
 protected:
  void SetUp() override {
    VerifyTest::SetUp();
    SbmOptions options;
    options.nodes = 600;
    options.classes = 4;
    options.feature_dim = 2;
    ASSERT_EQ(GenerateSbm(options, {folder_ / "input", false}), OkStatus());
    run_.method = "metis";
    run_.batch_clusters = 5;
    run_.replace = true;
  }
  void EditOptions(const std::function<void(Json*)>& change) {
    StatusOr<GraphManifest> manifest = ReadGraphManifest(folder_ / "graph");
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    change(&manifest->options);
    ASSERT_EQ(WriteGraphManifest(folder_ / "graph", *manifest), OkStatus());
  }
};

TEST_F(ClusterVerifyTest, ClustersVerifyWithAndWithoutSubParts) {
  for (const int trainers : {1, 2}) {
    run_.trainers_per_part = trainers;
    Partition(folder_ / "input");
    const StatusOr<VerifyReport> report = VerifyIt(folder_ / "input");
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(report->differences, testing::IsEmpty());
  }
}

TEST_F(ClusterVerifyTest, BoundsThatDoNotAscendOrAreNotThePartSAreFound) {
  Partition(folder_ / "input");
  const std::string file = ClusterFile("node");
  const auto expect_found = [&](size_t bound, int64_t value, const std::string& text) {
    int64_t before = 0;
    Damage<int64_t>(1, file, [&](std::span<int64_t> bounds) {
      before = std::exchange(bounds[bound % bounds.size()], value);
    });
    const auto damaged = VerifyIt(run_.input);
    EXPECT_TRUE(absl::IsDataLoss(damaged.status())) << damaged.status();
    EXPECT_THAT(Message(damaged.status()), testing::AllOf(HasSubstr(file), HasSubstr(text)));
    Damage<int64_t>(1, file,
                    [&](std::span<int64_t> bounds) { bounds[bound % bounds.size()] = before; });
  };
  expect_found(2, 1, "position 2 holds 1 after");
  expect_found(0, 1, "starts at 1 and ends at");
  expect_found(5, 599, "and ends at 599");
  EXPECT_TRUE(VerifyIt(run_.input)->ok());
}

TEST_F(ClusterVerifyTest, ABoundAtAnotherNodeIsFoundByTheOrderOfNodes) {
  Partition(folder_ / "input");
  Damage<int64_t>(1, ClusterFile("node"), [](std::span<int64_t> bounds) { bounds[2] += 3; });
  ExpectDifference({"node type `node`, part 1, cluster 1: node "});
}

TEST_F(ClusterVerifyTest, ClustersInTwoSubPartsAndOfOtherNumbersAreFound) {
  run_.trainers_per_part = 2;
  Partition(folder_ / "input");
  EditOptions([](Json* options) {
    Json& sizes = (*options)["report"]["sub_parts"]["nodes"]["node"][0];
    sizes[0] = sizes[0].get<int64_t>() + 1;
    sizes[1] = sizes[1].get<int64_t>() - 1;
  });
  ExpectDifference({"part 0: sub-part 1 begins with node ", "inside a cluster"});
  EditOptions([](Json* options) { (*options)["batch_clusters"] = 4; });
  ExpectDifference({"part 2: 5 clusters, but options.batch_clusters is 4"});
  EditOptions([](Json* options) { options->erase("batch_clusters"); });
  ExpectDifference({"part 0: 5 clusters, but options.batch_clusters is 0"});
}

TEST_F(VerifyTest, HalosAreComparedWithTheOwners) {
  SbmOptions options;
  options.nodes = 300;
  options.classes = 3;
  options.feature_dim = 4;
  ASSERT_EQ(GenerateSbm(options, {folder_ / "input", false}), OkStatus());
  run_.halo_hops = 2;
  Partition(folder_ / "input");
  const StatusOr<VerifyReport> whole = VerifyIt(folder_ / "input");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_THAT(whole->differences, testing::IsEmpty());
  EXPECT_GT(whole->feature_rows, 300) << "halo rows count, too";

  // As a faulty partitioner would have written it: under right checksums.
  const fs::path halo = folder_ / "graph" / PartFolderName(1) / kHaloFolder;
  for (const std::string& name :
       {FeatureFile(NodeFolder("node"), "feat"), HaloFirstEdgesFile("node:edge:node")}) {
    std::fstream file(halo / name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-4, std::ios::end);
    const auto byte = static_cast<char>(file.peek() + 1);
    file.seekp(-4, std::ios::end);
    file.put(byte);
  }
  auto manifest = ReadHaloManifest(halo.parent_path());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  for (FileEntry& entry : manifest->files) entry = *ChecksumFile(halo, entry.path);
  manifest->hops = 3;
  ASSERT_EQ(WriteHaloManifest(halo, *manifest), OkStatus());
  ExpectDifference({"halo of part 1, feature `feat`", "halo of part 1, relation `node:edge:node`"});
  manifest->hops = 1;
  ASSERT_EQ(WriteHaloManifest(halo, *manifest), OkStatus());
  ExpectDifference({"not within its 1 hops"});
}

TEST_F(VerifyTest, EdgeOptionsAreTakenFromTheManifest) {
  RmatOptions options;  // many loops and duplicates
  options.log2_nodes = 8;
  options.edges = 5000;
  ASSERT_EQ(GenerateRmat(options, {folder_ / "input", false}), OkStatus());
  int64_t given_loops = 0;
  for (const bool undirected : {false, true}) {
    for (const EdgePolicy loops : {EdgePolicy::kKeep, EdgePolicy::kDrop}) {
      for (const EdgePolicy duplicates : {EdgePolicy::kKeep, EdgePolicy::kDrop}) {
        run_.read.undirected = undirected;
        run_.read.self_loops = loops;
        run_.read.duplicates = duplicates;
        run_.replace = true;
        Partition(folder_ / "input");
        const StatusOr<VerifyReport> report = VerifyIt(folder_ / "input");
        ASSERT_TRUE(report.ok()) << report.status();
        EXPECT_THAT(report->differences, testing::IsEmpty());
        const Json edges = ReadGraphManifest(folder_ / "graph")->options["edges"];
        given_loops = std::max<int64_t>(given_loops, edges["self_loops"]);
        EXPECT_EQ(edges["read"], undirected ? 10000 - given_loops : 5000);
        EXPECT_EQ(edges["self_loops_dropped"], loops == EdgePolicy::kDrop ? given_loops : 0);
        EXPECT_EQ(report->edges == edges["read"].get<int64_t>(),
                  loops == EdgePolicy::kKeep && duplicates == EdgePolicy::kKeep);
      }
    }
  }
  EXPECT_GT(given_loops, 0);
}

// As folders are from before self-loops were their own reverses.
TEST_F(VerifyTest, FolderWithReversedLoopsIsReadAsItWasMade) {
  WriteText("g.txt", "0 0\n0 1\n1 1\n");
  run_.options.parts = 2;
  run_.read.undirected = true;
  run_.read.reverse_loops = true;
  Partition(folder_ / "g.txt");
  ExpectVerifies(folder_ / "g.txt", 2, 6);
  StatusOr<GraphManifest> manifest = ReadGraphManifest(folder_ / "graph");
  ASSERT_TRUE(manifest.ok());
  manifest->options["read"].erase("reverse_loops");
  ASSERT_EQ(WriteGraphManifest(folder_ / "graph", *manifest), OkStatus());
  ExpectVerifies(folder_ / "g.txt", 2, 6);
  manifest->options["read"]["reverse_loops"] = false;
  ASSERT_EQ(WriteGraphManifest(folder_ / "graph", *manifest), OkStatus());
  ExpectDifference({"is not in the input"});
}

TEST_F(VerifyTest, EdgeListWithGapsInIds) {
  WriteText("g.txt", "700 5\n5 9\n9 700\n9 700\n1000000000000 5\n");
  run_.options.parts = 2;
  Partition(folder_ / "g.txt");
  ExpectVerifies(folder_ / "g.txt", 4, 5);
  WriteText("other.txt", "701 5\n5 9\n9 701\n9 701\n1000000000000 5\n");
  run_.input = folder_ / "other.txt";
  ExpectDifference(
      {"original id 700 is not in the input", "node 701 of the input is in no part", "edge 0"});
}

TEST_F(VerifyTest, ManifestWithoutReadOptionsIsDataLoss) {
  WriteText("g.txt", "0 1\n1 2\n2 0\n");
  Partition(folder_ / "g.txt");
  StatusOr<GraphManifest> manifest = ReadGraphManifest(folder_ / "graph");
  ASSERT_TRUE(manifest.ok());
  manifest->options.erase("read");
  ASSERT_EQ(WriteGraphManifest(folder_ / "graph", *manifest), OkStatus());
  const Status status = VerifyIt(folder_ / "g.txt").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(Message(status), HasSubstr("read"));
}

TEST_F(VerifyTest, FlippedByteIsDataLossAndNamesTheFile) {
  WriteText("g.txt", "0 1\n1 2\n2 0\n");
  Partition(folder_ / "g.txt");
  const fs::path file = folder_ / "graph/part-0000/nodes/node/original_ids.npy";
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-1, std::ios::end);
  stream.put('\x7f');
  stream.close();
  const Status status = VerifyIt(folder_ / "g.txt").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(Message(status), HasSubstr("original_ids.npy"));
}

// A typed graph with everything in it: authors write papers (with a time), papers cite papers.
class TypedVerifyTest : public VerifyTest {
 protected:
  static constexpr int kPapers = 60, kAuthors = 40;

  void SetUp() override {
    VerifyTest::SetUp();
    WriteText("input/metadata.yaml", R"(graph:
  nodes:
    - {type: paper, num: 60}
    - {type: author, num: 40}
  edges:
    - {type: "paper:cites:paper", format: csv, path: cites.csv}
    - {type: "author:writes:paper", format: csv, path: writes.csv}
feature_data:
  - {domain: node, type: author, name: feat, format: numpy, path: feat.npy}
  - {domain: edge, type: "author:writes:paper", name: time, format: numpy, path: time.npy}
tasks:
  - name: who
    num_classes: 2
    train_set:
      - type: paper
        data:
          - {name: seeds, format: numpy, path: papers.npy}
          - {name: labels, format: numpy, path: labels.npy}
      - type: "author:writes:paper"
        data:
          - {name: seeds, format: numpy, path: pairs.npy}
          - {name: negative_dsts, format: numpy, path: negatives.npy}
)");
    std::string cites, writes;
    std::vector<int64_t> papers, labels, pairs, negatives;
    std::vector<int32_t> times;
    for (int i = 0; i < 300; ++i) {
      cites += fmt::format("{},{}\n", i * 7 % kPapers, i * i % kPapers);
      writes += fmt::format("{},{}\n", i * 11 % kAuthors, (i * i + i) % kPapers);
      times.push_back(i);
    }
    for (int i = 0; i < 30; ++i) {
      papers.push_back(i * 17 % kPapers);
      labels.push_back(i % 2);
      pairs.insert(pairs.end(), {i % kAuthors, i * 13 % kPapers});
      negatives.insert(negatives.end(), {i, i + 1, i + 2});
    }
    std::vector<float> feat(kAuthors * 3);
    for (size_t i = 0; i < feat.size(); ++i) feat[i] = static_cast<float>(i);
    WriteText("input/cites.csv", cites);
    WriteText("input/writes.csv", writes);
    WriteArray<float>("input/feat.npy", feat, 3);
    WriteArray<int32_t>("input/time.npy", times);
    WriteArray<int64_t>("input/papers.npy", papers);
    WriteArray<int64_t>("input/labels.npy", labels);
    WriteArray<int64_t>("input/pairs.npy", pairs, 2);
    WriteArray<int64_t>("input/negatives.npy", negatives, 3);
    Partition(folder_ / "input");
  }

  const std::string cites_ = EdgeFolder("paper:cites:paper");
  const std::string writes_ = EdgeFolder("author:writes:paper");
};

TEST_F(TypedVerifyTest, WhatThePartitionerWroteVerifies) {
  ExpectVerifies(folder_ / "input", 100, 600);
}

TEST_F(TypedVerifyTest, NodesInTheOrderOfClustersVerify) {
  for (const char* method : {"lp-metis", "stream-metis"}) {
    run_.replace = true;
    run_.method = method;
    run_.options.order = NodeOrder::kCluster;
    Partition(folder_ / "input");
    ExpectVerifies(folder_ / "input", 100, 600);
    const auto set = PartitionSet::Open(folder_ / "graph", {}, VerifyLevel::kContents);
    ASSERT_TRUE(set.ok()) << set.status();
    bool ascending = true;
    for (const auto& part : (*set)->parts()) {
      for (int type = 0; type < 2; ++type) {
        const auto ids = part->NodeOriginalIds(type);
        ascending = ascending && std::is_sorted(ids.begin(), ids.end());
      }
    }
    EXPECT_FALSE(ascending) << method;
  }
}

// Sub-parts are there and their order is compared, unless nodes are numbered by cluster.
TEST_F(TypedVerifyTest, SubPartsVerifyInBothOrders) {
  for (const NodeOrder order : {NodeOrder::kInput, NodeOrder::kCluster}) {
    run_.replace = true;
    run_.method = "stream-metis";
    run_.trainers_per_part = 3;
    run_.options.order = order;
    Partition(folder_ / "input");
    ExpectVerifies(folder_ / "input", 100, 600);
  }
}

TEST_F(TypedVerifyTest, NodesOfASubPartInAnotherOrderAreFound) {
  run_.replace = true;
  run_.method = "metis";
  run_.trainers_per_part = 2;
  Partition(folder_ / "input");
  Damage<int64_t>(1, NodeFolder("paper") + "/original_ids.npy",
                  [](std::span<int64_t> ids) { std::swap(ids[0], ids[1]); });
  ExpectDifference({"node type `paper`, part 1, sub-part 0: node "});
}

TEST_F(TypedVerifyTest, SubPartsOfOtherSizesAreFound) {
  run_.replace = true;
  run_.method = "metis";
  run_.trainers_per_part = 2;
  Partition(folder_ / "input");
  const auto sizes_with = [&](const std::function<void(Json*)>& change) {
    StatusOr<GraphManifest> manifest = ReadGraphManifest(folder_ / "graph");
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    change(&manifest->options["report"]["sub_parts"]["nodes"]["paper"]);
    ASSERT_EQ(WriteGraphManifest(folder_ / "graph", *manifest), OkStatus());
  };
  sizes_with([](Json* sizes) { (*sizes)[2][1] = (*sizes)[2][1].get<int64_t>() + 1; });
  ExpectDifference({"node type `paper`, part 2: its sub-parts have "});
  sizes_with([](Json* sizes) { sizes->erase(0); });
  const auto damaged = VerifyIt(run_.input);
  EXPECT_TRUE(absl::IsDataLoss(damaged.status())) << damaged.status();
  EXPECT_THAT(Message(damaged.status()), HasSubstr("nodes.paper: expected a row of 2 numbers"));
}

TEST_F(TypedVerifyTest, UndirectedWithItsReverseRelationVerifies) {
  run_.read.undirected = true;
  run_.replace = true;
  Partition(folder_ / "input");
  constexpr int64_t kSelfCitations = 40;  // each of them its own reverse
  ExpectVerifies(folder_ / "input", 100, 1200 - kSelfCitations);
}

TEST_F(TypedVerifyTest, AnotherSourceIsFound) {
  Damage<uint32_t>(1, cites_ + "/indices.npy",
                   [](std::span<uint32_t> ids) { ids[3] = (ids[3] + 1) % kPapers; });
  ExpectDifference({"relation `paper:cites:paper`, part 1: edge ", "in the input"});
}

TEST_F(TypedVerifyTest, ExchangedEdgeIdsAreFound) {
  Damage<int64_t>(0, writes_ + "/original_ids.npy",
                  [](std::span<int64_t> ids) { std::swap(ids.front(), ids.back()); });
  ExpectDifference({"relation `author:writes:paper`, part 0: edge "});
}

TEST_F(TypedVerifyTest, EdgeThatIsThereTwiceLeavesAnotherMissing) {
  Damage<int64_t>(2, cites_ + "/original_ids.npy",
                  [](std::span<int64_t> ids) { ids[0] = ids[ids.size() - 1]; });
  ExpectDifference({"appears twice", "of the input is in no part"});
}

TEST_F(TypedVerifyTest, EdgeIdBeyondTheInputIsFound) {
  Damage<int64_t>(2, cites_ + "/original_ids.npy",
                  [](std::span<int64_t> ids) { ids[ids.size() - 1] = 300; });
  ExpectDifference({"edge 300", "is not in the input"});
}

TEST_F(TypedVerifyTest, InEdgesOutOfOrderAreFound) {
  const auto set = PartitionSet::Open(folder_ / "graph", {}, VerifyLevel::kHeaders);
  ASSERT_TRUE(set.ok()) << set.status();
  const CscSegment& edges = (*set)->parts()[0]->Edges(1);
  int64_t v = 0;
  while (edges.indptr[v + 1] - edges.indptr[v] < 2) ++v;
  const int64_t first = edges.indptr[v];
  Damage<int64_t>(0, cites_ + "/original_ids.npy",
                  [=](std::span<int64_t> ids) { std::swap(ids[first], ids[first + 1]); });
  Damage<uint32_t>(0, cites_ + "/indices.npy",
                   [=](std::span<uint32_t> ids) { std::swap(ids[first], ids[first + 1]); });
  ExpectDifference({"follows"});
}

TEST_F(TypedVerifyTest, ExchangedNodeIdsAreFound) {
  Damage<int64_t>(0, NodeFolder("author") + "/original_ids.npy",
                  [](std::span<int64_t> ids) { std::swap(ids[0], ids[1]); });
  ExpectDifference({"feature `feat` of node type `author`, part 0"});
}

TEST_F(TypedVerifyTest, UnknownAndRepeatedNodeIdsAreFound) {
  Damage<int64_t>(0, NodeFolder("author") + "/original_ids.npy", [](std::span<int64_t> ids) {
    ids[0] = ids[1];
    ids[2] = kAuthors;
  });
  ExpectDifference({"node type `author`, part 0: original id 40 is not in the input",
                    "appears twice", "of the input is in no part"});
}

TEST_F(TypedVerifyTest, ChangedFeatureByteIsFound) {
  Damage<float>(1, FeatureFile(NodeFolder("author"), "feat"),
                [](std::span<float> values) { values[4] += 0.5F; });
  ExpectDifference({"feature `feat` of node type `author`, part 1: the row of node", "feat.npy"});
}

TEST_F(TypedVerifyTest, ChangedEdgeFeatureIsFound) {
  Damage<int32_t>(1, FeatureFile(writes_, "time"), [](std::span<int32_t> values) { ++values[4]; });
  ExpectDifference({"feature `time` of relation `author:writes:paper`, part 1: the row of edge"});
}

TEST_F(TypedVerifyTest, MissingHaloNodeIsFound) {
  const fs::path path = folder_ / "graph/part-0001" / NodeFolder("author") / "halo_ids.npy";
  const StatusOr<NpyArray> array = NpyArray::Open(path);
  ASSERT_TRUE(array.ok());
  const auto ids = *array->As<int64_t>();
  ASSERT_GT(ids.size(), 0U);
  const std::vector<int64_t> fewer(ids.begin() + 1, ids.end());
  fs::remove(path);
  ASSERT_EQ(WriteNpy<int64_t>(path, fewer), OkStatus());
  StatusOr<PartManifest> manifest = ReadPartManifest(folder_ / "graph/part-0001");
  ASSERT_TRUE(manifest.ok());
  --manifest->halo_nodes[0];  // author
  ASSERT_EQ(WritePartManifest(folder_ / "graph/part-0001", *manifest), OkStatus());
  Reseal();
  ExpectDifference({"node type `author`, part 1: source ", "is not among the halo nodes"});
}

TEST_F(TypedVerifyTest, ChangedLabelIsFound) {
  Damage<int64_t>(2, TaskSetFolder("who", "train", "paper") + "/labels.npy",
                  [](std::span<int64_t> labels) { labels[1] = 1 - labels[1]; });
  ExpectDifference({"task `who`, train set of `paper`, part 2: `labels` of row"});
}

TEST_F(TypedVerifyTest, SeedsOutOfOrderAreFound) {
  Damage<int64_t>(2, TaskSetFolder("who", "train", "paper") + "/seeds.npy",
                  [](std::span<int64_t> seeds) { std::swap(seeds[0], seeds[1]); });
  ExpectDifference({"`seeds` of row"});
}

TEST_F(TypedVerifyTest, ChangedSourceOfAPairIsFound) {
  Damage<int64_t>(1, TaskSetFolder("who", "train", "author:writes:paper") + "/seeds.npy",
                  [](std::span<int64_t> pairs) { pairs[0] = (pairs[0] + 1) % kAuthors; });
  ExpectDifference({"task `who`, train set of `author:writes:paper`, part 1: `seeds` of row"});
}

TEST_F(TypedVerifyTest, NegativesAreComparedAsNodes) {
  Damage<int64_t>(1, TaskSetFolder("who", "train", "author:writes:paper") + "/negative_dsts.npy",
                  [](std::span<int64_t> ids) { ids[0] = (ids[0] + 1) % kPapers; });
  ExpectDifference({"`negative_dsts` of row"});
}

TEST_F(TypedVerifyTest, AnotherInputIsToldByItsSchema) {
  SbmOptions options;
  options.nodes = 100;
  ASSERT_EQ(GenerateSbm(options, {folder_ / "sbm", false}), OkStatus());
  run_.input = folder_ / "sbm";
  ExpectDifference(
      {"node types: the graph has (author, paper), the input (node)", "relations: ", "tasks: "});
}

TEST_F(TypedVerifyTest, ManyDifferencesAreCountedButTenAreShown) {
  Damage<float>(1, FeatureFile(NodeFolder("author"), "feat"), [](std::span<float> values) {
    for (float& value : values) value = -1;
  });
  const StatusOr<VerifyReport> report = VerifyIt(folder_ / "input");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(report->num_differences, 10);
  EXPECT_EQ(report->differences.size(), 10U);
}

// Duplicates: 0->1 as edges 0 and 2, 1->1 as 1 and 3.
class DuplicatesVerifyTest : public VerifyTest {
 protected:
  void SetUp() override {
    VerifyTest::SetUp();
    WriteText("g.txt", "0 1\n1 1\n0 1\n1 1\n1 0\n");
    run_.options.parts = 1;
    run_.read.duplicates = EdgePolicy::kDrop;
    Partition(folder_ / "g.txt");
    ExpectVerifies(folder_ / "g.txt", 2, 3);
  }
  const std::string ids_ = EdgeFolder("node:edge:node") + "/original_ids.npy";
};

TEST_F(DuplicatesVerifyTest, KeepingALaterDuplicateIsFound) {
  Damage<int64_t>(0, ids_, [](std::span<int64_t> ids) {
    for (int64_t& id : ids) {
      if (id == 1) id = 3;
    }
  });
  ExpectDifference({"edge 1 (1 -> 1)", "neither is an earlier duplicate"});
}

TEST_F(DuplicatesVerifyTest, DuplicatesThatWereKeptAreFound) {
  run_.replace = true;
  run_.read.duplicates = EdgePolicy::kKeep;
  Partition(folder_ / "g.txt");
  StatusOr<GraphManifest> manifest = ReadGraphManifest(folder_ / "graph");
  ASSERT_TRUE(manifest.ok());
  manifest->options["read"]["duplicates"] = "drop";
  ASSERT_EQ(WriteGraphManifest(folder_ / "graph", *manifest), OkStatus());
  ExpectDifference({"duplicates of 0 -> 1 should have been dropped"});
}

// The real graphs: folder, parts' method, undirected.
struct RealGraph {
  std::string name;
  std::string method;
  bool undirected = false;
};

class RealGraphVerifyTest : public VerifyTest, public testing::WithParamInterface<RealGraph> {};

TEST_P(RealGraphVerifyTest, PartitionsAndVerifies) {
  const char* data = std::getenv("HALOGRAPH_DATA");
  if (data == nullptr) GTEST_SKIP() << "HALOGRAPH_DATA does not name the folder of graphs";
  run_.method = GetParam().method;
  run_.read.undirected = GetParam().undirected;
  Partition(fs::path(data) / GetParam().name);
  const StatusOr<VerifyReport> report = VerifyIt(fs::path(data) / GetParam().name);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->differences, testing::IsEmpty());
  EXPECT_GT(report->edges, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, RealGraphVerifyTest,
    testing::Values(RealGraph{"cora", "metis"}, RealGraph{"citeseer", "random"},
                    RealGraph{"amazon-photo", "metis"}, RealGraph{"aifb", "metis"},
                    RealGraph{"aifb", "random", true}, RealGraph{"imdb-hetero", "metis"},
                    RealGraph{"fb15k-237", "metis"}, RealGraph{"cora-ogb-raw", "metis", true},
                    RealGraph{"snap/ca-GrQc.txt", "metis"},
                    RealGraph{"snap/email-Enron.txt.gz", "metis"},
                    RealGraph{"snap/wiki-Vote.txt", "random"}),
    [](const auto& graph) {
      std::string name = graph.param.name + "_" + graph.param.method;
      if (graph.param.undirected) name += "_undirected";
      std::erase_if(name, [](char c) { return !std::isalnum(c) && c != '_'; });
      return name;
    });

}  // namespace
}  // namespace halograph
