// Which rows of features stay on the device (--device-cache-memory), and how they come there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/sampling/inclusion.h"
#include "trainer/device/device.h"
#include "trainer/training/session.h"

namespace halograph {

// The nodes that are read most often among those that fit: `row_bytes` of each node type, 0 of one
// whose rows are not kept; of nodes that are read as often, those of the first types and smallest
// ids. Where there is room for all, all. At most 2^31 - 1 of a type. Pure.
[[nodiscard]] NodesByType ChooseRows(const NodeChances& reads, std::span<const int64_t> row_bytes,
                                     int64_t memory);

// No step reads rows that are held: of other caches they need no room.
void LeaveOutHeld(const HeldRows& held, NodeChances* reads);

// InvalidArgument: `bytes` of rows are more than the device has free. `memory`: nullopt where that
// is not known.
[[nodiscard]] Status CheckRoomOnDevice(const Device& device, int64_t bytes,
                                       const std::optional<DeviceMemory>& memory);

// Gives the session its device_rows, as its options say: those that steps of training read most
// often, by ForecastReads, or where the topology is elsewhere by CountReads. All ranks call it,
// each for its own; none is made without --device-cache-memory, or on the CPU. Requires the
// makers, which stay as they are: who makes them anew gives them what is held. Logs what it did.
//   InvalidArgument     there is room for no row, or the device has less memory: what to do
//   FailedPrecondition  no features are read
//   ResourceExhausted   the device's memory ran out
//   else                as ForecastReads, CountReads, DeviceRows::Fill and WorkTogether
[[nodiscard]] Status OpenDeviceCache(Session& session);

}  // namespace halograph
