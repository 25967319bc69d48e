#include "partitioner/generate/corner_features.h"

#include <cmath>

#include "common/base/rng.h"
#include "partitioner/generate/random.h"

namespace halograph {

void CornerFeatures::Fill(int64_t node, uint64_t node_class, std::span<float> row) const {
  const uint64_t corner = SubKey(corner_key_, node_class);
  CounterRng rng(SubKey(noise_key_, static_cast<uint64_t>(node)));
  const double scale = 1 / std::sqrt(1 + noise_ * noise_);
  for (size_t i = 0; i < row.size(); ++i) {
    const double mean = SubKey(corner, i) >> 63 == 0 ? 1 : -1;
    row[i] = static_cast<float>((mean + noise_ * GaussianLike(rng.Next())) * scale);
  }
}

}  // namespace halograph
