// Writes checkpoints beside training, on one thread of its own: one at a time, none in a queue, so
// that memory holds one image at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "trainer/checkpoint/files/checkpoint_folder.h"

namespace halograph {

// What became of an image.
struct CheckpointOutcome {
  int64_t steps_done = 0;
  Status status;                 // of CheckpointFolder::Write
  std::filesystem::path folder;  // if it is OK
  double copy_seconds = 0;       // CheckpointImage's
  double seconds = 0;            // until it was durable
};

// Thread-safe.
class CheckpointThread {
 public:
  // `after_each`: called on the thread once an image is written, or could not be; busy() until
  // then.
  explicit CheckpointThread(CheckpointFolder folder, std::function<void()> after_each = {});
  // Waits for what is being written.
  ~CheckpointThread();
  CheckpointThread(const CheckpointThread&) = delete;
  CheckpointThread& operator=(const CheckpointThread&) = delete;

  // Whether an image is being written.
  [[nodiscard]] bool busy() const;
  // Hands the image over; waits first while another one is being written.
  void Start(CheckpointImage image);
  // Waits until nothing is being written.
  void Wait();
  // The same, for so long at most. Whether nothing is being written.
  [[nodiscard]] bool WaitFor(std::chrono::nanoseconds at_most);
  // What became of images since the last call, in order. At most kMostOutcomes are kept, the last.
  [[nodiscard]] std::vector<CheckpointOutcome> TakeOutcomes();
  // The newest that was written by this object; or none.
  [[nodiscard]] std::optional<std::filesystem::path> last() const;

  static constexpr size_t kMostOutcomes = 64;

 private:
  void Work();

  const CheckpointFolder folder_;
  const std::function<void()> after_each_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::optional<CheckpointImage> image_ HG_GUARDED_BY(mutex_);  // until it is written
  bool ended_ HG_GUARDED_BY(mutex_) = false;
  std::vector<CheckpointOutcome> outcomes_ HG_GUARDED_BY(mutex_);
  std::optional<std::filesystem::path> last_ HG_GUARDED_BY(mutex_);
  std::thread thread_;  // last: uses all of the above
};

}  // namespace halograph
