// A(v) of the papers: the partitions that hold an edge of a node, as a bit a partition, in as few
// bytes a node as do: ceil(parts / 8) up to 64 partitions, whole words of 64 beyond.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "partitioner/stream/node_array.h"

namespace halograph {

class ReplicaSets {
  static_assert(std::endian::native == std::endian::little);  // bit p of a word lies in byte p / 8

 public:
  ReplicaSets() = default;
  // ResourceExhausted without memory.
  [[nodiscard]] static StatusOr<ReplicaSets> Make(int64_t nodes, int parts) {
    ReplicaSets sets;
    sets.row_bytes_ = RowBytes(parts);
    sets.words_ = (parts + 63) / 64;
    if (parts < 64) sets.mask_ = (uint64_t{1} << parts) - 1;
    // A word is read from any row, so the last rows need a word behind them.
    HG_ASSIGN_OR_RETURN(sets.bits_,
                        NodeArray<uint8_t>::Make(nodes * sets.row_bytes_ + 8, "replica sets"));
    return sets;
  }
  [[nodiscard]] static int64_t RowBytes(int parts) {
    return parts <= 64 ? (parts + 7) / 8 : (parts + 63) / 64 * 8;
  }

  [[nodiscard]] int words() const { return words_; }
  // Partitions 64 * word to 64 * word + 63.
  [[nodiscard]] uint64_t Word(int64_t node, int word) const {
    uint64_t bits;
    std::memcpy(&bits, bits_.data() + node * row_bytes_ + 8 * word, sizeof(bits));
    return words_ == 1 ? bits & mask_ : bits;
  }
  [[nodiscard]] bool Contains(int64_t node, int part) const {
    return (bits_[node * row_bytes_ + part / 8] >> (part % 8) & 1) != 0;
  }
  void Add(int64_t node, int part) {
    bits_[node * row_bytes_ + part / 8] |= static_cast<uint8_t>(1 << (part % 8));
  }
  [[nodiscard]] bool Empty(int64_t node) const { return Count(node) == 0; }
  [[nodiscard]] int Count(int64_t node) const {
    int count = 0;
    for (int w = 0; w < words_; ++w) count += std::popcount(Word(node, w));
    return count;
  }
  void Prefetch(int64_t node) const { bits_.Prefetch(node * row_bytes_); }
  void Clear() { bits_.Clear(); }

 private:
  NodeArray<uint8_t> bits_;
  int64_t row_bytes_ = 0;
  int words_ = 0;
  uint64_t mask_ = ~uint64_t{0};
};

// Calls visit(part) for each bit of `bits`, ascending; `word` as in ReplicaSets::Word.
template <typename Visit>
void ForEachPart(uint64_t bits, int word, const Visit& visit) {
  for (; bits != 0; bits &= bits - 1) visit(64 * word + std::countr_zero(bits));
}

}  // namespace halograph
