#include "partitioner/readers/graphbolt.h"

#include "tests/unit/partitioner_readers/reader_fixture.h"

namespace halograph {
namespace {

using testing::ElementsAre;

// 4 nodes, edges 0->1, 1->2, 2->3, 3->0, 1->1.
constexpr char kHomogeneous[] = R"(dataset_name: tiny
graph:
  nodes:
    - num: 4
  edges:
    - format: numpy
      path: edges.npy
feature_data:
  - domain: node
    name: feat
    format: numpy
    path: feat.npy
  - domain: edge
    type: null
    name: weight
    format: numpy
    in_memory: false
    path: weight.npy
tasks:
  - name: label
    num_classes: 3
    note: {lists: [1, 2.5, true, text], "quoted": "7"}
    train_set:
      - data:
          - {name: labels, format: numpy, path: labels.npy}
          - {name: seeds, format: numpy, path: seeds.npy}
)";

class GraphBoltTest : public ReaderFixture {
 protected:
  void SetUp() override {
    ReaderFixture::SetUp();
    WriteText("metadata.yaml", kHomogeneous);
    WriteArray<int64_t>("edges.npy", {0, 1, 2, 3, 1, 1, 2, 3, 0, 1}, 5);
    WriteArray<float>("feat.npy", {0, 1, 2, 3, 4, 5, 6, 7}, 2);
    WriteArray<double>("weight.npy", {.1, .2, .3, .4, .5});
    WriteArray<int64_t>("seeds.npy", {3, 1});
    WriteArray<int64_t>("labels.npy", {2, 0});
  }

  StatusOr<Dataset> Open() { return OpenDataset(folder_, options_); }

  // metadata.yaml with one text replaced.
  void Replace(const std::string& from, const std::string& to) {
    std::string text = kHomogeneous;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    WriteText("metadata.yaml", text.replace(at, from.size(), to));
  }

  void ExpectOpenError(absl::StatusCode code, const std::vector<std::string>& parts) {
    ExpectError(Open().status(), code, parts);
  }

  std::vector<Edge> Edges() {
    const StatusOr<Dataset> dataset = Open();
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    if (!dataset.ok()) return {};
    const StatusOr<std::vector<Edge>> edges = ReadEdges(*dataset->relations.at(0).edges);
    EXPECT_TRUE(edges.ok()) << edges.status();
    return edges.ok() ? *edges : std::vector<Edge>();
  }

  void ExpectTinyEdges() {
    EXPECT_THAT(Edges(), ElementsAre(Edge{0, 0, 1}, Edge{1, 1, 2}, Edge{2, 2, 3}, Edge{3, 3, 0},
                                     Edge{4, 1, 1}));
  }

  // A .npy with the bytes given, in Fortran order.
  template <typename T>
  void WriteFortran(const std::string& name, const std::vector<T>& column_major, int64_t rows,
                    int64_t cols) {
    const std::vector<int64_t> shape = {rows, cols};
    std::string bytes = EncodeNpyHeader(DTypeOf<T>(), shape, true);
    bytes.append(reinterpret_cast<const char*>(column_major.data()),
                 column_major.size() * sizeof(T));
    WriteText(name, bytes);
  }

