// What rows of a tensor must do wherever they are: in memory, or by key beyond it.
#include <array>
#include <numeric>
#include <thread>

#include "common/state/engine/rows/keyed_rows.h"
#include "common/state/engine/rows/live_tensor.h"
#include "common/state/engine/rows/memory_rows.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

enum class Where : uint8_t { kMemory, kKeyed, kKeyedOneByOne };

class StateRowsTest : public StoreTest, public testing::WithParamInterface<Where> {
 protected:
  [[nodiscard]] std::unique_ptr<StateRows> Make(const MutableTensorSpec& spec) {
    const std::shared_ptr<const RowPlacement> placement =
        RowPlacement::Make(spec, schema_, book_).value();
    RowOrigins origins = RowOrigins::Make(spec, placement, {0, kOwnedNodes}, graph_).value();
    if (GetParam() == Where::kMemory) {
      return std::make_unique<MemoryRows>(RowTable::Make(spec, kOwnedNodes).value(),
                                          std::move(origins));
    }
    const int64_t at_a_time = GetParam() == Where::kKeyed ? KeyedRows::kBytesAtATime : 1;
    return KeyedRows::Make(spec, std::move(origins), space_, at_a_time).value();
  }
  [[nodiscard]] std::unique_ptr<StateRows> MakeBegun(const MutableTensorSpec& spec) {
    std::unique_ptr<StateRows> rows = Make(spec);
    EXPECT_TRUE(rows->Forget().ok());
    EXPECT_TRUE(rows->Begin(0, kOwnedNodes).ok());
    return rows;
  }

  // Images of all rows, one after the other.
  static std::vector<std::byte> Images(const StateRows& rows) {
    std::vector<int64_t> all(static_cast<size_t>(rows.rows()));
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::byte> images(all.size() * rows.image_bytes());
    EXPECT_TRUE(rows.SaveImages(all, images.data()).ok());
    return images;
  }
  static std::vector<std::byte> Images(ReferenceState* reference) {
    std::vector<std::byte> images;
    for (int64_t row = 0; row < kOwnedNodes; ++row) {
      const std::vector<std::byte> image = reference->Image(OriginalId(row));
      images.insert(images.end(), image.begin(), image.end());
    }
    return images;
  }

  // Applies the pushes as one, to both. A push's ids are local rows: part 0 has the first ones.
  static void ApplyToBoth(PushKind kind, const std::vector<TestPush>& pushes, StateRows* rows,
                          ReferenceState* reference) {
    std::vector<std::vector<int64_t>> originals;
    for (const TestPush& push : pushes) {
      originals.emplace_back();
      for (const int64_t row : push.ids) originals.back().push_back(OriginalId(row));
    }
    std::vector<PushedRows> lists;
    std::vector<PushedRows> reference_lists;
    for (size_t i = 0; i < pushes.size(); ++i) {
      const auto values = std::as_bytes(std::span(pushes[i].values));
      lists.push_back({pushes[i].ids, DType::kFloat32, values});
      reference_lists.push_back({originals[i], DType::kFloat32, values});
    }
    EXPECT_TRUE(rows->Apply(kind, lists).ok());
    reference->Apply(kind, reference_lists);
  }

  const std::shared_ptr<RowSpace> space_ = std::make_shared<PlainRowSpace>();
};

std::string NameOfPlace(const testing::TestParamInfo<Where>& place) {
  constexpr std::array<const char*, 3> kNames = {"Memory", "Keyed", "KeyedOneByOne"};
  return kNames[static_cast<size_t>(place.param)];
}
INSTANTIATE_TEST_SUITE_P(Everywhere, StateRowsTest,
                         testing::Values(Where::kMemory, Where::kKeyed, Where::kKeyedOneByOne),
                         NameOfPlace);

TEST_P(StateRowsTest, RowsBeginAsTheirOriginalIdsSay) {
  ReferenceState reference(Embedding(), kNodes);
  EXPECT_EQ(Images(*MakeBegun(Embedding())), Images(&reference));
}

