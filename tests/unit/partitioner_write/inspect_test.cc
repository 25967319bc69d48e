#include <gmock/gmock.h>

#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/write/graph_writer.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class InspectGraphTest : public testing::Test {
 protected:
  // Part 0 owns 0, 1, 2, part 1 owns 3; 0 -> 1 and 2 -> 1 stay, 3 -> 0 and 0 -> 3, 1 -> 3 cross.
  void SetUp() override {
    DatasetBuilder builder;
    builder.Nodes("node", 4)
        .NodeFeature("feat", std::vector<float>{1, 2, 3, 4}, 0)
        .Edges("node", "edge", "node", {{0, 1}, {2, 1}, {3, 0}, {0, 3}, {1, 3}})
        .TaskSet("train", "node", false, {0, 3});
    auto numbering = Renumbering::Create(builder.dataset(), {{{0, 0, 0, 1}}, {}}, 2);
    ASSERT_TRUE(numbering.ok()) << numbering.status();
    graph_ = folder_.path() / "graph";
    ASSERT_TRUE(MakeFolder(graph_).ok());
    const auto written = WriteGraph({builder.dataset(), *numbering, graph_, {}}, Json::object());
    ASSERT_TRUE(written.ok()) << written.status();
  }
  TestFolder folder_;
  std::filesystem::path graph_;
};

TEST_F(InspectGraphTest, CountsByHand) {
  const auto summary = InspectGraph(graph_);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->nodes, 4);
  EXPECT_EQ(summary->edges, 5);
  EXPECT_EQ(summary->edge_cut, 3);
  EXPECT_DOUBLE_EQ(summary->edge_cut_share(), 0.6);
  EXPECT_DOUBLE_EQ(summary->replication_factor, (4.0 + 3) / 4);  // halo: 3; 0 and 1
  EXPECT_DOUBLE_EQ(summary->balance.at("nodes"), 1.5);
  EXPECT_DOUBLE_EQ(summary->balance.at("edges"), 3 / 2.5);
  EXPECT_DOUBLE_EQ(summary->balance.at("train"), 1);
  EXPECT_FALSE(summary->balance.contains("valid"));
  EXPECT_EQ(summary->parts[1].halo_nodes, 2);
  EXPECT_EQ(summary->parts[0].edges, 3);
}

TEST_F(InspectGraphTest, JsonHasTheCutAtTheTop) {
  const Json json = ToJson(*InspectGraph(graph_));
  EXPECT_EQ(json["edge_cut"], 3);
  EXPECT_EQ(json["parts"][0]["core_nodes"], 3);
  EXPECT_EQ(json["parts"][1]["task_rows"]["train"], 1);
}

TEST_F(InspectGraphTest, TableNamesCutAndBalance) {
  const std::string table = FormatTable(*InspectGraph(graph_));
  EXPECT_THAT(table, HasSubstr("edge cut 3 of 5 edges (60.0 %)"));
  EXPECT_THAT(table, HasSubstr("nodes 1.500"));
}

TEST_F(InspectGraphTest, MissingPartIsNamed) {
  std::filesystem::remove_all(graph_ / "part-0001");
  const auto summary = InspectGraph(graph_);
  EXPECT_FALSE(summary.ok());
  EXPECT_THAT(Message(summary.status()), HasSubstr("part-0001"));
}

TEST_F(InspectGraphTest, TruncatedFileIsNamed) {
  const auto path = graph_ / "part-0000" / "nodes" / "node" / "features" / "feat.npy";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const auto summary = InspectGraph(graph_);
  EXPECT_TRUE(absl::IsDataLoss(summary.status())) << summary.status();
  EXPECT_THAT(Message(summary.status()), HasSubstr("feat.npy"));
}

}  // namespace
}  // namespace halograph
