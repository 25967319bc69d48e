// The HTTP port of one process among several that were started alike.
#pragma once

#include "common/http/http_options.h"
#include "trainer/options/train_options.h"

namespace halograph {

// Of several processes on one machine each has a port of its own, --http-listen's plus its number
// there; and of several processes each has an address file of its own, run.rank3.addr of process 3
// for run.addr. What --http-listen says that is no address stays as it is. Pure.
[[nodiscard]] HttpOptions OwnHttpOptions(const TrainOptions& options);

}  // namespace halograph
