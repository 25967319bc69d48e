#include <algorithm>
#include <cmath>
#include <limits>

#include <sys/stat.h>
#include <zlib.h>

#include "partitioner/readers/edge_filters.h"
#include "partitioner/readers/edge_list.h"
#include "partitioner/readers/ogb.h"
#include "partitioner/readers/reader.h"
#include "tests/unit/partitioner_readers/reader_fixture.h"

namespace halograph {
namespace {

using testing::ElementsAre;

// ---- reader -------------------------------------------------------------------------------

class OpenDatasetTest : public ReaderFixture {};

TEST_F(OpenDatasetTest, MissingInputIsNotFound) {
  ExpectError(OpenDataset(folder_ / "nowhere", options_).status(), absl::StatusCode::kNotFound,
              {"nowhere"});
}

TEST_F(OpenDatasetTest, FolderOfNoFormatSaysWhatWasLookedFor) {
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"metadata.yaml", "raw/", "metadata.json"});
}

TEST_F(OpenDatasetTest, DglFolderIsUnimplemented) {
  WriteText("metadata.json", "{}");
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kUnimplemented,
              {"metadata.json", "not supported"});
}

TEST_F(OpenDatasetTest, UnknownFormatIsNamed) {
  options_.format = "gml";
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"gml", "edgelist"});
}

TEST_F(OpenDatasetTest, OptionsOfOtherFormatsAreRefused) {
  WriteText("raw/x", "");
  options_.num_nodes = 3;
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"--num-nodes", "ogb"});
  WriteText("g.txt", "0 1\n");
  options_.num_nodes = -1;
  options_.task = "time";
  ExpectError(OpenDataset(folder_ / "g.txt", options_).status(), absl::StatusCode::kInvalidArgument,
              {"--task", "edgelist"});
}

TEST_F(OpenDatasetTest, MetadataFileStandsForItsFolder) {
  WriteText("metadata.yaml", "graph: {nodes: [{num: 2}], edges: [{format: csv, path: e.csv}]}\n");
  WriteText("e.csv", "0,1\n");
  const StatusOr<Dataset> dataset = OpenDataset(folder_ / "metadata.yaml", options_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->format, "graphbolt");
}

// As 2^60 nodes, whose memory no plan could add up.
TEST_F(OpenDatasetTest, MoreNodesThanAnyGraphHasAreRefused) {
  WriteText("g.txt", "0 1\n");
  options_.num_nodes = kMaxNodes;
  EXPECT_TRUE(OpenDataset(folder_ / "g.txt", options_).ok());
  for (const int64_t nodes : {kMaxNodes + 1, std::numeric_limits<int64_t>::max()}) {
    options_.num_nodes = nodes;
    ExpectError(OpenDataset(folder_ / "g.txt", options_).status(),
                absl::StatusCode::kInvalidArgument,
                {"g.txt", fmt::format("{}", nodes), "1099511627776"});
  }
  options_.num_nodes = -1;
  WriteText("metadata.yaml",
            "graph: {nodes: [{type: a, num: 1000000000000}, {type: b, num: 1000000000000}],\n"
            "        edges: [{type: 'a:e:b', format: csv, path: e.csv}]}\n");
  WriteText("e.csv", "0,1\n");
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"type `b`", "1099511627776"});
}

// A pipe that nobody writes to blocks whoever opens it in the ordinary way.
TEST_F(OpenDatasetTest, PipeInTheInputIsRefusedWithoutWaiting) {
  for (const char* name : {"metadata.yaml", "g.txt"}) {
    ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0);
    ExpectError(OpenDataset(folder_ / name, options_).status(),
                absl::StatusCode::kFailedPrecondition, {name, "a pipe"});
  }
}

