#include "trainer/blocks/self_loops.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace halograph {

Block WithSelfLoops(const Block& block) {
  const size_t rows = block.indptr.size() - 1;
  Block loops{block.relation, std::vector<int64_t>(rows + 1),
              std::vector<int32_t>(rows + block.indices.size())};
  auto next = loops.indices.begin();
  for (size_t v = 0; v < rows; ++v) {
    loops.indptr[v] = block.indptr[v] + static_cast<int64_t>(v);
    *next++ = static_cast<int32_t>(v);
    next = std::copy(block.indices.begin() + block.indptr[v],
                     block.indices.begin() + block.indptr[v + 1], next);
  }
  loops.indptr[rows] = block.indptr[rows] + static_cast<int64_t>(rows);
  return loops;
}

}  // namespace halograph
