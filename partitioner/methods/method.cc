#include "partitioner/methods/method.h"

#include <array>
#include <utility>

#include <fmt/ranges.h>

#include "absl/strings/str_split.h"
#include "partitioner/methods/metis_method.h"
#include "partitioner/methods/random_method.h"

namespace halograph {
namespace {

using Member = bool BalanceOptions::*;
constexpr std::array<std::pair<std::string_view, Member>, 5> kBalanceWords = {{
    {"nodes", &BalanceOptions::nodes},
    {"edges", &BalanceOptions::edges},
    {"train", &BalanceOptions::train},
    {"valid", &BalanceOptions::valid},
    {"test", &BalanceOptions::test},
}};

template <typename MethodT>
std::unique_ptr<PartitionMethod> Make() {
  return std::make_unique<MethodT>();
}

struct MethodEntry {
  std::string_view name;
  std::unique_ptr<PartitionMethod> (*make)();
};

constexpr auto kMethods = std::to_array<MethodEntry>({
    {"metis", Make<MetisMethod>},
    {"random", Make<RandomMethod>},
});

}  // namespace

StatusOr<BalanceOptions> BalanceOptions::Parse(std::string_view list) {
  BalanceOptions options{false, false, false, false, false};
  for (const auto piece : absl::StrSplit(ToAbsl(list), ',')) {
    const std::string_view word(piece.data(), piece.size());
    bool known = false;
    for (const auto& [name, member] : kBalanceWords) {
      if (word != name) continue;
      options.*member = true;
      known = true;
    }
    if (!known) {
      return InvalidArgument(
          "balance: unknown word \"{}\" in \"{}\"; choose from nodes,edges,train,valid,test", word,
          list);
    }
  }
  return options;
}

std::string BalanceOptions::ToString() const {
  std::vector<std::string_view> words;
  for (const auto& [name, member] : kBalanceWords) {
    if (this->*member) words.push_back(name);
  }
  return fmt::format("{}", fmt::join(words, ","));
}

Status CheckParts(const Dataset& dataset, int parts) {
  if (parts < 1 || parts > kMaxParts) {
    return InvalidArgument("parts: {} is not between 1 and {}", parts, kMaxParts);
  }
  int64_t nodes = 0;
  for (const InputNodeType& type : dataset.node_types) nodes += type.count;
  if (parts > nodes) {
    return InvalidArgument(
        "parts: {} partitions are more than the {} nodes of the graph; ask for "
        "at most as many as there are nodes",
        parts, nodes);
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<PartitionMethod>> MakeMethod(std::string_view name) {
  for (const MethodEntry& entry : kMethods) {
    if (entry.name == name) return entry.make();
  }
  return InvalidArgument("method: unknown method \"{}\"; there are {}", name,
                         fmt::join(MethodNames(), ", "));
}

std::vector<std::string> MethodNames() {
  std::vector<std::string> names;
  for (const MethodEntry& entry : kMethods) names.emplace_back(entry.name);
  return names;
}

}  // namespace halograph
