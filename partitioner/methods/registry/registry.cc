#include "partitioner/methods/registry/registry.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "partitioner/methods/literature/edge_method.h"
#include "partitioner/methods/literature/spring.h"
#include "partitioner/methods/literature/stream_rules.h"
#include "partitioner/methods/literature/two_phase.h"
#include "partitioner/methods/lp_metis/lp_metis_method.h"
#include "partitioner/methods/metis/metis_method.h"
#include "partitioner/methods/random_method.h"
#include "partitioner/methods/registry/auto_method.h"
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
  return InvalidArgument("method: unknown method \"{}\"; choose from {}, {}", name, kAutoMethod,
                         fmt::join(MethodNames(), ", "));
}

std::vector<std::string> MethodNames() {
  std::vector<std::string> names;
  for (const MethodEntry& entry : kMethods) names.emplace_back(entry.name);
  return names;
}

Status CheckOrder(const PartitionMethod& method, NodeOrder order) {
  if (order != NodeOrder::kCluster || method.FindsClusters()) return OkStatus();
  std::vector<std::string_view> able;
  for (const MethodEntry& entry : kMethods) {
    if (entry.make()->FindsClusters()) able.push_back(entry.name);
  }
  return InvalidArgument("--order {}: method {} finds no clusters; choose --method {}",
                         ToString(order), method.name(), fmt::join(able, " or "));
}

namespace {

struct OptionOf {
  std::string_view option;
  std::string_view method;
};

constexpr auto kOptions = std::to_array<OptionOf>({
    {"owner", "spring"},
    {"owner", "dbh"},
    {"owner", "greedy"},
    {"owner", "hdrf"},
    {"owner", "2ps-l"},
    {"hdrf-lambda", "hdrf"},
    {"volume-factor", "spring"},
    {"volume-factor", "2ps-l"},
    {"edge-imbalance", "spring"},
    {"edge-imbalance", "dbh"},
    {"edge-imbalance", "greedy"},
    {"edge-imbalance", "hdrf"},
    {"edge-imbalance", "2ps-l"},
    {"clusters", "stream-metis"},
    {"refinement-rounds", "stream-metis"},
});

}  // namespace

std::vector<std::string> MethodsThatTake(std::string_view option) {
  std::vector<std::string> methods;
  for (std::string& name : MethodNames()) {
    const bool takes = std::any_of(kOptions.begin(), kOptions.end(), [&](const OptionOf& entry) {
      return entry.option == option && entry.method == name;
    });
    if (takes) methods.push_back(std::move(name));
  }
  return methods;
}

Status CheckOptionTaken(std::string_view option, const std::vector<std::string>& methods) {
  const std::vector<std::string> takers = MethodsThatTake(option);
  for (const std::string& method : methods) {
    if (std::find(takers.begin(), takers.end(), method) != takers.end()) return OkStatus();
  }
  return InvalidArgument("--{}: method {} has no such option; methods that have it: {}", option,
                         fmt::join(methods, ", "), fmt::join(takers, ", "));
}

}  // namespace halograph
