#include "common/storage/file.h"

#include <atomic>
#include <csignal>
#include <limits>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/storage/temp_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

class MappedFileTest : public TempFolderTest {};

TEST_F(MappedFileTest, GivesTheBytesOfTheFile) {
  const fs::path path = Write("file", "hello");
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(AsText(file->bytes()), "hello");
  EXPECT_EQ(file->path(), path);
}

TEST_F(MappedFileTest, EmptyFileGivesAnEmptySpan) {
  const auto file = MappedFile::Open(Write("file", ""));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->bytes().empty());
  file->Advise(MappedFile::Access::kRandom);
  file->Release(0, 10);
}

TEST_F(MappedFileTest, MovedFileKeepsItsBytes) {
  auto first = MappedFile::Open(Write("a", "first"));
  auto second = MappedFile::Open(Write("b", "second"));
  ASSERT_TRUE(first.ok() && second.ok());
  MappedFile moved = std::move(*first);
  EXPECT_EQ(AsText(moved.bytes()), "first");
  moved = std::move(*second);
  EXPECT_EQ(AsText(moved.bytes()), "second");
}

TEST_F(MappedFileTest, ReleasedPagesAreReadAgain) {
  const std::string contents(100'000, 'x');
  const auto file = MappedFile::Open(Write("file", contents));
  ASSERT_TRUE(file.ok());
  file->Advise(MappedFile::Access::kSequential);
  file->Release(5000, 60'000);
  file->Release(99'999, std::numeric_limits<size_t>::max());
  file->Release(200'000, 1);
  EXPECT_EQ(AsText(file->bytes()), contents);
}

TEST_F(MappedFileTest, ResidentBytesAreThoseOfTheFileInRam) {
  const CancelToken nobody;
  const auto empty = MappedFile::Open(Write("empty", ""));
  EXPECT_EQ(empty->ResidentBytes(nobody), 0);
  const auto file = MappedFile::Open(Write("file", std::string(100'001, 'x')));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->ResidentBytes(nobody), 100'001) << "it was just written";
  // A hole that nobody has read; longer than a piece.
  const fs::path hole = Write("hole", "x");
  fs::resize_file(hole, 70 << 20);
  const auto mapped = MappedFile::Open(hole);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_LT(mapped->ResidentBytes(nobody), 35 << 20);
  CancelToken ending;
  ending.Cancel();
  EXPECT_EQ(mapped->ResidentBytes(ending), std::nullopt);
}

TEST_F(MappedFileTest, MissingFileIsNotFoundAndNamesThePath) {
  const auto file = MappedFile::Open(folder() / "absent");
  EXPECT_EQ(file.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(file.status()), HasSubstr((folder() / "absent").string()));
}

TEST_F(MappedFileTest, FolderAndPipeAreFailedPrecondition) {
  EXPECT_EQ(MappedFile::Open(folder()).status().code(), StatusCode::kFailedPrecondition);
  const fs::path pipe = folder() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(pipe).status().code(), StatusCode::kFailedPrecondition);
}

TEST(OpenToReadTest, WhatIsNoRegularFileIsNamedByItsKind) {
  EXPECT_EQ(OpenToRead("/dev/null").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(OpenToRead("/dev/null").status()),
              AllOf(HasSubstr("/dev/null"), HasSubstr("a device")));
  EXPECT_THAT(Message(OpenToRead("/").status()), HasSubstr("a folder"));
}

class FileWriterTest : public TempFolderTest {};

TEST_F(FileWriterTest, SmallAndLargeAppendsKeepTheirOrder) {
  const fs::path path = folder() / "file";
  auto writer = FileWriter::Create(path);
  ASSERT_TRUE(writer.ok()) << writer.status();
  std::string expected;
  for (const size_t size : {1, 3, 700'000, 0, 600'000, 3'000'000, 5, 1 << 20, (1 << 20) - 1, 7}) {
    const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
    ASSERT_TRUE(writer->Append(piece).ok());
    expected += piece;
    EXPECT_EQ(writer->bytes_written(), static_cast<int64_t>(expected.size()));
  }
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_TRUE(Read(path) == expected);
}

TEST_F(FileWriterTest, ExistingFileIsAlreadyExistsAndUntouched) {
  const fs::path path = Write("file", "old");
  EXPECT_EQ(FileWriter::Create(path).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Read(path), "old");
}

TEST_F(FileWriterTest, MissingFolderIsNotFound) {
  EXPECT_EQ(FileWriter::Create(folder() / "none" / "file").status().code(), StatusCode::kNotFound);
}

TEST_F(FileWriterTest, OverwriteReplacesWhatWasAppendedOnly) {
  const fs::path path = folder() / "file";
  auto writer = FileWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append("0123456789").ok());
  EXPECT_TRUE(writer->Overwrite(2, "ab").ok());
  EXPECT_EQ(writer->Overwrite(9, "ab").code(), StatusCode::kOutOfRange);
  EXPECT_EQ(writer->Overwrite(-1, "a").code(), StatusCode::kOutOfRange);
  ASSERT_TRUE(writer->Append("x").ok());
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_EQ(Read(path), "01ab456789x");
}

TEST_F(FileWriterTest, ZerosStandBetweenWhatIsAppended) {
  const fs::path path = folder() / "file";
  auto writer = FileWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append("ab").ok());
  ASSERT_TRUE(writer->AppendZeros(2'000'000).ok());
  ASSERT_TRUE(writer->AppendZeros(0).ok());
  EXPECT_TRUE(writer->Overwrite(2'000'000, "x").ok());
  ASSERT_TRUE(writer->Append("cd").ok());
  EXPECT_EQ(writer->bytes_written(), 2'000'004);
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_EQ(Read(path), "ab" + std::string(1'999'998, '\0') + std::string("x\0cd", 4));
}

TEST_F(FileWriterTest, ClosedWriterRefuses) {
  auto writer = FileWriter::Create(folder() / "file");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_EQ(writer->Append("x").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(writer->Close().code(), StatusCode::kFailedPrecondition);
}

// A limit on file sizes stands in for a full disk: the kernel refuses in the middle of a write.
TEST_F(FileWriterTest, FullDiskIsResourceExhaustedNamingPathAndBytes) {
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const old_handler = std::signal(SIGXFSZ, SIG_IGN);
  auto writer = FileWriter::Create(folder() / "file");
  ASSERT_TRUE(writer.ok());
  const rlimit limit{1'500'000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status zeros = writer->AppendZeros(2'000'000);
  const Status status = writer->Append(std::string(2'000'000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(zeros.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(zeros), HasSubstr((folder() / "file").string()));
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("500000 bytes not written"));
  EXPECT_THAT(Message(status), HasSubstr((folder() / "file").string()));
  EXPECT_THAT(Message(status), HasSubstr("free disk space"));
}

class TemporaryFolderTest : public TempFolderTest {
 protected:
  [[nodiscard]] fs::path target() const { return folder() / "out"; }

  // A process that has ended and been waited for.
  static pid_t DeadProcess() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
  }
};

TEST_F(TemporaryFolderTest, DroppedLeavesNothing) {
  {
    auto temporary = TemporaryFolder::Create(target());
    ASSERT_TRUE(temporary.ok()) << temporary.status();
    EXPECT_THAT(temporary->path().filename().string(),
                testing::StartsWith(fmt::format("out.tmp-{}-", ::getpid())));
    fs::create_directories(temporary->path() / "part-0000" / "nodes");
    ASSERT_TRUE(WriteFileAtomically(temporary->path() / "part-0000" / "nodes" / "x", "text").ok());
    EXPECT_EQ(Names().size(), 1u);
  }
  EXPECT_THAT(Names(), ElementsAre());
}

TEST_F(TemporaryFolderTest, CommitRenamesToTheTarget) {
  auto temporary = TemporaryFolder::Create(target());
  ASSERT_TRUE(temporary.ok());
  fs::create_directories(temporary->path() / "a" / "b");
  ASSERT_TRUE(WriteFileAtomically(temporary->path() / "a" / "b" / "x", "text").ok());
  TemporaryFolder moved = std::move(*temporary);
  ASSERT_TRUE(moved.Commit().ok());
  EXPECT_THAT(Names(), ElementsAre("out"));
  EXPECT_EQ(Read(target() / "a" / "b" / "x"), "text");
  EXPECT_EQ(moved.Commit().code(), StatusCode::kFailedPrecondition);
}

TEST_F(TemporaryFolderTest, TrailingSlashNamesTheSameFolder) {
  auto temporary = TemporaryFolder::Create(target() / "");
  ASSERT_TRUE(temporary.ok());
  ASSERT_TRUE(temporary->Commit().ok());
  EXPECT_THAT(Names(), ElementsAre("out"));
}

TEST_F(TemporaryFolderTest, ExistingTargetIsUntouched) {
  Write("out/old", "kept");
  EXPECT_EQ(TemporaryFolder::Create(target()).status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(Names(), ElementsAre("out"));
  EXPECT_EQ(Read(target() / "old"), "kept");
}

TEST_F(TemporaryFolderTest, TargetThatAppearsMeanwhileIsUntouched) {
  {
    auto temporary = TemporaryFolder::Create(target());
    ASSERT_TRUE(temporary.ok());
    fs::create_directories(target());  // empty: a plain rename would replace it
    EXPECT_EQ(temporary->Commit().code(), StatusCode::kAlreadyExists);
  }
  EXPECT_THAT(Names(), ElementsAre("out"));
  EXPECT_TRUE(fs::is_empty(target()));
}

TEST_F(TemporaryFolderTest, ReplaceTakesTheOldTargetAway) {
  Write("out/old", "old");
  auto temporary = TemporaryFolder::Create(target(), /*replace=*/true);
  ASSERT_TRUE(temporary.ok()) << temporary.status();
  EXPECT_EQ(Read(target() / "old"), "old");
  ASSERT_TRUE(WriteFileAtomically(temporary->path() / "new", "new").ok());
  ASSERT_TRUE(temporary->Commit().ok());
  EXPECT_THAT(Names(), ElementsAre("out"));
  EXPECT_FALSE(fs::exists(target() / "old"));
  EXPECT_EQ(Read(target() / "new"), "new");
}

TEST_F(TemporaryFolderTest, DroppedReplacementKeepsTheOldTarget) {
  Write("out/old", "old");
  { ASSERT_TRUE(TemporaryFolder::Create(target(), /*replace=*/true).ok()); }
  EXPECT_THAT(Names(), ElementsAre("out"));
  EXPECT_EQ(Read(target() / "old"), "old");
}

TEST_F(TemporaryFolderTest, OnlyLeftOversOfDeadProcessesAreRemoved) {
  const pid_t dead = DeadProcess();
  Write(fmt::format("out.tmp-{}-0/part/file", dead), "x");
  const std::string alive = fmt::format("out.tmp-{}-0", ::getppid());
  const std::string other_target = fmt::format("output.tmp-{}-0", dead);
  const std::string other_suffix = fmt::format("out.tmp-{}-0.txt", dead);
  const std::string no_number = fmt::format("out.tmp-{}", dead);
  for (const std::string& kept : {alive, other_target, other_suffix, no_number,
                                  std::string("out.tmp-x-0"), std::string("out.tmp-")}) {
    Write(kept + "/file", "x");
  }
  { ASSERT_TRUE(TemporaryFolder::Create(target()).ok()); }
  EXPECT_EQ(Names(), (std::set<std::string>{alive, other_target, other_suffix, no_number,
                                            "out.tmp-x-0", "out.tmp-"}));
}

TEST_F(TemporaryFolderTest, TwoForOneTargetDoNotMeet) {
  auto first = TemporaryFolder::Create(target());
  auto second = TemporaryFolder::Create(target());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->path(), second->path());
  EXPECT_TRUE(second->Commit().ok());
  EXPECT_EQ(first->Commit().code(), StatusCode::kAlreadyExists);
}

TEST_F(TemporaryFolderTest, MissingParentIsFailedPrecondition) {
  const auto temporary = TemporaryFolder::Create(folder() / "none" / "out");
  EXPECT_EQ(temporary.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(temporary.status()), HasSubstr((folder() / "none").string()));
  EXPECT_EQ(TemporaryFolder::Create("/").status().code(), StatusCode::kInvalidArgument);
}

// A process of its own makes folders, whose threads keep filling them, and ends as on a signal.
TEST_F(TemporaryFolderTest, EndingWithoutThemLeavesNothingAndLetsNoOtherThreadGoOn) {
  const pid_t child = fork();
  if (child == 0) {
    auto outer = TemporaryFolder::Create(folder() / "graph");
    auto inner = TemporaryFolder::Create(outer->path() / "trial");
    auto done = TemporaryFolder::Create(folder() / "done");
    if (!inner.ok() || !done.ok() || !done->Commit().ok()) _exit(5);
    std::atomic<int> files = 0;
    std::thread writer([&, path = inner->path() / "sub"] {
      while (MakeFolder(path).ok() &&
             WriteFileAtomically(path / fmt::format("{}", files.load()), "text").ok()) {
        ++files;
      }
      { const TemporaryFolder dropped = *std::move(inner); }
      _exit(6);  // it went on although the process ends
    });
    while (files.load() < 10) std::this_thread::yield();
    EndWithoutTemporaryFolders([] { _exit(7); });
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_THAT(Names(), ElementsAre("done"));
}

class WholeFileTest : public TempFolderTest {};

TEST_F(WholeFileTest, ReadRefusesMoreThanTheLimit) {
  const fs::path path = Write("file", std::string(100'000, 'x'));
  EXPECT_EQ(ReadTextFile(path)->size(), 100'000u);
  EXPECT_EQ(ReadTextFile(path, 100'000)->size(), 100'000u);
  EXPECT_EQ(ReadTextFile(path, 99'999).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(ReadTextFile(folder()).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadTextFile(folder() / "absent").status().code(), StatusCode::kNotFound);
}

// A pipe that nobody writes to blocks whoever opens it in the ordinary way.
TEST_F(WholeFileTest, PipeIsRefusedWithoutWaiting) {
  const fs::path pipe = folder() / "manifest.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Status status = ReadTextFile(pipe).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), AllOf(HasSubstr(pipe.string()), HasSubstr("a pipe")));
}

TEST_F(WholeFileTest, AtomicWriteReplacesAndLeavesNoSibling) {
  const fs::path path = Write("file", "old");
  ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
  EXPECT_EQ(Read(path), "new");
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(WholeFileTest, FailedAtomicWriteLeavesNoSibling) {
  fs::create_directories(folder() / "taken" / "inside");
  EXPECT_FALSE(WriteFileAtomically(folder() / "taken", "text").ok());
  EXPECT_THAT(Names(), ElementsAre("taken"));
  EXPECT_EQ(WriteFileAtomically(folder() / "none" / "file", "text").code(), StatusCode::kNotFound);
}

TEST_F(WholeFileTest, MakeFolderMakesParentsAndRefusesAFileInTheWay) {
  EXPECT_TRUE(MakeFolder(folder() / "a" / "b" / "c").ok());
  EXPECT_TRUE(MakeFolder(folder() / "a" / "b" / "c").ok());
  EXPECT_TRUE(fs::is_directory(folder() / "a" / "b" / "c"));
  Write("file", "");
  EXPECT_FALSE(MakeFolder(folder() / "file" / "d").ok());
}

TEST(PercentEncodeTest, LeavesOneSafePathComponent) {
  EXPECT_EQ(PercentEncode("a:b:c"), "a%3Ab%3Ac");
  EXPECT_EQ(PercentEncode("Az09._-"), "Az09._-");
  EXPECT_EQ(PercentEncode(".."), "%2E.");
  EXPECT_EQ(PercentEncode("../x"), "%2E.%2Fx");
  EXPECT_EQ(PercentEncode("100%"), "100%25");
  EXPECT_EQ(PercentEncode("\xc3\xbc"), "%C3%BC");
  EXPECT_EQ(PercentEncode(std::string_view("a\0b", 3)), "a%00b");
}

}  // namespace
}  // namespace halograph
