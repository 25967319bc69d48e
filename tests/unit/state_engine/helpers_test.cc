// Threads that help with large pushes change how long a push takes, and nothing else.
#include <limits>

#include "common/state/helper_threads.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

constexpr int64_t kColumns = 64;

TEST(HelperThreadsTest, LargeWorkIsHelpedWhileEveryCallerAndHelperHasAProcessor) {
  HelperThreads helpers(1, 2);
  const size_t large = HelperThreads::kLeastBytes;
  EXPECT_EQ(HelperThreads::Share(&helpers, large - 1).pool(), nullptr);
  EXPECT_NE(HelperThreads::Share(&helpers, large).pool(), nullptr);
  {
    const HelperThreads::Share other(&helpers, 0);
    EXPECT_EQ(HelperThreads::Share(&helpers, large).pool(), nullptr) << "both processors work";
  }
  EXPECT_NE(HelperThreads::Share(&helpers, large).pool(), nullptr) << "the other has ended";
  HelperThreads three(1, 3);
  const HelperThreads::Share other(&three, 0);
  EXPECT_NE(HelperThreads::Share(&three, large).pool(), nullptr);
  EXPECT_EQ(helpers.shared(), 2);
  EXPECT_EQ(HelperThreads::Share(nullptr, large).pool(), nullptr);
}

TEST(HelperThreadsTest, ThereAreNoneBesideOneThread) { EXPECT_EQ(HelperThreads::Make(1), nullptr); }

struct Dtypes {
  DType table;
  DType pushed;
};

// A push of as many values as are worth helping with, of few rows: each is pushed many times.
struct LargePush {
  LargePush(uint64_t seed, DType dtype_in) : dtype(dtype_in) {
    constexpr size_t kEntries = 12'000;
    std::mt19937_64 random(seed);
    values.resize(kEntries * RowBytes(dtype, kColumns));
    for (size_t i = 0; i < kEntries; ++i) {
      ids.push_back(static_cast<int64_t>(random() % kOwnedNodes));
      for (int64_t c = 0; c < kColumns; ++c) Set(i, c, static_cast<float>(random() % 255) - 127);
    }
  }
  void Set(size_t position, int64_t column, float value) {
    const size_t bytes = DTypeSize(dtype);
    std::byte* const to =
        values.data() + position * RowBytes(dtype, kColumns) + static_cast<size_t>(column) * bytes;
    std::memcpy(to, reinterpret_cast<const std::byte*>(&value) + sizeof(value) - bytes, bytes);
  }
  [[nodiscard]] StatePush request(PushKind kind, uint64_t sequence) const {
    return {.push = {.tensor = {false, "node", "emb"},
                     .kind = kind,
                     .ids = ids,
                     .dtype = dtype,
                     .rows = values},
            .id = {1, sequence}};
  }

  DType dtype;
  std::vector<int64_t> ids;
  std::vector<std::byte> values;
};

class HelpedStoreTest : public StoreTest, public testing::WithParamInterface<Dtypes> {
 protected:
  HelpedStoreTest() {
    options_.memory_bytes = int64_t{1} << 30;
    options_.segment_bytes = int64_t{8} << 20;
    spec_.dim = kColumns;
    spec_.dtype = GetParam().table;
  }
  [[nodiscard]] PlainEnv& env() { return static_cast<PlainEnv&>(*env_); }

  // An empty state, and `threads` that work on a push.
  void BeginWith(int threads) {
    store_.reset();
    options_.folder = folder_.path() / std::to_string(threads);
    env().SetHelpers(threads > 1 ? std::make_unique<HelperThreads>(threads - 1, threads) : nullptr);
    OpenWith(spec_);
  }
  // Images of all rows that were ever touched, by row.
  [[nodiscard]] std::map<int64_t, std::vector<std::byte>> Images() {
    std::map<int64_t, std::vector<std::byte>> all;
    const size_t bytes = RowLayout::Of(spec_).image_bytes();
    EXPECT_TRUE(store_->Snapshot("s", {}, {}).ok());
    std::optional<SnapshotPlace> place = SnapshotPlace{};
    while (place.has_value()) {
      const auto page = store_->ReadSnapshot("s", spec_.ref, *place, size_t{1} << 20);
      EXPECT_TRUE(page.ok()) << ToString(page.status());
      if (!page.ok()) break;
      for (size_t i = 0; i < page->rows.size(); ++i) {
        const auto image = std::span(page->images).subspan(i * bytes, bytes);
        all[page->rows[i]].assign(image.begin(), image.end());
      }
      place = page->next;
    }
    return all;
  }

  MutableTensorSpec spec_ = Embedding();
};

INSTANTIATE_TEST_SUITE_P(Dtypes, HelpedStoreTest,
                         testing::Values(Dtypes{DType::kFloat32, DType::kFloat32},
                                         Dtypes{DType::kBFloat16, DType::kBFloat16},
                                         Dtypes{DType::kFloat32, DType::kBFloat16}));

TEST_P(HelpedStoreTest, ThreadsChangeNoBit) {
  const std::vector<PushKind> kinds = {PushKind::kGradient, PushKind::kGradient, PushKind::kAdd,
                                       PushKind::kAssign, PushKind::kGradient};
  ReferenceState reference(spec_, kNodes);
  std::vector<LargePush> pushes;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const LargePush& push = pushes.emplace_back(i, GetParam().pushed);
    std::vector<int64_t> originals;
    for (const int64_t id : push.ids) originals.push_back(OriginalId(id));
    const PushedRows list{originals, push.dtype, push.values};
    reference.Apply(kinds[i], {&list, 1});
  }
  for (const int threads : {1, 2, 4}) {
    SCOPED_TRACE(threads);
    BeginWith(threads);
    for (const bool again : {false, true}) {  // a push that was applied changes nothing
      for (size_t i = 0; i < pushes.size(); ++i) {
        const auto pushed = store_->Push(pushes[i].request(kinds[i], i + 1), {});
        ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
        EXPECT_EQ(pushed->repeated, again);
      }
    }
    if (threads > 1) {
      EXPECT_GE(env().helpers()->shared(), 10) << "a check and an update a push";
    }
    MustOpen();  // replays
    const auto images = Images();
    ASSERT_EQ(images.size(), static_cast<size_t>(kOwnedNodes));
    for (const auto& [row, image] : images) {
      ASSERT_EQ(image, reference.Image(OriginalId(row))) << row;
    }
  }
}

TEST_P(HelpedStoreTest, FirstValueThatIsNotFiniteIsNamedAndNothingIsApplied) {
  LargePush push(1, GetParam().pushed);
  push.Set(11'999, 63, std::numeric_limits<float>::quiet_NaN());
  push.Set(7'001, 5, std::numeric_limits<float>::infinity());
  push.Set(7'002, 0, std::numeric_limits<float>::quiet_NaN());
  for (const int threads : {1, 2, 4}) {
    SCOPED_TRACE(threads);
    BeginWith(threads);
    for (int i = 0; i < 20; ++i) {
      const Status refused = store_->Push(push.request(PushKind::kGradient, 1), {}).status();
      ASSERT_TRUE(absl::IsInvalidArgument(refused)) << ToString(refused);
      EXPECT_THAT(Message(refused),
                  HasSubstr(fmt::format("for id {}, at position 7001,", push.ids[7001])));
    }
    EXPECT_EQ(store_->stats().lsn, 0);
    EXPECT_EQ(store_->Describe(spec_.ref)->pushes, 0);
    EXPECT_TRUE(Images().empty());
  }
}

}  // namespace
}  // namespace halograph
