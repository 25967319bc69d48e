// A zeroed array of one element a node (or cluster), asked for in huge pages: it is read at random,
// and at 100 million nodes most of the time of a pass would go into translating addresses.
// Owns its memory; movable; elements are as thread-safe as those of a plain array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/base/status.h"

namespace halograph {

// Anonymous zeroed memory; null for 0 bytes. ResourceExhausted, naming `what` and the bytes.
[[nodiscard]] StatusOr<void*> MapHugePages(size_t bytes, std::string_view what);
void UnmapHugePages(void* data, size_t bytes);

template <typename T>
class NodeArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  NodeArray() = default;
  ~NodeArray() { Free(); }
  NodeArray(NodeArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  NodeArray& operator=(NodeArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  // As MapHugePages.
  [[nodiscard]] static StatusOr<NodeArray> Make(int64_t count, std::string_view what) {
    NodeArray array;
    const auto bytes = static_cast<size_t>(count) * sizeof(T);
    HG_ASSIGN_OR_RETURN(void* data, MapHugePages(bytes, what));
    array.data_ = static_cast<T*>(data);
    array.size_ = count;
    return array;
  }
  // Gives the memory back at once.
  void Free() {
    if (data_ != nullptr) UnmapHugePages(data_, static_cast<size_t>(size_) * sizeof(T));
    data_ = nullptr;
    size_ = 0;
  }

  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] T& operator[](int64_t i) { return data_[i]; }
  [[nodiscard]] const T& operator[](int64_t i) const { return data_[i]; }
  [[nodiscard]] std::span<T> span() { return {data_, static_cast<size_t>(size_)}; }
  [[nodiscard]] std::span<const T> span() const { return {data_, static_cast<size_t>(size_)}; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace halograph
