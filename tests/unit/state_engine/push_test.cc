// What pushes do to rows, and how often.
#include "common/state/engine/log/block_writer.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

// A file that takes whole blocks alone, from block boundaries.
class BlockFile : public WritableFile {
 public:
  [[nodiscard]] Status WriteAt(int64_t offset,
                               std::span<const std::span<const std::byte>> pieces) override {
    ++writes;
    for (const auto& piece : pieces) {
      if (offset % 4096 != 0 || piece.size() % 4096 != 0 ||
          reinterpret_cast<uintptr_t>(piece.data()) % 4096 != 0) {
        return InvalidArgument("{} bytes at {}", piece.size(), offset);
      }
      if (static_cast<size_t>(offset) + piece.size() > bytes.size()) {
        bytes.resize(static_cast<size_t>(offset) + piece.size());
      }
      std::copy(piece.begin(), piece.end(), bytes.begin() + offset);
      if (piece.data() >= own.data() && piece.data() < own.data() + own.size()) {
        not_copied += piece.size();
      }
      offset += static_cast<int64_t>(piece.size());
    }
    return OkStatus();
  }
  [[nodiscard]] Status Sync() override { return OkStatus(); }

  std::vector<std::byte> bytes = {};
  std::span<const std::byte> own = {};  // of the test
  size_t not_copied = 0;
  int writes = 0;
};

TEST(BlockWriterTest, WritesPiecesOfAnySizeAndAddressAsWholeBlocks) {
  std::mt19937_64 random(3);
  const AlignedBytes source(size_t{1} << 20);
  for (std::byte& byte : source.span()) byte = static_cast<std::byte>(random());
  BlockWriter writer;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::span<const std::byte>> pieces;
    std::vector<std::byte> expected(4096 * (random() % 3));
    const size_t first = expected.size();
    const auto add = [&](size_t begin, size_t size) {
      pieces.push_back(source.span().subspan(begin, size));
      expected.insert(expected.end(), pieces.back().begin(), pieces.back().end());
    };
    for (size_t left = random() % 12; left > 0; --left) {
      const size_t begin = random() % 2 == 0 ? random() % 100 * 4096 : random() % 400'000;
      add(begin, random() % 2 == 0 ? random() % 20 * 4096 : random() % 200'000);
    }
    add(5, (4096 - expected.size() % 4096) % 4096);
    BlockFile file;
    file.bytes.resize(first);
    const Status written = writer.WriteAt(file, static_cast<int64_t>(first), pieces);
    ASSERT_TRUE(written.ok()) << ToString(written);
    ASSERT_EQ(file.bytes, expected) << round;
  }
}

TEST(BlockWriterTest, CopiesAlignedPiecesNotAndOthersInBoundedMemory) {
  const AlignedBytes source(3 * BlockWriter::kStagedBytes);
  for (size_t i = 0; i < source.size(); ++i) source.data()[i] = static_cast<std::byte>(i / 4096);
  BlockWriter writer;
  BlockFile aligned;
  aligned.own = source.span();
  const std::span<const std::byte> all = source.span();
  ASSERT_TRUE(writer.WriteAt(aligned, 0, {&all, 1}).ok());
  EXPECT_EQ(aligned.not_copied, all.size());
  EXPECT_EQ(aligned.writes, 1);
  BlockFile copied;
  const std::span<const std::byte> shifted = all.subspan(1, all.size() - 4096);
  ASSERT_TRUE(writer.WriteAt(copied, 0, {&shifted, 1}).ok());
  EXPECT_TRUE(std::equal(shifted.begin(), shifted.end(), copied.bytes.begin(), copied.bytes.end()));
  EXPECT_EQ(copied.writes, 3);
}

TEST(BlockWriterTest, GivesTheErrorOfTheFileAndBeginsAnewAfterIt) {
  class Broken : public BlockFile {
    [[nodiscard]] Status WriteAt(int64_t, std::span<const std::span<const std::byte>>) override {
      return Internal("the disk is broken");
    }
  } broken;
  BlockWriter writer;
  const std::vector<std::byte> block(4096, std::byte{5});
  const std::span<const std::byte> piece = block;
  EXPECT_FALSE(writer.WriteAt(broken, 0, {&piece, 1}).ok());
  BlockFile file;
  EXPECT_TRUE(writer.WriteAt(file, 0, {&piece, 1}).ok());
  EXPECT_EQ(file.bytes, block);
}

class StorePushTest : public StoreTest {};

TEST_F(StorePushTest, RowsBeginAsTheirOriginalIdsSay) {
  OpenWith(Embedding());
  EXPECT_EQ(PullAll(), Expected({}));
}

TEST_F(StorePushTest, AsynchronousPushesAreAppliedInTheOrderOfTheLog) {
  OpenWith(Embedding());
  std::vector<std::vector<TestPush>> applied;
  for (uint64_t i = 1; i <= 5; ++i) {
    applied.push_back({RandomPush(1, i)});
    EXPECT_EQ(MustPush(applied.back()[0]).lsn, static_cast<int64_t>(i));
  }
  EXPECT_EQ(PullAll(5), Expected(applied));
}

