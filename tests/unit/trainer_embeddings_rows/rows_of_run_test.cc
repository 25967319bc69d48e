#include "trainer/embeddings/rows/rows_of_run.h"

#include <algorithm>
#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/open/open_stores.h"
#include "common/graph/tensor_ref.h"
#include "common/state/durable/system_env.h"
#include "tests/support/learnable_graph.h"
#include "tests/support/test_folder.h"
#include "trainer/embeddings/rows/row_names.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kNodes = 40;
constexpr int64_t kDim = 3;

// A run on a graph of two parts has learnt rows of all nodes but the last ten, which no minibatch
// had read.
class RowsOfRunTest : public testing::Test {
 protected:
  void SetUp() override {
    graph_ = Written("graph", LearnableGraph(kNodes, 2));
    spec_.ref = {false, "node", "embedding"};
    spec_.dim = kDim;
    spec_.initializer = {.kind = Initializer::Kind::kUniform, .a = -1, .b = 1, .seed = 5};
    spec_.optimizer = {.kind = RowOptimizer::Kind::kSgd, .learning_rate = 1};
    const Stores run = OpenedWithState(graph_);
    identity_ = run.graph->info().identity;
    CallContext context;
    ASSERT_EQ(run.admin->Create(spec_, context), OkStatus());
    Learn(run);
    ASSERT_EQ(KeepRowNames(state_.folder, run, Types(), nullptr), OkStatus());
    of_run_ = RowsByOriginal(run);
  }

  std::string Written(const char* name, const TestGraphSpec& spec) {
    const auto path = WriteTestGraph(spec, folder_.path() / name);
    EXPECT_TRUE(path.ok()) << path.status();
    return path->string();
  }
  static Stores Opened(const StoreOptions& options) {
    auto stores = OpenStores(options);
    EXPECT_TRUE(stores.ok()) << stores.status();
    return stores.ok() ? *std::move(stores) : Stores{};
  }
  Stores OpenedWithState(const std::string& graph) {
    state_.folder = folder_.path() / "state";
    return Opened({.graph = graph, .state = state_});
  }
  [[nodiscard]] static std::vector<std::string> Types() { return {"node"}; }

  void Learn(const Stores& run) const {
    std::vector<int64_t> ids(kNodes - 10);
    std::iota(ids.begin(), ids.end(), int64_t{0});
    std::vector<float> gradients(ids.size() * kDim);
    for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>(i);
    const RowPush push{.tensor = spec_.ref,
                       .step = SyncStep{.step = 6, .rank = 0, .world_size = 1, .run = 1},
                       .ids = ids,
                       .rows = std::as_bytes(std::span(gradients))};
    CallContext context;
    const auto pushed = run.rows->Push({&push, 1}, context);
    ASSERT_TRUE(pushed.ok()) << pushed.status();
  }

  StatusOr<RowsGiven> Given(const Stores& stores, NewRows new_rows = NewRows::kRefuse,
                            std::string identity = "") {
    const RowsWanted wanted{.types = Types(),
                            .tensor = spec_.ref.name,
                            .identity = identity.empty() ? identity_ : std::move(identity),
                            .new_rows = new_rows};
    return GiveRowsOfRun(state_, MakeSystemEnv(), wanted, stores, nullptr);
  }

  // One after the other, in the order of original ids.
  std::vector<float> RowsByOriginal(const Stores& stores) const {
    const int64_t nodes = stores.graph->info().schema.node_types[0].count;
    std::vector<int64_t> ids(static_cast<size_t>(nodes)), originals(ids.size());
    std::iota(ids.begin(), ids.end(), int64_t{0});
    std::vector<float> rows(ids.size() * kDim);
    CallContext context;
    EXPECT_EQ(stores.rows->Pull({.tensor = {false, "node", kOriginalIdTensor},
                                 .ids = ids,
                                 .out = std::as_writable_bytes(std::span(originals))},
                                context),
              OkStatus());
    EXPECT_EQ(stores.rows->Pull({.tensor = spec_.ref,
                                 .ids = ids,
                                 .positions = originals,
                                 .out = std::as_writable_bytes(std::span(rows))},
                                context),
              OkStatus());
    return rows;
  }

  TestFolder folder_;
  std::string graph_, identity_;
  StateOptions state_;
  MutableTensorSpec spec_;
  std::vector<float> of_run_;
};

