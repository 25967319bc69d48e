#include "trainer/pipeline/layer_inputs.h"

#include <algorithm>
#include <iterator>

#include "trainer/blocks/gather_rows.h"

namespace halograph {
namespace {

// Rows that one thread takes at a time: few enough to even out degrees.
constexpr int64_t kRowGrain = 64;

ConstRows RowsOf(const FeatureMatrix& matrix) { return {matrix.values().data(), matrix.cols()}; }

}  // namespace

SelfAndMean MakeSelfAndMean(const Block& block, const FeatureMatrix& destinations,
                            const FeatureMatrix& sources, ThreadPool* pool) {
  const int64_t count = std::ssize(block.indptr) - 1;
  const int64_t cols = destinations.cols() + sources.cols();
  SelfAndMean made{FeatureMatrix(count, PaddedStride(cols)), cols};
  const ConstRows self = RowsOf(destinations);
  const PickedRows picked = {block.indptr.data(), block.indices.data(), RowsOf(sources),
                             sources.cols()};
  const MutableRows out = {made.rows.values().data(), made.rows.cols()};
  const MutableRows means = {out.data + destinations.cols(), out.stride};
  ParallelFor(pool, count, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      float* const row = out.data + v * out.stride;
      std::copy_n(self.data + v * self.stride, destinations.cols(), row);
      std::fill(row + cols, row + out.stride, 0.0F);
    }
    MeanOfRows(picked, begin, end, means);
  });
  return made;
}

TransposedLayers TransposeLayers(const Schema& schema, const Minibatch& minibatch) {
  TransposedLayers transposed(minibatch.layers.size());
  for (size_t l = 0; l + 1 < minibatch.layers.size(); ++l) {
    const SampledLayer& layer = minibatch.layers[l];
    for (const Block& block : layer.blocks) {
      const int source = *schema.NodeTypeIndex(schema.relations[block.relation].source);
      transposed[l].push_back(Transpose(block.indptr.data(), std::ssize(block.indptr) - 1,
                                        block.indices.data(), layer.num_sources[source]));
    }
  }
  return transposed;
}

}  // namespace halograph
