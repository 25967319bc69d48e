#include "trainer/kernels/self_loops.h"

#include <algorithm>

namespace halograph {

BlockTensors WithSelfLoops(const Block& block) {
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  BlockTensors loops = {
      torch::empty({rows + 1}, torch::kInt64),
      torch::empty({rows + static_cast<int64_t>(block.indices.size())}, torch::kInt32)};
  auto* indptr = loops.indptr.data_ptr<int64_t>();
  auto* indices = loops.indices.data_ptr<int32_t>();
  for (int64_t v = 0; v < rows; ++v) {
    indptr[v] = block.indptr[v] + v;
    *indices++ = static_cast<int32_t>(v);
    indices = std::copy(block.indices.begin() + block.indptr[v],
                        block.indices.begin() + block.indptr[v + 1], indices);
  }
  indptr[rows] = block.indptr[rows] + rows;
  return loops;
}

}  // namespace halograph
