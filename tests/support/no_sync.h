// Programs of tests write nothing through to the disk (cmake/Halograph.cmake): nothing that they
// write outlives them, and a sync waits for what the whole machine writes. The programs of users
// sync in tests too.
#pragma once

#include <functional>

namespace halograph {

// `call` is called once, by the next sync of a file or folder, on its thread. A program has one at
// a time. Whoever set it takes it back (nullptr) before what it uses ends: there may have been no
// sync.
void OnNextSync(std::function<void()> call);

}  // namespace halograph