  // A .npy as another machine might have written it: elements with their bytes reversed, or data
  // at an offset that is `remainder` modulo 64.
  template <typename T>
  void WriteForeign(const std::string& name, const std::string& descr, const std::string& shape,
                    std::vector<T> values, bool reversed, size_t remainder) {
    const std::string dictionary =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    const size_t length = 128 + remainder % 64 - 10;
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += {static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
    bytes += dictionary;
    bytes.append(128 + remainder % 64 - bytes.size(), ' ');
    for (const T& value : values) {
      std::string element(reinterpret_cast<const char*>(&value), sizeof(T));
      if (reversed) std::reverse(element.begin(), element.end());
      bytes += element;
    }
    WriteText(name, bytes);
  }
};

TEST_F(GraphBoltTest, UnsignedIdIsShownAsItStandsInTheFile) {
  WriteArray<uint64_t>("edges.npy", {0, 1, 2, 3, 1, 1, 2, 3, uint64_t{1} << 63, 1}, 5);
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ExpectError(ReadEdges(*dataset->relations.at(0).edges).status(), absl::StatusCode::kOutOfRange,
              {"edges.npy", "edge 3", "destination 9223372036854775808", "4 nodes"});
}

TEST_F(GraphBoltTest, HomogeneousGraph) {
  ExpectTinyEdges();
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->name, "tiny");
  EXPECT_EQ(dataset->format, "graphbolt");
  const InputNodeType& node_type = dataset->node_types.at(0);
  EXPECT_EQ(node_type.name, "node");
  EXPECT_EQ(node_type.count, 4);
  EXPECT_EQ(node_type.features.at(0).spec, (TensorSpec{"feat", DType::kFloat32, 2, 2}));
  const InputRelation& relation = dataset->relations.at(0);
  EXPECT_EQ(relation.triple(), "node:edge:node");
  EXPECT_EQ(relation.features.at(0).spec, (TensorSpec{"weight", DType::kFloat64, 1, 1}));
  EXPECT_EQ(relation.edges->max_edges(), 5);
}

TEST_F(GraphBoltTest, TaskKeepsMetadataAndListsSeedsFirst) {
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const InputTask& task = dataset->tasks.at(0);
  EXPECT_EQ(task.name, "label");
  EXPECT_EQ(task.metadata, Json::parse(R"({"num_classes": 3,
      "note": {"lists": [1, 2.5, true, "text"], "quoted": "7"}})"));
  const InputTaskSet& set = task.sets.at(0);
  EXPECT_EQ(set.set, "train");
  EXPECT_EQ(set.type, "node");
  EXPECT_FALSE(set.edges);
  EXPECT_EQ(set.arrays.at(0).spec.name, "seeds");
  EXPECT_EQ(set.arrays.at(1).spec.name, "labels");
}

TEST_F(GraphBoltTest, Int32EdgesInCOrder) {
  WriteArray<int32_t>("edges.npy", {0, 1, 2, 3, 1, 1, 2, 3, 0, 1}, 5);
  ExpectTinyEdges();
}

TEST_F(GraphBoltTest, UInt32EdgesInFortranOrder) {
  WriteFortran<uint32_t>("edges.npy", {0, 1, 1, 2, 2, 3, 3, 0, 1, 1}, 2, 5);
  ExpectTinyEdges();
}

TEST_F(GraphBoltTest, BigEndianEdges) {
  WriteForeign<int32_t>("edges.npy", ">i4", "(2, 5)", {0, 1, 2, 3, 1, 1, 2, 3, 0, 1}, true, 64);
  ExpectTinyEdges();
}

TEST_F(GraphBoltTest, EdgesBehindAHeaderOfOddLength) {
  WriteForeign<int64_t>("edges.npy", "<i8", "(2, 5)", {0, 1, 2, 3, 1, 1, 2, 3, 0, 1}, false, 1);
  ExpectTinyEdges();
}

TEST_F(GraphBoltTest, CsvEdges) {
  Replace("format: numpy\n      path: edges.npy", "format: csv\n      path: edges.csv");
  WriteText("edges.csv", "0,1\n1,2\r\n2,3\n3,0\n\n1,1");
  ExpectTinyEdges();
}

TEST_F(GraphBoltTest, CsvEdgeBeyondNodeCountNamesLine) {
  Replace("format: numpy\n      path: edges.npy", "format: csv\n      path: edges.csv");
  WriteText("edges.csv", "0,1\n4,2\n");
  ExpectOpenError(absl::StatusCode::kOutOfRange,
                  {"metadata.yaml:7", "edges.csv:2", "source 4", "4 nodes"});
  WriteText("edges.csv", "0,1\n1 2\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"edges.csv:2", "1 2"});
  WriteText("edges.csv", "0,1,2\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"edges.csv:1", "0,1,2"});
}

TEST_F(GraphBoltTest, EdgeBeyondNodeCountNamesFilePositionAndCount) {
  WriteArray<int64_t>("edges.npy", {0, 1, 2, 3, 1, 1, 2, 3, 4, 1}, 5);
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ExpectError(ReadEdges(*dataset->relations.at(0).edges).status(), absl::StatusCode::kOutOfRange,
              {"edges.npy", "edge 3", "destination 4", "4 nodes"});
  WriteArray<int32_t>("edges.npy", {0, -1, 2, 3, 1, 1, 2, 3, 0, 1}, 5);
  const StatusOr<Dataset> negative = Open();
  ASSERT_TRUE(negative.ok()) << negative.status();
  ExpectError(ReadEdges(*negative->relations.at(0).edges).status(), absl::StatusCode::kOutOfRange,
              {"edges.npy", "edge 1", "source -1"});
}

TEST_F(GraphBoltTest, EdgesOfAnotherShapeOrDType) {
  WriteArray<int64_t>("edges.npy", {0, 1, 1, 2, 2, 3}, 2);
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"edges.npy", "(3, 2)", "(2, E)"});
  WriteArray<float>("edges.npy", {0, 1, 1, 2}, 2);
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"edges.npy", "float32"});
}

