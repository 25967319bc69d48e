#include "partitioner/methods/owners/load_owners.h"

#include <fstream>

#include <gmock/gmock.h>

#include "tests/support/memory_dataset.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class LoadOwnersTest : public testing::Test {
 protected:
  fs::path Text(const std::string& name, const std::string& text) {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  template <typename T>
  fs::path Npy(const std::string& name, const std::vector<T>& values, int64_t cols = 0) {
    const fs::path path = folder_.path() / name;
    const Status written = WriteNpy<T>(path, values, cols);
    EXPECT_TRUE(written.ok()) << written;
    return path;
  }
  static Dataset OneType(int64_t nodes) {
    DatasetBuilder builder;
    builder.Nodes("node", nodes);
    return builder.dataset();
  }
  static Dataset TwoTypes() {
    DatasetBuilder builder;
    builder.Nodes("author", 2).Nodes("paper", 3);
    return builder.dataset();
  }
  static void ExpectInvalid(const StatusOr<LoadedOwners>& loaded,
                            const std::vector<std::string>& parts) {
    EXPECT_TRUE(absl::IsInvalidArgument(loaded.status())) << loaded.status();
    for (const std::string& part : parts) {
      EXPECT_THAT(Message(loaded.status()), HasSubstr(part));
    }
  }

  TestFolder folder_;
};

TEST_F(LoadOwnersTest, NpyOfEveryIntegerType) {
  const Dataset dataset = OneType(4);
  const auto expect = [&](const fs::path& path) {
    const auto loaded = LoadOwners(path, dataset, 0);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->parts, 3);
    EXPECT_THAT(loaded->assignment.owners, ElementsAre(ElementsAre(2, 0, 1, 2)));
    EXPECT_EQ(loaded->assignment.report["nodes"], Json({1, 1, 2}));
  };
  expect(Npy<int8_t>("a.npy", {2, 0, 1, 2}));
  expect(Npy<uint8_t>("b.npy", {2, 0, 1, 2}));
  expect(Npy<int16_t>("c.npy", {2, 0, 1, 2}));
  expect(Npy<uint32_t>("d.npy", {2, 0, 1, 2}));
  expect(Npy<int64_t>("e.npy", {2, 0, 1, 2}));
  expect(Npy<uint64_t>("f.npy", {2, 0, 1, 2}, 1));
}

TEST_F(LoadOwnersTest, BigEndianNpy) {
  std::string header = "{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00\x76\x00", 10);
  file += header + std::string("\0\0\0\1\0\0\0\0", 8);
  const auto loaded = LoadOwners(Text("big.npy", file), OneType(2), 0);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->assignment.owners, ElementsAre(ElementsAre(1, 0)));
}

TEST_F(LoadOwnersTest, FolderOfDglTextFiles) {
  Text("dgl/author.txt", "1\n0\n");
  Text("dgl/paper.txt", "1\r\n 1\n0");
  Text("dgl/partition_meta.json", R"({"version": "1.0.0", "num_parts": 2, "algo_name": "metis"})");
  const auto loaded = LoadOwners(folder_.path() / "dgl", TwoTypes(), 0);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->parts, 2);
  EXPECT_THAT(loaded->assignment.owners, ElementsAre(ElementsAre(1, 0), ElementsAre(1, 1, 0)));
  EXPECT_EQ(loaded->assignment.report["algorithm"], "metis");
}

TEST_F(LoadOwnersTest, FolderMixesNpyAndTextAndNeedsNoFileForATypeWithoutNodes) {
  DatasetBuilder builder;
  builder.Nodes("a/b", 2).Nodes("empty", 0).Nodes("paper", 3);
  Text("mixed/a%2Fb.txt", "1\n0\n\n\n");
  Npy<int64_t>("mixed/paper.npy", {0, 1, 1});
  const auto loaded = LoadOwners(folder_.path() / "mixed", builder.dataset(), 2);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->assignment.owners,
              ElementsAre(ElementsAre(1, 0), ElementsAre(), ElementsAre(0, 1, 1)));
}

TEST_F(LoadOwnersTest, PartitionWithoutNodesIsAllowed) {
  const fs::path path = Npy<int64_t>("gap.npy", {0, 2, 0, 2});
  const auto loaded = LoadOwners(path, OneType(4), 0);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->parts, 3);
  EXPECT_EQ(loaded->assignment.report["nodes"], Json({2, 0, 2}));
  EXPECT_EQ(LoadOwners(path, OneType(4), 4)->parts, 4);
}

TEST_F(LoadOwnersTest, WrongLengthNamesFileFoundAndExpected) {
  const auto npy = LoadOwners(Npy<int64_t>("short.npy", {0, 1}), OneType(3), 2);
  ExpectInvalid(npy, {"short.npy: 2 entries, but there are 3 nodes of type `node`"});
  EXPECT_THAT(Message(npy.status()), Not(HasSubstr("edge list")));
  ExpectInvalid(LoadOwners(Text("long.txt", "0\n1\n0\n1\n"), OneType(3), 2),
                {"long.txt: 4 entries, but there are 3 nodes"});
  ExpectInvalid(LoadOwners(Text("empty.txt", ""), OneType(3), 2), {"0 entries"});
}

