#include "partitioner/inspect/quality.h"

#include <gmock/gmock.h>

#include "common/storage/file.h"
#include "partitioner/methods/random_method.h"
#include "partitioner/write/graph_writer.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Part 0 owns 0, 1, 2, part 1 owns 3; 0 -> 1 and 2 -> 1 stay, 3 -> 0 and 0 -> 3, 1 -> 3 cross.
class SmallGraph {
 public:
  SmallGraph() {
    builder_.Nodes("node", 4)
        .Edges("node", "edge", "node", {{0, 1}, {2, 1}, {3, 0}, {0, 3}, {1, 3}})
        .TaskSet("train", "node", false, {0, 3});
  }
  [[nodiscard]] const Dataset& dataset() const { return builder_.dataset(); }

 private:
  DatasetBuilder builder_;
};

TEST(QualityTest, CountsByHand) {
  const SmallGraph graph;
  const auto quality = QualityOf(graph.dataset(), {{{0, 0, 0, 1}}, {}}, 2);
  ASSERT_TRUE(quality.ok()) << quality.status();
  EXPECT_EQ(quality->nodes, 4);
  EXPECT_EQ(quality->edges, 5);
  EXPECT_EQ(quality->edge_cut, 3);
  EXPECT_DOUBLE_EQ(quality->replication_factor, (4.0 + 3) / 4);  // halo: 3; 0 and 1
  EXPECT_DOUBLE_EQ(quality->balance.at("nodes"), 1.5);
  EXPECT_DOUBLE_EQ(quality->balance.at("edges"), 3 / 2.5);
  EXPECT_DOUBLE_EQ(quality->balance.at("train"), 1);
  EXPECT_FALSE(quality->balance.contains("valid"));
  EXPECT_EQ(quality->parts[1].halo_nodes, 2);
}

class TypedGraph {
 public:
  TypedGraph() {
    EdgePairs loops = RandomEdges(40, 40, 150, 3);
    for (int64_t i = 0; i < 40; ++i) loops.emplace_back(i / 2, i / 2);  // self-loops, parallel ones
    builder_.Nodes("actor", 40)
        .Nodes("empty", 0)
        .Nodes("movie", 70)
        .Edges("actor", "in", "movie", RandomEdges(40, 50, 200, 4))
        .Edges("actor", "knows", "actor", loops)
        .Edges("movie", "no", "movie", {})
        .TaskSet("train", "movie", false, {1, 2, 3, 60, 61})
        .TaskSet("test", "actor:in:movie", true, {0, 1, 5, 7, 9, 11}, 2);
  }
  [[nodiscard]] const Dataset& dataset() const { return builder_.dataset(); }

 private:
  DatasetBuilder builder_;
};

// The same figures as `inspect` gives of the folder that is written.
TEST(QualityTest, AgreesWithInspectOfTheWrittenFolder) {
  const TypedGraph graph;
  for (const int parts : {1, 2, 3, 9}) {
    const MethodOptions options{.parts = parts, .seed = 7};
    const Assignment assignment = *RandomMethod().Assign(graph.dataset(), options);
    const auto quality = QualityOf(graph.dataset(), assignment, parts);
    ASSERT_TRUE(quality.ok()) << quality.status();

    const TestFolder folder;
    const auto numbering = Renumbering::Create(graph.dataset(), assignment, parts);
    ASSERT_TRUE(numbering.ok()) << numbering.status();
    const auto output = folder.path() / "graph";
    ASSERT_TRUE(MakeFolder(output).ok());
    const auto written = WriteGraph({graph.dataset(), *numbering, output, {}}, Json::object());
    ASSERT_TRUE(written.ok()) << written.status();
    const auto inspected = InspectGraph(output);
    ASSERT_TRUE(inspected.ok()) << inspected.status();

    Json expected = ToJson(*inspected);
    Json found = ToJson(*quality);
    for (Json* json : {&expected, &found}) {  // what only a folder has
      for (const char* key : {"identity", "build", "options"}) json->erase(key);
      for (Json& part : json->at("parts")) part.erase("bytes");
    }
    EXPECT_EQ(found, expected) << parts << " partitions";
  }
}

TEST(QualityTest, RangesOfPartitionsGiveTheSame) {
  const TypedGraph graph;
  const MethodOptions options{.parts = 9, .seed = 7};
  const Assignment assignment = *RandomMethod().Assign(graph.dataset(), options);
  const auto whole = QualityOf(graph.dataset(), assignment, 9);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const int64_t memory : {0, 14, 28, 60}) {  // 110 nodes: 14 bytes a partition
    const auto ranges = QualityOf(graph.dataset(), assignment, 9, memory);
    ASSERT_TRUE(ranges.ok()) << ranges.status();
    EXPECT_EQ(ToJson(*ranges), ToJson(*whole)) << memory << " bytes";
  }
}

TEST(QualityTest, GraphWithoutEdges) {
  DatasetBuilder builder;
  builder.Nodes("node", 3);
  const auto quality = QualityOf(builder.dataset(), {{{0, 1, 1}}, {}}, 2);
  ASSERT_TRUE(quality.ok()) << quality.status();
  EXPECT_EQ(quality->edge_cut, 0);
  EXPECT_DOUBLE_EQ(quality->replication_factor, 1);
  EXPECT_FALSE(quality->balance.contains("edges"));
}

TEST(QualityTest, AssignmentThatDoesNotFitIsInternal) {
  const SmallGraph graph;
  for (const Assignment& wrong : std::vector<Assignment>{
           {{}, {}}, {{{0, 0, 0}}, {}}, {{{0, 0, 0, 2}}, {}}, {{{0, 0, 0, 1}, {0}}, {}}}) {
    const auto quality = QualityOf(graph.dataset(), wrong, 2);
    EXPECT_TRUE(absl::IsInternal(quality.status())) << quality.status();
  }
  EXPECT_THAT(Message(QualityOf(graph.dataset(), {{{0, 0, 0, 2}}, {}}, 2).status()),
              AllOf(HasSubstr("node 3"), HasSubstr("owner 2")));
}

}  // namespace
}  // namespace halograph