TEST_F(GraphBoltTest, EdgeFileChangedBetweenPassesIsDataLoss) {
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_TRUE(ReadEdges(*dataset->relations[0].edges).ok());
  const auto later = std::filesystem::last_write_time(folder_ / "edges.npy");
  std::filesystem::last_write_time(folder_ / "edges.npy", later + std::chrono::seconds(1));
  ExpectError(ReadEdges(*dataset->relations[0].edges).status(), absl::StatusCode::kDataLoss,
              {"edges.npy", "changed"});
}

TEST_F(GraphBoltTest, FortranFeaturesAreRewrittenInCOrder) {
  WriteFortran<float>("feat.npy", {0, 2, 4, 6, 1, 3, 5, 7}, 4, 2);
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const InputTensor& feat = dataset->node_types[0].features.at(0);
  const auto values = feat.array->As<float>();
  ASSERT_TRUE(values.ok());
  EXPECT_FALSE(feat.array->fortran_order());
  EXPECT_THAT(*values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(feat.path, testing::EndsWith("feat.npy"));
}

TEST_F(GraphBoltTest, BigEndianFeaturesAreRewritten) {
  WriteForeign<float>("feat.npy", ">f4", "(4, 2)", {0, 1, 2, 3, 4, 5, 6, 7}, true, 64);
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto values = dataset->node_types[0].features.at(0).array->As<float>();
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(GraphBoltTest, FeatureRowsThatDoNotMatchNameBothNumbers) {
  WriteArray<float>("feat.npy", {0, 1, 2, 3, 4, 5}, 2);
  ExpectOpenError(absl::StatusCode::kInvalidArgument,
                  {"metadata.yaml:12: field `feature_data[0].path`", "feat.npy", "3 rows",
                   "4 nodes of type `node`"});
  WriteArray<float>("feat.npy", {0, 1, 2, 3, 4, 5, 6, 7}, 2);
  WriteArray<double>("weight.npy", {.1, .2});
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"weight.npy", "2 rows", "5 edges"});
}

TEST_F(GraphBoltTest, TruncatedFeatureFileIsDataLossAndNamesThePath) {
  std::filesystem::resize_file(folder_ / "feat.npy",
                               std::filesystem::file_size(folder_ / "feat.npy") - 4);
  ExpectOpenError(absl::StatusCode::kDataLoss, {"feat.npy"});
}

TEST_F(GraphBoltTest, ForeignFileInsteadOfNpyIsDataLoss) {
  WriteText("feat.npy", "PK\x03\x04 something else, long enough to hold a header of some kind");
  ExpectOpenError(absl::StatusCode::kDataLoss, {"feat.npy"});
}

TEST_F(GraphBoltTest, MissingFileIsNotFoundAndNamesFieldAndPath) {
  std::filesystem::remove(folder_ / "feat.npy");
  ExpectOpenError(absl::StatusCode::kNotFound,
                  {"metadata.yaml:12", "feature_data[0].path", "feat.npy"});
}

