#include "trainer/models/registry.h"

#include <algorithm>

#include <fmt/format.h>

#include "trainer/models/embedding.h"
#include "trainer/models/gat.h"
#include "trainer/models/gcn.h"
#include "trainer/models/rgcn.h"
#include "trainer/models/sage.h"
#include "trainer/models/sgc.h"
#include "trainer/options/train_options.h"

namespace halograph {
namespace {

// The command line reads this registry in a program without libtorch, which makes no models.
#ifdef HALOGRAPH_WITHOUT_TORCH
constexpr bool kMakesModels = false;
#else
constexpr bool kMakesModels = true;
#endif

template <typename Options>
std::unique_ptr<ModelOptions> Defaults() {
  return std::make_unique<Options>();
}

// A kind whose options are of type `Options`, made by `Make(const Options&, const ModelShape&)`.
template <typename Options, auto Make>
constexpr ModelKind Kind(std::string_view name, std::string_view help, ModelNeeds needs) {
  ModelKind kind{name, help, needs, Defaults<Options>, nullptr};
  if constexpr (kMakesModels) {
    kind.make = [](const ModelOptions& options, const ModelShape& shape) -> std::shared_ptr<Model> {
      return Make(dynamic_cast<const Options&>(options), shape);
    };
  }
  return kind;
}

constexpr ModelKind kKinds[] = {
    Kind<SageOptions, MakeSage>("sage", "GraphSAGE",
                                {.one_relation = true,
                                 .input_rows = InputRows::kSelfAndMean,
                                 .by_source = BySource::kAboveFirst}),
    Kind<GcnOptions, MakeGcn>(
        "gcn", "graph convolution",
        {.one_relation = true, .by_source = BySource::kAboveFirst, .source_degrees = true}),
    Kind<GatOptions, MakeGat>("gat", "graph attention, also GATv2",
                              {.one_relation = true,
                               .form = BlockForm::kSelfLoops,
                               .by_source = BySource::kAll,
                               .attends = true}),
    Kind<SgcOptions, MakeSgc>(
        "sgc", "simple graph convolution",
        {.one_relation = true, .by_source = BySource::kAboveFirst, .source_degrees = true}),
    Kind<RgcnOptions, MakeRgcn>(
        "rgcn", "R-GCN, for typed graphs",
        {.form = BlockForm::kByRelation, .by_source = BySource::kAboveFirst}),
    Kind<EmbeddingModelOptions, MakeEmbeddingModel>("embedding", "a node's own row alone",
                                                    {.neighbors = false}),
};

Status CheckNeeds(const ModelKind& kind, const Schema& schema) {
  if (!kind.needs.one_relation) return OkStatus();
  if (schema.node_types.size() == 1 && schema.relations.size() == 1) return OkStatus();
  return FailedPrecondition(
      "--model {} needs a graph of one node type and one relation; graph '{}' has {}: give "
      "--model rgcn",
      kind.name, schema.graph_name, TypesAndRelations(schema));
}

// A name with a comma was read as two.
Status NoFeature(const Status& found, const NodeType& type) {
  Status status = Annotate(found, "--features");
  for (const TensorSpec& spec : type.features) {
    if (spec.name.find(',') == std::string::npos) continue;
    return MakeStatus(status.code(),
                      fmt::format("{}. A name with a comma stands in quotes: --features '\"{}\"'",
                                  Message(status), spec.name));
  }
  return status;
}

StatusOr<std::vector<const TensorSpec*>> ChooseFeatures(const ModelKind& kind, const NodeType& type,
                                                        std::span<const std::string> names) {
  if (type.features.empty()) {
    return NotFound(
        "node type '{}' has no features, which --model {} needs: --embed {} learns inputs for it",
        type.name, kind.name, type.name);
  }
  std::vector<const TensorSpec*> chosen;
  if (names.empty() && type.features.size() == 1) {
    chosen.push_back(&type.features.front());
    return chosen;
  }
  static const std::string usual[] = {"feat"};
  for (const std::string& name : names.empty() ? std::span<const std::string>(usual) : names) {
    auto found = FindTensor(type.features, name, "node type '" + type.name + "'");
    if (!found.ok()) return NoFeature(found.status(), type);
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace

std::span<const ModelKind> ModelKinds() { return kKinds; }

std::string TypesAndRelations(const Schema& schema) {
  const size_t types = schema.node_types.size(), relations = schema.relations.size();
  return fmt::format("{} node type{} and {} relation{}", types, types == 1 ? "" : "s", relations,
                     relations == 1 ? "" : "s");
}

StatusOr<const ModelKind*> FindModelKind(std::string_view name) {
  std::string known;
  for (const ModelKind& kind : kKinds) {
    if (kind.name == name) return &kind;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
  }
  return NotFound("no model '{}', expected {}", name, known);
}

Json DefaultFacts(std::string_view model) {
  TrainOptions options;
  if (const auto kind = FindModelKind(model); kind.ok()) options.model_options = (*kind)->options();
  return SharedFacts(options);
}

StatusOr<std::vector<NodeInput>> ChooseInputs(const ModelKind& kind, const Schema& schema,
                                              std::span<const std::string> features,
                                              FeatureNormalization normalization,
                                              std::span<const int> learnt) {
  HG_RETURN_IF_ERROR(CheckNeeds(kind, schema));
  std::vector<NodeInput> inputs;
  for (size_t i = 0; i < schema.node_types.size(); ++i) {
    const NodeType& type = schema.node_types[i];
    if (std::find(learnt.begin(), learnt.end(), static_cast<int>(i)) != learnt.end()) continue;
    HG_ASSIGN_OR_RETURN(const auto specs, ChooseFeatures(kind, type, features));
    for (const TensorSpec* spec : specs) {
      inputs.push_back(
          {static_cast<int>(i), TensorRef{false, type.name, spec->name}, *spec, normalization});
    }
  }
  return inputs;
}

}  // namespace halograph
