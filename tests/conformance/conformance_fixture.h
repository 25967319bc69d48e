// The graphs that the conformance suites run on, opened through one kind of store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/conformance/store_conformance.h"
#include "tests/support/graph_fixture.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

namespace halograph {

// A folder with a graph of four parts, written once a process: stores only read it.
struct ConformanceFolder {
  explicit ConformanceFolder(const TestGraphSpec& written);

  TestFolder folder;
  TestGraphSpec spec;
  std::filesystem::path path;
};

// 3,000 nodes: as seeds they need several messages where these are small. Its parts have clusters.
[[nodiscard]] const ConformanceFolder& ConformanceGraph();
[[nodiscard]] const ConformanceFolder& TypedConformanceGraph();
// 120 nodes of one type; every edge has its reverse, self-loops and parallel edges too.
[[nodiscard]] const ConformanceFolder& SymmetricConformanceGraph();
// Typed, too; every relation has an edge feature "w" to sample by: float64, some 0, over many
// decades.
[[nodiscard]] const ConformanceFolder& WeightedConformanceGraph();
// 2,000 nodes, of which the first ten have 3,500 in-edges each: 14,000 bytes of sources, so that
// the neighbourhoods of a few of them exceed a small message.
[[nodiscard]] const ConformanceFolder& HubConformanceGraph();

// Stores of that kind over a graph. Most cases only read: they share what is opened, which lasts
// until another kind is asked for. Without stores after an error, which fails the test.
[[nodiscard]] std::shared_ptr<OpenedStores> OpenConformanceStores(const ConformanceFolder& graph,
                                                                  const StoreKind& kind);
[[nodiscard]] std::shared_ptr<OpenedStores> ShareConformanceStores(const ConformanceFolder& graph,
                                                                   const StoreKind& kind);
// What is shared ends. Before main does: servers need what statics of gRPC hold.
void CloseConformanceStores();

// Stores under test over one of these.
class ConformanceGraphUnderTest {
 public:
  ConformanceGraphUnderTest(const ConformanceFolder& graph, const StoreKind& kind,
                            bool shared = true)
      : spec(graph.spec),
        path(graph.path),
        opened_(shared && !kind.opened_anew ? ShareConformanceStores(graph, kind)
                                            : OpenConformanceStores(graph, kind)),
        stores(opened_->stores) {}
  [[nodiscard]] bool ok() const { return stores.graph != nullptr && stores.rows != nullptr; }

  const TestGraphSpec& spec;
  const std::filesystem::path path;

 private:
  const std::shared_ptr<OpenedStores> opened_;

 public:
  Stores& stores;
};

// One case of a suite, as a test of its own.
class ConformanceTest : public testing::Test {
 public:
  ConformanceTest(StoreKind kind, std::function<void(const StoreKind&)> body)
      : kind_(std::move(kind)), body_(std::move(body)) {}
  void TestBody() override { body_(kind_); }

 private:
  const StoreKind kind_;
  const std::function<void(const StoreKind&)> body_;
};

inline void RegisterCase(const std::string& suite, const StoreKind& kind, const char* name,
                         const std::function<void(const StoreKind&)>& body) {
  testing::RegisterTest(
      (suite + "/" + kind.name).c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
      [kind, body]() -> ConformanceTest* { return new ConformanceTest(kind, body); });
}

}  // namespace halograph