TEST_F(GraphBoltTest, TorchFormatIsUnimplementedAndSaysWhatToDo) {
  Replace("format: numpy\n    path: feat.npy", "format: torch\n    path: feat.pt");
  ExpectOpenError(absl::StatusCode::kUnimplemented,
                  {"metadata.yaml:11", "feature_data[0].format", "numpy.save"});
}

TEST_F(GraphBoltTest, UnknownFormatWordNamesIt) {
  Replace("format: numpy\n      path: edges.npy", "format: parquet\n      path: edges.npy");
  ExpectOpenError(absl::StatusCode::kInvalidArgument,
                  {"metadata.yaml:6: field `graph.edges[0].format`", "parquet", "csv or numpy"});
}

TEST_F(GraphBoltTest, MissingFieldNamesFileLineAndField) {
  Replace("    - num: 4", "    - count: 4");
  ExpectOpenError(absl::StatusCode::kInvalidArgument,
                  {"metadata.yaml:4: field `graph.nodes[0]`", "`num` is missing"});
  WriteText("metadata.yaml", "dataset_name: x\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:1", "`graph` is missing"});
}

TEST_F(GraphBoltTest, WrongFieldNamesFileLineFieldAndValue) {
  Replace("num: 4", "num: four");
  ExpectOpenError(absl::StatusCode::kInvalidArgument,
                  {"metadata.yaml:4: field `graph.nodes[0].num`", "four"});
  Replace("num: 4", "num: -1");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:4", "-1"});
  Replace("num: 4", "num: [4]");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:4", "a list"});
  Replace("domain: edge", "domain: egde");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:13", "egde"});
  Replace("    type: null\n", "    type: paper\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:14", "types are only"});
}

TEST_F(GraphBoltTest, BrokenYamlNamesLine) {
  WriteText("metadata.yaml", "graph:\n  nodes: [\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:", "not YAML"});
  WriteText("metadata.yaml", "a: 1\na: 2\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:", "`a`", "twice"});
}

TEST_F(GraphBoltTest, AliasesThatMultiplyAreBounded) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    text += fmt::format("a{}: &a{} [", i, i);
    for (int j = 0; j < 10; ++j) text += fmt::format("{}*a{}", j == 0 ? "" : ", ", i - 1);
    text += "]\n";
  }
  WriteText("metadata.yaml", text);
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml", "values"});
}

TEST_F(GraphBoltTest, GraphDomainIsLeftOut) {
  Replace("domain: node", "domain: graph");
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE(dataset->node_types[0].features.empty());
}

TEST_F(GraphBoltTest, FeatureGivenTwice) {
  Replace("  - domain: edge\n    type: null\n    name: weight",
          "  - domain: node\n    type: null\n    name: feat");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:13", "`feat`", "twice"});
}

TEST_F(GraphBoltTest, SeedBeyondNodeCountNamesFileRowAndCount) {
  WriteArray<int64_t>("seeds.npy", {3, 4});
  ExpectOpenError(absl::StatusCode::kOutOfRange, {"seeds.npy", "row 1", "seed 4", "4 nodes"});
  WriteArray<int32_t>("seeds.npy", {-2, 1});
  ExpectOpenError(absl::StatusCode::kOutOfRange, {"seeds.npy", "row 0", "seed -2"});
  WriteArray<uint64_t>("seeds.npy", {1, uint64_t{1} << 63});
  ExpectOpenError(absl::StatusCode::kOutOfRange, {"seeds.npy", "row 1", "9223372036854775808"});
}

TEST_F(GraphBoltTest, LabelsOfAnotherLengthNameBothNumbers) {
  WriteArray<int64_t>("labels.npy", {2, 0, 1});
  ExpectOpenError(absl::StatusCode::kInvalidArgument,
                  {"labels.npy", "3 rows", "seeds.npy", "has 2"});
}

