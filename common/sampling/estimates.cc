#include "common/sampling/estimates.h"

#include <algorithm>
#include <cstddef>

namespace halograph {
namespace {

float CoefficientOf(const DrawRule& rule, int64_t degree) {
  const bool all = rule.fanout == kFullNeighborhood || degree <= rule.fanout;
  return all ? 1.0F : static_cast<float>(static_cast<double>(degree) / rule.fanout);
}

}  // namespace

void FillEstimates(const DrawRule& rule, std::span<const int64_t> degrees,
                   std::span<const LeftOutEdges> left_out, Block* block) {
  block->coefficients.resize(static_cast<size_t>(block->indptr.back()));
  for (size_t i = 0; i + 1 < block->indptr.size(); ++i) {
    std::fill(block->coefficients.begin() + block->indptr[i],
              block->coefficients.begin() + block->indptr[i + 1], CoefficientOf(rule, degrees[i]));
  }
  block->degrees.assign(degrees.begin(), degrees.end());
  for (const auto& [destination, edges] : left_out) {
    const auto i = static_cast<size_t>(destination);
    block->degrees[i] = static_cast<float>(degrees[i] - edges);
  }
}

void AddSourceDegrees(std::span<const int64_t> degrees, Block* block) {
  block->degrees.insert(block->degrees.end(), degrees.begin(), degrees.end());
}

}  // namespace halograph
