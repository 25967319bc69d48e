// Mutable tensors of all stores that keep them. The reference is the embedded store.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/local/local_state.h"
#include "common/base/rng.h"
#include "tests/conformance/conformance_fixture.h"
#include "tests/conformance/started_call.h"
#include "tests/support/one_call.h"
#include "tests/support/plain_env.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const TensorRef kEmb{false, "node", "emb"};

MutableTensorSpec EmbSpec(int64_t dim, RowOptimizer optimizer = {}, Initializer initializer = {}) {
  return {.ref = kEmb, .dim = dim, .initializer = initializer, .optimizer = optimizer};
}
RowOptimizer Sgd(double learning_rate) {
  return {.kind = RowOptimizer::Kind::kSgd, .learning_rate = learning_rate};
}
RowOptimizer Adagrad() { return {.kind = RowOptimizer::Kind::kAdagrad, .learning_rate = 0.1}; }

// 60 nodes in so many parts.
const ConformanceFolder& SmallGraph(int parts) {
  static std::map<int, std::unique_ptr<ConformanceFolder>> graphs;
  std::unique_ptr<ConformanceFolder>& graph = graphs[parts];
  if (graph == nullptr) {
    graph = std::make_unique<ConformanceFolder>(
        RandomGraph({.seed = 21, .parts = parts, .nodes = 60, .feature_dim = 2}));
  }
  return *graph;
}

// One kind of store over a graph, and calls of it that expect success.
class Tensors {
 public:
  Tensors(const ConformanceFolder& graph, const StoreKind& kind) : graph_(graph, kind, false) {}
  explicit Tensors(const ConformanceFolder& graph) : graph_(graph, Embedded(), false) {}

  [[nodiscard]] bool ok() const { return graph_.ok(); }
  [[nodiscard]] RowStore& store() { return *graph_.stores.rows; }
  [[nodiscard]] TensorAdmin& admin() { return *graph_.stores.admin; }
  [[nodiscard]] const TestGraphSpec& spec() const { return graph_.spec; }

  [[nodiscard]] Status Create(const MutableTensorSpec& spec) {
    CallContext context;
    return admin().Create(spec, context);
  }
  [[nodiscard]] Status Drop(const TensorRef& ref) {
    CallContext context;
    return admin().Drop(ref, context);
  }
  [[nodiscard]] StatusOr<PushMark> TryPush(const std::vector<int64_t>& ids,
                                           const std::vector<float>& rows,
                                           PushKind kind = PushKind::kGradient,
                                           std::optional<SyncStep> step = {},
                                           const TensorRef& ref = kEmb) {
    CallContext context;
    return PushOne(store(),
                   {.tensor = ref,
                    .kind = kind,
                    .step = step,
                    .ids = ids,
                    .rows = std::as_bytes(std::span(rows))},
                   context);
  }
  PushMark Push(const std::vector<int64_t>& ids, const std::vector<float>& rows,
                PushKind kind = PushKind::kGradient, std::optional<SyncStep> step = {},
                const TensorRef& ref = kEmb) {
    const auto mark = TryPush(ids, rows, kind, step, ref);
    EXPECT_TRUE(mark.ok()) << ToString(mark.status());
    return mark.ok() ? *mark : PushMark();
  }
  [[nodiscard]] Status TryPull(const std::vector<int64_t>& ids, int64_t dim,
                               const PushMark& after = {}, const TensorRef& ref = kEmb) {
    rows_.assign(ids.size() * static_cast<size_t>(dim), -1);
    CallContext context;
    return store().Pull({.tensor = ref,
                         .ids = ids,
                         .out = std::as_writable_bytes(std::span(rows_)),
                         .after = after},
                        context);
  }
  std::vector<float> Pull(const std::vector<int64_t>& ids, int64_t dim, const PushMark& after = {},
                          const TensorRef& ref = kEmb) {
    const Status status = TryPull(ids, dim, after, ref);
    EXPECT_TRUE(status.ok()) << ToString(status);
    return rows_;
  }

 private:
  static StoreKind Embedded() {
    return {"Reference", [](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
              auto folder = std::make_shared<TestFolder>();
              HG_ASSIGN_OR_RETURN(auto mapped, MapGraph(graph, {}));
              HG_ASSIGN_OR_RETURN(
                  auto state, OpenLocalState(mapped, std::make_unique<PlainEnv>(),
                                             {.folder = folder->path(), .segment_bytes = 4 << 20}));
              return OpenedStores{folder, MakeLocalStores(state)};
            }};
  }

  ConformanceGraphUnderTest graph_;
  std::vector<float> rows_;
};