// Seconds; it was minutes when each key was compared to all before it.
TEST_F(OpenDatasetTest, DescriptionWithManyKeysAndTypesIsReadInLinearTime) {
  std::string text = "graph:\n  nodes:\n";
  for (int i = 0; i < 20000; ++i) text += fmt::format("  - {{type: t{}, num: 2}}\n", i);
  text += "  edges:\n";
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format("  - {{type: 't{}:e:t0', format: numpy, path: e.npy}}\n", i);
  }
  for (int i = 0; i < 100000; ++i) text += fmt::format("key{}: 1\n", i);
  WriteText("metadata.yaml", text);
  WriteArray<int64_t>("e.npy", {0, 1}, 1);
  testing::internal::CaptureStdout();  // where the log goes by default
  const StatusOr<Dataset> dataset = OpenDataset(folder_, options_);
  const std::string log = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->node_types.size(), 20000U);
  EXPECT_EQ(dataset->relations.size(), 1000U);
  EXPECT_THAT(log, testing::HasSubstr("99995 more keys are not known"));
  EXPECT_LT(std::count(log.begin(), log.end(), '\n'), 10);
  WriteText("metadata.yaml", text + "key7: 2\n");
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"metadata.yaml", "key `key7` is given twice"});
}

TEST_F(OpenDatasetTest, OptionsRoundTripAsJson) {
  options_.format = "edgelist";
  options_.undirected = true;
  options_.self_loops = EdgePolicy::kDrop;
  options_.num_nodes = 7;
  options_.task = "t";
  options_.reverse_loops = true;
  const StatusOr<ReadOptions> back = ReadOptions::FromJson(options_.ToJson(), "x");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->ToJson(), options_.ToJson());
  EXPECT_EQ(back->self_loops, EdgePolicy::kDrop);
  EXPECT_EQ(back->duplicates, EdgePolicy::kKeep);
  EXPECT_TRUE(back->reverse_loops);
}

// Folders from before self-loops were their own reverses verify as they were made.
TEST_F(OpenDatasetTest, ManifestThatDoesNotSayReversesLoops) {
  options_.undirected = true;
  Json value = options_.ToJson();
  EXPECT_FALSE(ReadOptions::FromJson(value, "x")->reverse_loops);
  value["reverse_loops"] = 1;
  ExpectError(ReadOptions::FromJson(value, "manifest").status(), absl::StatusCode::kDataLoss,
              {"manifest", "reverse_loops"});
  value.erase("reverse_loops");
  EXPECT_TRUE(ReadOptions::FromJson(value, "x")->reverse_loops);
  value["undirected"] = false;
  EXPECT_FALSE(ReadOptions::FromJson(value, "x")->reverse_loops);
}

TEST_F(OpenDatasetTest, OptionsWithAWrongFieldNameIt) {
  for (const char* field :
       {"format", "undirected", "self_loops", "duplicates", "num_nodes", "task"}) {
    Json value = options_.ToJson();
    value[field] = Json::array();
    ExpectError(ReadOptions::FromJson(value, "manifest").status(), absl::StatusCode::kDataLoss,
                {"manifest", field});
    value.erase(field);
    ExpectError(ReadOptions::FromJson(value, "manifest").status(), absl::StatusCode::kDataLoss,
                {"manifest", field});
  }
}

// ---- edge list ----------------------------------------------------------------------------

class EdgeListTest : public ReaderFixture {
 protected:
  StatusOr<Dataset> Open(const std::string& text, const std::string& name = "g.txt") {
    WriteText(name, text);
    return OpenDataset(folder_ / name, options_);
  }

  static std::vector<Edge> Edges(const StatusOr<Dataset>& dataset) {
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    if (!dataset.ok()) return {};
    const StatusOr<std::vector<Edge>> edges = ReadEdges(*dataset->relations.at(0).edges);
    EXPECT_TRUE(edges.ok()) << edges.status();
    return edges.ok() ? *edges : std::vector<Edge>();
  }

  static std::vector<int64_t> OriginalIds(const Dataset& dataset) {
    const auto ids = dataset.node_types.at(0).original_ids->As<int64_t>();
    EXPECT_TRUE(ids.ok());
    return {ids->begin(), ids->end()};
  }
};

