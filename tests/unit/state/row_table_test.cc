#include "common/state/row_table.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/state/row_kernels.h"
#include "tests/support/every_target.h"
#include "tests/support/reference_state.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr DType kDtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
constexpr int64_t kWidths[] = {1, 3, 31, 33, 64, 100};

MutableTensorSpec Spec(int64_t dim, DType dtype, RowOptimizer optimizer = {}) {
  MutableTensorSpec spec;
  spec.ref.name = "emb";
  spec.placement = Placement::kRange;
  spec.rows = 1000;
  spec.dim = dim;
  spec.dtype = dtype;
  spec.initializer = {.kind = Initializer::Kind::kUniform, .a = -1, .b = 1, .seed = 7};
  spec.optimizer = optimizer;
  return spec;
}

std::vector<RowOptimizer> Optimizers() {
  using Kind = RowOptimizer::Kind;
  return {{.kind = Kind::kSgd, .learning_rate = 0.1},
          {.kind = Kind::kSgd, .learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01},
          {.kind = Kind::kAdagrad, .learning_rate = 0.05},
          {.kind = Kind::kAdagrad, .learning_rate = 0.05, .weight_decay = 0.1},
          {.kind = Kind::kRowAdagrad, .learning_rate = 0.05, .weight_decay = 0.01},
          {.kind = Kind::kAdam, .learning_rate = 0.01, .weight_decay = 0.01}};
}

// A list that owns what it shows. Row 3 stands in it again and again.
struct OwnedList {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> rows = {};
  Bytes values = {};

  static OwnedList Random(uint64_t seed, int64_t table_rows, size_t count, int64_t dim,
                          DType dtype) {
    CounterRng rng(seed);
    OwnedList list{.dtype = dtype};
    for (size_t i = 0; i < count; ++i) {
      const auto row = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(table_rows)));
      list.rows.push_back(i % 5 == 4 ? 3 % table_rows : row);
    }
    const size_t bytes = DTypeSize(dtype);
    list.values.resize(count * static_cast<size_t>(dim) * bytes);
    for (size_t at = 0; at < list.values.size(); at += bytes) {
      const auto value = static_cast<float>(rng.NextDouble() - 0.5);
      StoreElement(dtype, RoundedTo(dtype, value), list.values.data() + at);
    }
    return list;
  }
  static OwnedList Of(std::vector<int64_t> rows, const std::vector<float>& values) {
    OwnedList list{.rows = std::move(rows)};
    list.values.resize(values.size() * 4);
    std::memcpy(list.values.data(), values.data(), list.values.size());
    return list;
  }
  [[nodiscard]] PushedRows view() const { return {rows, dtype, values}; }
};

RowTable MakeTable(const MutableTensorSpec& spec, int64_t rows, ThreadPool* pool = nullptr) {
  auto table = RowTable::Make(spec, rows);
  EXPECT_TRUE(table.ok()) << table.status();
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < rows; ++i) ids.push_back(i);
  table->Initialize(0, ids, spec.rows, pool);
  return std::move(table).value();
}

int64_t Apply(PushKind kind, std::span<const PushedRows> lists, ThreadPool* pool, RowTable* table) {
  if (kind == PushKind::kGradient) return table->ApplyGradients(lists, pool);
  if (kind == PushKind::kAdd) return table->Add(lists, pool);
  return table->Assign(lists, pool);
}

Bytes ImageOf(const RowTable& table, int64_t row) {
  Bytes image(table.image_bytes());
  table.SaveImage(row, image.data());
  return image;
}

// The first row that differs from the reference, or -1.
int64_t FirstDifference(const RowTable& table, ReferenceState* reference) {
  for (int64_t row = 0; row < table.rows(); ++row) {
    if (ImageOf(table, row) != reference->Image(row)) return row;
  }
  return -1;
}

// --- Updates, with each instruction set ----------------------------------------------------------

