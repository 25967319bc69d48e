// The sum of what all ranks have, whose bits depend on the ranks alone: not on which of them share
// a process, and not on how many processes there are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/status.h"
#include "trainer/distributed/process_group.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// As what values travel between ranks, there and back.
enum class CarriedAs : uint8_t {
  kThemselves,
  // Of float32 only, with 2 bytes a value: each rank's is rounded once, to nearest even, also where
  // it does not leave its process; they are added up in float32, and the sum is rounded once.
  kBfloat16,
};

// In place of each of `own`, the sum over all ranks, added one after the other from rank 0 on:
// ((x0 + x1) + x2) + ... `own` are those of the ranks of this process, in order: contiguous, of the
// same shape and dtype everywhere, and as many in every process; rank p * own.size() + i has own[i]
// of process p.
//
// Small ones are gathered by all. Of large ones each process adds up a part, [ranks, size /
// processes], and gives out the sum: a process sends and receives no more than twice their size
// where it has one rank, as in a ring. Errors as ProcessGroup's.
[[nodiscard]] Status OrderedSum(std::span<const torch::Tensor> own, ProcessGroup& group,
                                std::string_view what, CarriedAs carried = CarriedAs::kThemselves);

}  // namespace halograph
