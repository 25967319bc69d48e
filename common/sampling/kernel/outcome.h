// How a run of the kernel ended. Files that were opened without a look at their contents may hold
// anything: the kernel checks what it would otherwise follow out of its arrays, and stops.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

struct FusedOutcome {
  enum class Kind : uint8_t {
    kDone,
    kListTooLong,     // more unique nodes than a block can number
    kUnknownSource,   // `id`: a source that the type does not have
    kDamagedOffsets,  // `id`: a destination whose offsets lie outside the file, or descend
    kDamagedDrawer,   // `id`: a destination for which the drawer gave a position beyond its edges
  };
  Kind kind = Kind::kDone;
  int64_t id = 0;

  [[nodiscard]] bool done() const { return kind == Kind::kDone; }
};

// DataLoss for the three kinds of damage: names `relation` and what to do.
[[nodiscard]] Status DamageOf(const FusedOutcome& outcome, std::string_view relation);

}  // namespace halograph