TEST_F(EdgeListTest, CommentsBlankLinesCrLfAndAllSeparators) {
  const auto dataset =
      Open("# comment\r\n% other\r\n\r\n0\t1\r\n  1 2\n2,0\n0, 2 0.5 1999\n\t # indented\n3 0");
  EXPECT_THAT(Edges(dataset), ElementsAre(Edge{0, 0, 1}, Edge{1, 1, 2}, Edge{2, 2, 0},
                                          Edge{3, 0, 2}, Edge{4, 3, 0}));
  EXPECT_EQ(dataset->node_types[0].count, 4);
  EXPECT_EQ(dataset->node_types[0].original_ids, nullptr);
  EXPECT_EQ(dataset->relations[0].triple(), "node:edge:node");
}

TEST_F(EdgeListTest, GapsInIdsAreClosedAndOriginalIdsKept) {
  const auto dataset = Open("700 5\n5 9\n9 700\n");
  EXPECT_THAT(Edges(dataset), ElementsAre(Edge{0, 2, 0}, Edge{1, 0, 1}, Edge{2, 1, 2}));
  EXPECT_THAT(OriginalIds(*dataset), ElementsAre(5, 9, 700));
}

TEST_F(EdgeListTest, IdsThatAreHashesNeedNoBitmap) {
  const auto dataset = Open("9000000000000000000 3\n3 4611686018427387904\n");
  EXPECT_THAT(Edges(dataset), ElementsAre(Edge{0, 2, 0}, Edge{1, 0, 1}));
  EXPECT_THAT(OriginalIds(*dataset), ElementsAre(3, 4611686018427387904, 9000000000000000000));
}

TEST_F(EdgeListTest, NumNodesGivesIsolatedNodesAndNoRenumbering) {
  options_.num_nodes = 10;
  const auto dataset = Open("7 2\n");
  EXPECT_THAT(Edges(dataset), ElementsAre(Edge{0, 7, 2}));
  EXPECT_EQ(dataset->node_types[0].count, 10);
  EXPECT_EQ(dataset->node_types[0].original_ids, nullptr);
}

TEST_F(EdgeListTest, IdBeyondNumNodesNamesLineIdAndCount) {
  options_.num_nodes = 5;
  ExpectError(Open("# x\n0 1\n1 5\n").status(), absl::StatusCode::kOutOfRange,
              {"g.txt:3", "5", "destination"});
}

TEST_F(EdgeListTest, LineThatIsNotTwoIntegersNamesItsPlace) {
  for (const std::string line : {"a b", "1", "1 x", "1.5 2", "1;2", "99999999999999999999 1"}) {
    ExpectError(Open("0 1\n" + line + "\n").status(), absl::StatusCode::kInvalidArgument,
                {"g.txt:2", "two integers", line});
  }
}

TEST_F(EdgeListTest, BinaryGarbageIsShownPrintable) {
  ExpectError(Open(std::string("\x01\x02\xff\x00z", 5)).status(),
              absl::StatusCode::kInvalidArgument, {"g.txt:1", "????z"});
}

TEST_F(EdgeListTest, NegativeIdNamesItsPlace) {
  ExpectError(Open("0 1\n-3 1\n").status(), absl::StatusCode::kInvalidArgument,
              {"g.txt:2", "negative"});
}

TEST_F(EdgeListTest, NoEdgeNeedsNumNodes) {
  ExpectError(Open("# nothing\n").status(), absl::StatusCode::kInvalidArgument, {"--num-nodes"});
  options_.num_nodes = 3;
  EXPECT_THAT(Edges(Open("# nothing\n")), ElementsAre());
}

TEST_F(EdgeListTest, TruncatedGzipIsDataLoss) {
  const std::filesystem::path path = folder_ / "g.txt.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  for (int i = 0; i < 20000; ++i) gzprintf(file, "%d %d\n", i, (i * 7919) % 20000);
  gzclose(file);
  ASSERT_TRUE(OpenDataset(path, options_).ok());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  ExpectError(OpenDataset(path, options_).status(), absl::StatusCode::kDataLoss,
              {"g.txt.gz", "gzip", "unexpected end of file"});
  EXPECT_THAT(Message(OpenDataset(path, options_).status()),
              testing::Not(testing::HasSubstr("fd:")));
}

