// MatrixMarket and METIS files, whose first lines count what follows; and what is said of files
// that are no edge lists.
#include <map>
#include <random>

#include <zlib.h>

#include "partitioner/readers/format_clues.h"
#include "partitioner/readers/reader.h"
#include "partitioner/readers/symmetry_check.h"
#include "tests/unit/partitioner_readers/reader_fixture.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CountedFormatTest : public ReaderFixture {
 protected:
  StatusOr<Dataset> Open(const std::string& text, const std::string& name = "g.mtx") {
    WriteText(name, text);
    return OpenDataset(folder_ / name, options_);
  }
  void ExpectRefused(const std::string& text, const std::vector<std::string>& parts,
                     absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    ExpectError(Open(text).status(), code, parts);
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
  // The one feature of the edges, by its rows in the file.
  template <typename T>
  static std::vector<T> Feature(const StatusOr<Dataset>& dataset, const std::string& name) {
    if (!dataset.ok()) return {};
    const InputTensor& tensor = dataset->relations.at(0).features.at(0);
    EXPECT_EQ(tensor.spec.name, name);
    const auto values = tensor.array->As<T>();
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? std::vector<T>(values->begin(), values->end()) : std::vector<T>();
  }
};

// ---- MatrixMarket -------------------------------------------------------------------------

class MatrixMarketTest : public CountedFormatTest {};

TEST_F(MatrixMarketTest, GeneralEntriesAreEdgesAmongAllNodesOfTheSizeLine) {
  for (const std::string format : {"auto", "matrixmarket"}) {
    options_.format = format;
    const auto dataset = Open(
        "%%MatrixMarket matrix coordinate pattern general\r\n% made\n\n5 5 3\n1 2\n%within\n3 1\n\n"
        "  2\t2\n");
    EXPECT_THAT(Edges(dataset), ElementsAre(Edge{0, 0, 1}, Edge{1, 2, 0}, Edge{2, 1, 1}));
    EXPECT_EQ(dataset->format, "matrixmarket");
    EXPECT_EQ(dataset->name, "g");
    EXPECT_EQ(dataset->node_types.at(0).count, 5);
    EXPECT_THAT(OriginalIds(*dataset), ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(dataset->relations.at(0).features, IsEmpty());
    EXPECT_EQ(dataset->relations[0].triple(), "node:edge:node");
  }
}

TEST_F(MatrixMarketTest, SymmetricEntriesGoBothWaysAndTheDiagonalOnce) {
  const auto dataset =
      Open("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 0.5\n3 3 1e3\n3 2 -4\n");
  EXPECT_THAT(Edges(dataset), ElementsAre(Edge{0, 1, 0}, Edge{1, 0, 1}, Edge{2, 2, 2},
                                          Edge{4, 2, 1}, Edge{5, 1, 2}));
  EXPECT_THAT(Feature<double>(dataset, "value"), ElementsAre(0.5, 1000, -4));
  EXPECT_EQ(dataset->relations[0].features[0].row_divisor, 2);
  options_.self_loops = EdgePolicy::kDrop;
  const auto without =
      Open("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n");
  EXPECT_THAT(Edges(without), ElementsAre(Edge{0, 1, 0}, Edge{1, 0, 1}));
  EXPECT_EQ(without->relations[0].edges->DroppedLoops(2), 1);
}

TEST_F(MatrixMarketTest, ValuesKeepTheFieldsType) {
  const auto whole =
      Open("%%matrixmarket MATRIX Coordinate Integer General\n2 2 1\n1 2 9007199254740993\n");
  EXPECT_THAT(Feature<int64_t>(whole, "value"), ElementsAre(9007199254740993));
  const auto real = Open("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3\n2 1 +4\n");
  EXPECT_THAT(Feature<double>(real, "value"), ElementsAre(3, 4));
}

TEST_F(MatrixMarketTest, UndirectedAddsReversesToGeneralAndIsRefusedForSymmetric) {
  options_.undirected = true;
  EXPECT_THAT(Edges(Open("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 2\n")),
              ElementsAre(Edge{0, 0, 1}, Edge{1, 1, 0}, Edge{2, 1, 1}));
  ExpectRefused("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n",
                {"g.mtx", "symmetric", "--undirected"});
}

TEST_F(MatrixMarketTest, OtherKindsOfMatrixAreRefusedByName) {
  const auto code = absl::StatusCode::kUnimplemented;
  ExpectRefused("%%MatrixMarket matrix array real general\n2 2\n1\n", {"g.mtx:1", "`array`"}, code);
  ExpectRefused("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 0\n",
                {"g.mtx:1", "`complex`"}, code);
  for (const std::string symmetry : {"hermitian", "skew-symmetric"}) {
    ExpectRefused("%%MatrixMarket matrix coordinate real " + symmetry + "\n2 2 1\n2 1 1\n",
                  {"g.mtx:1", "`" + symmetry + "`"}, code);
  }
  ExpectRefused("%%MatrixMarket vector coordinate real general\n2 1\n", {"`vector`"}, code);
  ExpectRefused("%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 2\n",
                {"g.mtx:2", "not square", "2 rows and 3 columns"});
}

TEST_F(MatrixMarketTest, DamageNamesLineAndWhatWasFound) {
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  ExpectRefused("%%MatrixMarket matrix coordinate\n2 2 1\n", {"g.mtx:1", "banner"});
  ExpectRefused(banner, {"g.mtx:1", "size line"});
  ExpectRefused(banner + "2 2\n1 2 3\n", {"g.mtx:2", "size line", "`2 2`"});
  ExpectRefused(banner + "2 2 2\n1 2 3\n", {"ends after 1 entries", "gives 2"});
  ExpectRefused(banner + "2 2 1\n1 2 3\n2 1 3\n", {"g.mtx:4", "`2 1 3`", "follows the 1 entries"});
  ExpectRefused(banner + "2 2 1\n1 2\n", {"g.mtx:3", "row column value", "`1 2`"});
  ExpectRefused(banner + "2 2 1\n1 2 x\n", {"g.mtx:3", "`x`"});
  ExpectRefused(banner + "2 2 1\n1 2 0,5\n", {"g.mtx:3", "`1 2 0,5`"});
  for (const std::string ends : {"0 1", "1 3", "-1 1"}) {
    ExpectRefused(banner + "2 2 1\n" + ends + " 1\n", {"g.mtx:3", "1 to 2"},
                  absl::StatusCode::kOutOfRange);
  }
  ExpectRefused("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n1 3\n",
                {"g.mtx:3", "(1, 3)", "lower triangle"});
  ExpectRefused("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 0.5\n",
                {"g.mtx:3", "`0.5`", "whole number"});
  ExpectRefused(banner + "4611686018427387904 4611686018427387904 0\n",
                {"4611686018427387904 nodes", "1099511627776"});
  options_.format = "matrixmarket";
  ExpectRefused("0 1\n", {"g.mtx:1", "banner", "`0 1`"});
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"a folder", "--format matrixmarket"});
}

