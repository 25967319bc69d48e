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

// The fields of each message, numbered in their order as in the .proto files.
namespace sample_request {
enum : uint32_t { kBatchSeed = 1, kLayer, kReplace, kGroups, kWeight, kEdgePieces };
}

namespace sample_group {
enum : uint32_t {
  kRelation = 1,
  kFanout,
  kDestinations,
  kBatchSeed,
  kLayer,
  kReplace,
  kWeight,
  kEdgeIds,
  kWeights,
  kFirstEdge,
  kMaxEdges,
  kRule,
  kDegrees
};
}

namespace sample_rule {
enum : uint32_t { kKind = 1, kFanout, kReplace, kWeight };
}

namespace sample_reply {
enum : uint32_t { kGroups = 1 };
}

namespace sample_group_reply {
enum : uint32_t { kCounts = 1, kSources32, kSources64, kEdgeIds, kWeights, kMoreEdges, kDegrees };
}

namespace column_sums_request {
enum : uint32_t { kGroups = 1, kMaxBytes };
}

namespace column_sums_group {
enum : uint32_t { kRelation = 1, kValue, kDestinations, kPage, kFromSource, kSourceDeltas };
}

namespace column_page {
enum : uint32_t { kPart = 1, kSourceBegin, kSourceEnd };
}

namespace column_sums_reply {
enum : uint32_t { kGroups = 1 };
}

namespace column_sums_group_reply {
enum : uint32_t { kSources32 = 1, kSources64, kSums, kMore, kSourceDeltas };
}

namespace extract_request {
enum : uint32_t { kGroups = 1, kMaxBytes };
}

namespace extract_group {
enum : uint32_t { kRelation = 1, kDestinations, kColumns, kEdgeIds, kDegreesOf, kColumnDeltas };
}

namespace extract_reply {
enum : uint32_t { kGroups = 1 };
}

namespace extract_group_reply {
enum : uint32_t { kCounts = 1, kColumns, kEdgeIds, kDegrees, kOtherDegrees };
}

namespace pull_request {
enum : uint32_t { kEdge = 1, kType, kName, kIds, kMinLsn };
}

namespace pull_reply {
enum : uint32_t { kDType = 1, kShape, kRows };
}

namespace push_request {
enum : uint32_t {
  kEdge = 1,
  kType,
  kName,
  kPart,
  kKind,
  kClient,
  kSequence,
  kStep,
  kIds,
  kDType,
  kRows,
  kRegistered,
  kAnswered
};
}

namespace sync_step {
enum : uint32_t { kStep = 1, kRank, kWorldSize, kRun, kChunk, kChunks };
}

namespace push_reply {
enum : uint32_t { kLsn = 1, kAppliedBefore };
}

namespace read_snapshot_reply {
enum : uint32_t { kRows = 1, kImages, kNext, kStep };
}

namespace snapshot_place {
enum : uint32_t { kFile = 1, kOffset, kSection, kRow };
}

namespace topology_reply {
enum : uint32_t { kFileBytes = 1, kData };
}

namespace task_set_reply {
enum : uint32_t { kTotalRows = 1, kRows, kArrays };
}

namespace tensor {
enum : uint32_t { kName = 1, kDType, kShape, kData };
}

}  // namespace halograph::wire
