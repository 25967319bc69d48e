#include "common/state/placement.h"

#include <bit>

#include "common/base/rng.h"

namespace halograph {
namespace {

// Nodes, edges and plain ranges: rows lie in the order of their ids.
class IdOrder final : public RowPlacement {
 public:
  explicit IdOrder(std::vector<int64_t> boundaries) : RowPlacement(std::move(boundaries)) {}
  [[nodiscard]] int64_t Position(int64_t id) const override { return id; }
  [[nodiscard]] int64_t Id(int64_t position) const override { return position; }
  [[nodiscard]] bool in_order() const override { return true; }
};

// A Feistel network over the numbers of as many bits as rows need: each round changes one half by a
// function of the other, so that the same rounds backwards undo it. What falls outside the rows
// goes through it again; fewer than two passes are needed on average.
class HashOrder final : public RowPlacement {
 public:
  explicit HashOrder(std::vector<int64_t> boundaries)
      : RowPlacement(std::move(boundaries)),
        low_bits_(std::bit_width(static_cast<uint64_t>(rows() - 1)) / 2),
        low_mask_((uint64_t{1} << low_bits_) - 1),
        high_mask_(
            (uint64_t{1} << (std::bit_width(static_cast<uint64_t>(rows() - 1)) - low_bits_)) - 1) {}

  [[nodiscard]] int64_t Position(int64_t id) const override {
    auto x = static_cast<uint64_t>(id);
    do {
      for (uint64_t round = 0; round < kRounds; ++round) x = Round(x, round);
    } while (x >= static_cast<uint64_t>(rows()));
    return static_cast<int64_t>(x);
  }
  [[nodiscard]] int64_t Id(int64_t position) const override {
    auto x = static_cast<uint64_t>(position);
    do {
      for (uint64_t round = kRounds; round-- > 0;) x = Round(x, round);
    } while (x >= static_cast<uint64_t>(rows()));
    return static_cast<int64_t>(x);
  }

 private:
  static constexpr uint64_t kRounds = 6;

  // Its own inverse.
  [[nodiscard]] uint64_t Round(uint64_t x, uint64_t round) const {
    const uint64_t low = x & low_mask_;
    const uint64_t high = x >> low_bits_;
    // The upper bits of the key: they depend on all that goes in.
    if (round % 2 == 0) return (high ^ (SubKey(round, low) >> 32 & high_mask_)) << low_bits_ | low;
    return high << low_bits_ | (low ^ (SubKey(round, high) >> 32 & low_mask_));
  }

  const int low_bits_;
  const uint64_t low_mask_;
  const uint64_t high_mask_;
};

std::vector<int64_t> EqualRanges(int64_t rows, int parts) {
  __extension__ using Wide = __int128;
  std::vector<int64_t> boundaries;
  for (int p = 0; p <= parts; ++p) {
    boundaries.push_back(static_cast<int64_t>(static_cast<Wide>(rows) * p / parts));
  }
  return boundaries;
}

std::vector<int64_t> Copy(std::span<const int64_t> boundaries) {
  return {boundaries.begin(), boundaries.end()};
}

}  // namespace

StatusOr<std::unique_ptr<RowPlacement>> RowPlacement::Make(const MutableTensorSpec& spec,
                                                           const Schema& schema,
                                                           const PartitionBook& book) {
  switch (spec.placement) {
    case Placement::kNodes: {
      HG_ASSIGN_OR_RETURN(const int type, schema.NodeTypeIndex(spec.ref.type));
      return std::make_unique<IdOrder>(Copy(book.NodeBoundaries(type)));
    }
    case Placement::kEdges: {
      HG_ASSIGN_OR_RETURN(const int relation, schema.RelationIndex(spec.ref.type));
      return std::make_unique<IdOrder>(Copy(book.EdgeBoundaries(relation)));
    }
    case Placement::kRange:
      return std::make_unique<IdOrder>(EqualRanges(spec.rows, book.num_parts()));
    case Placement::kHash:
      return std::make_unique<HashOrder>(EqualRanges(spec.rows, book.num_parts()));
  }
  return InvalidArgument("tensor '{}': placement {} is unknown", spec.ref.name,
                         static_cast<int>(spec.placement));
}

}  // namespace halograph
