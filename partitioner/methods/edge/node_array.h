// An array with an element a node, or a few: zeroed, on huge pages where the kernel gives them,
// since nodes of an edge are met in no order and every access is a miss of the TLB otherwise (the
// clustering pass over 111 M nodes took three times as long without).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

#include "common/base/status.h"
#include "common/base/units.h"

namespace halograph {

// Movable; frees its memory with it. Concurrent use as of a plain array.
template <typename T>
class NodeArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  NodeArray() = default;
  // ResourceExhausted if the system gives no such memory.
  [[nodiscard]] static StatusOr<NodeArray> Make(int64_t size, std::string_view what) {
    NodeArray array;
    array.size_ = static_cast<size_t>(size);
    if (size == 0) return array;
    void* memory =
        mmap(nullptr, array.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return ResourceExhausted(
          "{}: the system gives no {} of memory; free some, or use --parts of "
          "a smaller number or --method random",
          what, FormatBytes(static_cast<int64_t>(array.bytes())));
    }
    madvise(memory, array.bytes(), MADV_HUGEPAGE);  // a wish: small pages do as well
    array.data_ = static_cast<T*>(memory);
    return array;
  }
  ~NodeArray() { Free(); }
  NodeArray(NodeArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  NodeArray& operator=(NodeArray&& other) noexcept {
    if (this == &other) return *this;
    Free();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  NodeArray(const NodeArray&) = delete;
  NodeArray& operator=(const NodeArray&) = delete;

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t bytes() const { return size_ * sizeof(T); }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] T& operator[](int64_t i) { return data_[static_cast<size_t>(i)]; }
  [[nodiscard]] const T& operator[](int64_t i) const { return data_[static_cast<size_t>(i)]; }
  [[nodiscard]] std::span<const T> view() const { return {data_, size_}; }

  void Prefetch(int64_t i) const { __builtin_prefetch(data_ + static_cast<size_t>(i), 1); }
  // Zeroes again, by giving the pages back.
  void Clear() {
    if (data_ == nullptr) return;
    if (madvise(data_, bytes(), MADV_DONTNEED) != 0) std::fill_n(data_, size_, T{});
  }

 private:
  void Free() {
    if (data_ != nullptr) munmap(data_, bytes());
    data_ = nullptr;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace halograph
