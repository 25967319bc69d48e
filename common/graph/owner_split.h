// Shares a list of global ids out by who answers for their owners: a server, a mapped part, "here"
// or "elsewhere". The one place where ids are split by owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace halograph {

// Some ids of a list, in the list's order, each with its position: in the list, or what the caller
// gave for it.
struct IdShare {
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;
};

// Not thread-safe. Memory is reused from one Split to the next.
class OwnerSplit {
 public:
  // Forgets the split before. `boundaries`: P + 1, as the ids are owned (PartitionBook); all ids
  // lie within them. Target target_of_part[p], in [0, num_targets), answers for part p; a negative
  // one: nobody does. `positions`: as many as ids, or empty for 0, 1, 2, ... Returns -1, or the
  // part of the first id that nobody answers for; there are no shares then. Throws std::bad_alloc.
  [[nodiscard]] int Split(std::span<const int64_t> boundaries, std::span<const int> target_of_part,
                          int num_targets, std::span<const int64_t> ids,
                          std::span<const int64_t> positions = {});

  // One a target, maybe empty. Valid until the next Split or the end of this object.
  [[nodiscard]] std::span<const IdShare> shares() const { return shares_; }
  [[nodiscard]] const IdShare& share(int target) const {
    return shares_[static_cast<size_t>(target)];
  }

 private:
  std::vector<int> targets_;    // per id
  std::vector<size_t> starts_;  // per target, of its share in the next two; then its end
  std::vector<int64_t> ids_;
  std::vector<int64_t> positions_;
  std::vector<IdShare> shares_;
};

// Position of the first id outside [0, count); ids.size() if all are within.
[[nodiscard]] size_t FindOutside(std::span<const int64_t> ids, int64_t count);

// OutOfRange naming the first id outside [0, count), its position and the count; `what` is in
// front: "node paper / feat".
[[nodiscard]] Status CheckIdRange(std::span<const int64_t> ids, int64_t count,
                                  std::string_view what);

}  // namespace halograph
