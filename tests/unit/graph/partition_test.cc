#include "common/graph/partition.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"
#include "tests/unit/graph/damage.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr char kCites[] = "paper:cites:paper";

class PartitionTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto graph = WriteTestGraph(spec_, folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    part_ = *graph / "part-0001";
  }

  [[nodiscard]] Status Open(VerifyLevel verify) const {
    return Partition::Open(part_, verify).status();
  }
  // The code, and every text in the message.
  void ExpectError(VerifyLevel verify, absl::StatusCode code,
                   const std::vector<std::string>& texts) const {
    const Status status = Open(verify);
    EXPECT_EQ(status.code(), code) << status;
    for (const std::string& text : texts) EXPECT_THAT(Message(status), HasSubstr(text));
  }
  // Damage under fitting checksums that only a look at the contents finds.
  void ExpectFoundInContents(const std::vector<std::string>& texts) const {
    Reseal(part_);
    EXPECT_TRUE(Open(VerifyLevel::kHeaders).ok()) << Open(VerifyLevel::kHeaders);
    ExpectError(VerifyLevel::kContents, absl::StatusCode::kDataLoss, texts);
  }
  [[nodiscard]] fs::path Cites(const std::string& file) const {
    return part_ / EdgeFolder(kCites) / file;
  }

  TestFolder folder_;
  TestGraphSpec spec_ = RandomTypedGraph({.parts = 3, .nodes = 60, .mean_degree = 4});
  fs::path part_;
};

TEST_F(PartitionTest, MissingManifestIsNotFoundAndSaysWhatToDo) {
  fs::remove(part_ / "manifest.json");
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kNotFound,
              {"part-0001/manifest.json", "halograph-partition"});
}

TEST_F(PartitionTest, FlippedByteInManifestIsDataLoss) {
  FlipByte(part_ / "manifest.json", -40);
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"manifest.json"});
}

TEST_F(PartitionTest, CutManifestIsDataLoss) {
  Truncate(part_ / "manifest.json", 10);
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"manifest.json"});
}

TEST_F(PartitionTest, UnknownFormatVersionIsFailedPreconditionNamingBoth) {
  EditManifest(part_, [](Json* value) { (*value)["format_version"] = 2; });
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kFailedPrecondition,
              {"format version 2", "reads 1"});
}

TEST_F(PartitionTest, UnknownFeatureBitIsFailedPreconditionNamingIt) {
  EditManifest(part_, [](Json* value) { (*value)["feature_bits"] = 4; });
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kFailedPrecondition, {"0x4"});
}

// With a feature "small" of nodes and one of edges.
class ScaledInt8Test : public PartitionTest {
 protected:
  ScaledInt8Test() {
    TestNodeType& paper = spec_.node_types[1];
    paper.features.push_back(Narrowed(paper.features[1], "small", DType::kScaledInt8));
    TestRelation& cites = spec_.relations[2];
    cites.features.push_back(Narrowed(cites.features[0], "small", DType::kScaledInt8));
  }
  [[nodiscard]] fs::path Small() const { return part_ / "nodes/paper/features/small.npy"; }
};

TEST_F(ScaledInt8Test, IsMappedAsRowsOfBytesThatNumpyReads) {
  const auto partition = Partition::Open(part_, VerifyLevel::kContents);
  ASSERT_TRUE(partition.ok()) << partition.status();
  const int type = *(*partition)->schema().NodeTypeIndex("paper");
  const auto& features = (*partition)->schema().node_types[type].features;
  for (size_t f = 0; f < features.size(); ++f) {
    if (features[f].name != "small") continue;
    const NpyArray& rows = (*partition)->NodeFeature(type, static_cast<int>(f));
    EXPECT_EQ(rows.dtype(), DType::kUInt8);
    EXPECT_EQ(rows.cols(), features[f].dim + 4);
    EXPECT_EQ(rows.row_bytes(), features[f].row_bytes());
  }
  const auto array = NpyArray::Open(part_ / EdgeFolder(kCites) / "features/small.npy");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->shape().size(), 2U) << "also where the feature has rank 1";
  EXPECT_EQ(array->cols(), 5);
}

