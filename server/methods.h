// The other half of each method's row (proto/methods/methods.h): how a server runs its calls.
#pragma once

#include <array>

#include "proto/methods/methods.h"
#include "server/runtime/dispatcher.h"

namespace halograph::server {

// How a call gets to its work.
enum class Admission : uint8_t {
  kQueued,  // through the gate, on a thread of its pool
  kInline,  // through the gate, at once on gRPC's thread: for what takes microseconds
  kAlways,  // at once on gRPC's thread, also while draining: for statistics
};

struct ServedMethodRow {
  Method method;
  Lane pool;  // whose bound of requests it counts in, and whose threads run it; it may move to
              // another (CallScope::lane)
  Admission admission;
};

inline constexpr auto kServedMethodRows = std::to_array<ServedMethodRow>({
    {Method::kDescribe, Lane::kWork, Admission::kInline},
    {Method::kSample, Lane::kWork, Admission::kQueued},
    {Method::kGraphReadTaskSet, Lane::kWork, Admission::kQueued},
    {Method::kReadTopology, Lane::kWork, Admission::kQueued},
    {Method::kColumnSums, Lane::kWork, Admission::kQueued},
    {Method::kExtract, Lane::kWork, Admission::kQueued},
    {Method::kPull, Lane::kWork, Admission::kQueued},
    {Method::kReadTaskSet, Lane::kWork, Admission::kQueued},
    {Method::kPush, Lane::kState, Admission::kQueued},
    {Method::kRegisterClient, Lane::kState, Admission::kQueued},
    {Method::kCreateTensor, Lane::kSlow, Admission::kQueued},
    {Method::kDropTensor, Lane::kSlow, Admission::kQueued},
    {Method::kListTensors, Lane::kWork, Admission::kQueued},
    {Method::kSnapshotTensors, Lane::kSlow, Admission::kQueued},
    {Method::kListSnapshots, Lane::kWork, Admission::kQueued},
    {Method::kReadSnapshot, Lane::kSlow, Admission::kQueued},
    {Method::kDeleteSnapshot, Lane::kSlow, Admission::kQueued},
    {Method::kRestoreSnapshot, Lane::kSlow, Admission::kQueued},
    {Method::kStats, Lane::kWork, Admission::kAlways},
});
static_assert(HasRowOfEachMethod(kServedMethodRows),
              "kServedMethodRows needs a row for each Method of proto/methods/methods.h, in the "
              "order of the enumerators");

// Whether its calls wait for what others may never do, and end when their client cancels or dies.
// Others end soon, or go on without their client.
[[nodiscard]] constexpr bool WaitsLong(Method method) { return method == Method::kSnapshotTensors; }

[[nodiscard]] constexpr const ServedMethodRow& ServedRowOf(Method method) {
  return kServedMethodRows[static_cast<size_t>(method)];
}

}  // namespace halograph::server
