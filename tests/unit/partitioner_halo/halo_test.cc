#include "common/graph/halo.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/graph/partition.h"
#include "partitioner/halo/add_halo.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

// Halos as AddHalos makes them against a search written out plainly, and what opening one refuses.

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kParts = 4;

std::string BytesOf(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::map<std::string, std::string> FilesBelow(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[entry.path().string()] = BytesOf(entry.path());
  }
  return files;
}

class HaloTest : public testing::Test {
 protected:
  void Write(const TestGraphSpec& spec) {
    const auto graph = WriteTestGraph(spec, folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    graph_ = *graph;
    Reopen();
  }
  void WriteTyped() {
    Write(RandomTypedGraph({.seed = 3, .parts = kParts, .nodes = 90, .mean_degree = 2}));
  }
  void Reopen() {
    auto set = PartitionSet::Open(graph_, {}, VerifyLevel::kContents);
    ASSERT_TRUE(set.ok()) << set.status();
    set_ = std::move(*set);
  }
  fs::path PartPath(int part) const { return graph_ / PartFolderName(part); }
  StatusOr<std::unique_ptr<Halo>> OpenHalo(int part,
                                           VerifyLevel verify = VerifyLevel::kContents) const {
    return Halo::Open(PartPath(part), *set_->Find(part), verify);
  }
  Status Add(int hops, bool replace = false) {
    return AddHalos(graph_, {.hops = hops, .replace = replace}).status();
  }

  // By node type: how many hops outside a part each node that can be reached is; 0: its own.
  std::vector<std::map<int64_t, int>> Distances(int part) const {
    const Schema& schema = set_->schema();
    std::vector<std::map<int64_t, int>> distance(schema.node_types.size());
    for (size_t t = 0; t < distance.size(); ++t) {
      const IdRange own = set_->book().NodeRange(static_cast<int>(t), part);
      for (int64_t id = own.begin; id < own.end; ++id) distance[t][id] = 0;
    }
    for (int hop = 1; hop < 100; ++hop) {
      auto next = distance;
      for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
        const int source = schema.SourceType(r);
        for (const auto& [id, hops] : distance[static_cast<size_t>(schema.DestinationType(r))]) {
          if (hops != hop - 1) continue;
          const CscSegment& segment = set_->topology()[static_cast<size_t>(r)].Owner(id);
          const int64_t* const offsets = segment.indptr + (id - segment.nodes.begin);
          for (int64_t e = offsets[0]; e < offsets[1]; ++e) {
            next[static_cast<size_t>(source)].emplace(segment.Source(e), hop);
          }
        }
      }
      distance = next;
    }
    return distance;
  }

  static std::vector<int64_t> Within(const std::map<int64_t, int>& distances, int hops) {
    std::vector<int64_t> ids;
    for (const auto& [id, distance] : distances) {
      if (distance >= 1 && distance <= hops) ids.push_back(id);
    }
    return ids;
  }

  TestFolder folder_;
  fs::path graph_;
  std::unique_ptr<PartitionSet> set_;
};

TEST_F(HaloTest, HoldsExactlyWhatItsHopsCallFor) {
  WriteTyped();
  const Schema& schema = set_->schema();
  size_t farther = 0;
  for (const int hops : {1, 2, 3}) {
    ASSERT_EQ(Add(hops, /*replace=*/true), OkStatus());
    for (int part = 0; part < kParts; ++part) {
      const auto halo = OpenHalo(part);
      ASSERT_TRUE(halo.ok()) << halo.status();
      EXPECT_EQ((*halo)->manifest().hops, hops);
      const auto distances = Distances(part);
      for (int t = 0; t < static_cast<int>(schema.node_types.size()); ++t) {
        const auto nodes = (*halo)->Nodes(t);
        const auto inner = (*halo)->Destinations(t);
        const auto& of_type = distances[static_cast<size_t>(t)];
        EXPECT_THAT(nodes, testing::ElementsAreArray(Within(of_type, hops)));
        EXPECT_THAT(inner, testing::ElementsAreArray(Within(of_type, hops - 1)));
        farther += Within(of_type, 3).size() - Within(of_type, 2).size();
      }
    }
  }
  EXPECT_GT(farther, 0) << "the graph has no third hop: it tests nothing";
}

