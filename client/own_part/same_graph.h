// Whether files here and another store are of one graph.
#pragma once

#include <string_view>

#include "client/graph_store.h"
#include "common/base/status.h"

namespace halograph {

// FailedPrecondition naming both identities unless they are equal. `where` and `other_where` say
// whose they are: "--local DIR", "the servers".
[[nodiscard]] Status CheckSameGraph(const GraphInfo& info, std::string_view where,
                                    const GraphInfo& other, std::string_view other_where);

}  // namespace halograph
