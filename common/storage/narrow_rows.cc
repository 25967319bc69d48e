#include "common/storage/narrow_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace halograph {
namespace {

constexpr int64_t kChunk = 256;  // elements looked at in one go: no branch among them

constexpr uint32_t kInfinity = 0x7f800000;

// The magnitude's bits of a float32.
uint32_t SizeOf(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffffU; }

// A float32 that rounds to fewer bits as the number itself does: the nearest, or, where that is not
// exact, the neighbour whose last bit is 1.
float ToOdd(float value) { return value; }
float ToOdd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<uint32_t>(nearest);
  const double back = nearest;
  if (back == value || (bits & 1) != 0 || std::isnan(value)) return nearest;
  return std::bit_cast<float>(std::abs(back) > std::abs(value) ? bits - 1 : bits + 1);
}

struct ToFloat32 {
  using Stored = float;
  template <typename T>
  static float Of(T value) {
    return static_cast<float>(value);
  }
  static bool Finite(float stored) { return SizeOf(stored) < kInfinity; }
};

struct ToFloat16 {
  using Stored = uint16_t;
  template <typename T>
  static uint16_t Of(T number) {
    const float value = ToOdd(number);
    const uint32_t sign = std::bit_cast<uint32_t>(value) >> 16 & 0x8000U;
    const uint32_t size = SizeOf(value);
    // Multiples of 2^-24, the last bit of 0.5F: the addition rounds.
    const uint32_t small =
        std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5F) - std::bit_cast<uint32_t>(0.5F);
    const uint32_t normal = (size - (112U << 23) + 0xfffU + (size >> 13 & 1)) >> 13;
    const uint32_t number_bits = size < 0x38800000U ? small : std::min(normal, 0x7c00U);
    const uint32_t nan = 0x7e00U | (size >> 13 & 0x1ffU);
    return static_cast<uint16_t>(sign | (size > kInfinity ? nan : number_bits));
  }
  static bool Finite(uint16_t stored) { return (stored & 0x7fffU) < 0x7c00U; }
};

struct ToBFloat16 {
  using Stored = uint16_t;
  template <typename T>
  static uint16_t Of(T number) {
    const float value = ToOdd(number);
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1)) >> 16;
    return static_cast<uint16_t>(SizeOf(value) > kInfinity ? bits >> 16 | 0x40U : rounded);
  }
  static bool Finite(uint16_t stored) { return (stored & 0x7fffU) < 0x7f80U; }
};

// Elements of the row, as T, a chunk at a time.
template <typename T>
class Chunks {
 public:
  Chunks(DType from, const std::byte* row) : from_(from), row_(row) {}

  const T* Read(int64_t first, int64_t count) {
    const std::byte* const at = row_ + static_cast<size_t>(first) * DTypeSize(from_);
    if constexpr (std::is_same_v<T, double>) {
      std::memcpy(values_.data(), at, static_cast<size_t>(count) * sizeof(T));
    } else {
      ConvertToFloat(from_, at, static_cast<size_t>(count), values_.data());
    }
    return values_.data();
  }

 private:
  const DType from_;
  const std::byte* const row_;
  std::array<T, kChunk> values_;
};

template <typename T, typename To>
std::optional<int64_t> NarrowElements(DType from, const std::byte* row, int64_t dim,
                                      std::byte* out) {
  using Stored = typename To::Stored;
  Chunks<T> chunks(from, row);
  std::array<Stored, kChunk> stored;
  for (int64_t first = 0; first < dim; first += kChunk) {
    const int64_t count = std::min(kChunk, dim - first);
    const T* const values = chunks.Read(first, count);
    bool lost = false;
    for (int64_t i = 0; i < count; ++i) {
      stored[i] = To::Of(values[i]);
      const bool fits = To::Finite(stored[i]);
      lost |= std::isfinite(values[i]) && !fits;
    }
    if (lost) {
      for (int64_t i = 0; i < count; ++i) {
        if (std::isfinite(values[i]) && !To::Finite(stored[i])) return first + i;
      }
    }
    std::memcpy(out + static_cast<size_t>(first) * sizeof(Stored), stored.data(),
                static_cast<size_t>(count) * sizeof(Stored));
  }
  return std::nullopt;
}

// The nearest whole number, halves to even; magnitudes below 2^51.
double Round(double value) { return (value + 0x1.8p52) - 0x1.8p52; }

template <typename T>
std::optional<int64_t> NarrowScaled(DType from, const std::byte* row, int64_t dim, std::byte* out) {
  Chunks<T> chunks(from, row);
  T largest = 0;
  int64_t at = 0;
  for (int64_t first = 0; first < dim; first += kChunk) {
    const int64_t count = std::min(kChunk, dim - first);
    const T* const values = chunks.Read(first, count);
    for (int64_t i = 0; i < count; ++i) {
      if (!std::isfinite(values[i])) return first + i;
      if (std::abs(values[i]) <= largest) continue;
      largest = std::abs(values[i]);
      at = first + i;
    }
  }
  const auto scale = static_cast<float>(static_cast<double>(largest) / 127);
  if (!std::isfinite(scale)) return at;
  const double divisor = scale > 0 ? scale : 1;
  std::array<int8_t, kChunk> stored;
  for (int64_t first = 0; first < dim; first += kChunk) {
    const int64_t count = std::min(kChunk, dim - first);
    const T* const values = chunks.Read(first, count);
    for (int64_t i = 0; i < count; ++i) {
      const double value = scale > 0 ? static_cast<double>(values[i]) / divisor : 0;
      stored[i] = static_cast<int8_t>(std::clamp(Round(value), -127.0, 127.0));
    }
    std::memcpy(out + first, stored.data(), static_cast<size_t>(count));
  }
  std::memcpy(out + dim, &scale, sizeof(scale));
  return std::nullopt;
}

template <typename T>
std::optional<int64_t> NarrowTo(DType from, const std::byte* row, int64_t dim, DType to,
                                std::byte* out) {
  switch (to) {
    case DType::kFloat16:
      return NarrowElements<T, ToFloat16>(from, row, dim, out);
    case DType::kBFloat16:
      return NarrowElements<T, ToBFloat16>(from, row, dim, out);
    case DType::kScaledInt8:
      return NarrowScaled<T>(from, row, dim, out);
    default:
      return NarrowElements<T, ToFloat32>(from, row, dim, out);
  }
}

}  // namespace

bool CanNarrow(DType from, DType to) {
  return IsFloating(from) && (to == DType::kFloat32 || to == DType::kFloat16 ||
                              to == DType::kBFloat16 || to == DType::kScaledInt8);
}

std::optional<int64_t> NarrowRow(DType from, const std::byte* row, int64_t dim, DType to,
                                 std::byte* out) {
  assert(CanNarrow(from, to));
  return from == DType::kFloat64 ? NarrowTo<double>(from, row, dim, to, out)
                                 : NarrowTo<float>(from, row, dim, to, out);
}

}  // namespace halograph