TEST_F(MatrixMarketTest, GzipIsReadAndOptionsOfEdgeListsAreRefused) {
  const std::string text = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n";
  gzFile file = gzopen((folder_ / "m.mtx.gz").c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  const StatusOr<Dataset> dataset = OpenDataset(folder_ / "m.mtx.gz", options_);
  EXPECT_THAT(Edges(dataset), ElementsAre(Edge{0, 0, 1}));
  EXPECT_EQ(dataset->name, "m");
  options_.num_nodes = 9;
  ExpectRefused(text, {"--num-nodes", "matrixmarket"});
}

// ---- METIS --------------------------------------------------------------------------------

class MetisFileTest : public CountedFormatTest {
 protected:
  void SetUp() override {
    CountedFormatTest::SetUp();
    options_.format = "metis";
  }
};

// Figure 3 of METIS' manual.
constexpr char kManual[] = "7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n";

TEST_F(MetisFileTest, EntryIsAnEdgeToTheNodeOfItsLineAndNothingIsDoubled) {
  const auto dataset = Open("% made\n3 2\n2\n%within\n1 3\n2\n");
  EXPECT_THAT(Edges(dataset),
              ElementsAre(Edge{0, 1, 0}, Edge{1, 0, 1}, Edge{2, 2, 1}, Edge{3, 1, 2}));
  EXPECT_EQ(dataset->format, "metis");
  EXPECT_THAT(OriginalIds(*dataset), ElementsAre(1, 2, 3));
  EXPECT_THAT(dataset->relations.at(0).features, IsEmpty());
  EXPECT_EQ(Edges(Open(kManual)).size(), 22U);
}

TEST_F(MetisFileTest, EmptyLineIsANodeWithoutEdges) {
  for (const std::string text : {"5 1\n\n3\n2\n\n\n", "5 1 0 0\r\n\r\n3\r\n2\r\n\r\n  \r\n\r\n"}) {
    const auto dataset = Open(text);
    EXPECT_THAT(Edges(dataset), ElementsAre(Edge{0, 2, 1}, Edge{1, 1, 2}));
    EXPECT_EQ(dataset->node_types.at(0).count, 5);
  }
  EXPECT_THAT(Edges(Open("2 0\n\n\n")), IsEmpty());
}

TEST_F(MetisFileTest, AllFormsOfFmtGiveTheSameEdges) {
  // Of each node: its size, then its weights; of each entry: the node, then the weight.
  const std::vector<std::vector<std::pair<int, int>>> nodes = {
      {{2, 7}}, {{1, 7}, {3, 9}}, {{2, 9}}};
  const std::vector<Edge> wanted = {{0, 1, 0}, {1, 0, 1}, {2, 2, 1}, {3, 1, 2}};
  for (const std::string fmt :
       {"", "0", "1", "01", "001", "10", "010", "11", "011", "100", "101", "110", "111"}) {
    const std::string form = std::string(3 - fmt.size(), '0') + fmt;
    for (const int ncon : {0, 1, 3}) {
      if (form[1] == '0' && ncon > 0) continue;
      std::string text = "3 2 " + fmt + (ncon > 0 ? fmt::format(" {}", ncon) : "") + "\n";
      for (const auto& entries : nodes) {
        if (form[0] == '1') text += "40 ";
        for (int i = 0; form[1] == '1' && i < std::max(ncon, 1); ++i) text += "50 ";
        for (const auto& [node, weight] : entries) {
          text += fmt::format("{} ", node);
          if (form[2] == '1') text += fmt::format("{} ", weight);
        }
        text += '\n';
      }
      testing::internal::CaptureStdout();
      const auto dataset = Open(text);
      const std::string log = testing::internal::GetCapturedStdout();
      EXPECT_EQ(Edges(dataset), wanted) << text;
      if (form[2] == '1') {
        EXPECT_THAT(Feature<int64_t>(dataset, "weight"), ElementsAre(7, 7, 9, 9)) << text;
      } else {
        EXPECT_THAT(dataset->relations.at(0).features, IsEmpty());
      }
      EXPECT_EQ(log.find("sizes of nodes") != std::string::npos, form[0] == '1') << log;
      EXPECT_EQ(log.find("weights of nodes") != std::string::npos, form[1] == '1') << log;
    }
  }
}

TEST_F(MetisFileTest, SelfLoopIsListedOnce) {
  EXPECT_THAT(Edges(Open("2 2\n1 2\n1\n")),
              ElementsAre(Edge{0, 0, 0}, Edge{1, 1, 0}, Edge{2, 0, 1}));
}

TEST_F(MetisFileTest, ListThatIsNotSymmetricNamesLineAndEntry) {
  ExpectRefused("% made\n3 2\n2 3\n% more\n1 3\n2\n", {"g.mtx:3: entry 2", "node 1 lists node 3",
                                                       "node 3 does not list node 1 (line 6)"});
  // A list of out-edges.
  ExpectRefused("3 2\n2 3\n\n\n", {"g.mtx:2: entry 1", "one-way"});
  // Parallel edges of which one end has more.
  ExpectRefused("2 2\n2 2\n1\n", {"g.mtx:2: entry 2"});
  ExpectRefused("2 1 1\n2 7\n1 8\n",
                {"g.mtx:2: entry 1", "weight 7", "weight 8 (line 3)", "the same weight"});
}

TEST_F(MetisFileTest, DamageNamesLineEntryAndWhatWasFound) {
  ExpectRefused("", {"g.mtx:0", "nodes edges [fmt [ncon]]"});
  ExpectRefused("7\n", {"g.mtx:1", "nodes edges [fmt [ncon]]", "`7`"});
  for (const std::string fmt : {"2", "1111", "x", "-1"}) {
    ExpectRefused("2 1 " + fmt + "\n2\n1\n", {"g.mtx:1", "three digits"});
  }
  ExpectRefused("2 1 1 1\n2 1\n1 1\n", {"g.mtx:1", "ncon"});
  ExpectRefused("2 1 11 x\n2 1\n1 1\n", {"g.mtx:1"});
  ExpectRefused("2 1\n2\n", {"ends after 1 nodes", "says 2"});
  ExpectRefused("2 1\n2\n1\n1\n", {"g.mtx:4", "`1` follows the lines of the 2 nodes"});
  ExpectRefused("2 1\n2\n1.5\n", {"g.mtx:3", "entry 1 is `1.5`"});
  for (const std::string entry : {"0", "3", "-1"}) {
    ExpectRefused("2 1\n2 " + entry + "\n1\n", {"g.mtx:2: entry 2 is " + entry, "1 to 2"},
                  absl::StatusCode::kOutOfRange);
  }
  ExpectRefused("2 1 1\n2\n1 7\n", {"g.mtx:2: entry 1", "is missing"});
  for (const std::string weight : {"0", "-4", "1.5", "x"}) {
    ExpectRefused("2 1 1\n2 " + weight + "\n1 7\n", {"g.mtx:2: entry 1", "`" + weight + "`"});
  }
  ExpectRefused("2 1 11 2\n5 5 2 7\n5\n", {"g.mtx:3", "expected 2 whole numbers", "node 2"});
  ExpectRefused("2 5\n2\n1\n", {"says 5 edges", "list 1"});
  ExpectRefused("%%MatrixMarket matrix coordinate pattern general\n2 2 1\nx\n",
                {"g.mtx:1", "--format matrixmarket"});
  options_.undirected = true;
  ExpectRefused("2 1\n2\n1\n", {"--undirected", "METIS"});
}

// ---- symmetry -----------------------------------------------------------------------------

// Against a map of pairs: a random list of both ends, from which one edge is taken, turned or
// weighed otherwise.
TEST(SymmetryCheckTest, FindsTheOneEdgeWithoutItsReverse) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::array<int64_t, 3>> edges;  // source, destination, weight
    for (int i = 0; i < 300; ++i) {
      const auto u = static_cast<int64_t>(random() % 40), v = static_cast<int64_t>(random() % 40);
      const auto w = static_cast<int64_t>(random() % 2);
      edges.push_back({u, v, w});
      if (u != v) edges.push_back({v, u, w});
    }
    std::shuffle(edges.begin(), edges.end(), random);
    const bool damaged = trial % 4 != 0;
    if (damaged) {
      auto at = edges.begin();
      while ((*at)[0] == (*at)[1]) ++at;
      if (trial % 4 == 1) edges.erase(at);
      if (trial % 4 == 2) std::swap((*at)[0], (*at)[1]);
      if (trial % 4 == 3) (*at)[2] = 9;
    }
    SymmetryCheck check;
    std::vector<int64_t> pairs, weights;
    std::map<std::array<int64_t, 3>, int> excess;  // of edges over their reverses
    for (const auto& [u, v, w] : edges) {
      check.Add(u, v, w);
      pairs.insert(pairs.end(), {u, v});
      weights.push_back(w);
      ++excess[{u, v, w}];
      --excess[{v, u, w}];
    }
    EXPECT_EQ(check.symmetric(), !damaged);
    if (!damaged) continue;
    const SymmetryCheck::Odd odd = check.FindOdd(pairs, weights);
    EXPECT_GT(excess[edges[static_cast<size_t>(odd.edge)]], 0);
  }
}

