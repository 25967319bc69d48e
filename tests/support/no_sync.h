// Programs of tests write nothing through to the disk (cmake/Halograph.cmake): nothing that they
// write outlives them, and syncing took half of the time of some. The programs that users run sync
// in tests too.
#pragma once

#include <functional>

namespace halograph {

// Called once by the next sync of a file or folder, on its thread.
void OnNextSync(std::function<void()> call);

}  // namespace halograph
