#include "trainer/inference/node_list.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/storage/file.h"
#include "common/storage/npy.h"
#include "tests/support/opened_graph.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class NodeListTest : public OpenedGraphTest {
 protected:
  StatusOr<std::vector<int64_t>> Text(std::string_view text) {
    const auto path = folder_.path() / "list.txt";
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return ReadNodeList(path.string());
  }
};

TEST_F(NodeListTest, TextHasANumberALine) {
  EXPECT_THAT(*Text("3\n-1\r\n\n7"), ElementsAre(3, -1, 7));
  EXPECT_THAT(Message(Text("3\n4,5\n").status()),
              AllOf(HasSubstr("list.txt: line 2"), HasSubstr("'4,5'")));
  EXPECT_THAT(Message(Text("\n").status()), HasSubstr("no original id"));
  EXPECT_FALSE(ReadNodeList((folder_.path() / "none").string()).ok());
}

TEST_F(NodeListTest, ArraysHaveOneDimensionOfWholeNumbers) {
  const std::vector<int64_t> wide = {5, 2};
  const auto matrix = folder_.path() / "matrix.npy";
  ASSERT_TRUE(WriteNpy<int64_t>(matrix, wide, 2).ok());
  EXPECT_THAT(Message(ReadNodeList(matrix.string()).status()), HasSubstr("one dimension"));
  const std::vector<float> floats = {1};
  const auto float_path = folder_.path() / "floats.npy";
  ASSERT_TRUE(WriteNpy<float>(float_path, floats).ok());
  EXPECT_FALSE(ReadNodeList(float_path.string()).ok());
}

template <typename T>
class NodeArrayTest : public NodeListTest {};
using IntegerTypes =
    testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(NodeArrayTest, IntegerTypes);

TYPED_TEST(NodeArrayTest, OfAnyIntegerTypeIsRead) {
  const auto path = this->folder_.path() / "list.npy";
  const std::vector<TypeParam> ids = {100, std::numeric_limits<int8_t>::max(), 1};
  ASSERT_TRUE(WriteNpy<TypeParam>(path, ids).ok());
  EXPECT_THAT(*ReadNodeList(path.string()), ElementsAre(100, 127, 1));
}

TEST_F(NodeListTest, ArraysOfTheOtherByteOrderAreRead) {
  const auto path = folder_.path() / "list.npy";
  const std::vector<uint32_t> swapped = {0x01000000, 0x00020000};
  ASSERT_TRUE(WriteNpy<uint32_t>(path, swapped).ok());
  std::string bytes = *ReadTextFile(path, 1 << 20);
  bytes.replace(bytes.find("<u4"), 1, ">");
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  EXPECT_THAT(*ReadNodeList(path.string()), ElementsAre(1, 512));
}

TEST_F(NodeListTest, AnIdBeyond63BitsIsRefusedWithItsPlace) {
  const auto path = folder_.path() / "list.npy";
  const std::vector<uint64_t> ids = {1, uint64_t{1} << 63};
  ASSERT_TRUE(WriteNpy<uint64_t>(path, ids).ok());
  EXPECT_THAT(Message(ReadNodeList(path.string()).status()),
              AllOf(HasSubstr("list.npy: entry 1: 9223372036854775808 is no original id")));
}

TEST_F(NodeListTest, IdsAreFoundOnceEachAndMissingOnesNamed) {
  const TestGraphSpec spec = RandomGraph({.parts = 3, .nodes = 50});
  ASSERT_NO_FATAL_FAILURE(Open(spec));
  const auto global = GlobalNodeIds(spec, "node");
  std::vector<int64_t> wanted = {global[7], global[0], global[49]};
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(*FindNodes(stores_, 0, {49, 7, 0, 7}, nullptr), wanted);
  EXPECT_THAT(Message(FindNodes(stores_, 0, {60, 3, -4}, nullptr).status()),
              AllOf(HasSubstr("'node'"), HasSubstr("original ids -4, 60")));
}

TEST(NodesOfTypesTest, RowsAreTheNodesOfOneTypeAfterThoseOfAnother) {
  Schema schema;
  for (const int64_t count : {3, 5, 0, 2}) {
    NodeType type;
    type.count = count;
    schema.node_types.push_back(type);
  }
  const NodesOfTypes nodes(schema, {0, 2, 3});
  EXPECT_THAT(nodes.part_rows(), ElementsAre(0, 5));
  StepSeeds step;
  ASSERT_TRUE(nodes.Collect(std::vector<int64_t>{1, 2, 3, 4}, 0, &step).ok());
  ASSERT_EQ(step.seeds.size(), 2);
  EXPECT_EQ(step.seeds[0].type, 0);
  EXPECT_THAT(step.seeds[0].ids, ElementsAre(1, 2));
  EXPECT_EQ(step.seeds[1].type, 3);
  EXPECT_THAT(step.seeds[1].ids, ElementsAre(0, 1));
  ASSERT_TRUE(nodes.Collect(std::vector<int64_t>{0}, 0, &step).ok());
  EXPECT_EQ(step.seeds.size(), 1);
}

}  // namespace
}  // namespace halograph
