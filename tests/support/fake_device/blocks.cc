#include "tests/support/fake_device/blocks.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <new>

namespace halograph::fake_device {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmallest = 512;  // CUDA's

}  // namespace

MemoryBlock* BlockPool::Take(size_t bytes, int list) {
  CollectBusy();
  const ListAndBytes key(list, std::bit_ceil(std::max(bytes, kSmallest)));
  auto& free = free_[key];
  MemoryBlock* block = nullptr;
  if (free.empty()) {
    block = Fresh(key);
  } else {
    block = free.back();
    free.pop_back();
    block->is_used = true;
  }
  block->asked = bytes;
  in_use_bytes_ += bytes;
  return block;
}

MemoryBlock* BlockPool::Fresh(const ListAndBytes& key) {
  auto block = std::make_unique<MemoryBlock>();
  block->list = key.first;
  block->bytes = key.second;
  block->data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, block->bytes));
  if (block->data == nullptr) throw std::bad_alloc();
  MemoryBlock* const fresh = block.get();
  blocks_[fresh->data] = std::move(block);
  return fresh;
}

void BlockPool::Give(MemoryBlock* block) {
  busy_.push_back(block);
  CollectBusy();
}

void BlockPool::CollectBusy() {
  std::erase_if(busy_, [this](MemoryBlock* block) {
    std::erase_if(block->busy, [](const PointPtr& point) { return point->passed; });
    if (!block->busy.empty()) return false;
    in_use_bytes_ -= block->asked;
    free_[{block->list, block->bytes}].push_back(block);
    return true;
  });
}

void BlockPool::AwaitBusy() {
  for (const MemoryBlock* block : std::vector(busy_)) {
    for (const PointPtr& point : std::vector(block->busy)) Streams::The().RunTo(*point);
  }
  CollectBusy();
}

MemoryBlock* BlockPool::Find(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  const auto after = blocks_.upper_bound(at);
  if (after == blocks_.begin()) return nullptr;
  MemoryBlock* const block = std::prev(after)->second.get();
  return std::less<>()(at, block->data + block->bytes) ? block : nullptr;
}

}  // namespace halograph::fake_device