using RowUpdateTest = EveryTargetTest;
HALOGRAPH_EVERY_TARGET(RowUpdateTest);

void CompareWithReference(const MutableTensorSpec& spec, PushKind kind) {
  constexpr int64_t kRows = 40;
  RowTable table = MakeTable(spec, kRows);
  ReferenceState reference(spec, spec.rows);
  for (uint64_t push = 0; push < 3; ++push) {
    std::vector<OwnedList> lists;
    for (uint64_t i = 0; i < 3; ++i) {
      lists.push_back(OwnedList::Random(10 * push + i, kRows, i == 1 ? 0 : 12 + push, spec.dim,
                                        kDtypes[(push + i) % 3]));
    }
    std::vector<PushedRows> views;
    for (const OwnedList& list : lists) views.push_back(list.view());
    Apply(kind, views, nullptr, &table);
    reference.Apply(kind, views);
    ASSERT_EQ(FirstDifference(table, &reference), -1)
        << spec.ToJson().dump() << " kind " << static_cast<int>(kind) << " push " << push;
  }
}

TEST_P(RowUpdateTest, EveryOptimizerDtypeAndWidthGivesTheBitsOfTheReference) {
  for (const RowOptimizer& optimizer : Optimizers()) {
    for (const DType dtype : kDtypes) {
      for (const int64_t width : kWidths) {
        CompareWithReference(Spec(width, dtype, optimizer), PushKind::kGradient);
      }
    }
  }
}

TEST_P(RowUpdateTest, AddAndAssignGiveTheBitsOfTheReferenceAndLeaveState) {
  const RowOptimizer adam = {.kind = RowOptimizer::Kind::kAdam};
  for (const PushKind kind : {PushKind::kAdd, PushKind::kAssign}) {
    for (const DType dtype : kDtypes) {
      for (const int64_t width : kWidths) CompareWithReference(Spec(width, dtype, adam), kind);
    }
  }
}

TEST_P(RowUpdateTest, NarrowDtypesAreRoundedToNearestEven) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    // Every number of the dtype, the middle to the next, and the float32 numbers around it.
    std::vector<float> values;
    const uint16_t infinity = dtype == DType::kFloat16 ? 0x7c00 : 0x7f80;
    for (uint16_t bits = 0; bits < infinity; ++bits) {
      const auto next = static_cast<uint16_t>(bits + 1);
      const float low = ToFloat(dtype, reinterpret_cast<const std::byte*>(&bits));
      float high = ToFloat(dtype, reinterpret_cast<const std::byte*>(&next));
      if (next == infinity) high = dtype == DType::kFloat16 ? 65536 : INFINITY;
      const float middle = std::isinf(high) ? 0x1.ffp127F : low + (high - low) / 2;
      for (const float value :
           {low, std::nextafter(middle, 0.0F), middle, std::nextafter(middle, INFINITY)}) {
        values.insert(values.end(), {value, -value});
      }
    }
    values.insert(values.end(), {INFINITY, -INFINITY, std::numeric_limits<float>::max()});
    const RowLayout layout{.dtype = dtype, .dim = static_cast<int64_t>(values.size())};
    Bytes written(values.size() * 2);
    WriteRow(layout, values.data(), written.data());
    for (size_t i = 0; i < values.size(); ++i) {
      std::byte expected[2];
      StoreElement(dtype, RoundedTo(dtype, values[i]), expected);
      ASSERT_EQ(std::memcmp(written.data() + 2 * i, expected, 2), 0) << values[i];
    }
  }
}

