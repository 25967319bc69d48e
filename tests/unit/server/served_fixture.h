// A typed random graph in three parts, of which a test serves some. Written once for the tests of
// a suite: none changes it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/graph/partition.h"
#include "server/handlers/served_graph.h"
#include "tests/support/random_graph.h"
#include "tests/support/written_graph.h"

namespace halograph::server {

inline constexpr int64_t kLimit = 4 << 20;  // bytes of a reply

class ServedTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    graph_folder_ = WriteGraphInto(&folder_, spec_);
    ASSERT_FALSE(graph_folder_.empty());
    all_ = Open({});
  }
  static void TearDownTestSuite() {
    all_.reset();
    folder_.reset();
  }

  // Parts of the graph; empty: all.
  static std::unique_ptr<ServedGraph> Open(const std::vector<int>& parts,
                                           const PartContents& contents = {}) {
    auto set = PartitionSet::Open(graph_folder_, parts, VerifyLevel::kContents, contents);
    EXPECT_TRUE(set.ok()) << set.status();
    if (!set.ok()) return nullptr;
    return std::make_unique<ServedGraph>(std::move(set).value());
  }

  // Global ids of a type that a part owns.
  std::vector<int64_t> Owned(int node_type, int part) const {
    std::vector<int64_t> ids;
    const IdRange range = all_->book().NodeRange(node_type, part);
    for (int64_t id = range.begin; id < range.end; ++id) ids.push_back(id);
    return ids;
  }
  std::vector<int64_t> All(int node_type) const {
    std::vector<int64_t> ids;
    for (int64_t id = 0; id < all_->schema().node_types[node_type].count; ++id) ids.push_back(id);
    return ids;
  }
  int NodeType(const char* name) const { return all_->schema().NodeTypeIndex(name).value(); }

  static inline const TestGraphSpec spec_ = RandomTypedGraph({.seed = 7, .parts = 3, .nodes = 120});
  static inline std::unique_ptr<TestFolder> folder_;
  static inline std::filesystem::path graph_folder_;
  static inline std::unique_ptr<ServedGraph> all_;
};

}  // namespace halograph::server