TEST_F(RowsOfRunTest, OtherPartsOfTheSameInputHaveTheSameRows) {
  TestGraphSpec other = LearnableGraph(kNodes, 3);
  std::reverse(other.node_types[0].owners.begin(), other.node_types[0].owners.end());
  const Stores stores = Opened({.graph = Written("other", other)});
  const auto given = Given(stores);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->rows, kNodes);
  EXPECT_EQ(given->fresh, 0);
  EXPECT_EQ(RowsByOriginal(given->stores), of_run_);
  // Features come from the graph itself, in the same call.
  std::vector<float> features(4), row(kDim), alone(4);
  const std::vector<int64_t> node = {17};
  const std::vector<RowRequest> both = {
      {.tensor = spec_.ref, .ids = node, .out = std::as_writable_bytes(std::span(row))},
      {.tensor = {false, "node", "feat"},
       .ids = node,
       .out = std::as_writable_bytes(std::span(features))}};
  CallContext context;
  ASSERT_EQ(given->stores.rows->Pull(both, context), OkStatus());
  ASSERT_EQ(stores.rows->Pull({.tensor = {false, "node", "feat"},
                               .ids = node,
                               .out = std::as_writable_bytes(std::span(alone))},
                              context),
            OkStatus());
  EXPECT_EQ(features, alone);
}

TEST_F(RowsOfRunTest, NodesWithoutARowAreRefusedWithTheirNumberOrGetNewOnes) {
  const Stores stores = Opened({.graph = Written("grown", LearnableGraph(kNodes + 7, 2))});
  EXPECT_THAT(
      Message(Given(stores).status()),
      AllOf(HasSubstr("7 of 47 nodes of type 'node' have no row in"),
            HasSubstr("original ids 40, 41, 42, 43, 44, ..."), HasSubstr("--new-rows init")));
  const auto given = Given(stores, NewRows::kInit);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->rows, kNodes);
  EXPECT_EQ(given->fresh, 7);
  const std::vector<float> rows = RowsByOriginal(given->stores);
  EXPECT_EQ(std::vector(rows.begin(), rows.begin() + kNodes * kDim), of_run_);
  // As training on the larger graph begins.
  state_.folder = folder_.path() / "begun";
  const Stores begun = Opened({.graph = folder_.path() / "grown", .state = state_});
  CallContext context;
  ASSERT_EQ(begun.admin->Create(spec_, context), OkStatus());
  const std::vector<float> first = RowsByOriginal(begun);
  EXPECT_TRUE(std::equal(first.begin() + kNodes * kDim, first.end(), rows.begin() + kNodes * kDim));
}

TEST_F(RowsOfRunTest, TheTensorIsListedAndCannotBeChanged) {
  const auto given = Given(Opened({.graph = Written("other", LearnableGraph(kNodes, 3))}));
  ASSERT_TRUE(given.ok()) << given.status();
  CallContext context;
  const auto listed = given->stores.admin->List(context);
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->front().spec, spec_);
  EXPECT_EQ(listed->front().step, 6);
  EXPECT_EQ(given->stores.admin->Create(spec_, context), OkStatus());
  EXPECT_THAT(Message(given->stores.admin->Drop(spec_.ref, context)), HasSubstr("only read"));
  const RowPush push{.tensor = spec_.ref};
  EXPECT_FALSE(given->stores.rows->Push({&push, 1}, context).ok());
  std::vector<float> row(kDim);
  const std::vector<int64_t> beyond = {kNodes};
  EXPECT_EQ(
      given->stores.rows
          ->Pull(
              {.tensor = spec_.ref, .ids = beyond, .out = std::as_writable_bytes(std::span(row))},
              context)
          .code(),
      absl::StatusCode::kOutOfRange);
}

TEST_F(RowsOfRunTest, AFolderThatDoesNotFitIsRefusedByWhatItLacks) {
  const Stores stores = Opened({.graph = Written("other", LearnableGraph(kNodes, 3))});
  EXPECT_THAT(Message(Given(stores, NewRows::kRefuse, "another").status()),
              HasSubstr("the weights were trained on another"));
  spec_.ref.name = "rows";
  EXPECT_THAT(Message(Given(stores).status()), HasSubstr("has no node node / rows"));
  std::filesystem::remove_all(state_.folder / "row-names");
  EXPECT_THAT(Message(Given(stores).status()),
              HasSubstr("does not say which original ids its rows have"));
}

TEST_F(RowsOfRunTest, APartOfAnotherServerThatIsNotThereIsNamedAndNotMade) {
  const Stores stores = Opened({.graph = Written("other", LearnableGraph(kNodes, 3))});
  const std::filesystem::path missing = state_.folder / "part-0001";
  ASSERT_GT(std::filesystem::remove_all(missing), 0U);
  const Status status = Given(stores).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), AllOf(HasSubstr(missing.string()), HasSubstr("side by side")));
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_F(RowsOfRunTest, NamesOfRowsAreVerified) {
  auto read = RowNames::Read(state_.folder);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->identity(), identity_);
  EXPECT_THAT(read->OriginalIds(0)->first(3), ElementsAre(0, 1, 2));
  const std::filesystem::path path = state_.folder / "row-names" / "node.npy";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x7f');
  file.close();
  EXPECT_THAT(Message(RowNames::Read(state_.folder).status()), HasSubstr("node.npy"));
}

}  // namespace
}  // namespace halograph
