// Programs of tests write nothing through to the disk (cmake/Halograph.cmake): nothing that they
// write outlives them, and a sync waits for what the whole machine writes. The programs of users
// sync in tests too.
#pragma once

#include <functional>

namespace halograph {

// Called once by the next sync of a file or folder, on its thread.
void OnNextSync(std::function<void()> call);

}  // namespace halograph
