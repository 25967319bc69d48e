// The original ids of all nodes of a type, for who looks nodes up by them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "client/stores.h"
#include "common/base/cancel.h"
#include "common/base/status.h"

namespace halograph {

// `global` ascend, through all calls; originals[i] is the original id of global[i].
using TakeOriginalIds =
    std::function<Status(std::span<const int64_t> global, std::span<const int64_t> originals)>;

// Asks for some 65,000 nodes at a time. `type`: index in the schema. Errors as RowStore::Pull and
// `take`, which ends it.
[[nodiscard]] Status ForEachOriginalIds(const Stores& stores, int type, const CancelToken* cancel,
                                        const TakeOriginalIds& take);

}  // namespace halograph