TEST_P(StateRowsTest, PushesOfEveryKindGiveWhatPlainLoopsGive) {
  for (const RowOptimizer::Kind kind :
       {RowOptimizer::Kind::kSgd, RowOptimizer::Kind::kAdagrad, RowOptimizer::Kind::kRowAdagrad,
        RowOptimizer::Kind::kAdam}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      MutableTensorSpec spec = Embedding();
      spec.dtype = dtype;
      spec.optimizer.kind = kind;
      const std::unique_ptr<StateRows> rows = MakeBegun(spec);
      ReferenceState reference(spec, kNodes);
      uint64_t number = 0;
      for (const PushKind of :
           {PushKind::kGradient, PushKind::kAdd, PushKind::kGradient, PushKind::kAssign}) {
        // Of different lengths, one of them empty, and with rows that stand in several.
        ApplyToBoth(of,
                    {RandomPush(1, ++number, 50), RandomPush(2, number, 0),
                     RandomPush(3, number, 900), RandomPush(4, number, 3)},
                    rows.get(), &reference);
      }
      ASSERT_EQ(Images(*rows), Images(&reference)) << spec.ToJson().dump();
    }
  }
}

// What an import pushes: bits that are no finite numbers too.
TEST_P(StateRowsTest, ImagesArePushedBitByBitAndTheLastPlaceCounts) {
  MutableTensorSpec spec = Embedding();
  spec.optimizer.kind = RowOptimizer::Kind::kAdam;
  const std::unique_ptr<StateRows> rows = MakeBegun(spec);
  ReferenceState reference(spec, kNodes);
  ApplyToBoth(PushKind::kGradient, {RandomPush(1, 1, 400)}, rows.get(), &reference);
  std::vector<std::byte> expected = Images(*rows);
  const size_t bytes = rows->image_bytes();
  std::mt19937_64 random(5);
  std::array<TestPush, 3> pushes = {RandomPush(1, 2, 300), RandomPush(1, 3, 0),
                                    RandomPush(1, 4, 500)};
  std::array<std::vector<std::byte>, 3> images;
  std::vector<PushedRows> lists;
  for (size_t i = 0; i < pushes.size(); ++i) {
    const std::vector<int64_t>& ids = pushes[i].ids;
    images[i].resize(ids.size() * bytes);
    for (std::byte& byte : images[i]) byte = static_cast<std::byte>(random());
    for (size_t j = 0; j < ids.size(); ++j) {
      std::memcpy(expected.data() + static_cast<size_t>(ids[j]) * bytes,
                  images[i].data() + j * bytes, bytes);
    }
    lists.push_back({ids, DType::kFloat32, images[i]});
  }
  ASSERT_TRUE(rows->Apply(PushKind::kImage, lists).ok());
  EXPECT_EQ(Images(*rows), expected);
}

// As an import of rows alone does: the state stays.
TEST_P(StateRowsTest, BitsArePushedWithoutTheStateAndWhatIsNotFiniteIsTold) {
  MutableTensorSpec spec = Embedding();
  spec.optimizer.kind = RowOptimizer::Kind::kAdam;
  const std::unique_ptr<StateRows> rows = MakeBegun(spec);
  ReferenceState reference(spec, kNodes);
  ApplyToBoth(PushKind::kGradient, {RandomPush(1, 1, 400)}, rows.get(), &reference);
  std::vector<std::byte> expected = Images(*rows);
  const size_t row_bytes = kDim * sizeof(float);
  const std::vector<int64_t> ids = {5, 599, 0, 5};
  std::vector<uint32_t> bits(ids.size() * kDim, 0x7f7fffff);  // the largest finite number
  bits[0] = 0x7fa00001;  // a signalling NaN, replaced by 5's last
  bits[kDim] = 0xff800000;
  bits[2 * kDim + 1] = 0xffc12345;  // NaN
  const auto values = std::as_bytes(std::span(bits));
  for (size_t i = 0; i < ids.size(); ++i) {
    std::memcpy(expected.data() + static_cast<size_t>(ids[i]) * rows->image_bytes(),
                values.data() + i * row_bytes, row_bytes);
  }
  const PushedRows list = {ids, DType::kFloat32, values};
  const StatusOr<int64_t> not_finite = rows->Apply(PushKind::kBits, {&list, 1});
  ASSERT_TRUE(not_finite.ok()) << ToString(not_finite.status());
  EXPECT_EQ(*not_finite, 3);
  EXPECT_EQ(Images(*rows), expected);
  // Adding leaves the state as it is, and a row that was infinite infinite.
  const std::vector<int64_t> added = {599, 1};
  const std::vector<float> ones(added.size() * kDim, 1);
  const PushedRows more = {added, DType::kFloat32, std::as_bytes(std::span(ones))};
  EXPECT_EQ(rows->Apply(PushKind::kAdd, {&more, 1}).value(), 1);
  EXPECT_EQ(rows->Apply(PushKind::kGradient, {&more, 1}).value(), 1);
}