void ExpectError(const Status& status, absl::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.code(), code) << ToString(status);
  EXPECT_THAT(Message(status), HasSubstr(text));
}

std::vector<int64_t> All(int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// Gradients of a few nodes over and over, of every part, of many messages where these are small.
struct LongPush {
  std::vector<int64_t> ids;
  std::vector<float> rows;
};
LongPush MakeLongPush(int64_t nodes, int64_t dim, size_t count, uint64_t key) {
  CounterRng rng(Mix(key));
  LongPush push;
  for (size_t i = 0; i < count; ++i) {
    push.ids.push_back(static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(nodes))));
  }
  for (size_t i = 0; i < count * static_cast<size_t>(dim); ++i) {
    push.rows.push_back(static_cast<float>(rng.NextDouble() - 0.5));
  }
  return push;
}

void CreatingTwiceIsOkAndAnotherSpecIsRefused(const StoreKind& kind) {
  Tensors tensors(SmallGraph(3), kind);
  ASSERT_TRUE(tensors.ok());
  const MutableTensorSpec spec = EmbSpec(4, Sgd(0.5));
  ASSERT_TRUE(tensors.Create(spec).ok());
  EXPECT_TRUE(tensors.Create(spec).ok());
  MutableTensorSpec other = spec;
  other.dim = 5;
  ExpectError(tensors.Create(other), absl::StatusCode::kInvalidArgument, "dim");
  other = spec;
  other.ref.name = "feat";
  ExpectError(tensors.Create(other), absl::StatusCode::kAlreadyExists, "feat");
  other = spec;
  other.ref.type = "none";
  ExpectError(tensors.Create(other), absl::StatusCode::kNotFound, "none");
  CallContext context;
  const auto listed = tensors.admin().List(context);
  ASSERT_TRUE(listed.ok()) << ToString(listed.status());
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->front().spec, spec);
  EXPECT_EQ(listed->front().step, -1);
}

void RowsBeginTheSameForAnyNumberOfParts(const StoreKind& kind) {
  const Initializer uniform{.kind = Initializer::Kind::kUniform, .a = -1, .b = 1, .seed = 9};
  std::vector<float> expected;  // by original id
  for (const int parts : {1, 2, 3}) {
    Tensors tensors(SmallGraph(parts), kind);
    ASSERT_TRUE(tensors.ok());
    ASSERT_TRUE(tensors.Create(EmbSpec(3, {}, uniform)).ok());
    const std::vector<int64_t> global = GlobalNodeIds(tensors.spec(), "node");
    const std::vector<float> rows = tensors.Pull(global, 3);
    if (expected.empty()) expected = rows;
    EXPECT_EQ(rows, expected) << parts << " parts";
  }
  EXPECT_GT(std::abs(expected[0] - expected[3]), 0);
}

void GradientsOfRepeatedIdsAreSummedBeforeTheOptimizer(const StoreKind& kind) {
  Tensors tensors(SmallGraph(3), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(2, Sgd(0.5))).ok());
  const PushMark mark = tensors.Push({59, 0, 59, 30}, {1, 2, 8, 16, 3, 6, 32, 64});
  EXPECT_THAT(tensors.Pull({0, 59, 30, 1}, 2, mark), ElementsAre(-4, -8, -2, -4, -16, -32, 0, 0));
  ASSERT_TRUE(tensors.Drop(kEmb).ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1, Adagrad())).ok());
  // 0.1 * 3 / sqrt(9): applied twice it would be 0.1 + 0.1 * 2 / sqrt(5).
  const std::vector<float> row = tensors.Pull({7}, 1, tensors.Push({7, 7}, {1, 2}));
  EXPECT_FLOAT_EQ(row[0], -0.1F);
}

void AddAndAssignChangeRowsWithoutAnOptimizer(const StoreKind& kind) {
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1)).ok());
  tensors.Push({5, 40, 5}, {1, 2, 4}, PushKind::kAssign);
  const PushMark mark = tensors.Push({40, 40, 6}, {1, 1, 3}, PushKind::kAdd);
  EXPECT_THAT(tensors.Pull({5, 40, 6}, 1, mark), ElementsAre(4, 4, 3));
  ExpectError(tensors.TryPush({5}, {1}).status(), absl::StatusCode::kInvalidArgument, "optimizer");
}