TEST_F(LoadOwnersTest, WrongLengthForRenumberedIdsTellsTheirOrder) {
  Dataset dataset = OneType(3);
  auto ids = NpyArray::Open(Npy<int64_t>("ids.npy", {5, 70, 900}));
  ASSERT_TRUE(ids.ok()) << ids.status();
  dataset.node_types[0].original_ids = std::make_shared<const NpyArray>(std::move(ids).value());
  ExpectInvalid(LoadOwners(Npy<int64_t>("short.npy", {0, 1}), dataset, 2),
                {"entry i is the i-th smallest", "--num-nodes"});
}

TEST_F(LoadOwnersTest, OwnerOutOfRangeNamesThePosition) {
  ExpectInvalid(LoadOwners(Npy<int64_t>("a.npy", {0, 1, 2}), OneType(3), 2),
                {"a.npy: entry 2: partition 2 is not between 0 and 1"});
  ExpectInvalid(LoadOwners(Npy<int8_t>("b.npy", {0, -1, 1}), OneType(3), 0),
                {"b.npy: entry 1: partition -1 is not"});
  ExpectInvalid(LoadOwners(Npy<uint64_t>("c.npy", {~uint64_t{0}, 1, 1}), OneType(3), 0),
                {"entry 0: partition 18446744073709551615 is not between 0 and 4095"});
  ExpectInvalid(LoadOwners(Text("d.txt", "0\n1\n7\n"), OneType(3), 2),
                {"d.txt:3: partition 7 is not between 0 and 1"});
  ExpectInvalid(LoadOwners(Text("e.txt", "0\n-3\n1\n"), OneType(3), 2), {"e.txt:2: partition -3"});
}

TEST_F(LoadOwnersTest, WhatIsNoIntegerNamesThePlace) {
  ExpectInvalid(LoadOwners(Npy<float>("a.npy", {0, 1, 1}), OneType(3), 2),
                {"a.npy: holds float32"});
  ExpectInvalid(LoadOwners(Npy<int64_t>("c.npy", {0, 1, 1, 0, 1, 1}, 2), OneType(3), 2),
                {"c.npy: shape (3, 2)"});
  ExpectInvalid(LoadOwners(Text("d.txt", "0\n1.5\n1\n"), OneType(3), 2),
                {"d.txt:2: \"1.5\" is not an integer"});
  ExpectInvalid(LoadOwners(Text("e.txt", "0\n\n1\n1\n"), OneType(3), 2), {"e.txt:2: a blank line"});
}

TEST_F(LoadOwnersTest, MissingPathsAndFiles) {
  const auto path = LoadOwners(folder_.path() / "nowhere", OneType(3), 2);
  EXPECT_TRUE(absl::IsNotFound(path.status())) << path.status();
  Text("types/author.txt", "0\n1\n");
  const auto type = LoadOwners(folder_.path() / "types", TwoTypes(), 2);
  EXPECT_TRUE(absl::IsNotFound(type.status())) << type.status();
  EXPECT_THAT(Message(type.status()), HasSubstr("no owners of node type `paper`"));
}

TEST_F(LoadOwnersTest, FilesThatDoNotFitTheGraph) {
  ExpectInvalid(LoadOwners(Text("a.csv", "0\n1\n1\n"), OneType(3), 2), {"a.csv", ".npy and .txt"});
  ExpectInvalid(LoadOwners(Text("a.txt", "0\n1\n1\n"), TwoTypes(), 2), {"2 node types", "folder"});
  Text("both/node.txt", "0\n1\n1\n");
  Npy<int64_t>("both/node.npy", {0, 1, 1});
  ExpectInvalid(LoadOwners(folder_.path() / "both", OneType(3), 2), {"remove one"});
}

TEST_F(LoadOwnersTest, DamagedNpyIsDataLoss) {
  const fs::path path = Npy<int64_t>("cut.npy", {0, 1, 1});
  fs::resize_file(path, fs::file_size(path) - 3);
  const auto loaded = LoadOwners(path, OneType(3), 2);
  EXPECT_TRUE(absl::IsDataLoss(loaded.status())) << loaded.status();
}

TEST_F(LoadOwnersTest, NumberOfPartsMustAgree) {
  const auto folder = folder_.path() / "meta";
  Text("meta/node.txt", "0\n1\n0\n");
  Text("meta/partition_meta.json", R"({"version": "1.0.0", "num_parts": 3})");
  EXPECT_EQ(LoadOwners(folder, OneType(3), 0)->parts, 3);
  EXPECT_EQ(LoadOwners(folder, OneType(3), 3)->parts, 3);
  ExpectInvalid(LoadOwners(folder, OneType(3), 2), {"num_parts is 3, but 2"});
  Text("meta/partition_meta.json", R"({"num_parts": 1})");
  ExpectInvalid(LoadOwners(folder, OneType(3), 0), {"node.txt:2"});
  for (const char* meta : {R"({})", R"({"num_parts": 0})", R"({"num_parts": "2"})", "{"}) {
    Text("meta/partition_meta.json", meta);
    ExpectInvalid(LoadOwners(folder, OneType(3), 0), {"partition_meta.json"});
  }
  ExpectInvalid(LoadOwners(folder / "node.txt", OneType(3), 4), {"4 partitions are more"});
  ExpectInvalid(LoadOwners(folder / "node.txt", OneType(3), -1), {"parts: -1"});
}

TEST(PlanLoadOwnersTest, HoldsTheAnswer) {
  GraphCounts counts;
  counts.nodes = {1000, 500};
  EXPECT_EQ(PlanLoadOwners(counts).peak_bytes(), 3000);
}

}  // namespace
}  // namespace halograph