TEST_P(StateRowsTest, GatherPutsValuesInTheirPlaces) {
  const std::unique_ptr<StateRows> rows = MakeBegun(Embedding());
  ReferenceState reference(Embedding(), kNodes);
  ApplyToBoth(PushKind::kGradient, {RandomPush(1, 1, 400)}, rows.get(), &reference);
  const std::vector<int64_t> asked = {7, 599, 7, 0, 300};
  const size_t bytes = kDim * sizeof(float);
  std::vector<std::byte> in_order(asked.size() * bytes);
  ASSERT_TRUE(rows->Gather(asked, {}, in_order.data()).ok());
  const std::vector<int64_t> positions = {4, 3, 2, 1, 0};
  std::vector<std::byte> reversed(asked.size() * bytes);
  ASSERT_TRUE(rows->Gather(asked, positions, reversed.data()).ok());
  for (size_t i = 0; i < asked.size(); ++i) {
    const std::vector<std::byte> row = reference.Pull(OriginalId(asked[i]));
    EXPECT_EQ(std::memcmp(in_order.data() + i * bytes, row.data(), bytes), 0) << i;
    EXPECT_EQ(std::memcmp(reversed.data() + (4 - i) * bytes, row.data(), bytes), 0) << i;
  }
}

TEST_P(StateRowsTest, LoadedImagesStayAndTheOtherRowsBeginAnew) {
  const std::unique_ptr<StateRows> rows = MakeBegun(Embedding());
  ReferenceState before(Embedding(), kNodes);
  ApplyToBoth(PushKind::kGradient, {RandomPush(1, 1, 2000)}, rows.get(), &before);
  const std::vector<int64_t> kept = {599, 3, 4};
  std::vector<std::byte> images(kept.size() * rows->image_bytes());
  ASSERT_TRUE(rows->SaveImages(kept, images.data()).ok());

  ASSERT_TRUE(rows->Forget().ok());
  ASSERT_TRUE(rows->LoadImages(kept, images).ok());
  ASSERT_TRUE(rows->Begin(0, 3).ok());
  ASSERT_TRUE(rows->Begin(5, 599).ok());
  ReferenceState begun(Embedding(), kNodes);
  std::vector<std::byte> expected = Images(&begun);
  for (size_t i = 0; i < kept.size(); ++i) {
    std::memcpy(expected.data() + static_cast<size_t>(kept[i]) * rows->image_bytes(),
                images.data() + i * rows->image_bytes(), rows->image_bytes());
  }
  EXPECT_EQ(Images(*rows), expected);
}

TEST(KeyedRowsTest, TwoTensorsInOneSpaceDoNotSeeEachOtherAndForgetWhenTheyEnd) {
  const auto space = std::make_shared<PlainRowSpace>();
  Schema schema;
  schema.node_types = {{.name = "node", .count = 4, .features = {}}};
  const PartitionBook book = *PartitionBook::Create(schema, {{0, 4}}, {});
  StateGraph graph;
  MutableTensorSpec spec;
  spec.ref.name = "numbers";
  spec.placement = Placement::kRange;
  spec.rows = 4;
  const std::shared_ptr<const RowPlacement> placement =
      RowPlacement::Make(spec, schema, book).value();
  const auto make = [&] {
    return KeyedRows::Make(spec, RowOrigins::Make(spec, placement, {0, 4}, graph).value(), space)
        .value();
  };
  const std::vector<int64_t> rows = {2};
  const auto write = [&](KeyedRows& to, float value) {
    EXPECT_TRUE(to.LoadImages(rows, std::as_bytes(std::span(&value, 1))).ok());
  };
  const auto read = [&](const KeyedRows& from) {
    float value = -1;
    EXPECT_TRUE(from.SaveImages(rows, reinterpret_cast<std::byte*>(&value)).ok());
    return value;
  };
  const std::unique_ptr<KeyedRows> first = make();
  std::unique_ptr<KeyedRows> second = make();
  write(*first, 1);
  write(*second, 2);
  EXPECT_EQ(read(*first), 1);
  EXPECT_EQ(read(*second), 2);
  second.reset();
  EXPECT_EQ(read(*first), 1);
  EXPECT_EQ(read(*make()), 0);
}