void HalfPrecisionRowsAreRoundedAndPulledAsTheyAreStored(const StoreKind& kind) {
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  MutableTensorSpec spec = EmbSpec(2);
  spec.dtype = DType::kBFloat16;
  ASSERT_TRUE(tensors.Create(spec).ok());
  const PushMark mark = tensors.Push({3, 50}, {1, 2, 3, 1.00390625F}, PushKind::kAssign);
  std::vector<uint16_t> rows(4);
  CallContext context;
  const std::vector<int64_t> ids = {50, 3};
  const Status status = tensors.store().Pull(
      {.tensor = kEmb, .ids = ids, .out = std::as_writable_bytes(std::span(rows)), .after = mark},
      context);
  ASSERT_TRUE(status.ok()) << ToString(status);
  EXPECT_THAT(rows, ElementsAre(0x4040, 0x3f80, 0x3f80, 0x4000));
}

// What every edge of the tensor's relation was in the input, by global id.
std::vector<int64_t> OriginalEdgeIds(Tensors& tensors, const std::string& relation, size_t edges) {
  std::vector<int64_t> original(edges, -1);
  const Status pulled =
      PullOne(tensors.store(), {true, relation, kOriginalIdTensor},
              All(static_cast<int64_t>(edges)), std::as_writable_bytes(std::span(original)));
  EXPECT_TRUE(pulled.ok()) << ToString(pulled);
  return original;
}

// Rows of edges, by original id: how they begin, and what gradients and assigned values make of
// them, do not depend on which part an edge is in.
void RowsOfEdgesGoWithTheirEdges(const StoreKind& kind) {
  const std::string relation = "node:edge:node";
  const TensorRef ref{true, relation, "weight"};
  const MutableTensorSpec spec = {
      .ref = ref,
      .placement = Placement::kEdges,
      .dim = 2,
      .initializer = {.kind = Initializer::Kind::kUniform, .a = -1, .b = 1, .seed = 4},
      .optimizer = Sgd(0.5)};
  std::vector<float> expected;  // by original id: as they begin, then as they are at the end
  for (const int parts : {1, 2, 3}) {
    Tensors tensors(SmallGraph(parts), kind);
    ASSERT_TRUE(tensors.ok());
    ASSERT_EQ(tensors.spec().relations[0].edges, SmallGraph(1).spec.relations[0].edges);
    const size_t edges = tensors.spec().relations[0].edges.size();
    const std::vector<int64_t> all = All(static_cast<int64_t>(edges));
    ASSERT_TRUE(tensors.Create(spec).ok());
    EXPECT_TRUE(tensors.Create(spec).ok());
    const std::vector<int64_t> original = OriginalEdgeIds(tensors, relation, edges);
    std::vector<float> found(4 * edges);
    const auto note = [&](const std::vector<float>& rows, size_t at) {
      for (size_t e = 0; e < edges; ++e) {
        const auto place = at + 2 * static_cast<size_t>(original[e]);
        std::copy_n(rows.begin() + static_cast<ptrdiff_t>(2 * e), 2,
                    found.begin() + static_cast<ptrdiff_t>(place));
      }
    };
    note(tensors.Pull(all, 2, {}, ref), 0);
    // The gradient of each edge in two places, then a step, then values for every third edge.
    std::vector<int64_t> ids(all.rbegin(), all.rend());
    ids.insert(ids.end(), all.begin(), all.end());
    std::vector<float> rows;
    for (const int64_t id : ids) {
      const auto value = static_cast<float>(original[static_cast<size_t>(id)]);
      rows.insert(rows.end(), {value, -value});
    }
    const PushMark mark = tensors.Push(ids, rows, PushKind::kGradient, {}, ref);
    EXPECT_EQ(std::count(mark.begin(), mark.end(), 0), 0) << "a part without edges";
    tensors.Push(ids, rows, PushKind::kGradient, SyncStep{.world_size = 1, .run = 3}, ref);
    std::erase_if(ids, [&](int64_t id) { return original[static_cast<size_t>(id)] % 3 != 0; });
    rows.resize(ids.size() * 2);
    for (size_t i = 0; i < ids.size(); ++i) {
      rows[2 * i] = rows[2 * i + 1] = static_cast<float>(original[static_cast<size_t>(ids[i])]);
    }
    note(tensors.Pull(all, 2, tensors.Push(ids, rows, PushKind::kAssign, {}, ref), ref), 2 * edges);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << parts << " parts";
    for (size_t e = 0; e < edges; ++e) {
      const size_t end = 2 * (edges + e);
      const auto value = static_cast<float>(e);
      ASSERT_FLOAT_EQ(found[end], e % 3 == 0 ? value : found[2 * e] - 2 * value) << e;
    }
    ids = {0, static_cast<int64_t>(edges)};
    ExpectError(tensors.TryPull(ids, 2, {}, ref), absl::StatusCode::kOutOfRange,
                std::to_string(edges));
    ExpectError(tensors.TryPush(ids, {1, 1, 1, 1}, PushKind::kAdd, {}, ref).status(),
                absl::StatusCode::kOutOfRange, std::to_string(edges));
  }
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  MutableTensorSpec wrong = spec;
  wrong.ref.type = "node:none:node";
  ExpectError(tensors.Create(wrong), absl::StatusCode::kNotFound, "node:none:node");
  wrong = spec;
  wrong.ref.edge = false;
  ExpectError(tensors.Create(wrong), absl::StatusCode::kInvalidArgument, "edge");
}

