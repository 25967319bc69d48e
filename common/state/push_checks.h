// What is wrong with the rows that somebody pushes to a tensor, whoever takes them: a client before
// it sends the first of several messages, and a server of each. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/state/state_store.h"

namespace halograph {

// `ids`: how many rows there must be; `bytes`: of all rows. `dtype` may be any number.
// InvalidArgument naming the tensor, what was found and what fits:
//   a dtype that cannot be pushed; an image in another dtype than the tensor's
//   bytes that are not PushedRowBytes for each id
//   a gradient to a tensor without an optimizer
[[nodiscard]] Status CheckPushedRows(const MutableTensorSpec& spec, PushKind kind, DType dtype,
                                     size_t ids, size_t bytes);

// Requires what CheckPushedRows checks, and no images: these may hold any bits. InvalidArgument
// naming id, position, column and value of the first that is NaN or infinite.
[[nodiscard]] Status CheckPushedValues(const MutableTensorSpec& spec, std::span<const int64_t> ids,
                                       DType dtype, std::span<const std::byte> values);

}  // namespace halograph
