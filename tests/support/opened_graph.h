// A small written graph, opened as the embedded stores.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/graph_fixture.h"
#include "tests/support/local_stores.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

namespace halograph {

class OpenedGraphTest : public testing::Test {
 protected:
  // In place of the one before.
  void Open(const TestGraphSpec& spec) {
    auto graph = WriteTestGraph(spec, folder_.path() / fmt::format("graph{}", opened_++));
    ASSERT_TRUE(graph.ok()) << graph.status();
    auto stores = OpenLocalStores(*graph, VerifyLevel::kContents, 0);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = std::move(*stores);
  }

  TestFolder folder_;
  Stores stores_;

 private:
  int opened_ = 0;
};

}  // namespace halograph