void RowsOfNoGraphObjectHaveOwnersToo(const StoreKind& kind) {
  for (const Placement placement : {Placement::kRange, Placement::kHash}) {
    Tensors tensors(SmallGraph(3), kind);
    ASSERT_TRUE(tensors.ok());
    const TensorRef table{false, "", "table"};
    ASSERT_TRUE(tensors
                    .Create({.ref = table,
                             .placement = placement,
                             .rows = 1000,
                             .dim = 2,
                             .initializer = {},
                             .optimizer = {}})
                    .ok());
    std::vector<int64_t> ids = All(1000);
    std::reverse(ids.begin(), ids.end());
    std::vector<float> rows;
    for (const int64_t id : ids) {
      rows.push_back(static_cast<float>(id));
      rows.push_back(static_cast<float>(-id));
    }
    const PushMark mark = tensors.Push(ids, rows, PushKind::kAssign, {}, table);
    EXPECT_EQ(mark.size(), 3U);
    EXPECT_EQ(std::count(mark.begin(), mark.end(), 0), 0) << "a part without rows";
    EXPECT_EQ(tensors.Pull(ids, 2, mark, table), rows);
    ExpectError(tensors.TryPull({999, 1000}, 2, {}, table), absl::StatusCode::kOutOfRange, "1000");
  }
}

void APushOfManyMessagesGivesTheBitsOfOne(const StoreKind& kind) {
  constexpr int64_t kDim = 16;
  const LongPush push = MakeLongPush(500, kDim, 6000, 4);
  Tensors reference(ConformanceGraph());
  Tensors tensors(ConformanceGraph(), kind);
  ASSERT_TRUE(reference.ok() && tensors.ok());
  std::vector<float> expected;
  for (Tensors* store : {&reference, &tensors}) {
    ASSERT_TRUE(store->Create(EmbSpec(kDim, Adagrad())).ok());
    const PushMark mark = store->Push(push.ids, push.rows);
    const std::vector<float> rows = store->Pull(All(3000), kDim, mark);
    if (expected.empty()) expected = rows;
    EXPECT_TRUE(rows == expected);
  }
}

void AStepHasTheSameBitsWhateverTheOrderOfItsPushes(const StoreKind& kind) {
  constexpr int64_t kDim = 16;
  const LongPush pushes[] = {MakeLongPush(500, kDim, 3000, 5), MakeLongPush(500, kDim, 2500, 6)};
  std::vector<float> expected;
  for (const bool backward : {false, true}) {
    Tensors reference(ConformanceGraph());
    Tensors tested(ConformanceGraph(), kind);
    ASSERT_TRUE(reference.ok() && tested.ok());
    for (Tensors* tensors : {&reference, &tested}) {
      ASSERT_TRUE(tensors->Create(EmbSpec(kDim, Adagrad())).ok());
      for (int64_t step = 3; step < 6; ++step) {
        PushMark mark;
        for (int i = 0; i < 2; ++i) {
          const int rank = backward ? 1 - i : i;
          const LongPush& push = pushes[rank];
          mark = tensors->Push(push.ids, push.rows, PushKind::kGradient,
                               SyncStep{.step = step, .rank = rank, .world_size = 2, .run = 7});
        }
        const std::vector<float> rows = tensors->Pull(All(3000), kDim, mark);
        if (step < 5) continue;
        if (expected.empty()) expected = rows;
        EXPECT_TRUE(rows == expected) << backward;
      }
    }
  }
}

void ARankWithoutRowsCompletesItsStep(const StoreKind& kind) {
  Tensors tensors(SmallGraph(3), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1, Sgd(1))).ok());
  const PushMark mark = tensors.Push({1, 30}, {1, 2}, PushKind::kGradient,
                                     SyncStep{.step = 0, .rank = 1, .world_size = 2});
  EXPECT_THAT(tensors.Pull({1, 30}, 1), ElementsAre(0, 0)) << "the step is not complete";
  tensors.Push({}, {}, PushKind::kGradient, SyncStep{.step = 0, .rank = 0, .world_size = 2});
  EXPECT_THAT(tensors.Pull({1, 30}, 1, mark), ElementsAre(-1, -2));
}

