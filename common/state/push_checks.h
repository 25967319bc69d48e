// What is wrong with the rows that somebody pushes to a tensor, whoever takes them: a client before
// it sends the first of several messages, and a server of each. Pure functions.
#pragma once

#include <cstddef>

#include "common/base/status.h"
#include "common/state/row_push.h"

namespace halograph {

// InvalidArgument naming the tensor, what was found and what fits:
//   a dtype that cannot be pushed, or that there is none of; an image in another dtype than the
//   tensor's
//   rows that are not PushedRowBytes for each id
//   a gradient to a tensor without an optimizer
[[nodiscard]] Status CheckPushedRows(const MutableTensorSpec& spec, const RowPush& push);

// Requires what CheckPushedRows checks, and no images: these may hold any bits. NotFiniteAt of the
// first value that is NaN or infinite.
[[nodiscard]] Status CheckPushedValues(const MutableTensorSpec& spec, const RowPush& push);
// InvalidArgument naming id, position, column and value of an element of the rows.
[[nodiscard]] Status NotFiniteAt(const MutableTensorSpec& spec, const RowPush& push,
                                 size_t element);

}  // namespace halograph
