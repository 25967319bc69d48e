// Reads a ReadTopologyReply without copying its data. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "client/remote/transport.h"
#include "common/base/status.h"

namespace halograph {

struct TopologyReply {
  int64_t file_bytes = 0;
  std::vector<std::span<const std::byte>> data;  // pieces of the reply, in order
  int64_t data_bytes = 0;                        // of them together
};

// DataLoss if the pieces are no such message. What is returned points into them.
[[nodiscard]] StatusOr<TopologyReply> ReadTopologyReply(ReplyPieces pieces);

}  // namespace halograph
