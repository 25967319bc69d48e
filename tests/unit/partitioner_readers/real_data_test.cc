// The graphs of HALOGRAPH_DATA, counted as their README files say.
#include <string>
#include <vector>

#include "tests/unit/partitioner_readers/reader_fixture.h"

namespace halograph {
namespace {

class RealDataTest : public ReaderFixture {
 protected:
  void SetUp() override {
    ReaderFixture::SetUp();
    if (RealData().empty()) GTEST_SKIP() << "HALOGRAPH_DATA does not name the folder of graphs";
  }

  Dataset Open(const std::string& name) {
    StatusOr<Dataset> dataset = OpenDataset(RealData() / name, options_);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? *std::move(dataset) : Dataset();
  }

  static int64_t CountEdges(const Dataset& dataset) {
    int64_t total = 0;
    for (const InputRelation& relation : dataset.relations) {
      const StatusOr<std::vector<Edge>> edges = ReadEdges(*relation.edges);
      EXPECT_TRUE(edges.ok()) << edges.status();
      if (edges.ok()) total += static_cast<int64_t>(edges->size());
    }
    return total;
  }

  static std::vector<int64_t> SetRows(const InputTask& task) {
    std::vector<int64_t> rows(3);
    for (const InputTaskSet& set : task.sets) {
      const int index = set.set == "train" ? 0 : set.set == "valid" ? 1 : 2;
      rows[index] += set.arrays.front().array->rows();
    }
    return rows;
  }
};

TEST_F(RealDataTest, Cora) {
  const Dataset dataset = Open("cora");
  ASSERT_EQ(dataset.node_types.size(), 1U);
  EXPECT_EQ(dataset.node_types[0].name, "node");
  EXPECT_EQ(dataset.node_types[0].count, 2708);
  ASSERT_EQ(dataset.node_types[0].features.size(), 1U);
  EXPECT_EQ(dataset.node_types[0].features[0].spec, (TensorSpec{"feat", DType::kUInt8, 2, 1433}));
  EXPECT_EQ(CountEdges(dataset), 10556);
  ASSERT_EQ(dataset.tasks.size(), 1U);
  EXPECT_EQ(dataset.tasks[0].metadata, (Json{{"num_classes", 7}}));
  EXPECT_THAT(SetRows(dataset.tasks[0]), testing::ElementsAre(140, 500, 1000));
}

TEST_F(RealDataTest, AmazonPhoto) {
  const Dataset dataset = Open("amazon-photo");
  EXPECT_EQ(dataset.node_types.at(0).count, 7650);
  EXPECT_EQ(CountEdges(dataset), 238162);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(4591, 1530, 1529));
}

TEST_F(RealDataTest, Citeseer) {
  const Dataset dataset = Open("citeseer");
  EXPECT_EQ(dataset.node_types.at(0).count, 3327);
  EXPECT_EQ(CountEdges(dataset), 9104);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(120, 500, 1000));
}

TEST_F(RealDataTest, AifbHas45Relations) {
  const Dataset dataset = Open("aifb");
  EXPECT_EQ(dataset.node_types.at(0).name, "entity");
  EXPECT_EQ(dataset.node_types.at(0).count, 8285);
  EXPECT_EQ(dataset.relations.size(), 45U);
  EXPECT_EQ(CountEdges(dataset), 29043);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(112, 28, 36));
}

TEST_F(RealDataTest, ImdbHeteroHas3NodeTypesInByteOrder) {
  const Dataset dataset = Open("imdb-hetero");
  ASSERT_EQ(dataset.node_types.size(), 3U);
  EXPECT_EQ(dataset.node_types[0].name, "actor");
  EXPECT_EQ(dataset.node_types[0].count, 5257);
  EXPECT_EQ(dataset.node_types[1].name, "director");
  EXPECT_EQ(dataset.node_types[1].count, 2081);
  EXPECT_EQ(dataset.node_types[2].name, "movie");
  EXPECT_EQ(dataset.node_types[2].count, 4278);
  EXPECT_EQ(dataset.node_types[2].features.at(0).spec.dim, 512);
  EXPECT_EQ(CountEdges(dataset), 34212);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(400, 400, 3478));
  EXPECT_EQ(dataset.tasks[0].sets.at(0).type, "movie");
}