void APullThatWaitsInVainSaysForWhom(const StoreKind& kind) {
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1, Sgd(1))).ok());
  const PushMark mark =
      tensors.Push({0}, {1}, PushKind::kGradient, SyncStep{.step = 0, .rank = 0, .world_size = 3});
  float row = 0;
  const std::vector<int64_t> ids = {0};
  Status status;
  for (const int milliseconds : {200, 1000, 5000}) {  // a slow server may have no time to say it
    CallContext context{.deadline = std::chrono::steady_clock::now() +
                                    std::chrono::milliseconds(milliseconds)};
    status = tensors.store().Pull({.tensor = kEmb,
                                   .ids = ids,
                                   .out = std::as_writable_bytes(std::span(&row, 1)),
                                   .after = mark},
                                  context);
    if (Message(status).find("rank") != std::string::npos) break;
  }
  ExpectError(status, absl::StatusCode::kDeadlineExceeded, "rank");
}

void BadPushesAreRefusedAndNothingIsApplied(const StoreKind& kind) {
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1, Sgd(1))).ok());
  using enum absl::StatusCode;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const int64_t first = 0;
  ExpectError(tensors.TryPush({first, 1, 1}, {1, 1, nan}).status(), kInvalidArgument, "1");
  ExpectError(tensors.TryPush({0, 60}, {1, 1}).status(), kOutOfRange, "60");
  ExpectError(tensors.TryPush({-4}, {1}).status(), kOutOfRange, "-4");
  ExpectError(tensors.TryPush({0, 1}, {1, 1, 1}).status(), kInvalidArgument, "12 bytes");
  ExpectError(tensors.TryPush({0}, {1}, PushKind::kGradient, {}, {false, "node", "none"}).status(),
              kNotFound, "none");
  ExpectError(tensors.TryPush({0}, {1}, PushKind::kGradient, {}, {false, "node", "feat"}).status(),
              kNotFound, "feat");
  EXPECT_THAT(tensors.Pull({0, 1}, 1), ElementsAre(0, 0));
  // A refused push spoils nothing for the next one.
  EXPECT_THAT(tensors.Pull({1}, 1, tensors.Push({1}, {2})), ElementsAre(-2));
}

// One bad value among several owners and, where messages are small, several messages of each.
void AValueThatIsNotFiniteKeepsAllOfAPushOut(const StoreKind& kind) {
  constexpr int64_t kDim = 16;
  LongPush push = MakeLongPush(3000, kDim, 6000, 8);
  Tensors tensors(ConformanceGraph(), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(kDim, Sgd(1))).ok());
  const std::vector<float> zeros(3000 * kDim, 0);
  float& value = push.rows[4567 * kDim + 3];
  const float good = value;
  const std::string named = fmt::format("id {}, at position 4567", push.ids[4567]);
  int64_t step_number = 0;
  for (const bool stepwise : {false, true}) {
    const auto step = [&]() -> std::optional<SyncStep> {
      if (!stepwise) return std::nullopt;
      return SyncStep{.step = step_number, .world_size = 1, .run = 7};
    };
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      value = bad;
      ExpectError(tensors.TryPush(push.ids, push.rows, PushKind::kGradient, step()).status(),
                  absl::StatusCode::kInvalidArgument, named);
      EXPECT_TRUE(tensors.Pull(All(3000), kDim) == zeros) << stepwise;
    }
    // The push is not half there, and its step is free.
    value = good;
    PushMark mark = tensors.Push(push.ids, push.rows, PushKind::kGradient, step());
    EXPECT_FALSE(tensors.Pull(All(3000), kDim, mark) == zeros);
    std::vector<float> back = push.rows;
    for (float& number : back) number = -number;
    ++step_number;
    mark = tensors.Push(push.ids, back, PushKind::kGradient, step());
    EXPECT_TRUE(tensors.Pull(All(3000), kDim, mark) == zeros) << stepwise;
    ++step_number;
  }
}

