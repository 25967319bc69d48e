#include "trainer/blocks/block_transpose.h"

#include <cstddef>

#include "trainer/blocks/gather_rows.h"

namespace halograph {

TransposedBlock Transpose(const int64_t* indptr, int64_t num_destinations, const int32_t* indices,
                          int64_t num_sources, const EdgeFactors& factors) {
  const int64_t edges = indptr[num_destinations];
  TransposedBlock t{std::vector<int64_t>(static_cast<size_t>(num_sources) + 1),
                    std::vector<int32_t>(static_cast<size_t>(edges)),
                    std::vector<int32_t>(static_cast<size_t>(edges)),
                    std::vector<float>(static_cast<size_t>(num_destinations))};
  for (int64_t edge = 0; edge < edges; ++edge) ++t.indptr[indices[edge] + 1];
  for (int64_t u = 0; u < num_sources; ++u) t.indptr[u + 1] += t.indptr[u];
  std::vector<int64_t> next(t.indptr.begin(), t.indptr.end() - 1);
  for (int64_t v = 0; v < num_destinations; ++v) {
    for (int64_t edge = indptr[v]; edge < indptr[v + 1]; ++edge) {
      const int64_t place = next[indices[edge]]++;
      t.destinations[place] = static_cast<int32_t>(v);
      t.edges[place] = static_cast<int32_t>(edge);
    }
    const float degree = factors.degrees != nullptr ? factors.degrees[v]
                                                    : static_cast<float>(indptr[v + 1] - indptr[v]);
    t.reciprocals[v] = degree > 0 ? 1.0F / degree : 0.0F;
  }
  if (factors.coefficients == nullptr) return t;
  t.coefficients.reserve(static_cast<size_t>(edges));
  for (const int32_t edge : t.edges) t.coefficients.push_back(factors.coefficients[edge]);
  return t;
}

TransposedBlock Transpose(const Block& block, int64_t num_sources) {
  return Transpose(block.indptr.data(), static_cast<int64_t>(block.indptr.size()) - 1,
                   block.indices.data(), num_sources,
                   {DataOrNull(block.coefficients), DataOrNull(block.degrees)});
}

}  // namespace halograph
