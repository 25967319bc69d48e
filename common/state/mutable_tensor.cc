#include "common/state/mutable_tensor.h"

#include <array>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "common/storage/file.h"

namespace halograph {
namespace {

using Start = Initializer::Kind;
using Optimizer = RowOptimizer::Kind;

constexpr double kLargest = 1e30;  // of a setting: its products stay within float32

Status CheckRef(const MutableTensorSpec& spec) {
  const TensorRef& ref = spec.ref;
  const size_t bytes = PercentEncode(ref.name).size();
  if (bytes == 0 || bytes > kMaxTensorNameBytes || ref.name[0] == '@') {
    return InvalidArgument(
        "name '{}': use 1 to {} bytes (characters other than letters, digits, '.', '_' and '-' "
        "take 3) that do not begin with '@'",
        ref.name.substr(0, kMaxTensorNameBytes), kMaxTensorNameBytes);
  }
  const bool of_graph = spec.placement == Placement::kNodes || spec.placement == Placement::kEdges;
  if (of_graph != !ref.type.empty()) {
    return InvalidArgument("type '{}': {}", ref.type,
                           of_graph ? "name a node type or relation for a tensor of nodes or edges"
                                    : "a tensor of plain rows (range, hash) has none");
  }
  if (ref.edge != (spec.placement == Placement::kEdges)) {
    return InvalidArgument("edge {}: it is true for a tensor of edges, and for no other", ref.edge);
  }
  if (of_graph ? spec.rows != 0 : spec.rows < 1 || spec.rows > kMaxTensorRows) {
    return InvalidArgument("rows {}: {}", spec.rows,
                           of_graph ? "the graph says how many; leave it 0"
                                    : fmt::format("use 1 to {}", kMaxTensorRows));
  }
  return OkStatus();
}

// The largest number of a dtype that rows may have.
double LargestOf(DType dtype) {
  if (dtype == DType::kFloat16) return 65504;
  return dtype == DType::kBFloat16 ? 0x1.fep127 : 0x1.fffffep127;
}

Status CheckInitializer(const Initializer& start, DType dtype) {
  const bool uses_b = start.kind == Start::kUniform || start.kind == Start::kNormal;
  const bool uses_a = uses_b || start.kind == Start::kConstant;
  if ((!uses_a && start.a != 0) || (!uses_b && start.b != 0)) {
    return InvalidArgument("initializer.{} {}: this kind does not use it; leave it 0",
                           uses_a ? "b" : "a and b", uses_a ? start.b : start.a);
  }
  const bool draws = uses_b || start.kind == Start::kXavier;
  if (!draws && start.seed != 0) {
    return InvalidArgument("initializer.seed {}: this kind draws nothing; leave it 0", start.seed);
  }
  if (start.kind == Start::kUniform && !(start.a < start.b)) {
    return InvalidArgument("initializer.b {}: it must be above a ({})", start.b, start.a);
  }
  if (start.kind == Start::kNormal && !(start.b >= 0)) {
    return InvalidArgument("initializer.b {}: a standard deviation is at least 0", start.b);
  }
  // Normal values are within 9 deviations: 53 bits are drawn (initial_values.h).
  const double most = start.kind == Start::kNormal ? std::abs(start.a) + 9 * start.b
                                                   : std::max(std::abs(start.a), std::abs(start.b));
  if (!(most <= LargestOf(dtype))) {
    return InvalidArgument(
        "initializer.a {} and b {}: values of {} are at most {}; choose smaller ones", start.a,
        start.b, DTypeName(dtype), LargestOf(dtype));
  }
  return OkStatus();
}

struct Setting {
  std::string_view name;
  double RowOptimizer::*field;
  double least;
  double below;  // not reached
  std::initializer_list<Optimizer> users;
};

Status CheckOptimizer(const RowOptimizer& optimizer) {
  static const std::array<Setting, 6> kSettings = {{
      {"learning_rate",
       &RowOptimizer::learning_rate,
       0,
       kLargest,
       {Optimizer::kSgd, Optimizer::kAdagrad, Optimizer::kRowAdagrad, Optimizer::kAdam}},
      {"momentum", &RowOptimizer::momentum, 0, 1, {Optimizer::kSgd}},
      {"epsilon",
       &RowOptimizer::epsilon,
       1e-30,
       kLargest,
       {Optimizer::kAdagrad, Optimizer::kRowAdagrad, Optimizer::kAdam}},
      {"beta1", &RowOptimizer::beta1, 0, 1, {Optimizer::kAdam}},
      {"beta2", &RowOptimizer::beta2, 0, 1, {Optimizer::kAdam}},
      {"weight_decay",
       &RowOptimizer::weight_decay,
       0,
       kLargest,
       {Optimizer::kSgd, Optimizer::kAdagrad, Optimizer::kRowAdagrad, Optimizer::kAdam}},
  }};
  static const RowOptimizer kDefaults;
  for (const Setting& setting : kSettings) {
    const double value = optimizer.*setting.field;
    bool used = false;
    for (const Optimizer user : setting.users) used |= user == optimizer.kind;
    if (!used && value != kDefaults.*setting.field) {
      return InvalidArgument("optimizer.{} {}: this kind does not use it; leave it {}",
                             setting.name, value, kDefaults.*setting.field);
    }
    if (used && !(value >= setting.least && value < setting.below)) {
      return InvalidArgument("optimizer.{} {}: use at least {} and less than {}", setting.name,
                             value, setting.least, setting.below);
    }
  }
  return OkStatus();
}

// As people read it; canonical JSON replaces what is no UTF-8.
std::string Shown(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? "not set" : CanonicalJson(*found);
}

}  // namespace

Status MutableTensorSpec::Validate() const {
  const std::string where = fmt::format("tensor '{}'", ref.name.substr(0, kMaxTensorNameBytes));
  HG_RETURN_IF_ERROR(Annotate(CheckRef(*this), where));
  if (dim < 1 || dim > kMaxTensorDim) {
    return InvalidArgument("{}: dim {}: use 1 to {}", where, dim, kMaxTensorDim);
  }
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    return InvalidArgument("{}: dtype {}: use float32, float16 or bfloat16", where,
                           DTypeName(dtype));
  }
  HG_RETURN_IF_ERROR(Annotate(CheckInitializer(initializer, dtype), where));
  return Annotate(CheckOptimizer(optimizer), where);
}

Status MutableTensorSpec::SameAs(const MutableTensorSpec& other) const {
  const Json here = ToJson();
  const Json there = other.ToJson();
  const auto differ = [&](const std::string& field, const std::string& mine,
                          const std::string& theirs) {
    return InvalidArgument("tensor '{}': {} is {}, and {} in the other specification", ref.name,
                           field, mine, theirs);
  };
  for (const auto& [key, value] : here.items()) {
    if (value == there[key]) continue;
    if (!value.is_object()) return differ(key, Shown(here, key), Shown(there, key));
    // What kind it is comes first: the other fields go by it.
    const Json& other_value = there[key];
    if (value.contains("kind") && value["kind"] != other_value["kind"]) {
      return differ(key + ".kind", Shown(value, "kind"), Shown(other_value, "kind"));
    }
    for (const auto& [field, mine] : value.items()) {
      if (mine != other_value[field]) {
        return differ(key + "." + field, Shown(value, field), Shown(other_value, field));
      }
    }
  }
  return OkStatus();
}

}  // namespace halograph