// --- In a store: tensors whose rows are beyond its memory ----------------------------------------

class BeyondMemoryTest : public StoreTest {
 protected:
  // One tensor takes 19,200 bytes of rows and 225 of sets.
  static constexpr int64_t kOne = 20'000;

  PlainEnv& env() { return dynamic_cast<PlainEnv&>(*env_); }
  [[nodiscard]] Status Pushed(const TestPush& push) {
    return store_->Push(push.request(), {}).status();
  }
};

TEST_F(BeyondMemoryTest, TensorThatDoesNotFitHasItsRowsBeyondAndTheSameBits) {
  options_.memory_bytes = kOne + 1000;
  OpenWith(Embedding());
  EXPECT_EQ(env().num_row_spaces(), 0);
  ASSERT_TRUE(store_->Create(Embedding("second")).ok());
  EXPECT_EQ(env().num_row_spaces(), 1);
  EXPECT_LT(store_->Describe({false, "node", "second"})->memory_bytes, 1000);
  std::vector<std::vector<TestPush>> applied;
  for (uint64_t i = 1; i <= 30; ++i) {
    TestPush push = RandomPush(1, 2 * i);
    MustPush(push);
    push.tensor = "second";
    push.sequence = 2 * i + 1;
    MustPush(push);
    applied.push_back({push});
    if (i % 7 == 0) {
      ASSERT_TRUE(store_->Checkpoint().ok());
    }
  }
  EXPECT_EQ(PullAll(), Expected(applied));
  EXPECT_EQ(PullAll(0, "second"), Expected(applied));
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied));
  EXPECT_EQ(PullAll(0, "second"), Expected(applied));
}

TEST_F(BeyondMemoryTest, RowsComeAndGoWithTheMemoryThatAStartAllows) {
  options_.memory_bytes = 1000;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  ASSERT_TRUE(store_->Checkpoint().ok());
  MustPush(RandomPush(1, 2));
  for (const int64_t memory : {kOne, int64_t{1000}}) {
    options_.memory_bytes = memory;
    const int before = env().num_row_spaces();
    MustOpen();
    EXPECT_EQ(env().num_row_spaces() - before, memory == kOne ? 0 : 1);
    EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}, {RandomPush(1, 2)}}));
  }
}

TEST_F(BeyondMemoryTest, DroppedTensorMakesRoomInMemory) {
  options_.memory_bytes = kOne + 1000;
  OpenWith(Embedding());
  ASSERT_TRUE(store_->Create(Embedding("second")).ok());
  ASSERT_TRUE(store_->Drop({false, "node", "emb"}).ok());
  ASSERT_TRUE(store_->Drop({false, "node", "second"}).ok());
  ASSERT_TRUE(store_->Create(Embedding("third")).ok());
  EXPECT_GT(store_->Describe({false, "node", "third"})->memory_bytes, 19'000);
}

TEST_F(BeyondMemoryTest, RestoredTensorThatWasDroppedHasItsRowsAgain) {
  options_.memory_bytes = 1000;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  ASSERT_TRUE(store_->Snapshot("one", {}, {}).ok());
  MustPush(RandomPush(1, 2));
  ASSERT_TRUE(store_->RestoreSnapshot("one").ok());  // of the tensor that is there
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}}));
  ASSERT_TRUE(store_->Drop({false, "node", "emb"}).ok());
  ASSERT_TRUE(store_->RestoreSnapshot("one").ok());
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}}));
}

// The sets of rows of all tensors have room before any rows: else this would need more than there
// is, because the one that came second would now be in memory.
TEST_F(BeyondMemoryTest, WhatHadRoomOnceHasRoomAtEveryStart) {
  options_.memory_bytes = kOne;
  MutableTensorSpec small = Embedding("small");
  small.dim = 1;  // 4,800 bytes
  OpenWith(small);
  ASSERT_TRUE(store_->Create(Embedding()).ok());  // beyond
  ASSERT_TRUE(store_->Drop(small.ref).ok());
  MustPush(RandomPush(1, 1));
  std::vector<std::string> names = {"emb"};
  while (true) {
    const std::string name = "more" + std::to_string(names.size());
    const Status created = store_->Create(Embedding(name));
    if (absl::IsResourceExhausted(created)) break;
    ASSERT_TRUE(created.ok()) << ToString(created);
    names.push_back(name);
  }
  EXPECT_GT(names.size(), 10u);
  MustOpen();
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}}));
}