// ---- what is no edge list -----------------------------------------------------------------

class NoEdgeListTest : public CountedFormatTest {};

TEST_F(NoEdgeListTest, MetisGraphIsRefusedWithItsFormat) {
  ExpectRefused(kManual, {"METIS graph of 7 nodes and 11 edges", "--format metis"});
  // A ring: two numbers on every line.
  ExpectRefused("5 5\n2 5\n1 3\n2 4\n3 5\n4 1\n", {"METIS", "--format edgelist"});
  // A node of one edge stops at its line, one without edges does not.
  ExpectRefused("3 2\n2\n1 3\n2\n", {"g.mtx:2", "METIS graph of 3 nodes", "--format metis"});
  ExpectRefused("4 3\n2 4\n1 4\n\n1 2\n", {"METIS"});
  ExpectRefused("4 3 11 1\n5 2 1 4 1\n5 1 1 4 1\n5\n5 1 1 2 1\n", {"METIS"});
  // One edge counts nothing.
  EXPECT_EQ(Edges(Open("0 0\n")).size(), 1U);
  EXPECT_EQ(Edges(Open("1 0\n\n")).size(), 1U);
  options_.format = "edgelist";
  EXPECT_EQ(Edges(Open("5 5\n2 5\n1 3\n2 4\n3 5\n4 1\n")).size(), 6U);
}

