// Compaction on the device: the unique ids in order of first appearance, and each id's position
// among them, by a stable sort instead of a map. The same values as the host's, bit for bit.
#pragma once

#include <span>

#include "common/sampling/samplers/last_layer.h"
#include "trainer/device/device.h"

namespace halograph {

// On `entries`' device, of int64 and not empty; nothing waits.
struct FirstAppearances {
  torch::Tensor positions;  // int32, of each entry among the unique ids
  torch::Tensor unique;     // int64, entries + 1; what stands from `count` on has no meaning
  torch::Tensor count;      // int64, [1]
};
[[nodiscard]] FirstAppearances FindFirstAppearances(const torch::Tensor& entries);

// On a queue of its own, beside what copies and computes. Thread-safe: calls share the queue.
class DeviceCompaction {
 public:
  explicit DeviceCompaction(Device device)
      : device_(std::move(device)), queue_(device_.MakeQueue()) {}

  // As CompactIds. The calling thread waits for the device: once for the positions and how many ids
  // are unique, once for these. Throws c10::Error as libtorch does, of memory too.
  void Compact(std::span<const IdsToCompact> types) const;

 private:
  const Device device_;
  const Queue queue_;
};

}  // namespace halograph