TEST_F(ScaledInt8Test, ReadersThatDoNotKnowItAreToldByAFeatureBit) {
  Json value;
  EditManifest(part_, [&](Json* manifest) { value = *manifest; });
  EXPECT_EQ(value["feature_bits"], 1);
  EditManifest(part_, [](Json* manifest) { (*manifest)["feature_bits"] = 0; });
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"feature bits 0x0", "0x1"});
}

TEST_F(ScaledInt8Test, DamageIsDataLossWithTheFileSName) {
  FlipByte(Small(), -1);  // of the last scale
  EXPECT_TRUE(Open(VerifyLevel::kHeaders).ok());
  ExpectError(VerifyLevel::kContents, absl::StatusCode::kDataLoss, {"small.npy"});
  FlipByte(Small(), 0);
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"small.npy"});
}

TEST_F(ScaledInt8Test, RowsWithoutScaleAreDataLoss) {
  const int64_t rows = NpyArray::Open(Small())->rows();
  for (const int64_t cols : {4, 12}) {
    fs::remove(Small());
    const std::vector<uint8_t> values(static_cast<size_t>(rows * cols));
    ASSERT_EQ(WriteNpy<uint8_t>(Small(), values, cols), OkStatus());
    Reseal(part_);
    ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"small.npy", "expected"});
  }
}

TEST_F(PartitionTest, ManifestWithoutAFieldIsDataLossNamingIt) {
  for (const char* field : {"format", "format_version", "feature_bits", "identity", "part",
                            "schema", "book", "halo_nodes", "task_rows", "files"}) {
    Json kept;
    EditManifest(part_, [&](Json* value) {
      kept = value->at(field);
      value->erase(field);
    });
    ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"manifest.json", field});
    EditManifest(part_, [&](Json* value) { (*value)[field] = kept; });
  }
  EXPECT_TRUE(Open(VerifyLevel::kContents).ok());
}

TEST_F(PartitionTest, TruncatedFileIsDataLossWithItsName) {
  Truncate(Cites("indices.npy"), 4);
  const auto bytes = std::to_string(fs::file_size(Cites("indices.npy")));
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"indices.npy", bytes});
}

TEST_F(PartitionTest, FlippedByteIsDataLossNamingTheFileOnlyIfContentsAreVerified) {
  FlipByte(part_ / "nodes/paper/features/feat.npy", -3);
  EXPECT_TRUE(Open(VerifyLevel::kHeaders).ok());
  ExpectError(VerifyLevel::kContents, absl::StatusCode::kDataLoss, {"features/feat.npy"});
}

TEST_F(PartitionTest, ListedFileThatIsMissingIsNotFoundNamingIt) {
  fs::remove(part_ / "nodes/author/halo_ids.npy");
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kNotFound, {"nodes/author/halo_ids.npy"});
}

TEST_F(PartitionTest, FileThatTheManifestDoesNotListIsDataLoss) {
  EditManifest(part_, [](Json* value) {
    Json& files = value->at("files");
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].at("path") == "nodes/paper/features/year.npy") files.erase(i);
    }
  });
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss,
              {"nodes/paper/features/year.npy", "does not list"});
}

TEST_F(PartitionTest, FilesOutOfOrderAreDataLoss) {
  EditManifest(part_, [](Json* value) { std::swap(value->at("files")[0], value->at("files")[1]); });
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"files[1]", "ascend"});
}

TEST_F(PartitionTest, ArrayOfAnotherDtypeOrShapeIsDataLossNamingBoth) {
  const fs::path path = part_ / "nodes/paper/features/year.npy";
  const std::vector<float> floats(NpyArray::Open(path)->rows());
  fs::remove(path);
  ASSERT_TRUE(WriteNpy<float>(path, floats).ok());
  Reseal(part_);
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"year.npy", "float32", "int64"});
  const std::vector<int64_t> longer(floats.size() + 1);
  fs::remove(path);
  ASSERT_TRUE(WriteNpy<int64_t>(path, longer).ok());
  Reseal(part_);
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss,
              {"year.npy", fmt::format("[{}]", longer.size()), fmt::format("[{}]", floats.size())});
}

