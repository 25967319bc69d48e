#include "partitioner/methods/registry/registry.h"

#include <array>

#include <fmt/ranges.h>

#include "partitioner/methods/literature/dbh.h"
#include "partitioner/methods/literature/edge_method.h"
#include "partitioner/methods/literature/greedy.h"
#include "partitioner/methods/literature/hdrf.h"
#include "partitioner/methods/literature/spring.h"
#include "partitioner/methods/literature/two_phase.h"
#include "partitioner/methods/lp_metis/lp_metis_method.h"
#include "partitioner/methods/metis/metis_method.h"
#include "partitioner/methods/random_method.h"
#include "partitioner/methods/registry/auto_method.h"
#include "partitioner/methods/registry/method_choice.h"
#include "partitioner/methods/stream_metis/stream_metis_method.h"

namespace halograph {
namespace {

template <typename MethodT>
std::unique_ptr<PartitionMethod> Make() {
  return std::make_unique<MethodT>();
}

struct MethodEntry {
  std::string_view name;
  std::unique_ptr<PartitionMethod> (*make)();
};

constexpr auto kMethods = std::to_array<MethodEntry>({
    {"2ps-l", Make<EdgeMethod<TwoPhase>>},
    {"dbh", Make<EdgeMethod<Dbh>>},
    {"greedy", Make<EdgeMethod<Greedy>>},
    {"hdrf", Make<EdgeMethod<Hdrf>>},
    {"lp-metis", Make<LpMetisMethod>},
    {"metis", Make<MetisMethod>},
    {"random", Make<RandomMethod>},
    {"spring", Make<EdgeMethod<Spring>>},
    {"stream-metis", Make<StreamMetisMethod>},
});

}  // namespace

StatusOr<std::unique_ptr<PartitionMethod>> MakeMethod(std::string_view name) {
  for (const MethodEntry& entry : kMethods) {
    if (entry.name == name) return entry.make();
  }
  if (name == kAutoMethod) return Make<AutoMethod>();
  return InvalidArgument("method: unknown method \"{}\"; there are {}, {}", name, kAutoMethod,
                         fmt::join(MethodNames(), ", "));
}

std::vector<std::string> MethodNames() {
  std::vector<std::string> names;
  for (const MethodEntry& entry : kMethods) names.emplace_back(entry.name);
  return names;
}

}  // namespace halograph