TEST_F(EdgeListTest, ManyEdgesComeInBoundedChunksInOrder) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += fmt::format("{} {}\n", i % 1000, (i * 31) % 1000);
  const std::vector<Edge> edges = Edges(Open(text));
  ASSERT_EQ(edges.size(), 200000U);
  for (int i = 0; i < 200000; ++i) {
    ASSERT_EQ(edges[i], (Edge{i, i % 1000, (i * 31) % 1000}));
  }
}

TEST_F(EdgeListTest, ScratchIsEmptyOnceTheDatasetIsGone) {
  {
    const auto dataset = Open("5 9\n");
    EXPECT_FALSE(std::filesystem::is_empty(options_.scratch));
  }
  EXPECT_TRUE(std::filesystem::is_empty(options_.scratch));
}

TEST_F(EdgeListTest, MissingScratchFolderIsNamed) {
  options_.scratch = folder_ / "nowhere";
  ExpectError(Open("5 9\n").status(), absl::StatusCode::kInvalidArgument, {"nowhere"});
}

class EdgeColumnsTest : public EdgeListTest {
 protected:
  template <typename T>
  static std::vector<T> Column(const StatusOr<Dataset>& dataset, size_t index) {
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    if (!dataset.ok()) return {};
    const auto values = dataset->relations.at(0).features.at(index).array->As<T>();
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? std::vector<T>(values->begin(), values->end()) : std::vector<T>();
  }
};

// 1289241911.72836 needs a float64, and 2^53 + 1 an int64.
TEST_F(EdgeColumnsTest, NamedColumnsBecomeFeaturesThatLoseNothing) {
  options_.edge_columns = {"weight", "time"};
  const auto dataset = Open(
      "# comment\n700 5 3 9007199254740993\n5\t9\t1289241911.72836\t-1\r\n9,700, 2 , 0 ,extra\n");
  EXPECT_THAT(Edges(dataset), ElementsAre(Edge{0, 2, 0}, Edge{1, 0, 1}, Edge{2, 1, 2}));
  const std::vector<InputTensor>& features = dataset->relations[0].features;
  ASSERT_EQ(features.size(), 2U);
  EXPECT_EQ(features[0].spec, (TensorSpec{"time", DType::kInt64, 1, 1}));
  EXPECT_EQ(features[1].spec, (TensorSpec{"weight", DType::kFloat64, 1, 1}));
  EXPECT_THAT(Column<int64_t>(dataset, 0), ElementsAre(9007199254740993, -1, 0));
  EXPECT_THAT(Column<double>(dataset, 1), ElementsAre(3, 1289241911.72836, 2));
}

TEST_F(EdgeColumnsTest, LateFractionChangesTheWholeColumn) {
  options_.edge_columns = {"w"};
  std::string text;
  std::vector<double> expected;
  for (int i = 0; i < 150000; ++i) {
    text += fmt::format("{} {} {}\n", i % 1000, (i * 31) % 1000, i);
    expected.push_back(i);
  }
  expected.push_back(0.5);
  EXPECT_EQ(Column<double>(Open(text + "1 2 0.5\n"), 0), expected);
}

TEST_F(EdgeColumnsTest, ReverseEdgesShareTheNumbers) {
  options_.edge_columns = {"w"};
  options_.undirected = true;
  const auto dataset = Open("0 1 5\n1 2 7\n");
  EXPECT_EQ(Edges(dataset).size(), 4U);
  EXPECT_EQ(dataset->relations[0].features[0].row_divisor, 2);
  EXPECT_THAT(Column<int64_t>(dataset, 0), ElementsAre(5, 7));
}

TEST_F(EdgeColumnsTest, MissingEmptyOrTextualColumnNamesLineAndColumn) {
  options_.edge_columns = {"weight", "time"};
  for (const std::string line : {"1 2 3", "1,2,3,", "1,2,,3", "1 2 x 3", "1 2 3 4x"}) {
    ExpectError(Open("0 1 2 3\n" + line + "\n").status(), absl::StatusCode::kInvalidArgument,
                {"g.txt:2", "column ", "expected a number"});
  }
  ExpectError(Open("0 1 2 3\n1,2,,3,4\n").status(), absl::StatusCode::kInvalidArgument,
              {"g.txt:2", "column 3 (`weight`) is missing"});
}

