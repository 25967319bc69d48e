#include "partitioner/readers/dataset.h"

#include <algorithm>

namespace halograph {

int Dataset::NodeTypeIndex(std::string_view type) const {
  const auto found =
      std::find_if(node_types.begin(), node_types.end(),
                   [&](const InputNodeType& node_type) { return node_type.name == type; });
  return found == node_types.end() ? -1 : static_cast<int>(found - node_types.begin());
}

}  // namespace halograph
