// The kinds of store that a conformance program covers: each program links one definition.
#pragma once

#include <vector>

#include "tests/conformance/store_conformance.h"

namespace halograph {

[[nodiscard]] std::vector<StoreKind> StoreKinds();
// Those that keep mutable tensors, in a new folder each time they are opened.
[[nodiscard]] std::vector<StoreKind> MutableStoreKinds();

}  // namespace halograph