TEST_P(RowUpdateTest, NotFiniteValuesAreFoundWhereverTheyStand) {
  constexpr size_t kCount = 10'001;
  for (const DType dtype : kDtypes) {
    const size_t bytes = DTypeSize(dtype);
    Bytes values(kCount * bytes + 1, std::byte{0x7b});  // large and finite in all three
    const std::span<const std::byte> odd = std::span(values).subspan(1);  // not aligned
    EXPECT_FALSE(FindNotFinite(dtype, odd).has_value());
    for (const size_t bad : {size_t{0}, size_t{17}, size_t{4095}, size_t{4096}, kCount - 1}) {
      Bytes damaged = values;
      StoreElement(dtype, bad % 2 == 0 ? INFINITY : -INFINITY, damaged.data() + 1 + bad * bytes);
      EXPECT_EQ(FindNotFinite(dtype, std::span<const std::byte>(damaged).subspan(1)), bad);
    }
    Bytes damaged = values;
    std::fill_n(damaged.begin() + 1 + 4 * static_cast<int64_t>(bytes), bytes, std::byte{0xff});
    EXPECT_EQ(FindNotFinite(dtype, std::span<const std::byte>(damaged).subspan(1)), 4) << "NaN";
  }
}

// Of the rows that stand in the lists, those whose images are not finite now.
int64_t NotFiniteRows(const RowTable& table, const MutableTensorSpec& spec, bool with_state,
                      std::span<const PushedRows> lists) {
  const RowLayout layout = RowLayout::Of(spec);
  std::set<int64_t> rows;
  for (const PushedRows& list : lists) rows.insert(list.rows.begin(), list.rows.end());
  return std::count_if(rows.begin(), rows.end(), [&](int64_t row) {
    const Bytes image = ImageOf(table, row);
    bool finite = true;
    const auto see = [&](DType dtype, size_t at, size_t count) {
      for (size_t i = 0; i < count; ++i, at += DTypeSize(dtype)) {
        finite = finite && std::isfinite(ToFloat(dtype, image.data() + at));
      }
    };
    see(spec.dtype, 0, static_cast<size_t>(spec.dim));
    if (with_state) see(DType::kFloat32, layout.value_bytes, layout.state_floats);
    return !finite;
  });
}

TEST_P(RowUpdateTest, TellsHowManyRowsItLeavesNotFinite) {
  constexpr int64_t kRows = 40;
  constexpr float kLarge[] = {3e38F, -3e38F, 1e20F, 60000, -1e30F};
  int64_t found = 0;
  for (const RowOptimizer& optimizer : Optimizers()) {
    for (const DType dtype : kDtypes) {
      for (const int64_t width : kWidths) {
        const MutableTensorSpec spec = Spec(width, dtype, optimizer);
        RowTable table = MakeTable(spec, kRows);
        for (uint64_t push = 0; push < 6; ++push) {
          OwnedList list = OwnedList::Random(push, kRows, 12, width, DType::kFloat32);
          if (push % 2 == 1) {  // in the last column of two entries
            for (const size_t entry : {push, size_t{11}}) {
              const size_t at = (entry + 1) * static_cast<size_t>(width) - 1;
              StoreElement(DType::kFloat32, kLarge[(push + entry) % 5], &list.values[4 * at]);
            }
          }
          const std::vector<PushedRows> lists = {list.view()};
          const PushKind kind = push < 4 ? PushKind::kGradient : PushKind::kAdd;
          const int64_t told = Apply(kind, lists, nullptr, &table);
          ASSERT_EQ(told, NotFiniteRows(table, spec, kind == PushKind::kGradient, lists))
              << spec.ToJson().dump() << " push " << push;
          found += told;
        }
      }
    }
  }
  EXPECT_GT(found, 100);
}