TEST_F(EdgeColumnsTest, DecimalCommaBetweenBlanksNamesLineAndWhatToDo) {
  options_.edge_columns = {"weight"};
  for (const std::string line : {"0 1 0,5", "0\t1\t-0,5", "0 1  1.234,5 7", "0 1,5"}) {
    ExpectError(Open("0 2 1\n" + line + "\n").status(), absl::StatusCode::kInvalidArgument,
                {"g.txt:2", "has a comma within a number", "decimal point"});
  }
  // A comma elsewhere ends a column, and one behind the named columns is in nobody's way.
  for (const std::string line : {"0,1,5", "0, 1, 5", "0 1 5 0,5", "0 1, 5"}) {
    EXPECT_THAT(Column<int64_t>(Open("0 2 1\n" + line + "\n"), 0), ElementsAre(1, 5)) << line;
  }
}

TEST_F(EdgeColumnsTest, DroppedColumnsAreToldOnce) {
  testing::internal::CaptureStdout();  // where the log goes by default
  EXPECT_EQ(Edges(Open("0 1\n1 2 0.5\n2 0 0.5\n")).size(), 3U);
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_THAT(log, testing::HasSubstr("g.txt:2: columns after column 2 are dropped"));
  EXPECT_THAT(log, testing::HasSubstr("--edge-columns"));
  EXPECT_THAT(log, testing::Not(testing::HasSubstr("g.txt:3")));
}

TEST_F(EdgeColumnsTest, NamesThatCannotBeFeaturesAreRefused) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{""}, {"@w"}, {"w", "time", "w"}}) {
    options_.edge_columns = names;
    ExpectError(Open("0 1 2 3 4\n").status(), absl::StatusCode::kInvalidArgument,
                {"--edge-columns", names.back()});
  }
}

TEST_F(EdgeColumnsTest, HeaderIsSkippedWhereAskedAndElseTheAdviceIsGiven) {
  const std::string text = "source,target,rating\n0,1,5\n1,2,7\n";
  ExpectError(Open(text).status(), absl::StatusCode::kInvalidArgument,
              {"g.txt:1", "--skip-lines 1"});
  options_.skip_lines = 1;
  EXPECT_THAT(Edges(Open(text)), ElementsAre(Edge{0, 0, 1}, Edge{1, 1, 2}));
}

TEST_F(EdgeColumnsTest, OptionsRoundTripAndAreForEdgeListsAlone) {
  EXPECT_FALSE(options_.ToJson().contains("edge_columns"));
  EXPECT_FALSE(options_.ToJson().contains("skip_lines"));
  options_.edge_columns = {"weight", "time"};
  options_.skip_lines = 3;
  const StatusOr<ReadOptions> back = ReadOptions::FromJson(options_.ToJson(), "x");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->edge_columns, options_.edge_columns);
  EXPECT_EQ(back->skip_lines, 3);
  WriteText("raw/x", "");
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"--edge-columns", "ogb"});
  options_.edge_columns.clear();
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"--skip-lines", "ogb"});
}

// ---- ogb ----------------------------------------------------------------------------------

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

TEST_F(OgbTest, TableOfFloatsTellsOfNumbersThatFloat32DoesNotHold) {
  WriteText("raw/node-feat.csv.gz", "0.5,1\n1,16777217\n-1e-50,33554433\n2,16777216\n");
  testing::internal::CaptureStdout();  // where the log goes by default
  const StatusOr<Dataset> dataset = Open();
  const std::string log = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Values<float>(dataset->node_types.at(0).features.at(0)),
              ElementsAre(0.5F, 1, 1, 16777216, 0, 33554432, 2, 16777216));
  EXPECT_THAT(log, testing::HasSubstr("node-feat.csv.gz:2: column 1: `16777217`"));
  EXPECT_THAT(log, testing::Not(testing::HasSubstr("csv.gz:3")));
  WriteText("raw/node-feat.csv.gz", "0.5,1\n1,1e300\n");
  ExpectOpenError(absl::StatusCode::kInvalidArgument,
                  {"node-feat.csv.gz:2", "`1e300`", "beyond float32"});
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