TEST_F(NoEdgeListTest, MatrixMarketIsRefusedAsAnEdgeListUnlessItsHeadIsSkipped) {
  options_.format = "edgelist";
  const std::string text = "%%MatrixMarket matrix coordinate pattern general\n9 9 1\n1 2\n";
  ExpectRefused(text, {"g.mtx:1", "MatrixMarket", "--format matrixmarket"});
  options_.skip_lines = 2;
  EXPECT_THAT(Edges(Open(text)), ElementsAre(Edge{0, 0, 1}));
}

TEST_F(NoEdgeListTest, SizeLineIsNoEdge) {
  ExpectRefused("6 6 4\n1 2\n2 3\n3 4\n6 1\n", {"its size", "6 nodes and 4 edges", "--skip-lines"});
  ExpectRefused("6 4\n0 1\n1 2\n2 3\n5 4\n", {"its size", "6 nodes and 4 edges"});
  EXPECT_EQ(Edges(Open("6 4\n0 1\n1 2\n2 3\n7 4\n")).size(), 5U);  // 7 is beyond
}

TEST_F(NoEdgeListTest, AdjacencyListIsRefused) {
  ExpectRefused("0 1 2 3\n1 2\n2 3\n", {"g.mtx:2", "adjacency list", "--format edgelist"});
  options_.format = "edgelist";
  EXPECT_EQ(Edges(Open("0 1 2 3\n1 2\n2 3\n")).size(), 3U);
}

