#include "trainer/output/train_log.h"

#include <limits>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/storage/file.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

TEST(TrainLogTest, EveryLineIsThereAsSoonAsItIsWritten) {
  const TestFolder folder;
  const auto path = folder.path() / "log.jsonl";
  auto log = TrainLog::Create(path.string());
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE(log->Write({{"epoch", 0}}).ok());
  EXPECT_EQ(*ReadTextFile(path), "{\"epoch\":0}\n");
  ASSERT_TRUE(log->Write({{"loss", std::numeric_limits<double>::quiet_NaN()}}).ok());
  EXPECT_EQ(*ReadTextFile(path), "{\"epoch\":0}\n{\"loss\":null}\n");
}

TEST(TrainLogTest, ASecondRunIsRefusedUntilTheFirstIsDoneWithTheFile) {
  const TestFolder folder;
  const auto path = folder.path() / "log.jsonl";
  {
    auto first = TrainLog::Create(path.string());
    ASSERT_TRUE(first->Write({{"epoch", 0}}).ok());
    const Status second = TrainLog::Create(path.string()).status();
    EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(second), testing::HasSubstr(path.string()));
    EXPECT_EQ(*ReadTextFile(path), "{\"epoch\":0}\n") << "what the first wrote stays";
  }
  ASSERT_TRUE(TrainLog::Create(path.string()).ok());
  EXPECT_EQ(*ReadTextFile(path), "") << "begun anew";
}

TEST(TrainLogTest, ARunThatGoesOnKeepsTheWholeLinesThatAreThere) {
  const TestFolder folder;
  const auto path = folder.path() / "log.jsonl";
  ASSERT_TRUE(TrainLog::GoOn(path.string())->Write({{"epoch", 0}}).ok()) << "there was none";
  const std::string lines = *ReadTextFile(path);
  for (const std::string& cut : {std::string(), std::string("{\"epo"), std::string(9000, 'x')}) {
    ASSERT_TRUE(WriteFileAtomically(path, lines + cut).ok());
    auto log = TrainLog::GoOn(path.string());
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_FALSE(TrainLog::GoOn(path.string()).ok()) << "another run is writing";
    ASSERT_TRUE(log->Write({{"epoch", 1}}).ok());
    EXPECT_EQ(*ReadTextFile(path), lines + "{\"epoch\":1}\n");
  }
  ASSERT_TRUE(WriteFileAtomically(path, "no line feed").ok());
  ASSERT_TRUE(TrainLog::GoOn(path.string()).ok());
  EXPECT_EQ(*ReadTextFile(path), "");
}

TEST(TrainLogTest, WhatIsNoFileTakesTheLinesOfSeveralRuns) {
  auto first = TrainLog::Create("/dev/null");
  auto second = TrainLog::Create("/dev/null");
  EXPECT_TRUE(first.ok() && second.ok()) << second.status();
}

TEST(TrainLogTest, AFifoThatNobodyReadsIsRefusedWithoutWaiting) {
  const TestFolder folder;
  const std::string fifo = folder.path() / "log";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Status unread = TrainLog::Create(fifo).status();
  EXPECT_EQ(unread.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(unread), testing::HasSubstr("--log " + fifo + ": nobody reads"));
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  auto log = TrainLog::Create(fifo);
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE(log->Write({{"epoch", 0}}).ok());
  char text[32] = "";
  EXPECT_EQ(::read(reader, text, sizeof(text)), 12);
  ::close(reader);
}

TEST(TrainLogTest, BytesThatAreNoUtf8AreReplaced) {
  const TestFolder folder;
  const auto path = folder.path() / "log.jsonl";
  auto log = TrainLog::Create(path.string());
  ASSERT_TRUE(log->Write({{"graph", "a\xff"}}).ok());
  EXPECT_TRUE(ParseJson(*ReadTextFile(path), "log").ok());
}

TEST(TrainLogTest, APathThatCannotBeCreatedIsNamed) {
  const Status status = TrainLog::Create("no/such/folder/log.jsonl").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), testing::HasSubstr("no folder "));
  EXPECT_THAT(Message(status), testing::HasSubstr("no/such/folder/log.jsonl"));
}

TEST(TrainLogTest, WithoutAPathNothingIsWritten) {
  auto log = TrainLog::Create("");
  ASSERT_TRUE(log.ok());
  EXPECT_TRUE(log->Write({{"epoch", 0}}).ok());
}

}  // namespace
}  // namespace halograph
