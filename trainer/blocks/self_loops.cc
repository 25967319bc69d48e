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
  for (const float degree : block.degrees) loops.degrees.push_back(degree + 1);
  if (block.coefficients.empty()) return loops;
  loops.coefficients.reserve(loops.indices.size());
  for (size_t v = 0; v < rows; ++v) {
    const auto first = block.coefficients.begin() + block.indptr[v];
    loops.coefficients.push_back(1);
    loops.coefficients.insert(loops.coefficients.end(), first,
                              block.coefficients.begin() + block.indptr[v + 1]);
  }
  return loops;
}

}  // namespace halograph
