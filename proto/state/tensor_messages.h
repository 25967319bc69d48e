// What the messages about mutable tensors (proto/halograph/v1/kv.proto) say, as values: for servers
// and clients alike. Pure functions. No generated header is needed to include this one.
#pragma once

#include <cstddef>

#include "common/base/status.h"
#include "common/state/state_store.h"

namespace halograph::v1 {
class MutableTensorSpec;
class PartSnapshot;
class PartState;
class TensorState;
}  // namespace halograph::v1

namespace halograph {

void ToProto(const MutableTensorSpec& spec, v1::MutableTensorSpec* out);
// InvalidArgument: an enumeration's value that this build does not know. What the values together
// make is not checked (MutableTensorSpec::Validate).
[[nodiscard]] StatusOr<MutableTensorSpec> ToSpec(const v1::MutableTensorSpec& wire);

void ToProto(const MutableTensorStats& tensor, v1::TensorState* out);
void ToProto(int part, const StateStats& stats, v1::PartState* out);
// Errors as ToSpec.
[[nodiscard]] StatusOr<StateStats> ToStats(const v1::PartState& wire);

void ToProto(int part, const SnapshotInfo& info, v1::PartSnapshot* out);

// What they take within the message of a list, with the field's tag and length. Of a snapshot
// without its tensors.
[[nodiscard]] size_t MessageBytes(const MutableTensorStats& tensor);
[[nodiscard]] size_t MessageBytes(const MutableTensorSpec& spec);
[[nodiscard]] size_t MessageBytes(const SnapshotInfo& info);
// Errors as ToSpec.
[[nodiscard]] StatusOr<SnapshotInfo> ToInfo(const v1::PartSnapshot& wire);

}  // namespace halograph
