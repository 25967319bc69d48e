#include "trainer/options/embedding_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

constexpr int64_t kMaxDim = 1 << 16;

// What one word says: a type, a width, or both.
struct EmbedWord {
  std::string type;            // empty: a width alone
  std::optional<int64_t> dim;  // none: a type alone
};

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

StatusOr<EmbedWord> ParseWord(std::string_view text) {
  const size_t colon = text.find(':');
  EmbedWord word;
  if (!IsDigits(text)) {
    word.type = text.substr(0, colon);
    if (word.type.empty()) return InvalidArgument("'{}' is no TYPE, TYPE:DIM or DIM", text);
    if (colon == std::string_view::npos) return word;
    text = text.substr(colon + 1);
  }
  int64_t dim = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, dim);
  if (error != std::errc() || read != end || dim < 1 || dim > kMaxDim) {
    return InvalidArgument("{}the width is '{}', expected 1 to {}",
                           word.type.empty() ? "" : fmt::format("'{}': ", word.type), text,
                           kMaxDim);
  }
  word.dim = dim;
  return word;
}

// All words together. `types` without those of a width alone.
struct EmbedWords {
  std::vector<EmbedWord> types;
  std::optional<int64_t> dim;
};

StatusOr<EmbedWords> ParseWords(const std::vector<std::string>& texts) {
  EmbedWords words;
  for (const std::string& text : texts) {
    HG_ASSIGN_OR_RETURN(EmbedWord word, ParseWord(text));
    if (word.type.empty()) {
      if (words.dim.has_value()) {
        return InvalidArgument("two widths, {} and {}: a node type named {} is written {}:DIM",
                               *words.dim, *word.dim, text, text);
      }
      words.dim = word.dim;
      continue;
    }
    const bool twice = std::any_of(words.types.begin(), words.types.end(),
                                   [&](const EmbedWord& one) { return one.type == word.type; });
    if (twice) return InvalidArgument("node type '{}' is named twice", word.type);
    words.types.push_back(std::move(word));
  }
  return words;
}

Status CheckTypes(const std::vector<std::string>& texts) { return ParseWords(texts).status(); }

bool IsLearnt(const std::vector<LearntType>& learnt, int type) {
  return std::any_of(learnt.begin(), learnt.end(),
                     [&](const LearntType& one) { return one.node_type == type; });
}

}  // namespace

StatusOr<std::vector<LearntType>> ChooseLearntTypes(const EmbeddingOptions& options,
                                                    const Schema& schema) {
  auto words = ParseWords(options.types);
  if (!words.ok()) return Annotate(words.status(), "--embed");
  const int64_t dim = words->dim.value_or(kDefaultEmbeddingDim);
  std::vector<LearntType> learnt;
  for (const EmbedWord& word : words->types) {
    auto index = schema.NodeTypeIndex(word.type);
    if (!index.ok()) return Annotate(index.status(), "--embed");
    learnt.push_back({*index, word.dim.value_or(dim)});
  }
  if (words->types.empty() || words->dim.has_value()) {
    for (int i = 0; i < static_cast<int>(schema.node_types.size()); ++i) {
      if (schema.node_types[i].features.empty() && !IsLearnt(learnt, i)) learnt.push_back({i, dim});
    }
  }
  if (learnt.empty() && words->dim.has_value()) {
    return InvalidArgument(
        "--embed {0}: all node types have features; name those whose inputs are to be learnt in "
        "their place: --embed TYPE:{0}",
        *words->dim);
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
           "node types whose inputs are learnt, with their width, in place of features; a number "
           "alone is the width of every type without features (a type named 64: 64:DIM)")
      .Check(CheckTypes)
      .ValueName("TYPE[:DIM]|DIM")
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
           "ahead, and show the pushes up to then, no more and no less")
      .Range(0, 64)
      .AllRanks()
      .Mark(kOfTraining);
}

}  // namespace halograph
