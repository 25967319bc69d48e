#include "partitioner/readers/ogb.h"

#include <cmath>

#include "tests/unit/partitioner_readers/reader_fixture.h"

namespace halograph {
namespace {

using testing::ElementsAre;

// Tables are written uncompressed: the reader tells gzip by content (real ones: RealDataTest).
class OgbTest : public ReaderFixture {
 protected:
  void SetUp() override {
    ReaderFixture::SetUp();
    WriteText("raw/num-node-list.csv.gz", "4\n");
    WriteText("raw/num-edge-list.csv.gz", "3\n");
    WriteText("raw/edge.csv.gz", "0,1\n1,2\n3,0\n");
    WriteText("raw/node-feat.csv.gz", "0.5,1\n1,2\n-1e-2,3\n2,4\n");
    WriteText("raw/node_year.csv.gz", "2001\n2002\n2003\n2004\n");
    WriteText("raw/edge_weight.csv.gz", "5,6\n7,8\n9,10\n");
    WriteText("raw/node-label.csv.gz", "2\n0\n1\n5\n");
    WriteSplit("time", "3\n0\n", "1\n", "2\n");
  }

  void WriteSplit(const std::string& name, const std::string& train, const std::string& valid,
                  const std::string& test) {
    WriteText("split/" + name + "/train.csv.gz", train);
    WriteText("split/" + name + "/valid.csv.gz", valid);
    WriteText("split/" + name + "/test.csv.gz", test);
  }

  StatusOr<Dataset> Open() { return OpenDataset(folder_, options_); }
  void ExpectOpenError(absl::StatusCode code, const std::vector<std::string>& parts) {
    ExpectError(Open().status(), code, parts);
  }

  template <typename T>
  static std::vector<T> Values(const InputTensor& tensor) {
    const auto values = tensor.array->As<T>();
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? std::vector<T>(values->begin(), values->end()) : std::vector<T>();
  }
};

TEST_F(OgbTest, HomogeneousFolder) {
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->format, "ogb");
  const InputNodeType& node_type = dataset->node_types.at(0);
  EXPECT_EQ(node_type.count, 4);
  ASSERT_EQ(node_type.features.size(), 2U);
  EXPECT_EQ(node_type.features[0].spec, (TensorSpec{"feat", DType::kFloat32, 2, 2}));
  EXPECT_THAT(Values<float>(node_type.features[0]), ElementsAre(0.5F, 1, 1, 2, -0.01F, 3, 2, 4));
  EXPECT_EQ(node_type.features[1].spec, (TensorSpec{"year", DType::kInt64, 1, 1}));
  const InputRelation& relation = dataset->relations.at(0);
  EXPECT_EQ(relation.features.at(0).spec, (TensorSpec{"weight", DType::kInt64, 2, 2}));
  EXPECT_THAT(*ReadEdges(*relation.edges),
              ElementsAre(Edge{0, 0, 1}, Edge{1, 1, 2}, Edge{2, 3, 0}));
}

TEST_F(OgbTest, SplitBecomesOneTaskWithNumClasses) {
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const InputTask& task = dataset->tasks.at(0);
  EXPECT_EQ(task.name, "node_classification");
  EXPECT_EQ(task.metadata, (Json{{"num_classes", 6}, {"split", "time"}}));
  ASSERT_EQ(task.sets.size(), 3U);
  EXPECT_EQ(task.sets[0].set, "train");
  EXPECT_THAT(Values<int64_t>(task.sets[0].arrays.at(0)), ElementsAre(3, 0));
  EXPECT_EQ(task.sets[0].arrays.at(1).spec, (TensorSpec{"labels", DType::kInt64, 1, 1}));
  EXPECT_THAT(Values<int64_t>(task.sets[0].arrays.at(1)), ElementsAre(5, 2));
}

TEST_F(OgbTest, UnlabelledNodesOutsideTheSplitAreFine) {
  WriteText("raw/node-label.csv.gz", "2.0\n0.0\n\"\"\n5.0\n");
  WriteSplit("time", "3\n0\n", "1\n", "");
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->tasks.at(0).metadata["num_classes"], 6);
  EXPECT_THAT(Values<int64_t>(dataset->tasks[0].sets.at(0).arrays.at(1)), ElementsAre(5, 2));
}