TEST_F(StorePushTest, PushesSurviveReopeningOverManySegments) {
  OpenWith(Embedding());
  std::vector<std::vector<TestPush>> applied;
  for (uint64_t i = 1; i <= 60; ++i) {
    applied.push_back({RandomPush(1, i, 300)});
    MustPush(applied.back()[0]);
  }
  MustOpen();
  EXPECT_EQ(store_->stats().replayed_pushes, 60);
  EXPECT_EQ(PullAll(60), Expected(applied));
  applied.push_back({RandomPush(1, 61)});
  EXPECT_EQ(MustPush(applied.back()[0]).lsn, 61);
  MustOpen();
  EXPECT_EQ(PullAll(61), Expected(applied));
}

TEST_F(StorePushTest, StepIsAppliedInTheOrderOfRanksWhateverTheArrival) {
  const std::vector<std::vector<int>> arrivals = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
  std::vector<std::vector<TestPush>> applied;
  for (int64_t step = 5; step < 8; ++step) {
    applied.push_back({StepPush(step, 0, 3), StepPush(step, 1, 3), StepPush(step, 2, 3)});
  }
  OpenWith(Embedding());
  int64_t lsn = 0;
  for (size_t s = 0; s < 3; ++s) {
    for (const int rank : arrivals[s]) lsn = MustPush(applied[s][static_cast<size_t>(rank)]).lsn;
  }
  EXPECT_EQ(PullAll(lsn), Expected(applied));
  EXPECT_EQ(store_->Describe({false, "node", "emb"})->step, 7);
  MustOpen();
  EXPECT_EQ(PullAll(lsn), Expected(applied));
}

TEST_F(StorePushTest, APullAfterAStepWaitsForNoLaterStepThatAnotherRankPushedBefore) {
  const TensorRef emb = {false, "node", "emb"};
  OpenWith(Embedding());
  const TestPush alone = RandomPush(1, 1);
  const std::vector<TestPush> step0 = {StepPush(0, 0, 2), StepPush(0, 1, 2)};
  const std::vector<TestPush> step1 = {StepPush(1, 0, 2), StepPush(1, 1, 2)};
  MustPush(step0[0]);
  const int64_t ahead = MustPush(step1[0]).lsn;
  MustPush(alone);
  const int64_t own = MustPush(step0[1]).lsn;
  const auto shows_step0_alone = [&] {
    EXPECT_EQ(PullAll(own), Expected({{alone}, step0}));
    EXPECT_TRUE(*store_->Shows(emb, own));
    EXPECT_FALSE(*store_->Shows(emb, ahead));
    const int64_t id = 0;
    std::vector<float> row(kDim);
    const Status waited =
        store_->Pull(emb, {&id, 1}, {}, ahead, reinterpret_cast<std::byte*>(row.data()), {});
    EXPECT_TRUE(absl::IsDeadlineExceeded(waited)) << waited;
    EXPECT_THAT(Message(waited), testing::HasSubstr("step 1 waits for the push of rank 1"));
  };
  shows_step0_alone();
  MustOpen();
  shows_step0_alone();
  ASSERT_TRUE(store_->Checkpoint({}).ok());
  MustOpen();
  shows_step0_alone();
  const int64_t last = MustPush(step1[1]).lsn;
  EXPECT_FALSE(*store_->Shows(emb, last + 1)) << "nobody has it yet";
  for (const int64_t lsn : {own, ahead, last}) {
    EXPECT_TRUE(*store_->Shows(emb, lsn)) << lsn;
    EXPECT_EQ(PullAll(lsn), Expected({{alone}, step0, step1})) << lsn;
  }
}

TEST_F(StorePushTest, APullAfterAPushWithoutAStepWaitsForStepsBeforeIt) {
  const TensorRef emb = {false, "node", "emb"};
  OpenWith(Embedding());
  MustPush(StepPush(0, 0, 2));
  const int64_t alone = MustPush(RandomPush(1, 1)).lsn;
  EXPECT_FALSE(*store_->Shows(emb, alone));
  MustPush(StepPush(0, 1, 2));
  EXPECT_TRUE(*store_->Shows(emb, alone));
  EXPECT_EQ(PullAll(alone), Expected({{RandomPush(1, 1)}, {StepPush(0, 0, 2), StepPush(0, 1, 2)}}));
}

TEST_F(StorePushTest, RepeatedPushIsAppliedOnceBeforeAndAfterReopening) {
  OpenWith(Embedding());
  const TestPush push = RandomPush(1, 1);
  EXPECT_FALSE(MustPush(push).repeated);
  EXPECT_TRUE(MustPush(push).repeated);
  MustOpen();
  const PushReceipt again = MustPush(push);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.lsn, 1);
  EXPECT_EQ(PullAll(), Expected({{push}}));
}

}  // namespace
}  // namespace halograph
