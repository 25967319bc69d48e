// Global ids of one node type by input id, in 4 bytes each where the type has no more than 2^32
// nodes. Large arrays ask for huge pages: they are read at random, twice an edge.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace halograph {

// Whether ids below `count` fit 32 bits: what indices.npy and everything here decide by.
[[nodiscard]] constexpr bool FitsUint32(int64_t count) {
  return count <= int64_t{std::numeric_limits<uint32_t>::max()} + 1;
}

template <typename T>
struct HugePageAllocator {
  using value_type = T;
  static constexpr size_t kHugePage = size_t{2} << 20;

  HugePageAllocator() = default;
  template <typename U>
  explicit HugePageAllocator(const HugePageAllocator<U>&) {}

  [[nodiscard]] T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    const bool large = bytes >= 2 * kHugePage;
    const size_t alignment = large ? kHugePage : alignof(std::max_align_t);
    void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (data == nullptr) throw std::bad_alloc();
    if (large) ::madvise(data, bytes, MADV_HUGEPAGE);  // a wish: small pages do as well
    return static_cast<T*>(data);
  }
  void deallocate(T* data, size_t) { std::free(data); }
  bool operator==(const HugePageAllocator&) const = default;
};

// Plain array; thread-safe to read.
class GlobalIdArray {
 public:
  GlobalIdArray() = default;
  explicit GlobalIdArray(int64_t count) {
    if (FitsUint32(count)) {
      narrow_.resize(static_cast<size_t>(count));
    } else {
      wide_.resize(static_cast<size_t>(count));
    }
  }

  [[nodiscard]] int64_t size() const {
    return static_cast<int64_t>(wide_.empty() ? narrow_.size() : wide_.size());
  }
  [[nodiscard]] int64_t operator[](int64_t id) const {
    const auto i = static_cast<size_t>(id);
    return wide_.empty() ? int64_t{narrow_[i]} : wide_[i];
  }
  // f(const uint32_t*) or f(const int64_t*), with the array itself: for loops over edges.
  template <typename F>
  decltype(auto) Visit(F&& f) const {
    return wide_.empty() ? f(narrow_.data()) : f(wide_.data());
  }
  template <typename F>
  decltype(auto) Visit(F&& f) {
    return wide_.empty() ? f(narrow_.data()) : f(wide_.data());
  }

 private:
  std::vector<uint32_t, HugePageAllocator<uint32_t>> narrow_;
  std::vector<int64_t, HugePageAllocator<int64_t>> wide_;  // empty unless narrow_ cannot hold them
};

}  // namespace halograph
