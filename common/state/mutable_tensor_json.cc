// Specifications of mutable tensors as catalogues, checkpoints and snapshots hold them. Only the
// fields that the kind of an initializer or optimizer uses are written.
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/state/mutable_tensor.h"

namespace halograph {
namespace {

using Start = Initializer::Kind;
using Optimizer = RowOptimizer::Kind;

template <typename E, size_t kCount>
using Words = std::array<std::pair<std::string_view, E>, kCount>;

constexpr Words<Placement, 4> kPlacements = {{{"nodes", Placement::kNodes},
                                              {"edges", Placement::kEdges},
                                              {"range", Placement::kRange},
                                              {"hash", Placement::kHash}}};
constexpr Words<Start, 5> kStarts = {{{"zeros", Start::kZeros},
                                      {"constant", Start::kConstant},
                                      {"uniform", Start::kUniform},
                                      {"normal", Start::kNormal},
                                      {"xavier", Start::kXavier}}};
constexpr Words<Optimizer, 5> kOptimizers = {{{"none", Optimizer::kNone},
                                              {"sgd", Optimizer::kSgd},
                                              {"adagrad", Optimizer::kAdagrad},
                                              {"row_adagrad", Optimizer::kRowAdagrad},
                                              {"adam", Optimizer::kAdam}}};

template <typename E, size_t kCount>
std::string WordOf(const Words<E, kCount>& words, E value) {
  for (const auto& [word, of] : words) {
    if (of == value) return std::string(word);
  }
  return "unknown";
}

template <typename E, size_t kCount>
StatusOr<E> GetWord(const Words<E, kCount>& words, const Json& object, std::string_view key,
                    std::string_view where) {
  HG_ASSIGN_OR_RETURN(const std::string text, GetString(object, key, where));
  std::string known;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    known.append(known.empty() ? "" : ", ").append(word);
  }
  return DataLoss("{}: field '{}' is '{}', expected one of {}", where, key, text, known);
}

// Which numbers a kind uses, with their names.
template <typename T>
using Numbers = std::vector<std::pair<std::string_view, double T::*>>;

Numbers<Initializer> NumbersOf(Start kind) {
  switch (kind) {
    case Start::kZeros:
    case Start::kXavier:
      return {};
    case Start::kConstant:
      return {{"a", &Initializer::a}};
    case Start::kUniform:
    case Start::kNormal:
      return {{"a", &Initializer::a}, {"b", &Initializer::b}};
  }
  return {};
}

bool Draws(Start kind) { return kind != Start::kZeros && kind != Start::kConstant; }

Numbers<RowOptimizer> NumbersOf(Optimizer kind) {
  if (kind == Optimizer::kNone) return {};
  Numbers<RowOptimizer> numbers = {{"learning_rate", &RowOptimizer::learning_rate},
                                   {"weight_decay", &RowOptimizer::weight_decay}};
  if (kind == Optimizer::kSgd) {
    numbers.emplace_back("momentum", &RowOptimizer::momentum);
  } else {
    numbers.emplace_back("epsilon", &RowOptimizer::epsilon);
  }
  if (kind == Optimizer::kAdam) {
    numbers.emplace_back("beta1", &RowOptimizer::beta1);
    numbers.emplace_back("beta2", &RowOptimizer::beta2);
  }
  return numbers;
}

template <typename T>
Status GetNumbers(const Json& object, std::string_view where, T* out) {
  for (const auto& [name, field] : NumbersOf(out->kind)) {
    const auto found = object.find(std::string(name));
    if (found == object.end() || !found->is_number()) {
      return DataLoss("{}: field '{}' is missing or no number", where, name);
    }
    out->*field = found->template get<double>();
  }
  return OkStatus();
}

StatusOr<bool> GetBool(const Json& object, const char* key, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_boolean()) {
    return DataLoss("{}: field '{}' is missing or no boolean", where, key);
  }
  return found->get<bool>();
}

