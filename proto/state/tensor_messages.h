// What the messages about mutable tensors (proto/halograph/v1/kv.proto) say, as values: for servers
// and clients alike. Pure functions. No generated header is needed to include this one.
#pragma once

#include "common/base/status.h"
#include "common/state/state_store.h"

namespace halograph::v1 {
class MutableTensorSpec;
class PartSnapshot;
class PartState;
}  // namespace halograph::v1

namespace halograph {

void ToProto(const MutableTensorSpec& spec, v1::MutableTensorSpec* out);
// InvalidArgument: an enumeration's value that this build does not know. What the values together
// make is not checked (MutableTensorSpec::Validate).
[[nodiscard]] StatusOr<MutableTensorSpec> ToSpec(const v1::MutableTensorSpec& wire);

void ToProto(int part, const StateStats& stats, v1::PartState* out);
// Errors as ToSpec.
[[nodiscard]] StatusOr<StateStats> ToStats(const v1::PartState& wire);

void ToProto(int part, const SnapshotInfo& info, v1::PartSnapshot* out);
// Errors as ToSpec.
[[nodiscard]] StatusOr<SnapshotInfo> ToInfo(const v1::PartSnapshot& wire);

}  // namespace halograph
