// Rows of features that are there already where they are computed with: the stages gather the other
// rows of a step's nodes, and tell where each row is to be found.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace halograph {

// The nodes of one type whose rows are held. Each has a slot: they count by ascending id. Takes two
// bits a node of the type. Thread-safe.
class HeldIds {
 public:
  HeldIds() = default;  // none
  // Requires ids that ascend and are in [0, nodes), fewer than 2^31.
  HeldIds(std::span<const int64_t> ids, int64_t nodes);

  [[nodiscard]] int64_t count() const { return count_; }
  // -1: the row of the node is not held. Requires an id of the type's nodes, or none that is held.
  [[nodiscard]] int32_t SlotOf(int64_t id) const {
    const auto at = static_cast<size_t>(id);
    if (at / kBits >= words_.size()) return -1;
    const Word& word = words_[at / kBits];
    const uint64_t bit = uint64_t{1} << (at % kBits);
    if ((word.bits & bit) == 0) return -1;
    return static_cast<int32_t>(word.before + std::popcount(word.bits & (bit - 1)));
  }

 private:
  static constexpr size_t kBits = 64;
  struct Word {
    uint64_t bits = 0;   // of ids that are held
    int64_t before = 0;  // held ids below
  };
  std::vector<Word> words_;
  int64_t count_ = 0;
};

// By node type.
using HeldRows = std::vector<HeldIds>;

// How the rows of a step's nodes are found, of each node type apart.
struct RowSplit {
  // Of one type. Both empty where no row of the type is held: all are gathered, in order.
  struct Places {
    std::vector<int32_t> slots;     // of each node; 0 where its row is gathered
    std::vector<int32_t> gathered;  // which of the nodes each row is of that is gathered
  };

  RowSplit() = default;  // of no step: nothing is held
  // `held` and `nodes` are of the same node types.
  RowSplit(const HeldRows& held, std::span<const std::vector<int64_t>> nodes);

  // Rows that are held, of a type and of all.
  [[nodiscard]] int64_t held(size_t type) const {
    return std::ssize(places[type].slots) - std::ssize(places[type].gathered);
  }
  [[nodiscard]] int64_t held_rows() const;
  // What this takes.
  [[nodiscard]] int64_t bytes() const;

  std::vector<std::vector<int64_t>> gathered;  // nodes, in the order that they came in
  std::vector<Places> places;
};

}  // namespace halograph
