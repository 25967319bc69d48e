// A growing array of plain values for work that is reused: anonymous memory of its own, zero where
// it was never written, in huge pages where the kernel gives them (random access pays a TLB miss
// an entry otherwise). Not thread-safe.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace halograph {

namespace internal {
// At least `bytes`, zeroed, aligned to a page; throws std::bad_alloc. Null for 0 bytes.
[[nodiscard]] void* MapMemory(size_t bytes);
// Moves to a larger mapping; the bytes beyond the old ones are zero. Throws std::bad_alloc, and
// `data` stays as it was.
[[nodiscard]] void* RemapMemory(void* data, size_t old_bytes, size_t new_bytes);
void UnmapMemory(void* data, size_t bytes);
}  // namespace internal

template <typename T>
class FusedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  FusedArray() = default;
  explicit FusedArray(size_t size)
      : data_(static_cast<T*>(internal::MapMemory(size * sizeof(T)))), size_(size) {}
  FusedArray(FusedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  FusedArray& operator=(FusedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~FusedArray() { internal::UnmapMemory(data_, size_ * sizeof(T)); }

  // Keeps what is there; pointers into it are void if it grew.
  void GrowTo(size_t size) {
    if (size <= size_) return;
    data_ = static_cast<T*>(internal::RemapMemory(data_, size_ * sizeof(T), size * sizeof(T)));
    size_ = size;
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace halograph