// A value becomes infinite by rounding alone.
TEST_P(RowUpdateTest, TheFirstNumberThatIsRoundedToInfinityCounts) {
  struct Edge {
    DType dtype;
    float last;  // that becomes finite
    float first;
  };
  for (const Edge& edge : {Edge{DType::kFloat16, 0x1.ffdffep15F, 65520},
                           Edge{DType::kBFloat16, 0x1.fefffep127F, 0x1.ffp127F}}) {
    RowTable table = MakeTable(Spec(17, edge.dtype), 5);
    for (const float sign : {1.0F, -1.0F}) {
      std::vector<float> values(2 * 17, sign * edge.last);
      const OwnedList last = OwnedList::Of({1, 4}, values);
      EXPECT_EQ(table.Assign(std::vector<PushedRows>{last.view()}, nullptr), 0);
      values[20] = sign * edge.first;
      const OwnedList first = OwnedList::Of({1, 4}, values);
      EXPECT_EQ(table.Assign(std::vector<PushedRows>{first.view()}, nullptr), 1);
    }
  }
}

// --- What a push is
// --------------------------------------------------------------------------------

TEST(RowTableTest, DuplicatesAreSummedInTheOrderOfListsAndPositions) {
  MutableTensorSpec spec = Spec(1, DType::kFloat32);
  spec.initializer = {};
  RowTable table = MakeTable(spec, 4);
  // In this order the 1 is lost in the large number; in any other it is not.
  const OwnedList first = OwnedList::Of({2, 1, 2}, {1e8F, 5, 1});
  const OwnedList second = OwnedList::Of({2}, {-1e8F});
  const std::vector<PushedRows> lists = {first.view(), {}, second.view()};
  table.Add(lists, nullptr);
  Bytes rows(4 * 4);
  table.Gather(std::vector<int64_t>{0, 1, 2, 3}, {}, rows.data());
  std::vector<float> values(4);
  std::memcpy(values.data(), rows.data(), rows.size());
  EXPECT_THAT(values, testing::ElementsAre(0, 5, 0, 0));
}

TEST(RowTableTest, ARowIsUpdatedOncePerPushHoweverOftenItStandsInIt) {
  // Adam's first step moves by the learning rate whatever the gradient.
  MutableTensorSpec spec =
      Spec(2, DType::kFloat32, {.kind = RowOptimizer::Kind::kAdam, .learning_rate = 0.125});
  spec.initializer = {};
  RowTable table = MakeTable(spec, 2);
  const OwnedList list = OwnedList::Of({1, 1, 1}, {3, -4, 5, -6, 7, -8});
  table.ApplyGradients(std::vector<PushedRows>{list.view()}, nullptr);
  float values[2];
  table.Gather(std::vector<int64_t>{1}, {}, reinterpret_cast<std::byte*>(values));
  EXPECT_NEAR(values[0], -0.125, 1e-6);
  EXPECT_NEAR(values[1], 0.125, 1e-6);
  uint32_t updates = 0;
  const Bytes image = ImageOf(table, 1);
  std::memcpy(&updates, image.data() + image.size() - 4, 4);
  EXPECT_EQ(updates, 1U);
}

TEST(RowTableTest, AdagradTakesTheRootOfAllSquaresSoFar) {
  MutableTensorSpec spec =
      Spec(1, DType::kFloat32, {.kind = RowOptimizer::Kind::kAdagrad, .learning_rate = 1});
  spec.initializer = {};
  RowTable table = MakeTable(spec, 1);
  for (const float gradient : {3.0F, 4.0F}) {
    const OwnedList list = OwnedList::Of({0}, {gradient});
    table.ApplyGradients(std::vector<PushedRows>{list.view()}, nullptr);
  }
  float value = 0;
  table.Gather(std::vector<int64_t>{0}, {}, reinterpret_cast<std::byte*>(&value));
  EXPECT_FLOAT_EQ(value, -1 - 4.0F / 5);
}

TEST(RowTableTest, EmptyPushesChangeNothing) {
  const MutableTensorSpec spec = Spec(5, DType::kFloat16, {.kind = RowOptimizer::Kind::kAdam});
  RowTable table = MakeTable(spec, 3);
  ReferenceState reference(spec, spec.rows);
  table.ApplyGradients({}, nullptr);
  table.ApplyGradients(std::vector<PushedRows>(2), nullptr);
  table.Add({}, nullptr);
  table.Assign(std::vector<PushedRows>(1), nullptr);
  EXPECT_EQ(FirstDifference(table, &reference), -1);
}

