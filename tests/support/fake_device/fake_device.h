// A device without hardware, for tests of code that computes on one: libtorch's device type
// `privateuseone` with one device, streams, events, memory of its own and pinned host memory. Its
// results are the CPU's, bit for bit.
//
// Its streams are queues, and nothing in them runs before somebody must have it, or before the
// order says so. So what runs before what is a value, not a matter of time: code that forgets to
// wait reads NaN or what was there before, in every run alike. No thread is started and nothing
// sleeps.
//
// Somebody must have it: a stream that is waited for, `item`, a blocking copy, and an operator
// whose result's size depends on values (`nonzero`, `unique`). A poll of an event or of a stream
// runs one step. A stream that comes to a wait for an event runs the event's stream up to it.
//
// Memory that is given back is taken again by the next tensor of its stream that fits, at once, as
// CUDA's allocator does, and is 0xFF (NaN, -1) when it is given out. It never goes back to the
// system: a wrong order is a wrong value, not a crash.
//
// An error of an operator that runs later (an index out of range) is kept, and thrown by the next
// wait, poll, `item` or blocking copy. Tensors of the CPU among the arguments are refused as CUDA
// refuses them, but for single numbers and indices. Random numbers are refused (draw them on the
// CPU, and copy), and so are sparse tensors. Backward runs on the default stream, whichever forward
// ran on: compute there.
//
// What it cannot show: a GPU's rounding, real overlap, a driver's errors, several devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/types.h>

namespace halograph {

// Which stream goes on when nobody waits.
struct FakeOrder {
  enum class Runs {
    kWhenAsked,     // none, until somebody must have it
    kSideEarly,     // streams of the pool as early as possible, the default one when asked
    kDefaultEarly,  // the default stream as early as possible, the others when asked
    kRandom,        // any, by the seed
    kAtOnce,        // all, at once: hides every missing wait
  };
  Runs runs = Runs::kWhenAsked;
  uint64_t seed = 0;  // of kRandom

  // Fit for a test's name.
  [[nodiscard]] std::string Name() const;
  // One of each kind, and a few seeds.
  static std::vector<FakeOrder> All();
};

// Functions may be called by any thread. One thread at a time runs what is queued.
class FakeDevice {
 public:
  // Makes the device known to libtorch, for the rest of the process; once is enough. To be called
  // before the first backward pass of the process, because libtorch starts its threads then.
  static void Install();

  [[nodiscard]] static torch::Device Get() { return {torch::kPrivateUse1, 0}; }

  // From now on. What is queued runs first, and its errors stay kept.
  static void SetOrder(const FakeOrder& order);

  // A CPU tensor of 0xFF in pinned memory. Non-blocking copies between it and the device read and
  // write it when their turn comes; all other host memory is copied before the call returns. Its
  // memory is taken again once it is freed and the copies from and to it have run.
  [[nodiscard]] static torch::Tensor PinnedMemory(at::IntArrayRef sizes, at::ScalarType type);

  // Tensors that would have the device hold more than this at a time throw c10::OutOfMemoryError.
  static void LimitMemory(int64_t bytes);
  // What tensors hold now, and those freed that other streams still use.
  [[nodiscard]] static int64_t MemoryInUse();

  // How often somebody had to wait for a stream so far: looks at events are not counted.
  [[nodiscard]] static int64_t Waits();

  // As after Install: runs what is queued, drops kept errors and the limit, runs when asked.
  // Tensors that live are left as they are.
  static void Reset();
};

}  // namespace halograph