TEST_F(PartitionTest, IndptrThatEndsElsewhereThanItsEdgesIsDataLoss) {
  const auto rows = NpyArray::Open(Cites("indptr.npy"))->rows();
  SetElement<int64_t>(Cites("indptr.npy"), rows - 1, 7777);
  Reseal(part_);
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"indptr.npy", "7777"});
}

TEST_F(PartitionTest, DescendingIndptrIsFoundInContents) {
  SetElement<int64_t>(Cites("indptr.npy"), 2, -5);
  ExpectFoundInContents({"indptr.npy", "position 2", "-5"});
}

TEST_F(PartitionTest, SourceBeyondItsTypeIsFoundInContents) {
  SetElement<uint32_t>(Cites("indices.npy"), 3, 60);
  ExpectFoundInContents({"indices.npy", "position 3", "60", "60 nodes"});
}

TEST_F(PartitionTest, HaloIdsOutOfOrderOrRangeOrOwnedAreFoundInContents) {
  const fs::path path = part_ / "nodes/paper/halo_ids.npy";
  const auto array = NpyArray::Open(path);
  const auto halo = *array->As<int64_t>();
  ASSERT_GE(halo.size(), 3U);
  const int64_t first = halo[0];
  SetElement<int64_t>(path, 1, first);
  ExpectFoundInContents({"halo_ids.npy", "position 1", "ascend"});
  SetElement<int64_t>(path, 1, 1000);
  ExpectFoundInContents({"halo_ids.npy", "1000", "60 nodes"});
  const auto opened = Partition::Open(part_, VerifyLevel::kHeaders);
  const int64_t own = (*opened)->book().NodeRange(1, 1).begin;
  SetElement<int64_t>(path, 0, -1);
  ExpectFoundInContents({"position 0", "-1"});
  SetElement<int64_t>(path, 0, own);
  ExpectFoundInContents({"position 0", "owns"});
}

TEST_F(PartitionTest, SeedThatAnotherPartOwnsIsFoundInContents) {
  const fs::path nodes = part_ / "tasks/node_classification/train/paper/seeds.npy";
  const int64_t own = (*NpyArray::Open(nodes)->As<int64_t>())[0];
  SetElement<int64_t>(nodes, 0, 0);  // of part 0
  ExpectFoundInContents({"train/paper/seeds.npy", "row 0"});
  SetElement<int64_t>(nodes, 0, own);
  const fs::path pairs = part_ / TaskSetFolder("link_prediction", "valid", kCites) / "seeds.npy";
  SetElement<int64_t>(pairs, 2, 0);  // row 1, source: may be anyone's
  Reseal(part_);
  EXPECT_TRUE(Open(VerifyLevel::kContents).ok()) << Open(VerifyLevel::kContents);
  SetElement<int64_t>(pairs, 3, 0);  // row 1, destination
  ExpectFoundInContents({"seeds.npy", "row 1 column 1"});
}

TEST_F(PartitionTest, FeaturesInFortranOrderAreDataLoss) {
  const fs::path path = part_ / "nodes/paper/features/feat.npy";
  const auto rows = NpyArray::Open(path)->rows();
  fs::remove(path);
  auto writer = FileWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  const int64_t shape[] = {rows, 4};
  ASSERT_TRUE(writer->Append(EncodeNpyHeader(DType::kFloat32, shape, true)).ok());
  ASSERT_TRUE(writer->Append(std::string(rows * 16, '\0')).ok());
  ASSERT_TRUE(writer->Close().ok());
  Reseal(part_);
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"feat.npy", "Fortran"});
}

