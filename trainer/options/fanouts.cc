#include "trainer/options/fanouts.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

#include <fmt/ranges.h>

#include "common/base/list_some.h"

namespace halograph {
namespace {

constexpr std::string_view kOthers = "*";
constexpr size_t kMostNamed = 10;  // in a message

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  for (;;) {
    const size_t end = text.find(separator);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

StatusOr<int32_t> ParseFanout(std::string_view text) {
  int32_t fanout = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, fanout);
  if (error != std::errc() || read != end) {
    return InvalidArgument(
        "'{}' is no fanout: expected a whole number a layer, as 15,10, or RELATION=15:10,...",
        text);
  }
  HG_RETURN_IF_ERROR(ValidateFanout(fanout));
  return fanout;
}

StatusOr<RelationFanouts> ParseRelation(std::string_view relation, std::string_view layers) {
  RelationFanouts found{std::string(relation), {}};
  if (relation.empty()) return InvalidArgument("'={}' names no relation", layers);
  for (const std::string_view layer : SplitAt(layers, ':')) {
    HG_ASSIGN_OR_RETURN(const int32_t fanout, ParseFanout(layer));
    found.layers.push_back(fanout);
  }
  return found;
}

// At most ten triples.
std::string Triples(const Schema& schema, const std::vector<int>& relations) {
  return ListSome(relations, kMostNamed, [&](int relation) {
    return fmt::format("'{}'", schema.relations[static_cast<size_t>(relation)].triple());
  });
}

// A relation by its triple, else by its name.
StatusOr<int> FindRelation(const Schema& schema, const std::string& text) {
  std::vector<int> all, by_name;
  for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
    const Relation& relation = schema.relations[static_cast<size_t>(r)];
    if (relation.triple() == text) return r;
    if (relation.name == text) by_name.push_back(r);
    all.push_back(r);
  }
  if (by_name.size() == 1) return by_name.front();
  if (by_name.empty()) {
    return NotFound("no relation '{}'; the graph has {}", text, Triples(schema, all));
  }
  return InvalidArgument("{} relations are named '{}': write one of {}", by_name.size(), text,
                         Triples(schema, by_name));
}

// The fanouts of each relation of the schema.
StatusOr<std::vector<const std::vector<int32_t>*>> ByRelation(const Fanouts& fanouts,
                                                              const Schema& schema) {
  std::vector<const std::vector<int32_t>*> found(schema.relations.size());
  const std::vector<int32_t>* others = fanouts.layers.empty() ? nullptr : &fanouts.layers;
  for (const RelationFanouts& named : fanouts.named) {
    if (named.relation == kOthers) {
      others = &named.layers;
      continue;
    }
    HG_ASSIGN_OR_RETURN(const int relation, FindRelation(schema, named.relation));
    const auto*& layers = found[static_cast<size_t>(relation)];
    if (layers != nullptr) {
      return InvalidArgument("relation '{}' is named twice", schema.relations[relation].triple());
    }
    layers = &named.layers;
  }
  std::vector<int> without;
  for (size_t r = 0; r < found.size(); ++r) {
    if (found[r] == nullptr) found[r] = others;
    if (found[r] == nullptr) without.push_back(static_cast<int>(r));
  }
  if (without.empty()) return found;
  const std::vector<std::string> zeros(fanouts.named.front().layers.size(), "0");
  return InvalidArgument(
      "no fanout for {}: add *={} to sample nothing from relations "
      "that are not named",
      Triples(schema, without), fmt::join(zeros, ":"));
}

}  // namespace

StatusOr<Fanouts> ParseFanouts(std::string_view text) {
  Fanouts fanouts;
  std::vector<std::string_view> names;
  for (const std::string_view word : SplitAt(text, ',')) {
    // Names may have the sign themselves; numbers have none.
    const size_t equals = word.rfind('=');
    if (equals == std::string_view::npos) {
      HG_ASSIGN_OR_RETURN(const int32_t fanout, ParseFanout(word));
      fanouts.layers.push_back(fanout);
      continue;
    }
    const std::string_view name = word.substr(0, equals);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return InvalidArgument("'{}' is named twice", name);
    }
    names.push_back(name);
    HG_ASSIGN_OR_RETURN(RelationFanouts relation, ParseRelation(name, word.substr(equals + 1)));
    fanouts.named.push_back(std::move(relation));
  }
  const bool star = std::find(names.begin(), names.end(), kOthers) != names.end();
  if (star && !fanouts.layers.empty()) {
    return InvalidArgument("{} stands beside *=...: both say what relations get that are not named",
                           fmt::join(fanouts.layers, ","));
  }
  return fanouts;
}

std::string FanoutsText(const Fanouts& fanouts) {
  std::string text = fmt::format("{}", fmt::join(fanouts.layers, ","));
  for (const RelationFanouts& named : fanouts.named) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", named.relation,
                        fmt::join(named.layers, ":"));
  }
  return text;
}

Json FanoutsJson(const Fanouts& fanouts) {
  return fanouts.named.empty() ? Json(fanouts.layers) : Json(FanoutsText(fanouts));
}

Status CheckFanouts(std::string_view option, const Fanouts& fanouts, int64_t layers) {
  const auto check = [&](std::string_view entry, const std::vector<int32_t>& values) -> Status {
    for (const int32_t fanout : values) {
      HG_RETURN_IF_ERROR(Annotate(ValidateFanout(fanout), std::string(option)));
    }
    if (std::ssize(values) == layers) return OkStatus();
    return InvalidArgument("{} is {}: {} fanouts, expected one for each of {} layers (--layers)",
                           option, entry, values.size(), layers);
  };
  if (!fanouts.layers.empty() || fanouts.named.empty()) {
    HG_RETURN_IF_ERROR(check(fmt::format("{}", fmt::join(fanouts.layers, ",")), fanouts.layers));
  }
  for (const RelationFanouts& named : fanouts.named) {
    HG_RETURN_IF_ERROR(check(FanoutsText({{}, {named}}), named.layers));
  }
  return OkStatus();
}

StatusOr<SamplingSpec> ChooseFanouts(std::string_view option, const Fanouts& fanouts,
                                     const Schema& schema, bool replace) {
  if (fanouts.named.empty()) return SamplingSpec::Uniform(schema, fanouts.layers, replace);
  auto by_relation = ByRelation(fanouts, schema);
  if (!by_relation.ok()) return Annotate(by_relation.status(), std::string(option));
  const size_t layers = fanouts.named.front().layers.size();
  SamplingSpec spec{.layers = std::vector<std::vector<RelationRule>>(layers)};
  for (size_t l = 0; l < layers; ++l) {
    for (size_t r = 0; r < by_relation->size(); ++r) {
      spec.layers[l].push_back(Neighbors(static_cast<int>(r), (*(*by_relation)[r])[l], replace));
    }
  }
  return spec;
}

}  // namespace halograph
