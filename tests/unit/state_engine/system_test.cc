// The machine behind the interfaces of env.h, with RocksDB.
#include <filesystem>
#include <fstream>

#include <sys/mount.h>

#include "common/base/aligned_bytes.h"
#include "common/state/durable/system_env.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class SystemEnvTest : public StoreTest {
 protected:
  SystemEnvTest() { env_ = MakeSystemEnv(); }

  // A disk of its own for the folder, or another size of it. False: that needs root.
  [[nodiscard]] bool Resize(int kib, unsigned long flags) const {
    const std::string size = fmt::format("size={}k", kib);
    return mount("tmpfs", options_.folder.c_str(), "tmpfs", flags, size.c_str()) == 0;
  }

  // Until its disk is full.
  static void Fill(const std::filesystem::path& file) {
    for (size_t bytes = 1 << 20; bytes > 0; bytes /= 2) {
      const std::string more(bytes, 'x');
      while (std::ofstream(file, std::ios::app).write(more.data(), std::ssize(more)).flush()) {
      }
    }
  }
};

TEST_F(SystemEnvTest, StoreKeepsItsStateInFiles) {
  OpenWith(Embedding());
  std::vector<std::vector<TestPush>> applied;
  for (uint64_t i = 1; i <= 20; ++i) {
    applied.push_back({RandomPush(1, i, 200)});
    MustPush(applied.back()[0]);
    if (i == 7) {
      EXPECT_TRUE(store_->Snapshot("seven", {}, {}).ok());
    }
  }
  options_.sync = SyncLevel::kAlways;  // its log was written through the page cache before
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied));
  for (uint64_t i = 21; i <= 40; ++i) {
    applied.push_back({RandomPush(1, i, i % 3 == 0 ? 3000 : 20)});  // one of more than 64 KiB
    MustPush(applied.back()[0]);
  }
  options_.sync = SyncLevel::kInterval;
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied));
  ASSERT_TRUE(store_->RestoreSnapshot("seven").ok());
  MustOpen();
  EXPECT_EQ(PullAll(), Expected({applied.begin(), applied.begin() + 7}));
}

// A disk of so many KiB, for a new state and for one that has rows beyond memory.
TEST_F(SystemEnvTest, StartOnAFullDiskIsRefusedAndOpensWhenThereIsRoom) {
  options_.memory_bytes = 1000;
  options_.segment_bytes = 8 << 10;
  std::filesystem::create_directories(options_.folder);
  if (!Resize(4, 0)) GTEST_SKIP() << "mounting a small tmpfs needs root";
  int refused = 0;
  for (const int kib : {4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128}) {
    SCOPED_TRACE(kib);
    ASSERT_TRUE(Resize(kib, MS_REMOUNT));
    Status status = Open();
    if (status.ok()) status = store_->Create(Embedding());
    store_.reset();
    if (status.ok()) continue;
    ++refused;
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << ToString(status);
    EXPECT_THAT(Message(status), HasSubstr(options_.folder.string()));
    EXPECT_THAT(Message(status), testing::ContainsRegex("[0-9]+ (bytes|MiB)")) << "what it needs";
  }
  EXPECT_GE(refused, 4);
  ASSERT_TRUE(Resize(64 << 10, MS_REMOUNT));
  OpenWith(Embedding());
  const TestPush push = RandomPush(1, 1);
  MustPush(push);
  MustOpen();
  EXPECT_EQ(PullAll(), Expected({{push}}));
  store_.reset();
  EXPECT_EQ(umount(options_.folder.c_str()), 0);
}