TEST_F(HaloTest, FeaturesAndInEdgesAreTheOwners) {
  WriteTyped();
  ASSERT_EQ(Add(2), OkStatus());
  const Schema& schema = set_->schema();
  int64_t rows = 0, edges = 0;
  for (int part = 0; part < kParts; ++part) {
    const auto halo = OpenHalo(part);
    ASSERT_TRUE(halo.ok()) << halo.status();
    for (int t = 0; t < static_cast<int>(schema.node_types.size()); ++t) {
      for (int f = 0; f < std::ssize(schema.node_types[static_cast<size_t>(t)].features); ++f) {
        const NpyArray& array = (*halo)->NodeFeature(t, f);
        for (int64_t i = 0; i < array.rows(); ++i, ++rows) {
          const int64_t id = (*halo)->Nodes(t)[static_cast<size_t>(i)];
          const int owner = set_->book().NodeOwner(t, id);
          const int64_t row = id - set_->book().NodeRange(t, owner).begin;
          ASSERT_EQ(std::memcmp(array.data().data() + i * array.row_bytes(),
                                set_->Find(owner)->NodeFeature(t, f).data().data() +
                                    row * array.row_bytes(),
                                array.row_bytes()),
                    0);
        }
      }
    }
    for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
      const Halo::InEdges& in = (*halo)->Edges(r);
      const auto ids = (*halo)->Destinations(schema.DestinationType(r));
      for (size_t i = 0; i < ids.size(); ++i) {
        const CscSegment& owner = set_->topology()[static_cast<size_t>(r)].Owner(ids[i]);
        const int64_t* const offsets = owner.indptr + (ids[i] - owner.nodes.begin);
        ASSERT_EQ(in.indptr[i + 1] - in.indptr[i], offsets[1] - offsets[0]);
        ASSERT_EQ(in.first_edges[i], owner.first_edge + offsets[0]);
        for (int64_t e = offsets[0]; e < offsets[1]; ++e, ++edges) {
          ASSERT_EQ(in.Source(in.indptr[i] + e - offsets[0]), owner.Source(e));
        }
      }
    }
  }
  EXPECT_GT(rows, 100);
  EXPECT_GT(edges, 100);
}

TEST_F(HaloTest, NoOtherFileAndNoIdentityChanges) {
  WriteTyped();
  const auto before = FilesBelow(graph_);
  const std::string identity = set_->identity();
  ASSERT_EQ(Add(2), OkStatus());
  const auto after = FilesBelow(graph_);
  EXPECT_GT(after.size(), before.size());
  for (const auto& [path, bytes] : before) EXPECT_EQ(after.at(path), bytes) << path;
  for (const auto& [path, bytes] : after) {
    if (before.contains(path)) continue;
    EXPECT_THAT(path, HasSubstr(std::string("/") + kHaloFolder + "/"));
  }
  Reopen();  // with all checks
  EXPECT_EQ(set_->identity(), identity);
}

TEST_F(HaloTest, AGraphOfOnePartHasEmptyHalos) {
  Write(RandomGraph({.seed = 1, .parts = 1, .nodes = 30}));
  ASSERT_EQ(Add(3), OkStatus());
  const auto halo = OpenHalo(0);
  ASSERT_TRUE(halo.ok()) << halo.status();
  EXPECT_TRUE((*halo)->Nodes(0).empty());
  EXPECT_EQ((*halo)->Edges(0).indptr.size(), 1U);
}

TEST_F(HaloTest, ExistingHalosStayUnlessTheyAreToBeReplaced) {
  WriteTyped();
  ASSERT_EQ(Add(1), OkStatus());
  const Status again = Add(2);
  EXPECT_TRUE(absl::IsAlreadyExists(again)) << again;
  EXPECT_THAT(Message(again), HasSubstr("--force"));
  EXPECT_EQ((*OpenHalo(0))->manifest().hops, 1);
  ASSERT_EQ(Add(2, /*replace=*/true), OkStatus());
  EXPECT_EQ((*OpenHalo(0))->manifest().hops, 2);
}

TEST_F(HaloTest, RefusesHopsOutOfRangeAndTooLittleMemory) {
  WriteTyped();
  EXPECT_TRUE(absl::IsInvalidArgument(Add(0)));
  EXPECT_TRUE(absl::IsInvalidArgument(Add(kMostHaloHops + 1)));
  const auto small = AddHalos(graph_, {.hops = 1, .memory = kProgramBytes});
  EXPECT_TRUE(absl::IsResourceExhausted(small.status())) << small.status();
  EXPECT_FALSE(HasHalo(PartPath(0)));
}

TEST_F(HaloTest, APartWithoutOneSaysHowItIsMade) {
  WriteTyped();
  const auto halo = OpenHalo(2);
  EXPECT_TRUE(absl::IsNotFound(halo.status()));
  EXPECT_THAT(Message(halo.status()), HasSubstr("halograph-partition halo --graph"));
}

