// A zeroed array with one element (or a few) per node, in huge pages where the kernel gives
// them. The ends of edges are met in random order; with small pages, translating addresses takes
// most of a pass at 100 million nodes (the clustering pass took three times as long).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/base/prefetch.h"
#include "common/base/status.h"

namespace halograph {

namespace internal {
// Anonymous zeroed memory; null for 0 bytes. ResourceExhausted, naming `what` and the bytes.
[[nodiscard]] StatusOr<void*> MapHugePages(size_t bytes, std::string_view what);
void UnmapHugePages(void* data, size_t bytes);
// Zeroes by giving the pages back; false where the kernel would not.
[[nodiscard]] bool ForgetPages(void* data, size_t bytes);
}  // namespace internal

// Owns its memory; movable. Elements are as thread-safe as those of a plain array.
template <typename T>
class NodeArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  NodeArray() = default;
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

  // ResourceExhausted, naming `what` and the bytes, if the system gives no such memory.
  [[nodiscard]] static StatusOr<NodeArray> Make(int64_t size, std::string_view what) {
    NodeArray array;
    HG_ASSIGN_OR_RETURN(void* data,
                        internal::MapHugePages(static_cast<size_t>(size) * sizeof(T), what));
    array.data_ = static_cast<T*>(data);
    array.size_ = size;
    return array;
  }
  // Gives the memory back at once.
  void Free() {
    if (data_ != nullptr) internal::UnmapHugePages(data_, bytes());
    data_ = nullptr;
    size_ = 0;
  }
  // Zeroes again.
  void Clear() {
    if (data_ != nullptr && !internal::ForgetPages(data_, bytes())) std::fill_n(data_, size_, T{});
  }

  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(size_) * sizeof(T); }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] T& operator[](int64_t i) { return data_[i]; }
  [[nodiscard]] const T& operator[](int64_t i) const { return data_[i]; }
  [[nodiscard]] std::span<T> span() { return {data_, static_cast<size_t>(size_)}; }
  [[nodiscard]] std::span<const T> span() const { return {data_, static_cast<size_t>(size_)}; }

  void Prefetch(int64_t i) const { PrefetchToWrite(data_ + i); }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace halograph
