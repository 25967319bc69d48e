// The fake device as the trainer opens one.
#pragma once

#include "tests/support/fake_device/fake_device.h"
#include "trainer/device/device.h"

namespace halograph {

inline Device FakeOne() {
  return {FakeDevice::Get(),
          [](int64_t bytes) { return FakeDevice::PinnedMemory({bytes}, torch::kUInt8); }};
}

}  // namespace halograph
