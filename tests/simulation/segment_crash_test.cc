// A crash of the process or of the machine at every call that makes, names, fills or recycles a
// segment of the push log: the folder opens, and what was acknowledged is there.
#include "tests/simulation/sim_machine.h"
#include "tests/support/store_fixture.h"

namespace halograph::sim {
namespace {

class SegmentCrashTest : public StoreTest {
 protected:
  SegmentCrashTest() {
    options_.folder = "/state";
    options_.sync = SyncLevel::kAlways;
    options_.segment_bytes = 16 << 10;
    options_.on_set_aside = [](const std::filesystem::path& file, const std::filesystem::path&) {
      ADD_FAILURE() << file << " is set aside";
    };
    options_.on_unsynced_loss = [this](const Status& end, int64_t) {
      EXPECT_EQ(kind_, CrashKind::kPowerLoss) << ToString(end);
    };
    for (uint64_t i = 1; i <= 8; ++i) pushes_.push_back({RandomPush(1, i, 300)});
  }

  // Pushes of 8 KiB, each in a segment of its own. A checkpoint gives segments back, which are
  // used again.
  void Live() {
    acknowledged_ = 0;
    created_ = false;
    GoOn();
  }
  void GoOn() {
    if (!Open().ok()) return;
    if (!store_->Create(Embedding()).ok()) return;
    created_ = true;
    EXPECT_GE(store_->stats().lsn, static_cast<int64_t>(acknowledged_));
    acknowledged_ = static_cast<size_t>(store_->stats().lsn);
    while (acknowledged_ < pushes_.size()) {
      if (!store_->Push(pushes_[acknowledged_][0].request(), {}).ok()) return;
      ++acknowledged_;
      if (acknowledged_ % 3 == 0 && !store_->Checkpoint().ok()) return;
    }
  }
  void End(SimMachine& machine) {
    store_.reset();
    env_.reset();
    if (machine.crashed()) machine.WoundUp();
    machine.Heal();
  }

  void ExpectWholeState() {
    MustOpen();
    ASSERT_NE(store_, nullptr);
    const auto lsn = static_cast<size_t>(store_->stats().lsn);
    ASSERT_GE(lsn, acknowledged_);
    ASSERT_LE(lsn, acknowledged_ + 1);  // one was under way
    if (created_) {
      EXPECT_EQ(PullAll(), Expected({pushes_.begin(), pushes_.begin() + std::ptrdiff_t(lsn)}));
    }
  }

  // False: the process lived to its end.
  [[nodiscard]] bool CrashAt(int64_t call, CrashKind kind) {
    SCOPED_TRACE((kind == CrashKind::kKill ? "killed at call " : "lost power at call ") +
                 std::to_string(call));
    kind_ = kind;
    bool crashed = false;
    SimScheduler scheduler(static_cast<uint64_t>(call), {});
    EXPECT_EQ("", scheduler.Run([&] {
      SimMachine machine(&scheduler, 0, static_cast<uint64_t>(call));
      machine.CrashAfter(call, true, kind);
      env_ = machine.Boot();
      Live();
      crashed = machine.crashed();
      End(machine);
      // A second crash, of the start that winds up the first.
      machine.CrashAfter(call * 7 % 60 + 1, true, kind);
      env_ = machine.Boot();
      static_cast<void>(Open().ok());
      End(machine);
      env_ = machine.Boot();
      for (int start = 0; start < 2; ++start) ExpectWholeState();
      if (!crashed) {  // eight segments were used, and some more than once
        EXPECT_LT(env_->files().List("/state/log")->size(), pushes_.size());
      }
      End(machine);
      EXPECT_EQ("", machine.misuse());
    }));
    return crashed;
  }

  std::vector<std::vector<TestPush>> pushes_;
  CrashKind kind_ = CrashKind::kKill;
  bool created_ = false;
  size_t acknowledged_ = 0;
};

TEST_F(SegmentCrashTest, TheFolderOpensAfterACrashAtAnyCall) {
  for (const CrashKind kind : {CrashKind::kKill, CrashKind::kPowerLoss}) {
    int64_t call = 1;
    while (call < 2000 && !HasFailure() && CrashAt(call, kind)) ++call;
    EXPECT_GT(call, 100);
    EXPECT_LT(call, 2000);
  }
}

// What it dropped the next process sees still, until the machine loses its power.
TEST_F(SegmentCrashTest, WhatAFailedSyncDroppedIsNotTrusted) {
  kind_ = CrashKind::kPowerLoss;
  int failed = 0;
  for (uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    SimScheduler scheduler(seed, {});
    EXPECT_EQ("", scheduler.Run([&] {
      SimMachine machine(&scheduler, 0, seed);
      env_ = machine.Boot();
      machine.faults().sync = 0.1;
      Live();
      failed += acknowledged_ < pushes_.size() ? 1 : 0;
      machine.CrashNow(CrashKind::kKill);
      End(machine);
      env_ = machine.Boot();
      GoOn();
      EXPECT_EQ(acknowledged_, pushes_.size());
      machine.CrashNow(CrashKind::kPowerLoss);
      End(machine);
      env_ = machine.Boot();
      ExpectWholeState();
      End(machine);
      EXPECT_EQ("", machine.misuse());
    }));
  }
  EXPECT_GT(failed, 100);
}

}  // namespace
}  // namespace halograph::sim
