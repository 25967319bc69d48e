#include "partitioner/methods/registry/method_options.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "partitioner/methods/registry/registry.h"

namespace halograph {
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
  return InvalidArgument("--{}: method {} has no such option; it is one of {}", option,
                         fmt::join(methods, ", "), fmt::join(takers, ", "));
}

}  // namespace halograph