class ManyEntriesTest : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(TableRows, ManyEntriesTest, testing::Values(1, 40, 3000));

TEST_P(ManyEntriesTest, ThreadsChangeNoBit) {
  const MutableTensorSpec spec =
      Spec(3, DType::kFloat32, {.kind = RowOptimizer::Kind::kRowAdagrad, .learning_rate = 0.1});
  ThreadPool pool("test", 3, 64);
  RowTable alone = MakeTable(spec, GetParam());
  RowTable shared = MakeTable(spec, GetParam(), &pool);
  ReferenceState reference(spec, spec.rows);
  for (uint64_t push = 0; push < 2; ++push) {
    // Row 3 goes on through several chunks.
    const OwnedList first = OwnedList::Random(push, GetParam(), 40'000, 3, DType::kFloat32);
    const OwnedList second = OwnedList::Random(push + 9, GetParam(), 600, 3, DType::kBFloat16);
    const std::vector<PushedRows> lists = {first.view(), second.view()};
    alone.ApplyGradients(lists, nullptr);
    shared.ApplyGradients(lists, &pool);
    reference.Apply(PushKind::kGradient, lists);
  }
  EXPECT_EQ(FirstDifference(alone, &reference), -1);
  EXPECT_EQ(FirstDifference(shared, &reference), -1);
}

TEST(RowTableTest, RowsMayHaveTheMostColumns) {
  const MutableTensorSpec spec =
      Spec(kMaxTensorDim, DType::kFloat16, {.kind = RowOptimizer::Kind::kAdagrad});
  ThreadPool pool("test", 2, 64);
  RowTable table = MakeTable(spec, 20, &pool);
  ReferenceState reference(spec, spec.rows);
  const OwnedList list = OwnedList::Random(1, 20, 40, spec.dim, DType::kFloat32);
  const std::vector<PushedRows> lists = {list.view()};
  table.ApplyGradients(lists, &pool);
  reference.Apply(PushKind::kGradient, lists);
  EXPECT_EQ(FirstDifference(table, &reference), -1);
}

// --- Beginning, images, pulls
// ------------------------------------------------------------------------

TEST(RowTableTest, InitializeGivesRowsTheirBeginningByOriginalId) {
  using Kind = Initializer::Kind;
  ThreadPool pool("test", 2, 16);
  for (const Initializer& start :
       {Initializer{}, Initializer{.kind = Kind::kConstant, .a = 0.3},
        Initializer{.kind = Kind::kUniform, .a = -2, .b = 3, .seed = 1},
        Initializer{.kind = Kind::kNormal, .a = 1, .b = 0.5, .seed = ~uint64_t{0}},
        Initializer{.kind = Kind::kXavier, .seed = 5}}) {
    for (const DType dtype : kDtypes) {
      MutableTensorSpec spec = Spec(33, dtype, {.kind = RowOptimizer::Kind::kAdam});
      spec.initializer = start;
      RowTable table = MakeTable(spec, 9);
      ReferenceState reference(spec, spec.rows);
      // A pushed row becomes new again, its state too, under another original id.
      const OwnedList list = OwnedList::Random(3, 9, 50, 33, DType::kFloat32);
      table.ApplyGradients(std::vector<PushedRows>{list.view()}, nullptr);
      table.Initialize(4, std::vector<int64_t>{500, 7}, spec.rows, &pool);
      EXPECT_EQ(ImageOf(table, 4), reference.Image(500));
      EXPECT_EQ(ImageOf(table, 5), reference.Image(7));
      EXPECT_NE(ImageOf(table, 3), reference.Image(3)) << "it was pushed";
    }
  }
}

TEST(RowTableTest, ImagesRoundTripAndTouchNoOtherRow) {
  for (const RowOptimizer& optimizer : Optimizers()) {
    for (const DType dtype : kDtypes) {
      const MutableTensorSpec spec = Spec(5, dtype, optimizer);  // its state is not side by side
      RowTable from = MakeTable(spec, 6);
      const OwnedList list = OwnedList::Random(1, 6, 50, 5, DType::kFloat32);
      from.ApplyGradients(std::vector<PushedRows>{list.view()}, nullptr);
      RowTable to = MakeTable(spec, 6);
      const Bytes before = ImageOf(to, 1);
      const Bytes behind = ImageOf(to, 3);
      to.LoadImage(2, ImageOf(from, 4).data());
      EXPECT_EQ(ImageOf(to, 2), ImageOf(from, 4));
      EXPECT_EQ(ImageOf(to, 1), before);
      EXPECT_EQ(ImageOf(to, 3), behind);
    }
  }
}

TEST(RowTableTest, GatherPutsRowsInTheirPlaces) {
  const MutableTensorSpec spec = Spec(3, DType::kBFloat16, {.kind = RowOptimizer::Kind::kAdagrad});
  const RowTable table = MakeTable(spec, 50);
  ReferenceState reference(spec, spec.rows);
  ASSERT_EQ(table.row_bytes(), 6U);
  const std::vector<int64_t> rows = {49, 0, 7, 7, 20, 1, 30, 2, 11};
  const std::vector<int64_t> positions = {8, 0, 1, 7, 3, 4, 6, 5, 2};
  Bytes in_order(rows.size() * 6);
  Bytes placed(rows.size() * 6);
  table.Gather(rows, {}, in_order.data());
  table.Gather(rows, positions, placed.data());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Bytes row = reference.Pull(rows[i]);
    EXPECT_EQ(std::memcmp(in_order.data() + i * 6, row.data(), 6), 0);
    EXPECT_EQ(std::memcmp(placed.data() + static_cast<size_t>(positions[i]) * 6, row.data(), 6), 0);
  }
}

