#include "common/sampling/layer_probability.h"

#include <cmath>

namespace halograph {

uint64_t RootInUnits(uint64_t x) {
  __extension__ using Wide = unsigned __int128;
  // The root of x as a double is off by less than 2^-51 of it, so this, below 2^48, by one at most.
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(x)) * 0x1p16);
  const Wide square = Wide{x} << 32;
  while (Wide{root} * root > square) --root;
  while (Wide{root + 1} * (root + 1) <= square) ++root;
  return root;
}

Status MakeWeights(LayerProbability probability, std::span<uint64_t> sums) {
  switch (probability) {
    case LayerProbability::kCount:
      return OkStatus();
    case LayerProbability::kDegree:
    case LayerProbability::kSqrt:
      for (uint64_t& sum : sums) sum = RootInUnits(sum);
      return OkStatus();
    case LayerProbability::kCount2:
      for (uint64_t& sum : sums) {
        if (sum >> 32 != 0) {
          return OutOfRange(
              "a source has {} edges into the destinations of a layer: their square has more than "
              "64 bits; draw by another probability than count2",
              sum);
        }
        sum *= sum;
      }
      return OkStatus();
  }
  return Internal("unknown kind {} of probability of a layer", static_cast<int>(probability));
}

}  // namespace halograph
