#include "common/graph/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::HasSubstr;

Schema SmallSchema() {
  Schema schema{.graph_name = "small", .node_types = {}, .relations = {}, .tasks = {}};
  schema.node_types = {{"node", 5, {}}};
  schema.relations = {{"node", "edge", "node", 8, {}}};
  return schema;
}

PartitionBook SmallBook() {
  return *PartitionBook::Create(SmallSchema(), {{0, 3, 3, 5}}, {{0, 4, 4, 8}});
}

TEST(PartitionBookTest, OwnersAndRangesSkipEmptyParts) {
  const PartitionBook book = SmallBook();
  EXPECT_EQ(book.num_parts(), 3);
  EXPECT_EQ(book.NodeOwner(0, 2), 0);
  EXPECT_EQ(book.NodeOwner(0, 3), 2);
  EXPECT_EQ(book.NodeRange(0, 1).size(), 0);
  EXPECT_EQ(book.EdgeRange(0, 2).begin, 4);
}

TEST(PartitionBookTest, BoundariesThatDoNotFitAreInvalid) {
  const auto create = [](std::vector<int64_t> nodes, std::vector<int64_t> edges) {
    return Message(
        PartitionBook::Create(SmallSchema(), {std::move(nodes)}, {std::move(edges)}).status());
  };
  EXPECT_THAT(create({1, 5}, {0, 8}), HasSubstr("start at 1"));
  EXPECT_THAT(create({0, 4}, {0, 8}), HasSubstr("end at 4"));
  EXPECT_THAT(create({0, 4, 3, 5}, {0, 1, 2, 8}), HasSubstr("boundary 2 is 3"));
  EXPECT_THAT(create({0, 2, 5}, {0, 8}), HasSubstr("2 boundaries"));
  EXPECT_THAT(create({0}, {0}), HasSubstr("1 boundaries"));
  EXPECT_FALSE(PartitionBook::Create(SmallSchema(), {}, {}).ok());
}

TEST(PartitionBookTest, JsonGivesTheSameBookBackAndDamageIsDataLoss) {
  const Json value = ToJson(SmallBook(), SmallSchema());
  EXPECT_TRUE(*PartitionBookFromJson(value, SmallSchema(), "here") == SmallBook());
  Json damaged = value;
  damaged["nodes"]["node"][1] = 6;
  EXPECT_EQ(PartitionBookFromJson(damaged, SmallSchema(), "here").status().code(),
            absl::StatusCode::kDataLoss);
  damaged["nodes"].erase("node");
  EXPECT_THAT(Message(PartitionBookFromJson(damaged, SmallSchema(), "here").status()),
              HasSubstr("node"));
}

TEST(ManifestTest, NamesBecomePathsThatStayInTheFolder) {
  EXPECT_EQ(PartFolderName(7), "part-0007");
  EXPECT_EQ(NodeFolder("../up"), "nodes/%2E.%2Fup");
  EXPECT_EQ(EdgeFolder("a:b/c:d"), "edges/a%3Ab%2Fc%3Ad");
  EXPECT_EQ(FeatureFile(NodeFolder("n"), "x y"), "nodes/n/features/x%20y.npy");
  EXPECT_EQ(TaskArrayFile(TaskSetFolder("t", "train", "n"), "seeds"), "tasks/t/train/n/seeds.npy");
}

TEST(ManifestTest, PartManifestIsReadBackAsWritten) {
  const TestFolder folder;
  PartManifest manifest{.identity = std::string(32, '0'),
                        .build = "0.1.0+test",
                        .part = 2,
                        .schema = SmallSchema(),
                        .book = SmallBook(),
                        .halo_nodes = {3},
                        .task_rows = {},
                        .files = {{"a.npy", 5, {"0123456789abcdef"}}, {"b.npy", 0, {}}}};
  ASSERT_TRUE(WritePartManifest(folder.path(), manifest).ok());
  const auto read = ReadPartManifest(folder.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->identity, manifest.identity);
  EXPECT_EQ(read->build, manifest.build);
  EXPECT_EQ(read->part, 2);
  EXPECT_TRUE(read->schema == manifest.schema);
  EXPECT_TRUE(read->book == manifest.book);
  EXPECT_EQ(read->halo_nodes, manifest.halo_nodes);
  EXPECT_EQ(read->files, manifest.files);
}

TEST(ManifestTest, OneKindIsNotReadAsTheOther) {
  const TestFolder folder;
  ASSERT_TRUE(WriteTestGraph(RandomGraph({.nodes = 10}), folder.path() / "g").ok());
  EXPECT_TRUE(ReadGraphManifest(folder.path() / "g").ok());
  EXPECT_THAT(Message(ReadPartManifest(folder.path() / "g").status()),
              HasSubstr("halograph-graph"));
  EXPECT_EQ(ReadGraphManifest(folder.path() / "g/part-0000").status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadGraphManifest(folder.path()).status().code(), absl::StatusCode::kNotFound);
}

TEST(ManifestTest, IdentityCoversSchemaBookAndContentsButNotTheBuild) {
  const std::vector<FileEntry> files = {{"a.npy", 5, {"0123456789abcdef"}}};
  const std::string identity = GraphIdentity(SmallSchema(), SmallBook(), {FilesDigest(files)});
  EXPECT_EQ(identity.size(), 32U);
  // Pinned: another value means that folders written before are refused.
  EXPECT_EQ(identity, "eb29edee88941dda15a1b2d39834f602");
  Schema renamed = SmallSchema();
  renamed.graph_name = "other";
  EXPECT_NE(GraphIdentity(renamed, SmallBook(), {FilesDigest(files)}), identity);
  const auto other = PartitionBook::Create(SmallSchema(), {{0, 2, 3, 5}}, {{0, 4, 4, 8}});
  EXPECT_NE(GraphIdentity(SmallSchema(), *other, {FilesDigest(files)}), identity);
  const std::vector<FileEntry> changed = {{"a.npy", 5, {"0123456789abcdee"}}};
  EXPECT_NE(GraphIdentity(SmallSchema(), SmallBook(), {FilesDigest(changed)}), identity);
}

TEST(ManifestTest, SameSpecGivesTheSameIdentity) {
  const TestFolder folder;
  ASSERT_TRUE(WriteTestGraph(RandomGraph({.nodes = 20}), folder.path() / "a").ok());
  ASSERT_TRUE(WriteTestGraph(RandomGraph({.nodes = 20}), folder.path() / "b").ok());
  EXPECT_EQ(ReadGraphManifest(folder.path() / "a")->identity,
            ReadGraphManifest(folder.path() / "b")->identity);
}

}  // namespace
}  // namespace halograph
