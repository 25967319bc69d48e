#include "partitioner/compare/method_word.h"

#include <fmt/ranges.h>

#include "partitioner/methods/registry/method_options.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {

StatusOr<std::string> ParseMethodWord(std::string_view word, MethodOptions* options) {
  const size_t colon = word.find(':');
  std::string name(word.substr(0, colon));
  HG_RETURN_IF_ERROR(MakeMethod(name).status());
  if (colon == std::string_view::npos) return name;
  const std::string_view rule = word.substr(colon + 1);
  const std::optional<OwnerRule> owner = OwnerRuleOf(rule);
  if (!owner.has_value()) {
    return InvalidArgument("method \"{}\": owner rule \"{}\", expected {}", word, rule,
                           fmt::join(kOwnerRuleWords, " or "));
  }
  HG_RETURN_IF_ERROR(Annotate(CheckOptionTaken("owner", {name}), word));
  options->edge.owner = *owner;
  return name;
}

}  // namespace halograph