TEST_F(GraphBoltTest, SeedsThatAreNoIntegers) {
  WriteArray<float>("seeds.npy", {3, 1});
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"seeds.npy", "float32"});
}

TEST_F(GraphBoltTest, SetWithoutSeeds) {
  Replace("name: seeds", "name: sedes");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:24", "no `seeds`"});
}

TEST_F(GraphBoltTest, Int32SeedsBecomeInt64) {
  WriteArray<int32_t>("seeds.npy", {3, 1});
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto seeds = dataset->tasks.at(0).sets.at(0).arrays.at(0).array->As<int64_t>();
  ASSERT_TRUE(seeds.ok()) << seeds.status();
  EXPECT_THAT(*seeds, ElementsAre(3, 1));
}

TEST_F(GraphBoltTest, LegacyNamesAndNegativesPass) {
  Replace("name: seeds", "name: node_pairs");
  std::string text = kHomogeneous;
  text.replace(text.find("{name: seeds"), 12,
               "{name: negative_srcs, format: numpy, path: neg.npy}\n"
               "          - {name: node_pairs");
  WriteText("metadata.yaml", text);
  WriteArray<int64_t>("seeds.npy", {3, 1, 0, 2}, 2);
  WriteArray<int32_t>("neg.npy", {3, 1, 0, 2, 2, 2}, 3);
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const InputTaskSet& set = dataset->tasks.at(0).sets.at(0);
  EXPECT_TRUE(set.edges);
  EXPECT_EQ(set.type, "node:edge:node");
  ASSERT_EQ(set.arrays.size(), 3U);
  EXPECT_EQ(set.arrays[0].spec, (TensorSpec{"seeds", DType::kInt64, 2, 2}));
  EXPECT_EQ(set.arrays[1].spec.name, "labels");
  EXPECT_EQ(set.arrays[2].spec, (TensorSpec{"negative_srcs", DType::kInt64, 2, 3}));
}

TEST_F(GraphBoltTest, PreprocessedFolderIsIgnoredAndRefusedAsInput) {
  WriteText("preprocessed/metadata.yaml", "graph_topology:\n  path: x\n");
  ExpectTinyEdges();
  ExpectError(OpenDataset(folder_ / "preprocessed", options_).status(),
              absl::StatusCode::kInvalidArgument, {"above preprocessed/"});
}

// author (3) --writes--> paper (2), paper --cites--> paper.
constexpr char kTyped[] = R"(graph:
  nodes:
    - {type: paper, num: 2}
    - {type: author, num: 3}
  edges:
    - {type: "paper:cites:paper", format: csv, path: cites.csv}
    - {type: "author:writes:paper", format: csv, path: writes.csv}
  feature_data:
    - {domain: edge, type: "author:writes:paper", name: time, format: numpy, path: time.npy}
feature_data:
  - {domain: node, type: author, name: feat, format: numpy, path: feat.npy}
tasks:
  - train_set:
      - type: "author:writes:paper"
        data: [{name: seeds, format: numpy, path: pairs.npy}]
      - type: paper
        data: [{name: seeds, format: numpy, path: papers.npy}]
)";

class TypedGraphBoltTest : public GraphBoltTest {
 protected:
  void SetUp() override {
    GraphBoltTest::SetUp();
    WriteText("metadata.yaml", kTyped);
    WriteText("cites.csv", "0,1\n1,1\n");
    WriteText("writes.csv", "0,1\n2,0\n2,1\n");
    WriteArray<int32_t>("time.npy", {7, 8, 9});
    WriteArray<uint8_t>("feat.npy", {1, 2, 3, 4, 5, 6}, 2);
    WriteArray<int64_t>("pairs.npy", {2, 1, 0, 0}, 2);
    WriteArray<int64_t>("papers.npy", {1});
  }
};

