// How modules say what their running figures of batches are made of.
#pragma once

namespace halograph {

// A module that keeps running figures in buffers (means, variances) has one more of this name: one
// float32, the rows that they have followed since ranks last met (buffer_average.h in
// trainer/distributed, which sets it to 0).
inline constexpr const char* kRowsSeen = "rows_seen";

}  // namespace halograph
