#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/graph/partition.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"
#include "tests/unit/graph/damage.h"

namespace halograph {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class PartitionSetTest : public testing::Test {
 protected:
  void SetUp() override {
    graph_ = folder_.path() / "graph";
    Write(1, graph_);
  }
  static void Write(uint64_t seed, const fs::path& path) {
    const auto written = WriteTestGraph(RandomGraph({.seed = seed, .parts = 3, .nodes = 40}), path);
    ASSERT_TRUE(written.ok()) << written.status();
  }
  void ExpectError(const std::vector<int>& parts, absl::StatusCode code,
                   const std::vector<std::string>& texts) const {
    const Status status = PartitionSet::Open(graph_, parts, VerifyLevel::kHeaders).status();
    EXPECT_EQ(status.code(), code) << status;
    for (const std::string& text : texts) EXPECT_THAT(Message(status), HasSubstr(text));
  }

  TestFolder folder_;
  fs::path graph_;
};

TEST_F(PartitionSetTest, AllPartsTogetherAreTheWholeGraph) {
  const auto set = PartitionSet::Open(graph_, {}, VerifyLevel::kContents);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ((*set)->parts().size(), 3U);
  const RelationTopology& topology = (*set)->topology()[0];
  int64_t edges = 0;
  for (int64_t v = 0; v < topology.num_destinations(); ++v) {
    EXPECT_TRUE(topology.Has(v));
    EXPECT_TRUE(topology.Owner(v).nodes.contains(v));
    edges += topology.Owner(v).indptr[v - topology.Owner(v).nodes.begin + 1] -
             topology.Owner(v).indptr[v - topology.Owner(v).nodes.begin];
  }
  EXPECT_EQ(edges, (*set)->schema().relations[0].count);
  EXPECT_FALSE(topology.Has(-1));
  EXPECT_FALSE(topology.Has(topology.num_destinations()));
}

TEST_F(PartitionSetTest, SomePartsAloneAreEnoughAndKnowWhatTheyLack) {
  fs::remove_all(graph_ / "part-0000");
  fs::remove(graph_ / "manifest.json");
  const auto set = PartitionSet::Open(graph_, {2, 1}, VerifyLevel::kContents);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ((*set)->parts()[0]->part(), 1);
  EXPECT_EQ((*set)->Find(0), nullptr);
  EXPECT_EQ((*set)->Find(3), nullptr);
  EXPECT_EQ((*set)->Find(2)->part(), 2);
  const RelationTopology& topology = (*set)->topology()[0];
  EXPECT_FALSE(topology.Has(0));
  EXPECT_TRUE(topology.Has(topology.num_destinations() - 1));
}

TEST_F(PartitionSetTest, WithoutTopologyNoSegmentIsPresentAndTheIdentityIsStillChecked) {
  for (const char* part : {"part-0000", "part-0001", "part-0002"}) {
    for (const char* file : {"indptr.npy", "indices.npy"}) {
      fs::remove(graph_ / part / EdgeFolder("node:edge:node") / file);
    }
  }
  const PartContents features{.topology = false};
  const auto set = PartitionSet::Open(graph_, {}, VerifyLevel::kContents, features);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_FALSE((*set)->topology()[0].Has(0));
  EXPECT_EQ((*set)->topology()[0].num_destinations(), 40);
  EditManifest(graph_ / "part-0001", [](Json* value) { (*value)["files"].erase(0); });
  EXPECT_EQ(PartitionSet::Open(graph_, {}, VerifyLevel::kHeaders, features).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(PartitionSetTest, MissingPartIsNotFoundNamingIt) {
  fs::remove_all(graph_ / "part-0002");
  ExpectError({}, absl::StatusCode::kNotFound, {"part-0002", "part 2 of 3 is missing"});
  ExpectError({2}, absl::StatusCode::kNotFound, {"part-0002", "part 2 of 3 is missing"});
  ExpectError({7}, absl::StatusCode::kNotFound, {"part-0007", "0 to 2"});
  fs::remove_all(graph_ / "part-0000");
  ExpectError({}, absl::StatusCode::kNotFound, {"part-0000", "part 0 of 3 is missing"});
  fs::remove(graph_ / "manifest.json");  // the other parts know it, too
  ExpectError({}, absl::StatusCode::kNotFound, {"part-0000", "part 0 of 3 is missing"});
}

TEST_F(PartitionSetTest, PartAskedForTwiceOrNegativeIsInvalid) {
  ExpectError({1, 0, 1}, absl::StatusCode::kInvalidArgument, {"part 1"});
  ExpectError({-1}, absl::StatusCode::kInvalidArgument, {"part -1"});
}

TEST_F(PartitionSetTest, PartOfAnotherGraphIsFailedPreconditionNamingBothIdentities) {
  const fs::path other = folder_.path() / "other";
  Write(2, other);
  const std::string ours = ReadPartManifest(graph_ / "part-0000")->identity;
  const std::string theirs = ReadPartManifest(other / "part-0001")->identity;
  ASSERT_NE(ours, theirs);
  fs::remove_all(graph_ / "part-0001");
  fs::rename(other / "part-0001", graph_ / "part-0001");
  ExpectError({}, absl::StatusCode::kFailedPrecondition, {ours, theirs});
  // Alone it does not fit the manifest beside it.
  ExpectError({1}, absl::StatusCode::kFailedPrecondition, {ours, theirs, "manifest.json"});
}

TEST_F(PartitionSetTest, RenamedPartFolderIsFailedPrecondition) {
  fs::rename(graph_ / "part-0001", folder_.path() / "kept");
  fs::rename(graph_ / "part-0002", graph_ / "part-0001");
  fs::rename(folder_.path() / "kept", graph_ / "part-0002");
  ExpectError({}, absl::StatusCode::kFailedPrecondition, {"part-0001", "part 2"});
}

TEST_F(PartitionSetTest, GraphManifestOfAnotherGraphIsFailedPrecondition) {
  const fs::path other = folder_.path() / "other";
  Write(2, other);
  fs::copy_file(other / "manifest.json", graph_ / "manifest.json",
                fs::copy_options::overwrite_existing);
  ExpectError({}, absl::StatusCode::kFailedPrecondition, {"manifest.json"});
}

TEST_F(PartitionSetTest, GraphManifestWithAForgedIdentityIsDataLoss) {
  EditManifest(graph_, [](Json* value) { (*value)["identity"] = std::string(32, 'a'); });
  ExpectError({}, absl::StatusCode::kDataLoss, {"identity", std::string(32, 'a')});
}

TEST_F(PartitionSetTest, FilesChangedUnderAFittingManifestDoNotFitTheIdentity) {
  const fs::path part = graph_ / "part-0001";
  FlipByte(part / "nodes/node/features/feat.npy", -1);
  Reseal(part);
  ExpectError({}, absl::StatusCode::kFailedPrecondition, {"manifest.json", "digest"});
  fs::remove(graph_ / "manifest.json");
  ExpectError({}, absl::StatusCode::kFailedPrecondition, {"together"});
}

TEST_F(PartitionSetTest, OnePartWhoseManifestIsOfAnotherVersionIsFailedPrecondition) {
  EditManifest(graph_, [](Json* value) { (*value)["format_version"] = 9; });
  ExpectError({0}, absl::StatusCode::kFailedPrecondition, {"format version 9"});
}

}  // namespace
}  // namespace halograph
