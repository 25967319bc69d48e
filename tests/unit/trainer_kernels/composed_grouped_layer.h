// The layer of grouped_layer.h, composed of libtorch's operations: the oracle of its tests.
#pragma once

#include <vector>

#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/grouped_layer.h"

namespace halograph {

// To the nearest bfloat16; the gradient passes as it is.
inline torch::Tensor RoundedTo(const torch::Tensor& rows, Precision precision) {
  if (precision == Precision::kFloat32) return rows;
  const torch::Tensor exact = rows.detach();
  return rows + (exact.to(torch::kBFloat16).to(torch::kFloat32) - exact);
}

// One product a relation and block, laid side by side and added to the rows of their destinations.
inline torch::Tensor ComposedMessages(const torch::Tensor& means, const RelationGroups& groups,
                                      const std::vector<int64_t>& matrix_of,
                                      const torch::Tensor& matrices) {
  const int64_t blocks = matrices.size(1), in = matrices.size(3);
  std::vector<torch::Tensor> messages;
  for (size_t r = 0; r < matrix_of.size(); ++r) {
    const int64_t begin = groups.relations[r], rows = groups.relations[r + 1] - begin;
    const torch::Tensor matrix = matrices.select(0, matrix_of[r]);
    std::vector<torch::Tensor> parts;
    for (int64_t b = 0; b < blocks; ++b) {
      parts.push_back(torch::mm(means.narrow(0, begin, rows).narrow(1, b * in, in), matrix[b].t()));
    }
    messages.push_back(torch::cat(parts, 1));
  }
  return torch::cat(messages);
}

inline torch::Tensor ComposedGroupedLayer(const torch::Tensor& h, const RelationGroups& groups,
                                          const std::vector<int64_t>& matrix_of,
                                          const GroupedWeights& weights, const LayerNodes& nodes,
                                          const LayerOutput& output,
                                          Precision precision = Precision::kFloat32) {
  torch::Tensor z = torch::linear(RoundedTo(h.narrow(0, nodes.first, nodes.count), precision),
                                  weights.self, weights.bias);
  if (!groups.destinations.empty()) {
    const torch::Tensor means = MeanOfSourcesBy(ComposedBlockOf(groups.edges, h.device()), h);
    z = z.index_add(
        0, torch::tensor(groups.destinations, torch::kInt64),
        ComposedMessages(RoundedTo(means, precision), groups, matrix_of, weights.matrices));
  }
  if (!output.relu) return z;
  z = torch::relu(z);
  if (output.dropout.dropped == 0) return z;
  return torch::where(KeptPlaces(output.dropout, z.size(0), z.size(1)), z * output.dropout.scale(),
                      torch::zeros({}));
}

}  // namespace halograph
