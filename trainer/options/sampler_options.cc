#include "trainer/options/sampler_options.h"

#include <algorithm>

#include "common/sampling/samplers/registry.h"
#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

bool Reads(const SamplerKind& kind, std::string_view option) {
  return std::find(kind.options.begin(), kind.options.end(), option) != kind.options.end();
}

LayerProbability ProbabilityOf(ProbabilityChoice choice, LayerProbability usual) {
  switch (choice) {
    case ProbabilityChoice::kModels:
      break;
    case ProbabilityChoice::kDegree:
      return LayerProbability::kDegree;
    case ProbabilityChoice::kSqrt:
      return LayerProbability::kSqrt;
    case ProbabilityChoice::kCount:
      return LayerProbability::kCount;
    case ProbabilityChoice::kCount2:
      return LayerProbability::kCount2;
  }
  return usual;
}

// "ladies", or "labor or ladies".
std::string SamplersThatRead(std::string_view option) {
  std::vector<std::string> names;
  for (const SamplerKind& kind : SamplerKinds()) {
    if (Reads(kind, option)) names.emplace_back(kind.name);
  }
  return OrList(names);
}

}  // namespace

bool SamplerOptions::reads_fanouts() const {
  const auto kind = FindSampler(name);
  return !kind.ok() || Reads(**kind, "fanouts");
}

DrawKind SamplerOptions::kind() const {
  const auto sampler = FindSampler(name);
  return sampler.ok() ? (*sampler)->kind : DrawKind::kNeighbor;
}

bool SamplerOptions::graph_wise() const { return DrawRule{.kind = kind()}.graph_wise(); }

bool SamplerOptions::estimates() const {
  return IsEstimate({.kind = kind(), .fanout = 1, .cluster_weights = subgraph.cluster_weights});
}

void AddSamplerRows(OptionTable& rows, SamplerOptions* o) {
  std::vector<std::string> names;
  std::string help = "how training's minibatches are drawn; evaluation draws neighbours";
  for (const SamplerKind& kind : SamplerKinds()) {
    names.emplace_back(kind.name);
    help += fmt::format("; {}: {}", kind.name, kind.help);
  }
  rows.Add("sampler", &o->name, help).OneOf(names).AllRanks().Mark(kOfNeighbors | kOfTraining);
  rows.Add("layer-nodes", &o->layer_nodes,
           "sources that a layer-wise sampler draws of each relation, one number a layer, from the "
           "seeds outward; -1: all that have an edge into the layer, of fastgcn any edge")
      .Range(kFullNeighborhood, kMaxLayerNodes)
      .ValueName("N")
      .DefaultText("--batch-size in each layer")
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
  rows.Add("labor-shared", &o->labor_shared,
           "labor draws all layers by the same numbers, so that they share more sources")
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
  rows.AddChoice("layer-probability", &o->layer_probability,
                 {{"auto", ProbabilityChoice::kModels},
                  {"degree", ProbabilityChoice::kDegree},
                  {"sqrt", ProbabilityChoice::kSqrt},
                  {"count", ProbabilityChoice::kCount},
                  {"count2", ProbabilityChoice::kCount2}},
                 "by what ladies draws a source with e edges into the layer: degree, the root of "
                 "the sum of 1 / (in-degree of the destination)^2, best for means; sqrt, the root "
                 "of e; count, e; count2, e^2, as in equation 1 of arXiv 2311.02909; auto: sqrt "
                 "for --model gat, else degree")
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
  rows.AddChoice(
          "layer-estimate", &o->layer_estimate,
          {{"unbiased", LayerEstimate::kUnbiased}, {"normalized", LayerEstimate::kNormalized}},
          "what sums over drawn sources are: unbiased, on average the full sum; normalized, "
          "with weights that add up to the full neighbourhood, as in public code: less "
          "noise, but biased")
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
  AddSubgraphRows(rows, &o->subgraph);
}

Status CheckSampler(const OptionTable& rows, const SamplerOptions& options) {
  HG_ASSIGN_OR_RETURN(const SamplerKind* const chosen, FindSampler(options.name));
  for (const SamplerKind& other : SamplerKinds()) {
    for (const std::string_view option : other.options) {
      if (Reads(*chosen, option) || !rows.given(std::string(option))) continue;
      return InvalidArgument("--{} is for --sampler {}, not {}: leave one of them out", option,
                             SamplersThatRead(option), options.name);
    }
  }
  return OkStatus();
}

Status CheckLayerNodes(const SamplerOptions& options, int64_t layers) {
  if (options.layer_nodes.empty() || std::ssize(options.layer_nodes) == layers) return OkStatus();
  return InvalidArgument("--layer-nodes has {} numbers; --layers {} needs one each",
                         options.layer_nodes.size(), layers);
}

void DrawAs(const SamplerOptions& options, SamplingSpec* spec) {
  for (std::vector<RelationRule>& layer : spec->layers) {
    for (auto& [relation, rule] : layer) {
      rule.kind = options.kind();
      rule.one_key = options.labor_shared;
    }
  }
}

SamplingSpec LayerWiseSpec(const SamplerOptions& options, const Schema& schema, int64_t layers,
                           int64_t batch_size, LayerProbability usual) {
  std::vector<int32_t> nodes = options.layer_nodes;
  if (nodes.empty()) {
    nodes.assign(static_cast<size_t>(layers),
                 static_cast<int32_t>(std::min<int64_t>(batch_size, kMaxLayerNodes)));
  }
  SamplingSpec spec = SamplingSpec::Uniform(schema, nodes);
  for (std::vector<RelationRule>& layer : spec.layers) {
    for (auto& [relation, rule] : layer) {
      rule.kind = options.kind();
      rule.probability = ProbabilityOf(options.layer_probability, usual);
      rule.estimate = options.layer_estimate;
    }
  }
  return spec;
}

}  // namespace halograph
