#include "trainer/options/embedding_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

constexpr int64_t kMaxDim = 1 << 16;

struct NamedType {
  std::string name;
  int64_t dim = kDefaultEmbeddingDim;
};

StatusOr<NamedType> ParseType(std::string_view text) {
  const size_t colon = text.find(':');
  NamedType type{std::string(text.substr(0, colon))};
  if (type.name.empty()) return InvalidArgument("'{}' is no TYPE or TYPE:DIM", text);
  if (colon == std::string_view::npos) return type;
  const std::string_view digits = text.substr(colon + 1);
  const char* const end = digits.data() + digits.size();
  const auto [read, error] = std::from_chars(digits.data(), end, type.dim);
  if (error != std::errc() || read != end || type.dim < 1 || type.dim > kMaxDim) {
    return InvalidArgument("'{}': the width is '{}', expected 1 to {}", text, digits, kMaxDim);
  }
  return type;
}

Status CheckTypes(const std::vector<std::string>& types) {
  std::vector<std::string> names;
  for (const std::string& text : types) {
    HG_ASSIGN_OR_RETURN(NamedType type, ParseType(text));
    if (std::find(names.begin(), names.end(), type.name) != names.end()) {
      return InvalidArgument("node type '{}' is named twice", type.name);
    }
    names.push_back(std::move(type.name));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<LearntType>> ChooseLearntTypes(const EmbeddingOptions& options,
                                                    const Schema& schema) {
  std::vector<LearntType> learnt;
  if (options.types.empty()) {
    for (size_t i = 0; i < schema.node_types.size(); ++i) {
      if (schema.node_types[i].features.empty()) learnt.push_back({static_cast<int>(i)});
    }
    return learnt;
  }
  HG_RETURN_IF_ERROR(Annotate(CheckTypes(options.types), "--embed"));
  for (const std::string& text : options.types) {
    HG_ASSIGN_OR_RETURN(const NamedType type, ParseType(text));
    auto index = schema.NodeTypeIndex(type.name);
    if (!index.ok()) return Annotate(index.status(), "--embed");
    learnt.push_back({*index, type.dim});
  }
  std::sort(learnt.begin(), learnt.end(),
            [](const LearntType& a, const LearntType& b) { return a.node_type < b.node_type; });
  return learnt;
}

MutableTensorSpec TensorOf(const EmbeddingOptions& options, const LearntType& type,
                           const Schema& schema, uint64_t seed) {
  MutableTensorSpec spec;
  spec.ref = {false, schema.node_types[type.node_type].name, options.name};
  spec.placement = Placement::kNodes;
  spec.dim = type.dim;
  const double bound = type.bound > 0 ? type.bound : std::sqrt(3.0 / static_cast<double>(type.dim));
  spec.initializer = {.kind = Initializer::Kind::kUniform, .a = -bound, .b = bound, .seed = seed};
  spec.optimizer = {.kind = options.optimizer,
                    .learning_rate = options.learning_rate,
                    .weight_decay = options.weight_decay};
  return spec;
}

Status CheckLearntUse(const EmbeddingOptions& options, const std::vector<LearntType>& learnt) {
  const EmbeddingOptions defaults;
  const char* const unused = options.learning_rate != defaults.learning_rate ? "--embed-lr"
                             : options.staleness != defaults.staleness       ? "--staleness"
                             : options.optimizer != defaults.optimizer       ? "--embed-optimizer"
                             : options.weight_decay != defaults.weight_decay
                                 ? "--embed-weight-decay"
                                 : nullptr;
  if (unused == nullptr || !learnt.empty()) return OkStatus();
  return InvalidArgument(
      "{}: no inputs are learnt, all node types have features; name those whose inputs are to be "
      "learnt as --embed, or leave the option out",
      unused);
}

void AddEmbeddingRows(OptionTable& rows, EmbeddingOptions* o) {
  rows.Group("Learnt inputs");
  rows.Add("embed", &o->types,
           "node types whose inputs are learnt, with their width, in place of features")
      .Check(CheckTypes)
      .ValueName("TYPE[:DIM]")
      .DefaultText(fmt::format("every type without features, {} wide", kDefaultEmbeddingDim))
      .AllRanks()
      .Mark(kPartOfModel);
  rows.Add("embed-name", &o->name, "name of the tensors that hold learnt inputs")
      .AllRanks()
      .Mark(kPartOfModel);
  rows.AddChoice("embed-begin", &o->begin,
                 {{"new", EmbedBegin::kNew},
                  {"fresh", EmbedBegin::kFresh},
                  {"continue", EmbedBegin::kContinue}},
                 "what to do with inputs that an earlier run has learnt: new refuses to begin, "
                 "fresh drops them, continue goes on from them")
      .AllRanks()
      .Mark(kMayDifferOnResume | kNotInherited | kOfTraining);
  rows.AddChoice("embed-optimizer", &o->optimizer,
                 {{"adam", RowOptimizer::Kind::kAdam},
                  {"adagrad", RowOptimizer::Kind::kAdagrad},
                  {"row-adagrad", RowOptimizer::Kind::kRowAdagrad},
                  {"sgd", RowOptimizer::Kind::kSgd}},
                 "optimizer of learnt inputs")
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("embed-lr", &o->learning_rate, "learning rate of learnt inputs")
      .Above(0)
      .AtMost(1e6)
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("embed-weight-decay", &o->weight_decay,
           "L2 term of the optimizer of learnt inputs: of the rows that a step reads")
      .Range(0, 1e6)
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("staleness", &o->staleness,
           "how many steps learnt inputs may be behind: above 0 they are pulled that many steps "
           "ahead, and runs differ from one another")
      .Range(0, 64)
      .AllRanks()
      .Mark(kOfTraining);
}

}  // namespace halograph
