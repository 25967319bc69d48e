#include "partitioner/compare/method_word.h"

#include "partitioner/methods/registry/method_options.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {

StatusOr<std::string> ParseMethodWord(std::string_view word, MethodOptions* options) {
  const size_t colon = word.find(':');
  std::string name(word.substr(0, colon));
  HG_RETURN_IF_ERROR(MakeMethod(name).status());
  if (colon == std::string_view::npos) return name;
  const std::string_view rule = word.substr(colon + 1);
  if (rule != "random" && rule != "majority") {
    return InvalidArgument("method \"{}\": owner rule \"{}\", expected random or majority", word,
                           rule);
  }
  HG_RETURN_IF_ERROR(Annotate(CheckOptionTaken("owner", {name}), word));
  options->edge.owner = rule == "random" ? OwnerRule::kRandom : OwnerRule::kMajority;
  return name;
}

}  // namespace halograph
