// Who is told what pulls brought, of each tensor and from where (CallContext::pulled).
#pragma once

#include <cstdint>

#include "common/graph/tensor_ref.h"

namespace halograph {

enum class PulledFrom : uint8_t {
  kLocal,   // mapped here
  kRemote,  // a server
  kCache,   // a cache of rows of others (client/cached)
};

// Thread-safe. Called by the store that has the rows, once for each request that it answers, before
// the call ends. Rows of a request that fails do not count, but others of its call may.
class PulledRows {
 public:
  virtual ~PulledRows() = default;
  virtual void Add(const TensorRef& tensor, PulledFrom from, int64_t rows, int64_t bytes) = 0;
};

}  // namespace halograph
