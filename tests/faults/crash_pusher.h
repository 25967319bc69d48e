// The process of state_crash_test that is ended at a random point: it opens a state, pushes with
// four clients, and takes snapshots meanwhile, for as long as it lives.
#pragma once

#include <cstdint>
#include <string>

namespace halograph {

// What it tells on its standard output, in whole messages.
struct Told {
  enum class What : int32_t {
    kOpened,        // the state is open, and its log replayed
    kSent,          // a push is about to be sent
    kAcknowledged,  // a push was acknowledged
    kSnapshot,      // snapshot `number` was taken
    kDeletes,       // snapshot `number` is about to be deleted
  };
  What what = What::kOpened;
  int32_t client = 0;  // kSent, kAcknowledged
  int64_t number = 0;  // of the push, or of the snapshot
};

[[nodiscard]] std::string SnapshotName(int64_t number);
// The number of a snapshot of this name.
[[nodiscard]] int64_t SnapshotNumber(const std::string& name);
// Whether a snapshot is of a step that was to come; else of the moment.
[[nodiscard]] inline bool IsOfStep(int64_t number) { return number % 2 == 0; }

// Ends only if something fails, with the code to exit with. Each client goes on behind its pushes
// that the state has: it repeats the last one that may be there.
[[nodiscard]] int RunCrashPusher(const std::string& folder, int sync_level);

}  // namespace halograph
