// The kinds of store that the conformance program covers.
#pragma once

#include <vector>

#include "tests/conformance/store_conformance.h"

namespace halograph {

// The embedded stores, on one and on four threads.
[[nodiscard]] std::vector<StoreKind> LocalKinds();
// The remote stores: 1, 2 and 4 servers of one and four threads, and messages so small that
// requests are split and replies cut. Not built without gRPC.
[[nodiscard]] std::vector<StoreKind> RemoteKinds();

}  // namespace halograph