// Who is called at night has to remove something.
TEST_F(SystemEnvTest, AFullDiskLetsSnapshotsBeDeletedAndTensorsBeDropped) {
  options_.segment_bytes = 8 << 10;
  std::filesystem::create_directories(options_.folder);
  if (!Resize(4 << 10, 0)) GTEST_SKIP() << "mounting a small tmpfs needs root";
  OpenWith(Embedding());
  ASSERT_TRUE(store_->Create(Embedding("other")).ok());
  uint64_t pushed = 0;
  const auto take_snapshots = [&] {
    for (int i = 0; i < 20; ++i) {
      for (int k = 0; k < 3; ++k) MustPush(RandomPush(1, ++pushed, 50));
      ASSERT_TRUE(store_->Snapshot(fmt::format("s{}", i), {}, {}).ok());
    }
  };
  const auto delete_snapshots = [&] {
    for (int i = 0; i < 20; ++i) {
      const Status deleted = store_->DeleteSnapshot(fmt::format("s{}", i));
      EXPECT_TRUE(deleted.ok()) << i << ": " << ToString(deleted);
    }
  };
  take_snapshots();
  MustOpen();  // what one process set aside, the next one has
  const std::filesystem::path filler = options_.folder / "filler";
  Status full;
  do {  // the log may give back a segment meanwhile
    Fill(filler);
    full = store_->Snapshot("one-more", {}, {}).status();
  } while (full.ok() && store_->DeleteSnapshot("one-more").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << ToString(full);
  delete_snapshots();
  EXPECT_TRUE(store_->Drop({false, "node", "other"}, {}).ok());
  std::filesystem::remove(filler);
  MustOpen();
  EXPECT_EQ(store_->stats().tensors.size(), 1U);
  EXPECT_TRUE(store_->Snapshots({}).empty());
  // The log ends, since nobody removed anything. Snapshots that are deleted give back their room
  // all the same, or a restart would find none.
  take_snapshots();
  ASSERT_TRUE(store_->Checkpoint().ok());  // a whole one: none of their files is needed
  Fill(filler);
  while (store_->Push(RandomPush(1, pushed + 1, 50).request(), {}).ok()) ++pushed;
  const auto files = [&] {  // what they give back, the next segment may have by now
    return std::distance(std::filesystem::directory_iterator(options_.folder / "checkpoints"), {});
  };
  const auto before = files();
  delete_snapshots();
  EXPECT_LT(files(), before);
  std::filesystem::remove(filler);
  MustOpen();
  EXPECT_TRUE(store_->Snapshots({}).empty());
  EXPECT_EQ(store_->stats().lsn, static_cast<int64_t>(pushed));
  store_.reset();
  EXPECT_EQ(umount(options_.folder.c_str()), 0);
}

TEST_F(SystemEnvTest, DirectWritesAreReadAsOthersAreAndGoThroughTheCacheWhereTheyAreRefused) {
  FileSystem& files = env_->files();
  const std::filesystem::path path = folder_.path() / "file";
  const auto file = files.Create(path, 4 * 4096, FileSystem::Write::kDirect);
  ASSERT_TRUE(file.ok()) << ToString(file.status());
  std::vector<std::byte> expected(4 * 4096);
  const auto write_at = [&](int64_t offset, std::span<const std::byte> bytes) {
    std::copy(bytes.begin(), bytes.end(), expected.begin() + offset);
    EXPECT_TRUE((*file)->WriteAt(offset, {&bytes, 1}).ok());
    EXPECT_TRUE((*file)->Sync().ok());
    std::vector<std::byte> read(expected.size());
    EXPECT_TRUE((*files.OpenToRead(path))->ReadAt(0, read).ok());
    EXPECT_EQ(read, expected);
  };
  const AlignedBytes blocks(2 * 4096);
  std::fill_n(blocks.data(), blocks.size(), std::byte{7});
  write_at(4096, blocks.span());
  std::fill_n(blocks.data(), blocks.size(), std::byte{8});
  write_at(0, blocks.span());
  write_at(5000, blocks.span().subspan(1, 100));  // what no disk takes directly
  write_at(4096, blocks.span());
}

TEST_F(SystemEnvTest, StoreKeepsRowsBeyondMemoryInRocksDbWhileItIsOpen) {
  options_.memory_bytes = 1000;
  const std::filesystem::path rows = options_.folder / "rows";
  OpenWith(Embedding());
  EXPECT_TRUE(std::filesystem::exists(rows / "CURRENT"));
  // A write to it on a full disk would end the process.
  EXPECT_FALSE(std::filesystem::exists(rows / "LOG"));
  std::vector<std::vector<TestPush>> applied;
  for (uint64_t i = 1; i <= 20; ++i) {
    applied.push_back({RandomPush(1, i, 200)});
    MustPush(applied.back()[0]);
    if (i == 7) {
      ASSERT_TRUE(store_->Snapshot("seven", {}, {}).ok());
    }
  }
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied));
  ASSERT_TRUE(store_->RestoreSnapshot("seven").ok());
  EXPECT_EQ(PullAll(), Expected({applied.begin(), applied.begin() + 7}));
  store_.reset();
  EXPECT_FALSE(std::filesystem::exists(rows));

  // What a process left that was killed.
  { const auto left = env_->OpenRowSpace(rows, 1 << 20).value(); }
  std::filesystem::create_directories(rows);
  std::ofstream(rows / "CURRENT") << "MANIFEST-000001\n";
  MustOpen();
  EXPECT_EQ(PullAll(), Expected({applied.begin(), applied.begin() + 7}));
  store_.reset();
  std::filesystem::create_directories(rows);
  options_.memory_bytes = int64_t{1} << 20;
  MustOpen();
  EXPECT_FALSE(std::filesystem::exists(rows));
  EXPECT_EQ(PullAll(), Expected({applied.begin(), applied.begin() + 7}));
}