// ---- edge filters -------------------------------------------------------------------------

// `count` edges, edge i from i % 7 to i % 3.
class FakeEdges : public EdgeSource {
 public:
  explicit FakeEdges(int64_t count) : count_(count) {}
  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    return std::make_unique<Cursor>(count_);
  }
  int64_t max_edges() const override { return count_; }

 private:
  class Cursor : public EdgeCursor {
   public:
    explicit Cursor(int64_t count) : count_(count) {}
    StatusOr<bool> Next(EdgeChunk* chunk) override {
      chunk->clear();
      for (; next_ < count_ && chunk->size() < kEdgeChunk; ++next_) {
        chunk->sources.push_back(next_ % 7);
        chunk->destinations.push_back(next_ % 3);
        chunk->ids.push_back(next_);
      }
      return chunk->size() > 0;
    }

   private:
    int64_t count_, next_ = 0;
  };
  int64_t count_;
};

class EdgeFiltersTest : public testing::TestWithParam<int64_t> {
 protected:
  static std::vector<Edge> Given(int64_t count) {
    std::vector<Edge> edges;
    for (int64_t i = 0; i < count; ++i) edges.push_back({i, i % 7, i % 3});
    return edges;
  }
};

TEST_P(EdgeFiltersTest, WithReverseNumbersEdgesTwiceLoopsOnceAndKeepsChunksBounded) {
  for (const bool reverse_loops : {false, true}) {
    std::vector<Edge> expected;
    for (const Edge& edge : Given(GetParam())) {
      expected.push_back({2 * edge.id, edge.source, edge.destination});
      if (edge.source == edge.destination && !reverse_loops) continue;
      expected.push_back({2 * edge.id + 1, edge.destination, edge.source});
    }
    const auto edges = WithReverse(std::make_shared<FakeEdges>(GetParam()), reverse_loops);
    EXPECT_EQ(*ReadEdges(*edges), expected);
    EXPECT_EQ(*ReadEdges(*edges), expected);  // a second pass
    EXPECT_EQ(edges->max_edges(), 2 * GetParam());
    EXPECT_EQ(edges->exact(), reverse_loops);
    EXPECT_EQ(edges->DroppedLoops(static_cast<int64_t>(expected.size())), 0);
  }
}

TEST_P(EdgeFiltersTest, DroppedLoopsAreCountedBelowReversesToo) {
  const std::vector<Edge> given = Given(GetParam());
  const int64_t loops = std::count_if(
      given.begin(), given.end(), [](const Edge& edge) { return edge.source == edge.destination; });
  const auto dropped = WithoutSelfLoops(std::make_shared<FakeEdges>(GetParam()));
  EXPECT_EQ(dropped->DroppedLoops(GetParam() - loops), loops);
  EXPECT_EQ(WithReverse(dropped)->DroppedLoops(2 * (GetParam() - loops)), loops);
}

TEST_P(EdgeFiltersTest, ReversedSwapsEnds) {
  std::vector<Edge> expected = Given(GetParam());
  for (Edge& edge : expected) std::swap(edge.source, edge.destination);
  EXPECT_EQ(*ReadEdges(*Reversed(std::make_shared<FakeEdges>(GetParam()))), expected);
}

TEST_P(EdgeFiltersTest, WithoutSelfLoopsKeepsTheIdsOfTheRest) {
  std::vector<Edge> expected = Given(GetParam());
  std::erase_if(expected, [](const Edge& edge) { return edge.source == edge.destination; });
  EXPECT_EQ(*ReadEdges(*WithoutSelfLoops(std::make_shared<FakeEdges>(GetParam()))), expected);
}

// 2: nothing but loops; the others end in the middle of a chunk and at its border.
INSTANTIATE_TEST_SUITE_P(Counts, EdgeFiltersTest,
                         testing::Values(0, 1, 2, 3, 100, kEdgeChunk / 2, kEdgeChunk,
                                         kEdgeChunk + 1, 3 * kEdgeChunk - 5));

}  // namespace
}  // namespace halograph