void BitsAreAssignedWhateverTheyAreAndTheStateStays(const StoreKind& kind) {
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1, Adagrad())).ok());
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<int64_t> ids = {0, 59, 5};
  const std::vector<float> first = tensors.Pull(ids, 1, tensors.Push(ids, {2, 2, 2}));
  tensors.Push({0, 59}, {kInf, std::numeric_limits<float>::quiet_NaN()}, PushKind::kBits);
  PushMark mark = tensors.Push({5, 0}, {-0.0F, -kInf}, PushKind::kBits);
  const std::vector<float> odd = tensors.Pull(ids, 1, mark);
  EXPECT_EQ(odd[0], -kInf);
  EXPECT_TRUE(std::isnan(odd[1]));
  EXPECT_TRUE(std::signbit(odd[2]));
  // The second gradient of each, and not the first.
  mark = tensors.Push(ids, {0, 0, 0}, PushKind::kBits);
  const std::vector<float> second = tensors.Pull(ids, 1, tensors.Push(ids, {2, 2, 2}));
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_GT(second[i], first[i]) << "its sum of squares is larger";
  }
}

// It asks whether more could be pushed.
void APushWithoutRowsIsCheckedAndChangesNothing(const StoreKind& kind) {
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1)).ok());
  for (const PushKind of : {PushKind::kAdd, PushKind::kAssign, PushKind::kImage, PushKind::kBits}) {
    tensors.Push({}, {}, of);
  }
  ExpectError(tensors.TryPush({}, {}).status(), absl::StatusCode::kInvalidArgument, "optimizer");
  ExpectError(tensors.TryPush({}, {}, PushKind::kBits, {}, {false, "node", "none"}).status(),
              absl::StatusCode::kNotFound, "none");
  EXPECT_THAT(tensors.Pull({0, 59}, 1), ElementsAre(0, 0));
}

void ADroppedTensorIsGoneAndItsNameFree(const StoreKind& kind) {
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1, Sgd(1))).ok());
  tensors.Push({0, 59}, {1, 1});
  ASSERT_TRUE(tensors.Drop(kEmb).ok());
  ExpectError(tensors.Drop(kEmb), absl::StatusCode::kNotFound, "emb");
  ExpectError(tensors.TryPull({0}, 1), absl::StatusCode::kNotFound, "emb");
  ExpectError(tensors.TryPush({0}, {1}).status(), absl::StatusCode::kNotFound, "emb");
  ASSERT_TRUE(tensors.Create(EmbSpec(2)).ok());
  EXPECT_THAT(tensors.Pull({0, 59}, 2), ElementsAre(0, 0, 0, 0));
}

void FeaturesAndTensorsComeInOnePull(const StoreKind& kind) {
  Tensors tensors(SmallGraph(3), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1)).ok());
  const std::vector<int64_t> ids = {59, 0, 30};
  const PushMark mark = tensors.Push(ids, {1, 2, 3}, PushKind::kAssign);
  std::vector<float> emb(3);
  std::vector<float> feat(6);
  std::vector<float> feat_alone(6);
  const std::vector<int64_t> positions = {2, 0, 1};
  const RowRequest requests[] = {{.tensor = {false, "node", "feat"},
                                  .ids = ids,
                                  .out = std::as_writable_bytes(std::span(feat))},
                                 {.tensor = kEmb,
                                  .ids = ids,
                                  .positions = positions,
                                  .out = std::as_writable_bytes(std::span(emb)),
                                  .after = mark}};
  CallContext context;
  const Status status = tensors.store().Pull(requests, context);
  ASSERT_TRUE(status.ok()) << ToString(status);
  EXPECT_THAT(emb, ElementsAre(2, 3, 1));
  ASSERT_TRUE(PullOne(tensors.store(), {false, "node", "feat"}, ids,
                      std::as_writable_bytes(std::span(feat_alone)))
                  .ok());
  EXPECT_EQ(feat, feat_alone);
}

// A push to each tensor: row i of `rows` to the i-th.
std::vector<RowPush> PushesTo(const std::vector<std::string>& names, std::span<const int64_t> ids,
                              std::span<const float> rows) {
  std::vector<RowPush> pushes;
  for (size_t i = 0; i < names.size(); ++i) {
    pushes.push_back({.tensor = {false, "node", names[i]},
                      .kind = PushKind::kAssign,
                      .ids = ids,
                      .rows = std::as_bytes(rows.subspan(i, 1))});
  }
  return pushes;
}