TEST_F(TypedGraphBoltTest, TypesAndRelationsAreInByteOrder) {
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->node_types.size(), 2U);
  EXPECT_EQ(dataset->node_types[0].name, "author");
  EXPECT_EQ(dataset->node_types[1].name, "paper");
  EXPECT_EQ(dataset->relations.at(0).triple(), "author:writes:paper");
  EXPECT_EQ(dataset->relations.at(0).features.at(0).spec.name, "time");
  EXPECT_EQ(dataset->relations.at(1).triple(), "paper:cites:paper");
  EXPECT_EQ(dataset->tasks.at(0).name, "task0");
  EXPECT_TRUE(dataset->tasks[0].sets.at(0).edges);
  EXPECT_FALSE(dataset->tasks[0].sets.at(1).edges);
}

TEST_F(TypedGraphBoltTest, EachEndIsCheckedAgainstItsOwnType) {
  WriteText("writes.csv", "0,1\n2,0\n1,2\n");
  ExpectOpenError(absl::StatusCode::kOutOfRange,
                  {"writes.csv:3", "destination 2", "2 nodes of type `paper`"});
  WriteText("writes.csv", "0,1\n3,0\n");
  ExpectOpenError(absl::StatusCode::kOutOfRange,
                  {"writes.csv:2", "source 3", "3 nodes of type `author`"});
}

TEST_F(TypedGraphBoltTest, EachColumnOfPairsIsCheckedAgainstItsOwnType) {
  WriteArray<int64_t>("pairs.npy", {2, 1, 0, 2}, 2);
  ExpectOpenError(absl::StatusCode::kOutOfRange, {"pairs.npy", "row 1", "seed 2", "`paper`"});
}

TEST_F(TypedGraphBoltTest, SeedsOfARelationMustBePairs) {
  WriteArray<int64_t>("pairs.npy", {2, 1});
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"pairs.npy", "(n, 2)"});
  WriteArray<int64_t>("pairs.npy", {2, 1, 1}, 3);
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"pairs.npy", "tuples have 3"});
}

TEST_F(TypedGraphBoltTest, UnknownTypesAreNamed) {
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = kTyped;
    WriteText("metadata.yaml", text.replace(text.find(from), from.size(), to));
  };
  replaced("author:writes:paper", "author:writes:book");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:7", "book"});
  replaced("author:writes:paper", "author-writes-paper");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:7", "source:name:dest"});
  replaced("type: author, name", "type: writer, name");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:11", "writer"});
  replaced("- type: paper", "- type: book");
  ExpectOpenError(absl::StatusCode::kNotFound, {"metadata.yaml:16", "book"});
  replaced("type: author, num", "num");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"metadata.yaml:4", "`type` is missing"});
}

TEST_F(TypedGraphBoltTest, UndirectedAddsReverseRelationAndReversesWithinAType) {
  options_.undirected = true;
  const StatusOr<Dataset> dataset = Open();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->relations.size(), 3U);
  const InputRelation& cites = dataset->relations[1];
  EXPECT_EQ(cites.triple(), "paper:cites:paper");
  EXPECT_THAT(*ReadEdges(*cites.edges), ElementsAre(Edge{0, 0, 1}, Edge{1, 1, 0}, Edge{2, 1, 1}));
  EXPECT_EQ(cites.edges->max_edges(), 4);
  const InputRelation& reverse = dataset->relations[2];
  EXPECT_EQ(reverse.triple(), "paper:rev_writes:author");
  EXPECT_THAT(*ReadEdges(*reverse.edges), ElementsAre(Edge{0, 1, 0}, Edge{1, 0, 2}, Edge{2, 1, 2}));
  EXPECT_EQ(reverse.features.at(0).spec.name, "time");
  EXPECT_EQ(reverse.features[0].row_divisor, 1);
}

TEST_F(TypedGraphBoltTest, ReverseRelationThatIsThereAlready) {
  options_.undirected = true;
  std::string text = kTyped;
  text.replace(text.find("  feature_data"), 0,
               "    - {type: \"paper:rev_writes:author\", format: csv, path: rev.csv}\n");
  WriteText("metadata.yaml", text);
  WriteText("rev.csv", "0,0\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument, {"paper:rev_writes:author", "--undirected"});
}

}  // namespace
}  // namespace halograph
