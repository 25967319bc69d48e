// Field numbers and wire types of the messages that this folder reads and writes by hand. The
// numbers are held to those of the generated code where that is compiled (fields_check.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace halograph::wire {

// A tensor's shape has at most so many.
inline constexpr size_t kExtents = 2;

enum class WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroupStart = 3,  // of messages before proto3; only skipped
  kGroupEnd = 4,
  kFixed32 = 5,
};

// What stands before a field's value.
constexpr uint32_t Tag(uint32_t field, WireType type) {
  return (field << 3) | static_cast<uint32_t>(type);
}

namespace sample_request {
inline constexpr uint32_t kBatchSeed = 1;
inline constexpr uint32_t kLayer = 2;
inline constexpr uint32_t kReplace = 3;
inline constexpr uint32_t kGroups = 4;
inline constexpr uint32_t kWeight = 5;
}  // namespace sample_request

namespace sample_group {
inline constexpr uint32_t kRelation = 1;
inline constexpr uint32_t kFanout = 2;
inline constexpr uint32_t kDestinations = 3;
inline constexpr uint32_t kBatchSeed = 4;
inline constexpr uint32_t kLayer = 5;
inline constexpr uint32_t kReplace = 6;
inline constexpr uint32_t kWeight = 7;
inline constexpr uint32_t kEdgeIds = 8;
inline constexpr uint32_t kWeights = 9;
}  // namespace sample_group

namespace sample_reply {
inline constexpr uint32_t kGroups = 1;
}  // namespace sample_reply

namespace sample_group_reply {
inline constexpr uint32_t kCounts = 1;
inline constexpr uint32_t kSources32 = 2;
inline constexpr uint32_t kSources64 = 3;
inline constexpr uint32_t kEdgeIds = 4;
inline constexpr uint32_t kWeights = 5;
}  // namespace sample_group_reply

namespace pull_request {
inline constexpr uint32_t kEdge = 1;
inline constexpr uint32_t kType = 2;
inline constexpr uint32_t kName = 3;
inline constexpr uint32_t kIds = 4;
inline constexpr uint32_t kMinLsn = 5;
}  // namespace pull_request

namespace pull_reply {
inline constexpr uint32_t kDType = 1;
inline constexpr uint32_t kShape = 2;
inline constexpr uint32_t kRows = 3;
}  // namespace pull_reply

namespace push_request {
inline constexpr uint32_t kEdge = 1;
inline constexpr uint32_t kType = 2;
inline constexpr uint32_t kName = 3;
inline constexpr uint32_t kPart = 4;
inline constexpr uint32_t kKind = 5;
inline constexpr uint32_t kClient = 6;
inline constexpr uint32_t kSequence = 7;
inline constexpr uint32_t kStep = 8;
inline constexpr uint32_t kIds = 9;
inline constexpr uint32_t kDType = 10;
inline constexpr uint32_t kRows = 11;
}  // namespace push_request

namespace sync_step {
inline constexpr uint32_t kStep = 1;
inline constexpr uint32_t kRank = 2;
inline constexpr uint32_t kWorldSize = 3;
inline constexpr uint32_t kRun = 4;
inline constexpr uint32_t kChunk = 5;
inline constexpr uint32_t kChunks = 6;
}  // namespace sync_step

namespace push_reply {
inline constexpr uint32_t kLsn = 1;
inline constexpr uint32_t kAppliedBefore = 2;
}  // namespace push_reply

namespace read_snapshot_reply {
inline constexpr uint32_t kRows = 1;
inline constexpr uint32_t kImages = 2;
inline constexpr uint32_t kNext = 3;
inline constexpr uint32_t kStep = 4;
}  // namespace read_snapshot_reply

namespace snapshot_place {
inline constexpr uint32_t kFile = 1;
inline constexpr uint32_t kOffset = 2;
inline constexpr uint32_t kSection = 3;
inline constexpr uint32_t kRow = 4;
}  // namespace snapshot_place

namespace topology_reply {
inline constexpr uint32_t kFileBytes = 1;
inline constexpr uint32_t kData = 2;
}  // namespace topology_reply

namespace task_set_reply {
inline constexpr uint32_t kTotalRows = 1;
inline constexpr uint32_t kRows = 2;
inline constexpr uint32_t kArrays = 3;
}  // namespace task_set_reply

namespace tensor {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kDType = 2;
inline constexpr uint32_t kShape = 3;
inline constexpr uint32_t kData = 4;
}  // namespace tensor

}  // namespace halograph::wire