TEST_F(HaloTest, RefusesTheHaloOfAnotherPartOrGraph) {
  WriteTyped();
  ASSERT_EQ(Add(1), OkStatus());
  fs::remove_all(PartPath(1) / kHaloFolder);
  fs::copy(PartPath(0) / kHaloFolder, PartPath(1) / kHaloFolder, fs::copy_options::recursive);
  const auto of_part = OpenHalo(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(of_part.status())) << of_part.status();
  EXPECT_THAT(Message(of_part.status()), HasSubstr("part 0"));
  auto manifest = ReadHaloManifest(PartPath(0));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  manifest->identity[0] = manifest->identity[0] == '0' ? '1' : '0';
  ASSERT_EQ(WriteHaloManifest(PartPath(0) / kHaloFolder, *manifest), OkStatus());
  const auto of_graph = OpenHalo(0);
  EXPECT_TRUE(absl::IsFailedPrecondition(of_graph.status())) << of_graph.status();
  EXPECT_THAT(Message(of_graph.status()), HasSubstr(manifest->identity));
}

TEST_F(HaloTest, DamageIsDataLossAndNamesTheFile) {
  WriteTyped();
  ASSERT_EQ(Add(2), OkStatus());
  const fs::path halo = PartPath(0) / kHaloFolder;
  const auto damaged = [&](const std::string& name, const auto& damage) {
    const std::string whole = BytesOf(halo / name);
    std::string bytes = whole;
    damage(bytes);
    std::ofstream(halo / name, std::ios::binary) << bytes;
    const auto opened = OpenHalo(0);
    EXPECT_TRUE(absl::IsDataLoss(opened.status())) << name << ": " << opened.status();
    EXPECT_THAT(Message(opened.status()), HasSubstr(name));
    std::ofstream(halo / name, std::ios::binary) << whole;
  };
  const auto flip = [](std::string& bytes) { bytes.back() = static_cast<char>(bytes.back() + 1); };
  const auto cut = [](std::string& bytes) { bytes.pop_back(); };
  for (const std::string& name :
       {HaloIdsFile("paper"), HaloDestinationsFile("paper"),
        FeatureFile(NodeFolder("paper"), "feat"), HaloIndptrFile("paper:cites:paper"),
        HaloIndicesFile("paper:cites:paper"), HaloFirstEdgesFile("paper:cites:paper")}) {
    damaged(name, flip);
    damaged(name, cut);
  }
  damaged("manifest.json",
          [](std::string& bytes) { bytes.replace(bytes.find("\"hops\": 2"), 9, "\"hops\": 3"); });
  EXPECT_TRUE(OpenHalo(0).ok());
}

TEST_F(HaloTest, SourcesWithoutFeaturesAreFoundUnderRightChecksums) {
  WriteTyped();
  ASSERT_EQ(Add(2), OkStatus());
  const fs::path halo = PartPath(0) / kHaloFolder;
  auto manifest = ReadHaloManifest(PartPath(0));
  ASSERT_TRUE(manifest.ok());
  const std::string name = HaloIdsFile("paper");
  std::string bytes = BytesOf(halo / name);
  // The last node becomes one that is within nobody's reach of two hops, or is no node at all.
  int64_t id = 0;
  std::memcpy(&id, bytes.data() + bytes.size() - 8, 8);
  const auto distances = Distances(0);
  const auto paper = static_cast<size_t>(*set_->schema().NodeTypeIndex("paper"));
  const int64_t count = set_->schema().node_types[paper].count;
  int64_t other = id + 1;
  while (other < count && distances[paper].contains(other)) ++other;
  std::memcpy(bytes.data() + bytes.size() - 8, &other, 8);
  std::ofstream(halo / name, std::ios::binary) << bytes;
  for (FileEntry& entry : manifest->files) entry = *ChecksumFile(halo, entry.path);
  ASSERT_EQ(WriteHaloManifest(halo, *manifest), OkStatus());
  const auto opened = OpenHalo(0);
  EXPECT_TRUE(absl::IsDataLoss(opened.status())) << opened.status();
  EXPECT_TRUE(OpenHalo(0, VerifyLevel::kHeaders).ok());
}

TEST_F(HaloTest, RefusesAVersionThatItDoesNotKnow) {
  WriteTyped();
  ASSERT_EQ(Add(1), OkStatus());
  const fs::path path = PartPath(0) / kHaloFolder / kManifestName;
  auto value = ReadManifest(path);
  ASSERT_TRUE(value.ok());
  (*value)["feature_bits"] = 4;
  ASSERT_EQ(WriteManifest(path, *value), OkStatus());
  const auto opened = OpenHalo(0);
  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << opened.status();
  EXPECT_THAT(Message(opened.status()), HasSubstr("0x4"));
}

}  // namespace
}  // namespace halograph
