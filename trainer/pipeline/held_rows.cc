#include "trainer/pipeline/held_rows.h"

namespace halograph {

HeldIds::HeldIds(std::span<const int64_t> ids, int64_t nodes) : count_(std::ssize(ids)) {
  if (ids.empty()) return;
  words_.resize((static_cast<size_t>(nodes) + kBits - 1) / kBits);
  for (const int64_t id : ids) {
    const auto at = static_cast<size_t>(id);
    words_[at / kBits].bits |= uint64_t{1} << (at % kBits);
  }
  int64_t before = 0;
  for (Word& word : words_) {
    word.before = before;
    before += std::popcount(word.bits);
  }
}

RowSplit::RowSplit(const HeldRows& held, std::span<const std::vector<int64_t>> nodes)
    : gathered(nodes.size()), places(nodes.size()) {
  for (size_t type = 0; type < nodes.size(); ++type) {
    if (held[type].count() == 0) {
      gathered[type] = nodes[type];
      continue;
    }
    Places& of = places[type];
    of.slots.reserve(nodes[type].size());
    for (const int64_t id : nodes[type]) {
      const int32_t slot = held[type].SlotOf(id);
      if (slot < 0) {
        of.gathered.push_back(static_cast<int32_t>(of.slots.size()));
        gathered[type].push_back(id);
      }
      of.slots.push_back(slot < 0 ? 0 : slot);
    }
  }
}

int64_t RowSplit::held_rows() const {
  int64_t rows = 0;
  for (size_t type = 0; type < places.size(); ++type) rows += held(type);
  return rows;
}

int64_t RowSplit::bytes() const {
  size_t bytes = 0;
  for (const std::vector<int64_t>& nodes : gathered) bytes += nodes.size() * sizeof(int64_t);
  for (const Places& of : places) {
    bytes += (of.slots.size() + of.gathered.size()) * sizeof(int32_t);
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace halograph
