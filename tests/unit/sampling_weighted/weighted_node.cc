#include "tests/unit/sampling_weighted/weighted_node.h"

#include <bit>
#include <cmath>
#include <cstdlib>

#include "tests/support/golden.h"

namespace halograph {

WeightedNode::WeightedNode(const std::vector<double>& weights)
    : table_(1, std::ssize(weights)), view_(table_.room().view()) {
  WeightTableBuilder().Build(weights, 0, 0, table_.room());
}

WeightedRow WeightedNode::row() const {
  return WeightedRow::Of(view_, 0, 0, std::ssize(table_.weights()));
}

std::vector<int64_t> WeightedNode::Pick(uint64_t node_key, int32_t fanout, bool replace) {
  std::vector<int64_t> positions(
      static_cast<size_t>(WeightedPicksOf(row().drawable, fanout, replace)));
  drawer_.Draw(node_key, row(), fanout, replace, positions);
  return positions;
}

std::vector<double> HeavyTail(uint64_t seed, int64_t count, double power, bool zeros) {
  CounterRng rng(Mix(seed));
  std::vector<double> weights;
  for (int64_t i = 0; i < count; ++i) {
    const double weight = std::pow(1.0 - rng.NextDouble(), power);
    weights.push_back(zeros && rng.NextBounded(10) == 0 ? 0.0 : weight);
  }
  return weights;
}

StatusOr<Json> LoadGoldenWeighted() {
  const char* const folder = std::getenv("HALOGRAPH_TEST_DATA");
  if (folder == nullptr) return NotFound("HALOGRAPH_TEST_DATA is not set: run by ctest");
  return ReadJsonFile(std::filesystem::path(folder) / "sampling" / "golden_weighted_v1.json");
}

std::vector<double> WeightsFromBits(const Json& list) {
  std::vector<double> weights;
  for (const Json& text : list) weights.push_back(std::bit_cast<double>(FromHex(text)));
  return weights;
}

}  // namespace halograph
