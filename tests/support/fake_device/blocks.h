// Memory that is taken, given back and taken again, and never goes back to the system.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/fake_device/streams.h"

namespace halograph::fake_device {

struct MemoryBlock {
  std::byte* data = nullptr;  // as aligned as the CPU's allocator aligns
  size_t bytes = 0;
  size_t asked = 0;                // bytes, of who has it now
  int list = 0;                    // that it was taken from, and goes back to
  bool is_used = false;            // it has been given out before
  std::vector<int> other_streams;  // that use it too: a point in each is to be put into `busy`
  std::vector<PointPtr> busy;      // until they have passed, nobody else may have it
};

// Who calls holds Lock().
class BlockPool {
 public:
  // The block last given back to the list among those of its size, a power of two, or a fresh one.
  [[nodiscard]] MemoryBlock* Take(size_t bytes, int list);
  // Can be taken again once all points that it is busy until have passed.
  void Give(MemoryBlock* block);
  // The points that blocks which were given back wait for are run to.
  void AwaitBusy();

  // The block that the address lies in, or null.
  [[nodiscard]] MemoryBlock* Find(const void* address) const;
  // Asked for, in blocks that cannot be taken again yet.
  [[nodiscard]] size_t in_use_bytes() const { return in_use_bytes_; }

 private:
  using ListAndBytes = std::pair<int, size_t>;
  // Blocks whose points have all passed go to their lists.
  void CollectBusy();
  MemoryBlock* Fresh(const ListAndBytes& key);

  std::map<ListAndBytes, std::vector<MemoryBlock*>> free_;
  std::vector<MemoryBlock*> busy_;
  std::map<const std::byte*, std::unique_ptr<MemoryBlock>> blocks_;  // by where they begin
  size_t in_use_bytes_ = 0;
};

}  // namespace halograph::fake_device