// Names the first field that `known` has not.
Status CheckFields(const Json& object, const Json& known, std::string_view where) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) {
      return DataLoss("{}: field '{}' is unknown, or has no use here", where, key);
    }
    if (known[key].is_object()) {
      HG_RETURN_IF_ERROR(CheckFields(value, known[key], fmt::format("{}: {}", where, key)));
    }
  }
  return OkStatus();
}

}  // namespace

Json MutableTensorSpec::ToJson() const {
  Json start = {{"kind", WordOf(kStarts, initializer.kind)}};
  for (const auto& [name, field] : NumbersOf(initializer.kind)) {
    start[std::string(name)] = initializer.*field;
  }
  if (Draws(initializer.kind)) start["seed"] = initializer.seed;
  Json steps = {{"kind", WordOf(kOptimizers, optimizer.kind)}};
  for (const auto& [name, field] : NumbersOf(optimizer.kind)) {
    steps[std::string(name)] = optimizer.*field;
  }
  return {{"ref", {{"edge", ref.edge}, {"type", ref.type}, {"name", ref.name}}},
          {"placement", WordOf(kPlacements, placement)},
          {"rows", rows},
          {"dim", dim},
          {"dtype", std::string(DTypeName(dtype))},
          {"initializer", std::move(start)},
          {"optimizer", std::move(steps)}};
}

StatusOr<MutableTensorSpec> MutableTensorSpec::FromJson(const Json& json) {
  constexpr std::string_view kWhere = "tensor";
  MutableTensorSpec spec;
  HG_ASSIGN_OR_RETURN(const Json ref, GetObject(json, "ref", kWhere));
  HG_ASSIGN_OR_RETURN(spec.ref.name, GetString(ref, "name", "tensor: ref"));
  const std::string where = fmt::format("tensor '{}'", spec.ref.name);
  HG_ASSIGN_OR_RETURN(spec.ref.type, GetString(ref, "type", where + ": ref"));
  HG_ASSIGN_OR_RETURN(spec.ref.edge, GetBool(ref, "edge", where + ": ref"));
  HG_ASSIGN_OR_RETURN(spec.placement, GetWord(kPlacements, json, "placement", where));
  HG_ASSIGN_OR_RETURN(spec.rows, GetInt(json, "rows", where));
  HG_ASSIGN_OR_RETURN(spec.dim, GetInt(json, "dim", where));
  HG_ASSIGN_OR_RETURN(const std::string dtype, GetString(json, "dtype", where));
  const auto parsed = ParseDTypeName(dtype);
  if (!parsed.ok()) return DataLoss("{}: field 'dtype': {}", where, Message(parsed.status()));
  spec.dtype = *parsed;

  HG_ASSIGN_OR_RETURN(const Json start, GetObject(json, "initializer", where));
  const std::string of_start = where + ": initializer";
  HG_ASSIGN_OR_RETURN(spec.initializer.kind, GetWord(kStarts, start, "kind", of_start));
  HG_RETURN_IF_ERROR(GetNumbers(start, of_start, &spec.initializer));
  if (Draws(spec.initializer.kind)) {
    const auto seed = start.find("seed");
    if (seed == start.end() || !seed->is_number_integer() ||
        (!seed->is_number_unsigned() && seed->get<int64_t>() < 0)) {
      return DataLoss("{}: field 'seed' is missing or no integer of 64 bits", of_start);
    }
    spec.initializer.seed = seed->get<uint64_t>();
  }

  HG_ASSIGN_OR_RETURN(const Json steps, GetObject(json, "optimizer", where));
  const std::string of_steps = where + ": optimizer";
  HG_ASSIGN_OR_RETURN(spec.optimizer.kind, GetWord(kOptimizers, steps, "kind", of_steps));
  HG_RETURN_IF_ERROR(GetNumbers(steps, of_steps, &spec.optimizer));

  HG_RETURN_IF_ERROR(CheckFields(json, spec.ToJson(), where));
  if (const Status valid = spec.Validate(); !valid.ok()) return DataLoss("{}", Message(valid));
  return spec;
}

}  // namespace halograph
