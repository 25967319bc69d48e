#include "trainer/averaging/part_source.h"

namespace halograph {

StatusOr<std::vector<int>> PartsOfRank(int rank, int num_parts, int world_size) {
  if (num_parts < world_size) {
    return InvalidArgument(
        "--average-every: {} ranks, but {} partitions, and each rank needs one of its own; start "
        "fewer ranks or partition into more parts",
        world_size, num_parts);
  }
  std::vector<int> parts;
  const int64_t end = int64_t{rank + 1} * num_parts / world_size;
  for (int64_t part = int64_t{rank} * num_parts / world_size; part < end; ++part) {
    parts.push_back(static_cast<int>(part));
  }
  return parts;
}

}  // namespace halograph