TEST_F(OgbTest, SeedWithoutLabelNamesItsLine) {
  WriteText("raw/node-label.csv.gz", "\n0\n1\n5\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"train.csv.gz:2", "no label"});
}

TEST_F(OgbTest, SeveralLabelColumnsArePrediction) {
  WriteText("raw/node-label.csv.gz", "1,0\n,1\n1,1\n0,0\n");
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->tasks.at(0).name, "node_prediction");
  EXPECT_FALSE(dataset->tasks[0].metadata.contains("num_classes"));
  const InputTensor& valid = dataset->tasks[0].sets.at(1).arrays.at(1);
  EXPECT_EQ(valid.spec, (TensorSpec{"labels", DType::kFloat32, 2, 2}));
  EXPECT_TRUE(std::isnan(Values<float>(valid)[0]));
}

TEST_F(OgbTest, MissingEdgeFileIsNotFound) {
  std::filesystem::remove(folder_ / "raw/edge.csv.gz");
  ExpectOpenError(absl::StatusCode::kNotFound, {"edge.csv.gz", "missing"});
}

TEST_F(OgbTest, CountsThatDisagreeNameBothNumbers) {
  WriteText("raw/num-edge-list.csv.gz", "4\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"edge.csv.gz", "3 edges", "says 4"});
  WriteText("raw/num-edge-list.csv.gz", "3\n");
  WriteText("raw/node_year.csv.gz", "2001\n2002\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"node_year.csv.gz", "2 rows", "4 nodes"});
}

TEST_F(OgbTest, EdgeBeyondNodeCountNamesLine) {
  WriteText("raw/edge.csv.gz", "0,1\n1,2\n3,4\n");
  ExpectOpenError(absl::StatusCode::kOutOfRange, {"edge.csv.gz:3", "destination 4", "4 nodes"});
}

TEST_F(OgbTest, SeedBeyondNodeCountNamesFile) {
  WriteSplit("time", "3\n4\n", "1\n", "2\n");
  ExpectOpenError(absl::StatusCode::kOutOfRange, {"train.csv.gz", "row 1", "seed 4"});
}

TEST_F(OgbTest, RaggedOrTextualTableNamesLine) {
  WriteText("raw/node-feat.csv.gz", "0.5,1\n1,2,3\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"node-feat.csv.gz:2", "3 cells"});
  WriteText("raw/node-feat.csv.gz", "0.5,1\n1,two\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"node-feat.csv.gz:2", "`two`"});
}

TEST_F(OgbTest, SeveralGraphsAndBinaryAndTorchAreUnimplemented) {
  WriteText("raw/num-node-list.csv.gz", "4\n5\n");
  ExpectOpenError(absl::StatusCode::kUnimplemented, {"num-node-list", "several graphs"});
  WriteText("raw/num-node-list.csv.gz", "4\n");
  WriteText("split/time/split_dict.pt", "x");
  ExpectOpenError(absl::StatusCode::kUnimplemented, {"split_dict.pt", "train.csv.gz"});
  WriteText("raw/data.npz", "x");
  ExpectOpenError(absl::StatusCode::kUnimplemented, {"data.npz", "GraphBolt"});
}

TEST_F(OgbTest, SeveralSplitsNeedAChoice) {
  WriteSplit("random", "1\n", "2\n", "3\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"--task", "random, time"});
  options_.task = "random";
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->tasks.at(0).metadata["split"], "random");
  options_.task = "scaffold";
  ExpectOpenError(absl::StatusCode::kNotFound, {"scaffold", "random, time"});
}

TEST_F(OgbTest, NoSplitMeansNoTask) {
  std::filesystem::remove_all(folder_ / "split");
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE(dataset->tasks.empty());
}

TEST_F(OgbTest, UndirectedNumbersLikeAddInverseEdge) {
  options_.undirected = true;
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(*ReadEdges(*dataset->relations.at(0).edges),
              ElementsAre(Edge{0, 0, 1}, Edge{1, 1, 0}, Edge{2, 1, 2}, Edge{3, 2, 1}, Edge{4, 3, 0},
                          Edge{5, 0, 3}));
  EXPECT_EQ(dataset->relations[0].features.at(0).row_divisor, 2);
}

class OgbTypedTest : public OgbTest {
 protected:
  void SetUp() override {
    ReaderFixture::SetUp();
    WriteText("raw/num-node-dict.csv.gz", "paper,author\n3,2\n");
    WriteText("raw/triplet-type-list.csv.gz", "author,writes,paper\npaper,cites,paper\n");
    WriteRelation("author___writes___paper", "0,2\n1,0\n", "2\n");
    WriteRelation("paper___cites___paper", "0,1\n", "1\n");
    WriteText("raw/relations/paper___cites___paper/edge_reltype.csv.gz", "4\n");
    WriteText("raw/node-feat/paper/node-feat.csv.gz", "1,2\n3,4\n5,6\n");
    WriteText("raw/node-feat/paper/node_year.csv.gz", "1\n2\n3\n");
    WriteText("raw/nodetype-has-label.csv.gz", "paper,author\nTrue,False\n");
    WriteText("raw/node-label/paper/node-label.csv.gz", "1\n0\n2\n");
    WriteText("split/time/nodetype-has-split.csv.gz", "paper,author\nTrue,False\n");
    WriteSplit("time/paper", "2\n", "0\n", "1\n");
  }

  void WriteRelation(const std::string& name, const std::string& edges, const std::string& count) {
    WriteText("raw/relations/" + name + "/edge.csv.gz", edges);
    WriteText("raw/relations/" + name + "/num-edge-list.csv.gz", count);
  }
};

TEST_F(OgbTypedTest, HeterogeneousFolder) {
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->node_types.size(), 2U);
  EXPECT_EQ(dataset->node_types[0].name, "author");
  EXPECT_TRUE(dataset->node_types[0].features.empty());
  EXPECT_EQ(dataset->node_types[1].features.size(), 2U);
  EXPECT_EQ(dataset->node_types[1].features[0].spec, (TensorSpec{"feat", DType::kInt64, 2, 2}));
  ASSERT_EQ(dataset->relations.size(), 2U);
  EXPECT_EQ(dataset->relations[0].triple(), "author:writes:paper");
  EXPECT_THAT(*ReadEdges(*dataset->relations[0].edges), ElementsAre(Edge{0, 0, 2}, Edge{1, 1, 0}));
  EXPECT_EQ(dataset->relations[1].features.at(0).spec.name, "reltype");
  ASSERT_EQ(dataset->tasks.size(), 1U);
  EXPECT_EQ(dataset->tasks[0].metadata["num_classes"], 3);
  EXPECT_EQ(dataset->tasks[0].sets.at(0).type, "paper");
  EXPECT_THAT(Values<int64_t>(dataset->tasks[0].sets[0].arrays.at(1)), ElementsAre(2));
}

TEST_F(OgbTypedTest, DamagedListsAreNamed) {
  WriteText("raw/triplet-type-list.csv.gz", "author,writes,paper\npaper,cites,book\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"triplet-type-list", "row 2", "book"});
  WriteText("raw/triplet-type-list.csv.gz", "author,writes\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"triplet-type-list", "row 1"});
  WriteText("raw/triplet-type-list.csv.gz", "author,reads,paper\n");
  ExpectOpenError(absl::StatusCode::kNotFound, {"author___reads___paper", "edge.csv.gz"});
  WriteText("raw/num-node-dict.csv.gz", "paper,author\n3,two\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"num-node-dict.csv.gz:2", "two"});
}

}  // namespace
}  // namespace halograph