void PushesOfOneCallAreAnsweredInOrder(const StoreKind& kind) {
  Tensors tensors(SmallGraph(3), kind);
  ASSERT_TRUE(tensors.ok());
  std::vector<std::string> names;
  for (const char* const name : {"emb", "emb1", "emb2"}) {
    MutableTensorSpec spec = EmbSpec(1);
    spec.ref.name = names.emplace_back(name);
    ASSERT_TRUE(tensors.Create(spec).ok());
  }
  const std::vector<int64_t> ids = {59};
  const std::vector<float> rows = {1, 2, 3};
  CallContext context;
  const auto marks = tensors.store().Push(PushesTo(names, ids, rows), context);
  ASSERT_TRUE(marks.ok()) << ToString(marks.status());
  ASSERT_EQ(marks->size(), names.size());
  EXPECT_LE(context.stats.rounds, kRoundsOfAnExchange);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ((*marks)[i].size(), 3U);
    EXPECT_THAT(tensors.Pull({59, 0}, 1, (*marks)[i], {false, "node", names[i]}),
                ElementsAre(rows[i], 0));
  }
  EXPECT_EQ(tensors.store().Push({}, context)->size(), 0U);
}

// Of one client: each is applied once, in any order.
void PushesStartedByOneThreadAreAllApplied(const StoreKind& kind) {
  Tensors tensors(SmallGraph(3), kind);
  ASSERT_TRUE(tensors.ok() && tensors.Create(EmbSpec(1)).ok());
  constexpr int kPushes = 10;
  const std::vector<int64_t> ids = {0, 30, 59};
  struct Started {
    explicit Started(PostedWork* work) : call(work) {}
    std::vector<float> rows;
    RowPush push = {};
    StartedCall<StatusOr<std::vector<PushMark>>> call;
  };
  PostedWork work;
  std::deque<Started> pushes;
  for (int i = 0; i < kPushes; ++i) {
    Started& started = pushes.emplace_back(&work);
    const auto value = static_cast<float>(i);
    started.rows = {value, value, value};
    // The last but one is refused before anything is sent.
    if (i == kPushes - 2) started.rows.pop_back();
    started.push = {.tensor = kEmb,
                    .kind = PushKind::kAdd,
                    .ids = ids,
                    .rows = std::as_bytes(std::span(started.rows))};
    tensors.store().StartPush({&started.push, 1}, started.call.context, started.call.Done());
  }
  PushMark seen(3);
  for (Started& started : pushes) {
    const auto& marks = started.call.Await();
    EXPECT_EQ(started.call.ends(), 1);
    if (started.rows.size() < ids.size()) {
      EXPECT_EQ(marks.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ASSERT_TRUE(marks.ok()) << ToString(marks.status());
    ASSERT_EQ(marks->size(), 1U);
    for (size_t part = 0; part < seen.size(); ++part) {
      seen[part] = std::max(seen[part], marks->front()[part]);
    }
  }
  constexpr float kSum = 45 - (kPushes - 2);
  EXPECT_THAT(tensors.Pull({0, 30, 59, 1}, 1, seen), ElementsAre(kSum, kSum, kSum, 0));
}

void PushesOfOneCallAreCheckedBeforeAnyIsMade(const StoreKind& kind) {
  Tensors tensors(SmallGraph(3), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1)).ok());
  const std::vector<int64_t> ids = {59};
  const std::vector<float> rows = {1, 2};
  CallContext context;
  ExpectError(tensors.store().Push(PushesTo({"emb", "none"}, ids, rows), context).status(),
              absl::StatusCode::kNotFound, "none");
  ExpectError(tensors.store().Push(PushesTo({"emb", "emb"}, ids, rows), context).status(),
              absl::StatusCode::kInvalidArgument, "node / emb: pushed to twice");
  EXPECT_THAT(tensors.Pull({59}, 1), ElementsAre(0));
}

void ASnapshotOfAStepIsTakenOnce(const StoreKind& kind) {
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1, Sgd(1))).ok());
  tensors.Push({0, 59}, {1, 1}, PushKind::kGradient, SyncStep{});
  CallContext context;
  const Status taken = tensors.admin().Snapshot("first", 0, context);
  ASSERT_TRUE(taken.ok()) << ToString(taken);
  ExpectError(tensors.admin().Snapshot("first", std::nullopt, context),
              absl::StatusCode::kAlreadyExists, "first");
  ExpectError(tensors.admin().Snapshot("a/b", std::nullopt, context),
              absl::StatusCode::kInvalidArgument, "a/b");
}

