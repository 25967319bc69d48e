#include "tests/simulation/sim_machine.h"

#include <gmock/gmock.h>

namespace halograph::sim {
namespace {

std::vector<std::byte> Page(int value) {
  return std::vector<std::byte>(4096, static_cast<std::byte>(value));
}

Status WritePage(WritableFile& file, int64_t page, int value) {
  const std::vector<std::byte> bytes = Page(value);
  const std::span<const std::byte> piece(bytes);
  return file.WriteAt(page * 4096, {&piece, 1});
}

// Writes and syncs pages 1, 2, ... until the machine crashes; returns how many were synced.
int WriteUntilCrash(Env& env) {
  auto file = env.files().Create("/f", 64 * 4096, FileSystem::Write::kCached);
  if (!file.ok() || !env.files().SyncFolder("/").ok()) return -1;
  for (int page = 0; page < 64; ++page) {
    if (!WritePage(**file, page, page + 1).ok() || !(*file)->Sync().ok()) return page;
  }
  return 64;
}

int PagesThere(Env& env) {
  auto file = env.files().OpenToRead("/f");
  if (!file.ok()) return -1;
  std::vector<std::byte> page(4096);
  int pages = 0;
  while (pages < 64 && (*file)->ReadAt(pages * 4096, page).ok() && page == Page(pages + 1)) ++pages;
  return pages;
}

TEST(SimMachineTest, WhatWasSyncedIsThereAfterACrashAtAnyCall) {
  for (const CrashKind kind : {CrashKind::kKill, CrashKind::kPowerLoss}) {
    int crashes_with_more = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SimScheduler scheduler(seed, {});
      EXPECT_EQ("", scheduler.Run([&] {
        SimMachine machine(&scheduler, 0, seed);
        machine.CrashAfter(static_cast<int64_t>(1 + seed), true, kind);
        std::unique_ptr<Env> env = machine.Boot();
        const int synced = WriteUntilCrash(*env);
        EXPECT_TRUE(machine.crashed());
        env.reset();
        machine.WoundUp();
        env = machine.Boot();
        EXPECT_GE(PagesThere(*env), synced);
        crashes_with_more += PagesThere(*env) > synced;
      }));
    }
    EXPECT_GT(crashes_with_more, 0);
  }
}

TEST(SimMachineTest, AfterACrashTheProcessChangesNothing) {
  SimScheduler scheduler(1, {});
  EXPECT_EQ("", scheduler.Run([&] {
    SimMachine machine(&scheduler, 0, 1);
    std::unique_ptr<Env> old = machine.Boot();
    auto file = old->files().Create("/f", 4096, FileSystem::Write::kCached).value();
    auto lock = old->files().LockFolder("/").value();
    machine.CrashNow(CrashKind::kKill);
    EXPECT_FALSE(WritePage(*file, 0, 1).ok());
    EXPECT_FALSE(file->Sync().ok());
    EXPECT_FALSE(old->files().Remove("/f").ok());
    machine.WoundUp();
    const std::unique_ptr<Env> env = machine.Boot();
    EXPECT_TRUE(env->files().LockFolder("/").ok());
    EXPECT_FALSE(WritePage(*file, 0, 1).ok());
    EXPECT_EQ(4096, machine.disk().Size(machine.disk().Open("/f").value()));
  }));
}

TEST(SimMachineTest, ADirectWriteThatIsNotAlignedIsMisuse) {
  SimScheduler scheduler(1, {});
  EXPECT_EQ("", scheduler.Run([&] {
    SimMachine machine(&scheduler, 0, 1);
    const std::unique_ptr<Env> env = machine.Boot();
    auto file = env->files().Create("/f", 8192, FileSystem::Write::kDirect).value();
    const std::vector<std::byte> bytes(100);
    const std::span<const std::byte> piece(bytes);
    EXPECT_TRUE(file->WriteAt(0, {&piece, 1}).ok());
    EXPECT_NE("", machine.misuse());
  }));
}

TEST(SimMachineTest, ALockIsHeldUntilItIsDestroyed) {
  SimScheduler scheduler(1, {});
  EXPECT_EQ("", scheduler.Run([&] {
    SimMachine machine(&scheduler, 0, 1);
    const std::unique_ptr<Env> env = machine.Boot();
    auto lock = env->files().LockFolder("/a/").value();
    EXPECT_EQ(absl::StatusCode::kFailedPrecondition, env->files().LockFolder("/a").status().code());
    lock.reset();
    EXPECT_TRUE(env->files().LockFolder("/a").ok());
  }));
}

}  // namespace
}  // namespace halograph::sim
