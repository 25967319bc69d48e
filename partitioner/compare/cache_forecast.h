// What a trainer's cache of remote rows saves, before anything is partitioned or sampled.
#pragma once

#include <cstdint>
#include <span>

#include "common/sampling/inclusion.h"
#include "partitioner/methods/method.h"

namespace halograph {

// Of the bytes that a minibatch of partition `part` asks others for, the share that is left, from 0
// to 1, where `memory` bytes of their rows are kept: those that are most likely read (`chances`, of
// the minibatches of this partition). 1 where nothing is asked for. `row_bytes`: per node type; 0
// for types without features. Memory: 8 bytes a remote node. Pure.
[[nodiscard]] double RemoteShareLeft(const NodeChances& chances, const Assignment& assignment,
                                     int part, std::span<const int64_t> row_bytes, int64_t memory);

}  // namespace halograph