TEST_F(SystemEnvTest, RowsInRocksDbAreAsRowsInMemory) {
  PlainRowSpace plain;
  const std::unique_ptr<RowSpace> rocks = env_->OpenRowSpace(folder_.path() / "r", 1 << 20).value();
  std::mt19937_64 random(1);
  constexpr size_t kBytes = 40;
  for (int round = 0; round < 60; ++round) {
    const auto owner = static_cast<uint32_t>(random() % 3 + 254);  // a carry within the key
    if (random() % 8 == 0) {
      EXPECT_TRUE(plain.Drop(owner).ok());
      EXPECT_TRUE(rocks->Drop(owner).ok());
    }
    std::vector<int64_t> rows(random() % 3000);
    for (int64_t& row : rows) row = static_cast<int64_t>(random() % 2000) << (random() % 2 * 30);
    std::vector<std::byte> images(rows.size() * kBytes);
    for (std::byte& byte : images) byte = static_cast<std::byte>(random());
    EXPECT_TRUE(plain.Put(owner, rows, images).ok());
    EXPECT_TRUE(rocks->Put(owner, rows, images).ok());
    for (int64_t& row : rows) row = static_cast<int64_t>(random() % 2000) << (random() % 2 * 30);
    for (uint32_t of = 254; of < 257; ++of) {
      std::vector<std::byte> expected(images.size());
      std::vector<std::byte> read(images.size());
      std::vector<bool> expected_found;
      std::vector<bool> found;
      EXPECT_TRUE(plain.Get(of, rows, expected, &expected_found).ok());
      EXPECT_TRUE(rocks->Get(of, rows, read, &found).ok());
      ASSERT_EQ(found, expected_found) << round;
      ASSERT_EQ(read, expected) << round;
    }
  }
}

// Its tables are written by threads of RocksDB, which meet the error first.
TEST_F(SystemEnvTest, SpaceForRowsOnAFullDiskRefusesRowsAndIsClosedAndOpenedAgain) {
  std::filesystem::create_directories(options_.folder);
  if (!Resize(8 << 10, 0)) GTEST_SKIP() << "mounting a small tmpfs needs root";
  const std::filesystem::path rows = options_.folder / "rows";
  for (int round = 0; round < 2; ++round) {
    std::unique_ptr<RowSpace> space = env_->OpenRowSpace(rows, 1 << 20).value();
    const std::vector<std::byte> images(size_t{1} << 20, std::byte{1});
    Status full;
    for (int64_t row = 0; full.ok() && row < 1000; ++row) {
      full = space->Put(1, std::span(&row, 1), images);
    }
    EXPECT_TRUE(absl::IsResourceExhausted(full)) << ToString(full);
    space.reset();
    EXPECT_FALSE(std::filesystem::exists(rows));
  }
  EXPECT_EQ(umount(options_.folder.c_str()), 0);
}

TEST_F(SystemEnvTest, SpaceForRowsThatIsOpenIsAnError) {
  const auto open = env_->OpenRowSpace(folder_.path() / "r", 1 << 20);
  ASSERT_TRUE(open.ok());
  EXPECT_FALSE(env_->OpenRowSpace(folder_.path() / "r", 1 << 20).ok());
}

TEST_F(SystemEnvTest, ErrorsOfFilesNameThePath) {
  FileSystem& files = env_->files();
  const std::filesystem::path path = folder_.path() / "file";
  EXPECT_TRUE(absl::IsNotFound(files.OpenToRead(path).status()));
  ASSERT_TRUE(files.Create(path, 10, FileSystem::Write::kCached).ok());
  const Status again = files.Create(path, 10, FileSystem::Write::kCached).status();
  EXPECT_TRUE(absl::IsAlreadyExists(again));
  EXPECT_THAT(Message(again), HasSubstr(path.string()));
  std::byte bytes[20];
  EXPECT_TRUE(absl::IsDataLoss((*files.OpenToRead(path))->ReadAt(0, bytes)));
}

TEST_F(SystemEnvTest, PiecesAreWrittenOneAfterTheOtherHoweverMany) {
  FileSystem& files = env_->files();
  const std::filesystem::path path = folder_.path() / "file";
  const auto file = files.Create(path, 0, FileSystem::Write::kCached);
  ASSERT_TRUE(file.ok());
  std::string text(3000, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  std::vector<std::span<const std::byte>> pieces;
  for (size_t at = 0; at < text.size(); at += 3) {
    pieces.push_back(std::as_bytes(std::span(text).subspan(at, 3)));
  }
  ASSERT_TRUE((*file)->WriteAt(0, pieces).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  std::string read(text.size(), ' ');
  ASSERT_TRUE((*files.OpenToRead(path))->ReadAt(0, std::as_writable_bytes(std::span(read))).ok());
  EXPECT_EQ(read, text);
}

}  // namespace
}  // namespace halograph
