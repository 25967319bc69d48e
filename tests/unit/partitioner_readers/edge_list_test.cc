#include "partitioner/readers/edge_list.h"

#include <zlib.h>

#include "tests/unit/partitioner_readers/reader_fixture.h"

namespace halograph {
namespace {

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

using testing::ElementsAre;

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
              {"g.txt.gz", "gzip"});
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

}  // namespace
}  // namespace halograph
