// The fake device's streams: queues of tasks, and who runs when.
#pragma once

#include <array>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>

#include "tests/support/fake_device/fake_device.h"

namespace halograph::fake_device {

// Held by whoever touches streams or memory. Recursive: a task may free a tensor.
[[nodiscard]] std::unique_lock<std::recursive_mutex> Lock();

// A point in a stream's queue.
struct PointInStream {
  int stream = 0;
  bool passed = false;
};
using PointPtr = std::shared_ptr<PointInStream>;

// Who calls holds Lock().
class Streams {
 public:
  static constexpr int kDefault = 0;
  static constexpr int kCount = 8;  // the default one and the pool

  static Streams& The();
  // The stream that this thread's operations go to.
  static int& Current();
  // Of the pool, in turn.
  int Next();

  void SetOrder(const FakeOrder& order);

  // Runs later, or at once, as the order says. It may throw: see ThrowKept. It holds no tensor of
  // the device: what kept one alive would hide that its memory was taken too early.
  void Queue(int stream, std::function<void()> task);
  // A point behind all that is queued.
  [[nodiscard]] PointPtr Record(int stream);
  // What is queued from now on runs behind the point.
  void Await(int stream, PointPtr point);

  // Whether it has passed, after one more step of its stream.
  [[nodiscard]] bool Poll(const PointInStream& point);
  // The same of all that is queued.
  [[nodiscard]] bool PollStream(int stream);
  // Runs all that is queued before it.
  void RunTo(const PointInStream& point);
  void Finish(int stream);
  void FinishAll();
  // Finish, because somebody waits for the stream.
  void WaitFor(int stream);
  [[nodiscard]] int64_t waits() const { return waits_; }

  // Throws the first error that a task threw and nobody has seen yet.
  void ThrowKept();
  void DropKept() { error_ = nullptr; }

 private:
  // A task, a point that it passes, or a wait for another stream's.
  struct Entry {
    std::function<void()> task;
    PointPtr passes;
    PointPtr awaits;
  };

  void Push(int stream, Entry entry);
  // Runs one entry; where that one waits, one of the stream that it waits for.
  void Step(int stream);
  // As the order says after an entry was queued.
  void GoOn();
  // Of kRandom. Called with something queued.
  void RunSome();

  std::array<std::deque<Entry>, kCount> queues_;
  FakeOrder order_;
  std::mt19937_64 random_;
  std::exception_ptr error_;
  int next_ = 0;
  int64_t waits_ = 0;
};

}  // namespace halograph::fake_device