TEST_F(PartitionTest, WrittenRowsAreReadBackUnderTheirOriginalIds) {
  const auto part = Partition::Open(part_, VerifyLevel::kContents);
  ASSERT_TRUE(part.ok()) << part.status();
  const int paper = *(*part)->schema().NodeTypeIndex("paper");
  const auto originals = (*part)->NodeOriginalIds(paper);
  const auto years = *(*part)->NodeFeature(paper, 1).As<int64_t>();
  const auto feat = *(*part)->NodeFeature(paper, 0).As<float>();
  ASSERT_FALSE(originals.empty());
  for (size_t i = 0; i < originals.size(); ++i) {
    EXPECT_EQ(spec_.node_types[1].owners[originals[i]], 1);
    EXPECT_EQ(years[i], 1900 + originals[i]);
    EXPECT_EQ(feat[4 * i + 1], static_cast<float>(originals[i]) + 0.25F);
  }
}

TEST_F(PartitionTest, WrittenEdgesAreReadBackAndHaloIsWhatTheyReach) {
  const auto part = Partition::Open(part_, VerifyLevel::kContents);
  ASSERT_TRUE(part.ok()) << part.status();
  const int paper = *(*part)->schema().NodeTypeIndex("paper");
  const int cites = *(*part)->schema().RelationIndex(kCites);
  const std::vector<int64_t> global = GlobalNodeIds(spec_, "paper");
  const CscSegment& csc = (*part)->Edges(cites);
  const auto originals = (*part)->EdgeOriginalIds(cites);
  const auto weights = *(*part)->EdgeFeature(cites, 0).As<float>();
  const auto& edges = spec_.relations[2].edges;
  for (int64_t v = csc.nodes.begin; v < csc.nodes.end; ++v) {
    int64_t before = -1;
    for (int64_t e = csc.indptr[v - csc.nodes.begin]; e < csc.indptr[v - csc.nodes.begin + 1];
         ++e) {
      EXPECT_EQ(global[edges[originals[e]].first], csc.Source(e));
      EXPECT_EQ(global[edges[originals[e]].second], v);
      EXPECT_EQ(weights[e], static_cast<float>(originals[e]));
      EXPECT_GT(originals[e], before);
      before = originals[e];
    }
  }
  std::set<int64_t> reached;
  for (int r = 0; r < 4; ++r) {
    if ((*part)->schema().SourceType(r) != paper) continue;
    const CscSegment& segment = (*part)->Edges(r);
    for (int64_t e = 0; e < segment.indptr[segment.nodes.size()]; ++e) {
      if (!(*part)->book().NodeRange(paper, 1).contains(segment.Source(e))) {
        reached.insert(segment.Source(e));
      }
    }
  }
  const auto halo = (*part)->HaloIds(paper);
  EXPECT_EQ(std::vector<int64_t>(halo.begin(), halo.end()),
            std::vector<int64_t>(reached.begin(), reached.end()));
}

TEST_F(PartitionTest, TaskRowsLieWithTheirOwnersInInputOrder) {
  const auto part = Partition::Open(part_, VerifyLevel::kContents);
  ASSERT_TRUE(part.ok()) << part.status();
  const std::vector<int64_t> global = GlobalNodeIds(spec_, "paper");
  const TestTaskSet& train = spec_.tasks[0].sets[0];
  const auto* inputs = reinterpret_cast<const int64_t*>(train.arrays[0].data.data());
  std::vector<int64_t> expected;
  for (size_t i = 0; i < train.arrays[0].data.size() / 8; ++i) {
    if (spec_.node_types[1].owners[inputs[i]] == 1) expected.push_back(global[inputs[i]]);
  }
  const auto seeds = *(*part)->TaskArray(0, 0, 0).As<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(seeds.begin(), seeds.end()), expected);
  EXPECT_EQ((*part)->TaskArray(0, 0, 1).rows(), static_cast<int64_t>(expected.size()));
}