TEST_F(RealDataTest, Fb15k237HasPairsAsSeeds) {
  const Dataset dataset = Open("fb15k-237");
  EXPECT_EQ(dataset.node_types.at(0).count, 14541);
  EXPECT_EQ(dataset.relations.size(), 237U);
  EXPECT_EQ(CountEdges(dataset), 272115);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(272115, 17535, 20466));
  for (const InputTaskSet& set : dataset.tasks[0].sets) {
    EXPECT_TRUE(set.edges);
    EXPECT_EQ(set.arrays[0].spec.dim, 2);
  }
}

TEST_F(RealDataTest, SnapCaGrQc) {
  const Dataset dataset = Open("snap/ca-GrQc.txt");
  EXPECT_EQ(dataset.name, "ca-GrQc");
  EXPECT_EQ(dataset.node_types.at(0).count, 5242);
  EXPECT_NE(dataset.node_types[0].original_ids, nullptr);
  EXPECT_EQ(CountEdges(dataset), 28980);
  options_.self_loops = EdgePolicy::kDrop;
  EXPECT_EQ(CountEdges(Open("snap/ca-GrQc.txt")), 28980 - 12);
}

TEST_F(RealDataTest, SnapEmailEnronIsGzip) {
  const Dataset dataset = Open("snap/email-Enron.txt.gz");
  EXPECT_EQ(dataset.name, "email-Enron");
  EXPECT_EQ(dataset.node_types.at(0).count, 36692);
  EXPECT_EQ(dataset.node_types[0].original_ids, nullptr);  // 0 .. 36691 in the file
  EXPECT_EQ(CountEdges(dataset), 367662);
}

TEST_F(RealDataTest, SnapWikiVote) {
  const Dataset dataset = Open("snap/wiki-Vote.txt");
  EXPECT_EQ(dataset.node_types.at(0).count, 7115);
  EXPECT_EQ(CountEdges(dataset), 103689);
}

TEST_F(RealDataTest, CoraInOgbLayoutIsCoraWithReverseEdges) {
  options_.undirected = true;
  const Dataset dataset = Open("cora-ogb-raw");
  EXPECT_EQ(dataset.format, "ogb");
  EXPECT_EQ(dataset.node_types.at(0).count, 2708);
  EXPECT_EQ(dataset.node_types[0].features.at(0).spec,
            (TensorSpec{"feat", DType::kFloat32, 2, 1433}));
  EXPECT_EQ(CountEdges(dataset), 10556);
  EXPECT_THAT(SetRows(dataset.tasks.at(0)), testing::ElementsAre(140, 500, 1000));
  EXPECT_EQ(dataset.tasks[0].metadata["num_classes"], 7);

  // The labels are those of the GraphBolt folder, seed by seed.
  options_.undirected = false;
  const Dataset other = Open("cora");
  for (size_t set = 0; set < 3; ++set) {
    for (size_t array = 0; array < 2; ++array) {
      const auto a = dataset.tasks[0].sets.at(set).arrays.at(array).array->As<int64_t>();
      const auto b = other.tasks.at(0).sets.at(set).arrays.at(array).array->As<int64_t>();
      ASSERT_TRUE(a.ok() && b.ok());
      EXPECT_THAT(*a, testing::ElementsAreArray(*b));
    }
  }
}

TEST_F(RealDataTest, OgbnArxivPartialLacksItsEdges) {
  ExpectError(OpenDataset(RealData() / "ogbn-arxiv-partial", options_).status(),
              absl::StatusCode::kNotFound, {"raw/edge.csv.gz", "missing"});
}

// Its labels, years and split are real; with edges of our own the rest must read.
TEST_F(RealDataTest, OgbnArxivLabelsYearsAndSplitAtFullSize) {
  const std::filesystem::path copy = folder_ / "arxiv";
  std::filesystem::copy(RealData() / "ogbn-arxiv-partial", copy,
                        std::filesystem::copy_options::recursive);
  WriteText("arxiv/raw/edge.csv.gz", "0,169342\n");
  WriteText("arxiv/raw/num-edge-list.csv.gz", "1\n");
  const StatusOr<Dataset> dataset = OpenDataset(copy, options_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->node_types.at(0).count, 169343);
  EXPECT_EQ(dataset->node_types[0].features.at(0).spec.name, "year");
  EXPECT_EQ(dataset->tasks.at(0).metadata["num_classes"], 40);
  EXPECT_THAT(SetRows(dataset->tasks[0]), testing::ElementsAre(90941, 29799, 48603));
}

}  // namespace
}  // namespace halograph