TEST_F(BeyondMemoryTest, PushThatTheSpaceDoesNotTakeStopsPushesAndCountsOnceAfterARestart) {
  options_.memory_bytes = 1000;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  env().row_space_fails() = true;
  // Whether it came into the log before all was stopped or not.
  static_cast<void>(Pushed(RandomPush(1, 2)).ok());
  env().row_space_fails() = false;
  // The rows may have a part of it.
  std::vector<std::byte> row(kDim * sizeof(float));
  const std::vector<int64_t> ids = {1};
  const Status pulled = store_->Pull({false, "node", "emb"}, ids, {}, 0, row.data(), {});
  EXPECT_TRUE(absl::IsUnavailable(pulled)) << ToString(pulled);
  EXPECT_TRUE(absl::IsUnavailable(Pushed(RandomPush(1, 3))));
  MustOpen();
  MustPush(RandomPush(1, 2));
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}, {RandomPush(1, 2)}}));
}

TEST_F(BeyondMemoryTest, TensorIsNotWholeFromTheFirstChangeThatFailedOn) {
  const auto tensor = LiveTensor::Make(1, Embedding(), graph_, env_->scheduler(),
                                       env_->OpenRowSpace(folder_.path() / "rows", 1 << 20).value())
                          .value();
  const TestPush push = RandomPush(1, 1);
  const PushedRows rows{push.ids, DType::kFloat32, std::as_bytes(std::span(push.values))};
  const std::span<const PushedRows> lists(&rows, 1);
  EXPECT_TRUE(tensor->Apply(push.kind, lists).ok());
  EXPECT_TRUE(tensor->CheckWhole().ok());
  env().row_space_fails() = true;
  EXPECT_FALSE(tensor->Apply(push.kind, lists).ok());
  env().row_space_fails() = false;
  EXPECT_TRUE(absl::IsUnavailable(tensor->CheckWhole()));
  EXPECT_TRUE(tensor->Apply(push.kind, lists).ok());  // that was under way
  EXPECT_TRUE(absl::IsUnavailable(tensor->CheckWhole()));
}

TEST_F(BeyondMemoryTest, PullThatWaitsForAStepLearnsThatItsRowsDidNotTakeIt) {
  options_.memory_bytes = 1000;
  options_.step_timeout_ns = 60'000'000'000;
  OpenWith(Embedding());
  const int64_t lsn = MustPush(StepPush(1, 0, 2)).lsn;
  Status pulled;
  std::thread puller([&] {
    std::vector<std::byte> row(kDim * sizeof(float));
    const std::vector<int64_t> ids = {1};
    pulled = store_->Pull({false, "node", "emb"}, ids, {}, lsn, row.data(), {});
  });
  env().row_space_fails() = true;
  static_cast<void>(Pushed(StepPush(1, 1, 2)).ok());
  puller.join();
  EXPECT_TRUE(absl::IsUnavailable(pulled)) << ToString(pulled);
}

TEST_F(BeyondMemoryTest, PullThatTheSpaceDoesNotAnswerIsAnErrorOfThePullAlone) {
  options_.memory_bytes = 1000;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  env().row_space_fails() = true;
  std::vector<std::byte> row(kDim * sizeof(float));
  const std::vector<int64_t> ids = {1};
  const Status pulled = store_->Pull({false, "node", "emb"}, ids, {}, 0, row.data(), {});
  EXPECT_EQ(pulled.code(), absl::StatusCode::kInternal) << ToString(pulled);
  env().row_space_fails() = false;
  MustPush(RandomPush(1, 2));
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}, {RandomPush(1, 2)}}));
}

TEST_F(BeyondMemoryTest, CheckpointThatCannotReadTheRowsIsNotSet) {
  options_.memory_bytes = 1000;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  env().row_space_fails() = true;
  EXPECT_FALSE(store_->Checkpoint().ok());
  EXPECT_FALSE(store_->Snapshot("none", {}, {}).ok());
  env().row_space_fails() = false;
  MustOpen();
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}}));
  EXPECT_TRUE(store_->Snapshots().empty());
  EXPECT_TRUE(store_->Checkpoint().ok());
}

}  // namespace
}  // namespace halograph
