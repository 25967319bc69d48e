// The names in DescribeReply.capabilities (proto/halograph/v1/graph.proto): what a server
// understands of what the first version of the protocol did not have.
#pragma once

#include <string_view>

namespace halograph::wire {

inline constexpr std::string_view kSampleGroupKeys = "sample-group-keys";
inline constexpr std::string_view kSampleEdgeIds = "sample-edge-ids";
inline constexpr std::string_view kSampleWeights = "sample-weights";
inline constexpr std::string_view kSampleEdgePieces = "sample-edge-pieces";
inline constexpr std::string_view kSampleRule = "sample-rule";
inline constexpr std::string_view kSampleColumns = "sample-columns";
inline constexpr std::string_view kSampleDegrees = "sample-degrees";
inline constexpr std::string_view kSampleDeltaIds = "sample-delta-ids";
inline constexpr std::string_view kTaskSetRows = "task-set-rows";
inline constexpr std::string_view kMutableTensors = "mutable-tensors";
inline constexpr std::string_view kReadSnapshot = "read-snapshot";
inline constexpr std::string_view kPushBits = "push-bits";
inline constexpr std::string_view kRegisteredClients = "registered-clients";
inline constexpr std::string_view kListPages = "list-pages";

}  // namespace halograph::wire