void ASnapshotIsGoneBackToAndDeleted(const StoreKind& kind) {
  Tensors tensors(SmallGraph(2), kind);
  ASSERT_TRUE(tensors.ok());
  ASSERT_TRUE(tensors.Create(EmbSpec(1, Sgd(1))).ok());
  const auto push = [&](uint64_t run, int64_t step, float value) {
    return tensors.Push({0, 59}, {value, value}, PushKind::kGradient,
                        SyncStep{.step = step, .world_size = 1, .run = run});
  };
  push(1, 0, 1);
  CallContext context;
  ASSERT_TRUE(tensors.admin().Snapshot("then", std::nullopt, context).ok());
  push(1, 1, 2);
  EXPECT_THAT(tensors.Pull({0, 59}, 1, push(1, 2, 4)), ElementsAre(-7, -7));
  const Status restored = tensors.admin().RestoreSnapshot("then", context);
  ASSERT_TRUE(restored.ok()) << ToString(restored);
  EXPECT_THAT(tensors.Pull({0, 59}, 1), ElementsAre(-1, -1));
  ExpectError(
      tensors.TryPush({0}, {1}, PushKind::kGradient, SyncStep{.step = 3, .run = 1}).status(),
      absl::StatusCode::kFailedPrecondition, "is over");
  EXPECT_THAT(tensors.Pull({0, 59}, 1, push(2, 1, 8)), ElementsAre(-9, -9))
      << "the steps of another run go on from the snapshot's";
  ASSERT_TRUE(tensors.admin().DeleteSnapshot("then", context).ok());
  ExpectError(tensors.admin().DeleteSnapshot("then", context), absl::StatusCode::kNotFound, "then");
  ExpectError(tensors.admin().RestoreSnapshot("then", context), absl::StatusCode::kNotFound,
              "then");
  EXPECT_THAT(tensors.Pull({0, 59}, 1), ElementsAre(-9, -9));
}

}  // namespace

void RegisterMutableConformance(const StoreKind& kind) {
  const auto add = [&](const char* name, const std::function<void(const StoreKind&)>& body) {
    RegisterCase("MutableConformance", kind, name, body);
  };
  add("CreatingTwiceIsOkAndAnotherSpecIsRefused", CreatingTwiceIsOkAndAnotherSpecIsRefused);
  add("RowsBeginTheSameForAnyNumberOfParts", RowsBeginTheSameForAnyNumberOfParts);
  add("GradientsOfRepeatedIdsAreSummedBeforeTheOptimizer",
      GradientsOfRepeatedIdsAreSummedBeforeTheOptimizer);
  add("AddAndAssignChangeRowsWithoutAnOptimizer", AddAndAssignChangeRowsWithoutAnOptimizer);
  add("HalfPrecisionRowsAreRoundedAndPulledAsTheyAreStored",
      HalfPrecisionRowsAreRoundedAndPulledAsTheyAreStored);
  add("RowsOfEdgesGoWithTheirEdges", RowsOfEdgesGoWithTheirEdges);
  add("RowsOfNoGraphObjectHaveOwnersToo", RowsOfNoGraphObjectHaveOwnersToo);
  add("APushOfManyMessagesGivesTheBitsOfOne", APushOfManyMessagesGivesTheBitsOfOne);
  add("AStepHasTheSameBitsWhateverTheOrderOfItsPushes",
      AStepHasTheSameBitsWhateverTheOrderOfItsPushes);
  add("ARankWithoutRowsCompletesItsStep", ARankWithoutRowsCompletesItsStep);
  add("APullThatWaitsInVainSaysForWhom", APullThatWaitsInVainSaysForWhom);
  add("BadPushesAreRefusedAndNothingIsApplied", BadPushesAreRefusedAndNothingIsApplied);
  add("AValueThatIsNotFiniteKeepsAllOfAPushOut", AValueThatIsNotFiniteKeepsAllOfAPushOut);
  add("BitsAreAssignedWhateverTheyAreAndTheStateStays",
      BitsAreAssignedWhateverTheyAreAndTheStateStays);
  add("APushWithoutRowsIsCheckedAndChangesNothing", APushWithoutRowsIsCheckedAndChangesNothing);
  add("ADroppedTensorIsGoneAndItsNameFree", ADroppedTensorIsGoneAndItsNameFree);
  add("FeaturesAndTensorsComeInOnePull", FeaturesAndTensorsComeInOnePull);
  add("PushesOfOneCallAreAnsweredInOrder", PushesOfOneCallAreAnsweredInOrder);
  add("PushesStartedByOneThreadAreAllApplied", PushesStartedByOneThreadAreAllApplied);
  add("PushesOfOneCallAreCheckedBeforeAnyIsMade", PushesOfOneCallAreCheckedBeforeAnyIsMade);
  add("ASnapshotOfAStepIsTakenOnce", ASnapshotOfAStepIsTakenOnce);
  add("ASnapshotIsGoneBackToAndDeleted", ASnapshotIsGoneBackToAndDeleted);
}

}  // namespace halograph
