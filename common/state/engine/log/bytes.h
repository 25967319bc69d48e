// Integers in and out of bytes, little-endian. Plain values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace halograph {

static_assert(std::endian::native == std::endian::little);

template <typename Int>
void PutInt(Int value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Reads from the front; after the end it gives zeros, and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename Int>
  Int Get() {
    Int value = 0;
    const std::span<const std::byte> bytes = Take(sizeof(value));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  // The next `count` bytes; none if there are fewer.
  std::span<const std::byte> Take(size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::span<const std::byte> taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace halograph
