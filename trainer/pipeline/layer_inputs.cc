#include "trainer/pipeline/layer_inputs.h"

#include <algorithm>
#include <iterator>

#include "trainer/blocks/self_and_mean.h"

namespace halograph {
namespace {

// Rows that one thread takes at a time: few enough to even out degrees.
constexpr int64_t kRowGrain = 64;

template <typename OutRows>
void FillWithZeros(const OutRows& out, int64_t cols, int64_t begin, int64_t end) {
  for (int64_t v = begin; v < end; ++v) {
    std::fill(out.data + v * out.stride + cols, out.data + (v + 1) * out.stride, 0);
  }
}

}  // namespace

NodeRows::NodeRows(const FeatureMatrix& matrix) : cols(matrix.cols()) {
  matrix.VisitRows([this](const auto& of_matrix) { rows = of_matrix; });
}

NodeRows::NodeRows(std::span<const std::byte* const> stored, int64_t columns, Precision precision)
    : cols(columns) {
  const void* const data = stored.data();
  if (precision == Precision::kBf16) {
    rows = ScatteredRows<uint16_t>{static_cast<const uint16_t* const*>(data)};
  } else {
    rows = ScatteredRows<float>{static_cast<const float* const*>(data)};
  }
}

SelfAndMean MakeSelfAndMean(const Block& block, const NodeRows& destinations,
                            const NodeRows& sources, Precision precision, ThreadPool* pool) {
  const int64_t count = std::ssize(block.indptr) - 1;
  const int64_t cols = destinations.cols + sources.cols;
  SelfAndMean made{FeatureMatrix(count, PaddedStride(cols, precision), precision), cols};
  const auto make = [&](const auto& self, const auto& rows, const auto& out) {
    const auto picked = PickBy(block, rows, sources.cols);
    ParallelFor(pool, count, kRowGrain, [&](int64_t begin, int64_t end) {
      FillSelfAndMean(self, destinations.cols, picked, begin, end, out);
      FillWithZeros(out, cols, begin, end);
    });
  };
  made.rows.VisitRows([&](const auto& out) {
    std::visit([&](const auto& self, const auto& rows) { make(self, rows, out); },
               destinations.rows, sources.rows);
  });
  return made;
}

}  // namespace halograph
