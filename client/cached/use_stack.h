// The kept rows that one step needs next: a stack in blocks, which is popped from the top when
// slots are needed, or used up whole when its step comes. Its memory is that of its entries, but
// for a part of one block. Not thread-safe. Push throws std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace halograph {

// A kept row that waits for its next use.
struct WaitingUse {
  uint32_t position = 0;  // in the ids of the step that needs it
  uint32_t slot = 0;
  uint32_t used = 0;  // the step that used it last, lowest bits
};

class UseStack {
 public:
  UseStack() = default;
  ~UseStack() {
    while (top_ != nullptr) DropTop();
  }
  UseStack(UseStack&& other) noexcept
      : top_(std::move(other.top_)), size_(std::exchange(other.size_, 0)) {}
  UseStack& operator=(UseStack&&) = delete;

  void Push(const WaitingUse& use) {
    const size_t at = size_ % kBlockUses;
    if (at == 0) top_ = std::make_unique<Block>(std::move(top_));
    top_->uses[at] = use;
    ++size_;
  }
  // Requires that it is not empty.
  WaitingUse Pop() {
    --size_;
    const size_t at = size_ % kBlockUses;
    const WaitingUse use = top_->uses[at];
    if (at == 0) DropTop();
    return use;
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t bytes() const {
    return (size_ + kBlockUses - 1) / kBlockUses * sizeof(Block);
  }

 private:
  static constexpr size_t kBlockUses = 42;  // half a KiB
  struct Block {
    explicit Block(std::unique_ptr<Block> under) : below(std::move(under)) {}
    std::unique_ptr<Block> below;
    WaitingUse uses[kBlockUses];
  };

  // One at a time: blocks that end each other would be as many calls deep as there are blocks.
  void DropTop() { top_ = std::move(top_->below); }

  std::unique_ptr<Block> top_;
  size_t size_ = 0;
};

}  // namespace halograph