TEST_F(PartitionTest, FeaturesAloneNeedNoFileOfTheTopology) {
  fs::remove(Cites("indptr.npy"));
  fs::remove(Cites("indices.npy"));
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kNotFound, {"indices.npy"});
  const auto part = Partition::Open(part_, VerifyLevel::kContents, {.topology = false});
  ASSERT_TRUE(part.ok()) << part.status();
  for (int r = 0; r < 4; ++r) EXPECT_FALSE((*part)->Edges(r).present());
  const int cites = *(*part)->schema().RelationIndex(kCites);
  EXPECT_EQ((*part)->EdgeFeature(cites, 0).rows(), (*part)->book().EdgeRange(cites, 1).size());
  EXPECT_EQ((*part)->NodeFeature(1, 0).rows(), (*part)->book().NodeRange(1, 1).size());
}

TEST_F(PartitionTest, TopologyAloneNeedsNoOtherFile) {
  fs::remove_all(part_ / "nodes");
  fs::remove_all(part_ / "tasks");
  fs::remove_all(Cites("features"));
  fs::remove(Cites("original_ids.npy"));
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kNotFound, {"features/weight.npy"});
  const auto part = Partition::Open(part_, VerifyLevel::kContents, {.features = false});
  ASSERT_TRUE(part.ok()) << part.status();
  for (int r = 0; r < 4; ++r) {
    EXPECT_TRUE((*part)->Edges(r).present());
    EXPECT_EQ((*part)->Edges(r).first_edge, (*part)->book().EdgeRange(r, 1).begin);
  }
}

TEST_F(PartitionTest, OnlyWhatIsOpenedIsVerified) {
  FlipByte(Cites("indices.npy"), -1);
  EXPECT_TRUE(Partition::Open(part_, VerifyLevel::kContents, {.topology = false}).ok());
  EXPECT_EQ(Partition::Open(part_, VerifyLevel::kContents, {.features = false}).status().code(),
            absl::StatusCode::kDataLoss);
  FlipByte(part_ / "nodes/paper/features/feat.npy", -1);
  EXPECT_EQ(Partition::Open(part_, VerifyLevel::kContents, {.topology = false}).status().code(),
            absl::StatusCode::kDataLoss);
}

// One node type: parts of 20, 0 and 10 nodes.
class ClusteredPartitionTest : public PartitionTest {
 protected:
  ClusteredPartitionTest() {
    spec_ = RandomGraph({.parts = 3, .nodes = 30, .mean_degree = 4});
    for (int v = 0; v < 30; ++v) spec_.node_types[0].owners[static_cast<size_t>(v)] = v % 3 / 2 * 2;
    spec_.cluster_nodes = {{7, 12, 1}, {}, {4, 6}};
  }
  [[nodiscard]] fs::path Graph() const { return part_.parent_path(); }
};

TEST_F(ClusteredPartitionTest, BoundsAreThoseOfTheParts) {
  const auto set = PartitionSet::Open(Graph(), {}, VerifyLevel::kContents);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT((*set)->parts()[0]->ClusterBounds(), ElementsAre(0, 7, 19, 20));
  EXPECT_THAT((*set)->ClusterBounds(),
              ElementsAre(ElementsAre(0, 7, 19, 20), ElementsAre(20), ElementsAre(20, 24, 30)));
}

TEST_F(ClusteredPartitionTest, AreOfThePartsThatAreHereAndOfTheTopology) {
  const auto last = PartitionSet::Open(Graph(), {2}, VerifyLevel::kContents);
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT((*last)->ClusterBounds(), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(20, 24, 30)));
  fs::remove(Graph() / "part-0002" / ClusterFile("node"));
  const auto features =
      PartitionSet::Open(Graph(), {2}, VerifyLevel::kContents, {.topology = false});
  ASSERT_TRUE(features.ok()) << features.status();
  EXPECT_THAT((*features)->ClusterBounds(), IsEmpty());
}

