// Memory that begins on a boundary of 4096 bytes, so that files can be written from it past the
// page cache.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace halograph {

class AlignedBytes {
 public:
  static constexpr size_t kAlignment = 4096;

  AlignedBytes() = default;
  // Contents undefined. Throws std::bad_alloc.
  explicit AlignedBytes(size_t size)
      : data_(static_cast<std::byte*>(::operator new(size, std::align_val_t(kAlignment)))),
        size_(size) {}

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const {
      ::operator delete(data, std::align_val_t(kAlignment));
    }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

}  // namespace halograph
