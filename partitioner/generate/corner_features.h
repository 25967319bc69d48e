// Features that tell a node's class only through noise: what a graph neural network learns better
// than the features alone. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <span>

namespace halograph {

class CornerFeatures {
 public:
  // Keys of the classes' corners and of the noise; `noise` >= 0.
  CornerFeatures(uint64_t corner_key, uint64_t noise_key, double noise)
      : corner_key_(corner_key), noise_key_(noise_key), noise_(noise) {}

  // The corner of a hypercube that is the class's, plus `noise` times a normal draw of the node's,
  // scaled to variance 1.
  void Fill(int64_t node, uint64_t node_class, std::span<float> row) const;

 private:
  uint64_t corner_key_;
  uint64_t noise_key_;
  double noise_;
};

}  // namespace halograph