TEST(RowTableTest, CheckFiniteNamesThePosition) {
  OwnedList list = OwnedList::Of({4, 4, 9}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(RowTable::CheckFinite(list.view(), 2).ok());
  EXPECT_TRUE(RowTable::CheckFinite({}, 2).ok());
  const float bad = -INFINITY;
  std::memcpy(list.values.data() + 3 * 4, &bad, 4);
  const Status status = RowTable::CheckFinite(list.view(), 2);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("position 1"), HasSubstr("column 1"), HasSubstr("-inf")));
}

// --- Memory --------------------------------------------------------------------------------------

TEST(RowTableTest, MemoryIsThatOfValuesAndState) {
  using Kind = RowOptimizer::Kind;
  const auto bytes = [](DType dtype, Kind kind) {
    return RowTable::MemoryBytes(Spec(64, dtype, {.kind = kind}), 1000);
  };
  EXPECT_EQ(bytes(DType::kFloat32, Kind::kAdagrad), 512'000);
  EXPECT_EQ(bytes(DType::kFloat32, Kind::kNone), 256'000);
  EXPECT_EQ(bytes(DType::kFloat32, Kind::kRowAdagrad), 260'000);
  EXPECT_EQ(bytes(DType::kBFloat16, Kind::kAdagrad), 384'000);
}

TEST(RowTableTest, MemoryThatIsNotThereIsResourceExhausted) {
  const MutableTensorSpec spec = Spec(kMaxTensorDim, DType::kFloat32);
  const int64_t rows = int64_t{1} << 45;
  EXPECT_EQ(RowTable::MemoryBytes(spec, rows), std::numeric_limits<int64_t>::max());
  const auto table = RowTable::Make(spec, rows);
  ASSERT_EQ(table.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(table.status()), HasSubstr("bytes of memory"));
}

}  // namespace
}  // namespace halograph
