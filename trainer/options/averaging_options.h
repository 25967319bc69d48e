// How often models of parts that are trained alone are averaged (docs/catgnn.md). Knows no
// libtorch.
#pragma once

#include <cstdint>

#include "common/program/options.h"

namespace halograph {

// Adds --average-every: epochs ("2"), or steps of a part ("20steps"), after which an epoch ends a
// round all the same. `epochs` and `steps` are set together: (N, 0), or (1, N). In JSON epochs are
// a number, as before there were steps. Fields must outlive the table.
void AddAveragingRow(OptionTable& rows, int64_t* epochs, int64_t* steps);

}  // namespace halograph
