// What libtorch asks a device: how many there are, its streams and its events.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace halograph::fake_device {

// Not to be deleted: libtorch keeps it.
[[nodiscard]] const c10::impl::DeviceGuardImplInterface* TheGuard();

}  // namespace halograph::fake_device