TEST_F(NoEdgeListTest, WhatWasFoundIsSaidAndNoHeaderAdvised) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> files = {
      {"\xef\xbb\xbf"
       "0 1\n1 2\n",
       {"byte order mark"}},
      {"\xef\xbb\xbf# comment\n0 1\n", {"byte order mark"}},
      {"1.0 2.0\n2.0 3.0\n", {"`1.0`", "no whole number"}},
      {"source target\n1.0 2.0\n", {"`1.0`", "no whole number"}},
      {"1e3 2\n1 2\n", {"`1e3`", "no whole number"}},
      {"alice bob\nbob carol\n", {"`alice`", "text"}},
      {"alice bob\n", {"`alice`", "text"}},
      {"0 alice\n1 bob\n", {"`alice`", "text"}},
      {"0;1\n1;2\n", {"`;`"}},
      {"\"0\",\"1\"\n\"1\",\"2\"\n", {"quotes"}},
      {"9223372036854775808 1\n", {"9223372036854775808", "9223372036854775807"}},
      {"<?xml version='1.0'?>\n", {"XML"}},
      {"{\"nodes\": []}\n", {"JSON"}},
      {"*Vertices 3\n1 \"a\"\n", {"Pajek"}},
      {"c made\np sp 3 2\na 1 2 3\n", {"DIMACS"}},
      {std::string("\x93NUMPY\x01\x00", 8), {".npy"}},
      {std::string("PK\x03\x04\x00", 5), {"zip"}},
      {std::string("\x01\x02\xff\x00z", 5), {"binary"}},
  };
  for (const auto& [text, parts] : files) {
    const Status status = Open(text).status();
    ExpectError(status, absl::StatusCode::kInvalidArgument, parts);
    EXPECT_THAT(Message(status), Not(HasSubstr("--skip-lines")));
  }
}

TEST_F(NoEdgeListTest, GzipWithinGzipIsSaid) {
  WriteText("plain.txt", "");
  gzFile inner = gzopen((folder_ / "inner.gz").c_str(), "wb");
  gzprintf(inner, "0 1\n1 2\n");
  gzclose(inner);
  std::ifstream file(folder_ / "inner.gz", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  gzFile outer = gzopen((folder_ / "twice.gz").c_str(), "wb");
  gzwrite(outer, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(outer);
  const Status status = OpenDataset(folder_ / "twice.gz", options_).status();
  ExpectError(status, absl::StatusCode::kInvalidArgument, {"gzip within gzip", "gunzip"});
  EXPECT_THAT(Message(status), Not(HasSubstr("--skip-lines")));
}

TEST_F(NoEdgeListTest, HeaderIsAdvisedWhereverItStands) {
  ExpectRefused("# made\nsource target\n0 1\n", {"g.mtx:2", "header", "--skip-lines 2"});
  ExpectRefused("graph node\n0 1\n", {"g.mtx:1", "header", "--skip-lines 1"});
  options_.skip_lines = 2;
  EXPECT_THAT(Edges(Open("# made\nsource target\n0 1\n")), ElementsAre(Edge{0, 0, 1}));
}

TEST_F(NoEdgeListTest, RelationOfATypedGraphIsRefusedByName) {
  WriteText(
      "metadata.yaml",
      "graph: {nodes: [{type: a, num: 3}], edges: [{type: 'a:e:a', format: csv, path: e.mtx}]}\n");
  WriteText("e.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n");
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"e.mtx:1", "MatrixMarket", "not as a relation"});
  for (const auto& [text, part] : {std::pair{"src,dst\n0,1\n", "header: remove it"},
                                   {"0 1\n1 2\n", "comma"},
                                   {"\xef\xbb\xbf"
                                    "0,1\n",
                                    "byte order mark"}}) {
    WriteText("e.mtx", text);
    ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
                {"e.mtx:1", part});
  }
}

}  // namespace
}  // namespace halograph