TEST_F(ClusteredPartitionTest, ReadersThatDoNotKnowThemAreToldByAFeatureBit) {
  for (const fs::path& folder : {Graph(), part_}) {
    EditManifest(folder, [&](Json* manifest) {
      EXPECT_EQ((*manifest)["feature_bits"], kClustersBit) << folder;
      (*manifest)["feature_bits"] = kClustersBit | 1;
    });
  }
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"feature bits 0x3", "0x2"});
  EXPECT_TRUE(absl::IsDataLoss(ReadGraphManifest(Graph()).status()));
}

TEST_F(ClusteredPartitionTest, BoundsThatAreNotThePartSAreDataLoss) {
  part_ = Graph() / "part-0002";
  const fs::path file = part_ / ClusterFile("node");
  SetElement<int64_t>(file, 1, 30);
  ExpectFoundInContents({"clusters.npy: position 2 holds 30 after 30"});
  SetElement<int64_t>(file, 1, 24);
  SetElement<int64_t>(file, 0, 19);
  Reseal(part_);
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss,
              {"clusters.npy: starts at 19 and ends at 30", "first node 20 and its end 30"});
  SetElement<int64_t>(file, 0, 20);
  SetElement<int64_t>(file, 2, 29);
  Reseal(part_);
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"ends at 29"});
}

TEST_F(ClusteredPartitionTest, ClustersThatCannotBeAreDataLoss) {
  FlipByte(part_.parent_path() / "part-0000" / ClusterFile("node"), -1);
  part_ = Graph() / "part-0000";
  ExpectError(VerifyLevel::kContents, absl::StatusCode::kDataLoss, {"clusters.npy"});
  EditManifest(part_, [](Json* manifest) { (*manifest)["clusters"] = 2; });
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"clusters.npy", "[4]", "[3]"});
  EditManifest(part_, [](Json* manifest) { (*manifest)["clusters"] = 0; });
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss,
              {"0 clusters of 20 nodes, expected 1 to 20"});
  EditManifest(part_, [](Json* manifest) { manifest->erase("clusters"); });
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss, {"'clusters'"});
}

TEST_F(PartitionTest, ClustersOfSeveralNodeTypesAreDataLoss) {
  EditManifest(part_, [](Json* manifest) {
    (*manifest)["feature_bits"] = kClustersBit;
    (*manifest)["clusters"] = 3;
  });
  ExpectError(VerifyLevel::kHeaders, absl::StatusCode::kDataLoss,
              {"feature bit 0x2 (clusters) is for one node type, its schema has 3"});
}

TEST(IsTopologyFileTest, IsAllBelowARelationButIdsAndFeaturesAndTheBoundsOfClusters) {
  EXPECT_TRUE(IsTopologyFile("nodes/a/clusters.npy"));
  EXPECT_FALSE(IsTopologyFile("nodes/a/features/clusters.npy"));
  EXPECT_FALSE(IsTopologyFile("nodes/clusters.npy"));
  EXPECT_TRUE(IsTopologyFile("edges/a%3Ab%3Ac/indptr.npy"));
  EXPECT_TRUE(IsTopologyFile("edges/a%3Ab%3Ac/tables/x.npy"));
  EXPECT_FALSE(IsTopologyFile("edges/a%3Ab%3Ac/original_ids.npy"));
  EXPECT_FALSE(IsTopologyFile("edges/a%3Ab%3Ac/features/weight.npy"));
  EXPECT_FALSE(IsTopologyFile("edges/loose.npy"));
  EXPECT_FALSE(IsTopologyFile("nodes/edges/indptr.npy"));
  EXPECT_FALSE(IsTopologyFile("manifest.json"));
}

TEST(VerifyLevelTest, HasAWordEach) {
  using Word = std::pair<std::string_view, VerifyLevel>;
  EXPECT_THAT(VerifyLevelWords(), testing::ElementsAre(Word("headers", VerifyLevel::kHeaders),
                                                       Word("contents", VerifyLevel::kContents)));
}

}  // namespace
}  // namespace halograph
