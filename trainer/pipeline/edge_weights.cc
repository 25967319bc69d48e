#include "trainer/pipeline/edge_weights.h"

#include <algorithm>
#include <array>

#include "common/base/list_some.h"
#include "common/storage/widen_rows.h"

namespace halograph {
namespace {

constexpr size_t kNamed = 5;
// Far enough below float32's largest that sums over a node's edges stay numbers.
constexpr double kLargestWeight = 1e30;
constexpr char kWeightRange[] = "a weight is a number from 0 to 1e30";

bool IsWeight(double value) { return value >= 0 && value <= kLargestWeight; }

std::vector<bool> DrawnFrom(const Schema& schema, const SamplingSpec& sampling) {
  std::vector<bool> drawn(schema.relations.size());
  for (const auto& layer : sampling.layers) {
    for (const auto& [relation, rule] : layer) {
      if (!rule.nothing()) drawn[static_cast<size_t>(relation)] = true;
    }
  }
  return drawn;
}

// Whether all that is drawn is drawn by the edge feature of this name.
bool DrawnBy(const Schema& schema, const std::string& name, const SamplingSpec& sampling) {
  const auto by_it = [&](const RelationRule& drawn) {
    const std::vector<TensorSpec>& features = schema.relations[drawn.relation].features;
    return drawn.rule.nothing() ||
           (drawn.rule.weight >= 0 && features[drawn.rule.weight].name == name);
  };
  return std::all_of(sampling.layers.begin(), sampling.layers.end(), [&](const auto& layer) {
    return std::all_of(layer.begin(), layer.end(), by_it);
  });
}

Status NoSuchFeature(const Relation& relation, const std::string& name) {
  const auto name_of = [](const TensorSpec& spec) { return "'" + spec.name + "'"; };
  return NotFound(
      "--edge-weight {}: relation '{}' has no such edge feature; it has {}. Name a feature that "
      "each relation has which neighbours are drawn of, or give the relation the fanout 0",
      name, relation.triple(),
      relation.features.empty() ? "none" : ListSome(relation.features, kNamed, name_of));
}

constexpr size_t kAtOnce = 512;

// As the sampler reads what it draws by: to float64, and from there to float32. At most kAtOnce.
void ToDoubles(const TensorSpec& spec, const std::byte* rows, std::span<double> values) {
  if (!HasRowScale(spec.dtype)) {
    return ConvertToDouble(spec.dtype, rows, values.size(), values.data());
  }
  std::array<float, kAtOnce> wide;
  WidenRows({spec.dtype, 1, rows}, static_cast<int64_t>(values.size()), wide.data(), 1);
  std::copy_n(wide.begin(), values.size(), values.begin());
}

// Fills `weights`, as many as there are rows, up to the first number that is none: its place and
// what it is.
std::optional<std::pair<size_t, double>> ToWeights(const TensorSpec& spec, const std::byte* rows,
                                                   std::span<float> weights) {
  std::array<double, kAtOnce> some;
  for (size_t begin = 0; begin < weights.size(); begin += some.size()) {
    const size_t count = std::min(some.size(), weights.size() - begin);
    ToDoubles(spec, rows + begin * spec.row_bytes(), std::span(some).first(count));
    for (size_t i = 0; i < count; ++i) {
      if (!IsWeight(some[i])) return std::pair(begin + i, some[i]);
      weights[begin + i] = static_cast<float>(some[i]);
    }
  }
  return std::nullopt;
}

// Calls use(block) for each block of a relation, from the seeds outward.
template <typename Minibatch, typename Use>
void ForEachBlockOf(int relation, Minibatch& minibatch, const Use& use) {
  for (auto& layer : minibatch.layers) {
    for (auto& block : layer.blocks) {
      if (block.relation == relation) use(block);
    }
  }
}

}  // namespace

StatusOr<EdgeWeighing> ChooseEdgeWeights(const Schema& schema, const std::string& name,
                                         const SamplingSpec& sampling) {
  if (name.empty()) return EdgeWeighing();
  EdgeWeighing weights{.name = name, .drawn_by = DrawnBy(schema, name, sampling)};
  const std::vector<bool> drawn = DrawnFrom(schema, sampling);
  for (size_t r = 0; r < drawn.size(); ++r) {
    if (!drawn[r]) continue;
    const Relation& relation = schema.relations[r];
    const auto found = FindTensor(relation.features, name, "relation '" + relation.triple() + "'");
    if (!found.ok()) return NoSuchFeature(relation, name);
    const TensorSpec& spec = **found;
    if (spec.dim != 1) {
      return InvalidArgument(
          "--edge-weight {}: this feature of relation '{}' has {} columns; a weight has one. Name "
          "another feature, or leave the option out",
          name, relation.triple(), spec.dim);
    }
    if (weights.drawn_by) continue;
    weights.pulled.push_back({static_cast<int>(r), TensorRef{true, relation.triple(), name}, spec});
  }
  return weights;
}

Status WeighByDraw(const Schema& schema, const EdgeWeighing& weights, bool keep,
                   Minibatch* minibatch) {
  for (SampledLayer& layer : minibatch->layers) {
    for (Block& block : layer.blocks) {
      const auto wrong = std::find_if_not(block.weights.begin(), block.weights.end(), IsWeight);
      if (wrong != block.weights.end()) {
        const auto edge = wrong - block.weights.begin();
        const auto after = std::upper_bound(block.indptr.begin(), block.indptr.end(), edge);
        const auto node = static_cast<size_t>(after - block.indptr.begin() - 1);
        return OutOfRange(
            "--edge-weight {}: an edge of relation '{}' into the node with global id {} has a "
            "weight above that; {}: scale the feature down in the input and partition the "
            "graph again, or leave out --edge-weight",
            weights.name, schema.relations[block.relation].triple(),
            minibatch->nodes[schema.DestinationType(block.relation)][node], kWeightRange);
      }
      block.coefficients = keep ? block.weights : std::move(block.weights);
      if (!keep) block.weights.clear();
    }
  }
  return OkStatus();
}

Status RefuseWeight(const WrongWeight& wrong, std::optional<int64_t> original) {
  const std::string edge = original.has_value()
                               ? fmt::format("edge {} (original id)", *original)
                               : fmt::format("the edge with global id {}", wrong.edge);
  return OutOfRange(
      "--edge-weight {}: {} of relation '{}' has {}; {}: fix the feature in the input and "
      "partition "
      "the graph again, or leave out --edge-weight",
      wrong.feature.name, edge, wrong.feature.type, wrong.value, kWeightRange);
}

int64_t BytesToPull(const EdgeWeighing& weights, const Minibatch& minibatch) {
  int64_t bytes = 0;
  for (const EdgeInput& input : weights.pulled) {
    const auto of_edge = static_cast<int64_t>(sizeof(int64_t) + input.spec.row_bytes());
    ForEachBlockOf(input.relation, minibatch,
                   [&](const Block& block) { bytes += std::ssize(block.indices) * of_edge; });
  }
  return bytes;
}

EdgeWeightPull::EdgeWeightPull(const EdgeWeighing& weights, const Minibatch& minibatch) {
  for (const EdgeInput& input : weights.pulled) {
    OfRelation of{.input = &input, .ids = {}, .rows = {}};
    ForEachBlockOf(input.relation, minibatch, [&of](const Block& block) {
      of.ids.insert(of.ids.end(), block.edge_ids.begin(), block.edge_ids.end());
    });
    if (of.ids.empty()) continue;
    of.rows.resize(of.ids.size() * input.spec.row_bytes());
    relations_.push_back(std::move(of));
  }
  for (OfRelation& of : relations_) {
    requests_.push_back({.tensor = of.input->feature, .ids = of.ids, .out = of.rows});
  }
}

std::optional<WrongWeight> EdgeWeightPull::Take(Minibatch* minibatch) const {
  for (const OfRelation& of : relations_) {
    size_t begin = 0;  // of the block's edges among all
    std::optional<WrongWeight> found;
    ForEachBlockOf(of.input->relation, *minibatch, [&](Block& block) {
      const std::vector<float> factors = std::move(block.coefficients);  // of the sampler
      block.coefficients.resize(block.indices.size());
      const auto wrong = ToWeights(
          of.input->spec, of.rows.data() + begin * of.input->spec.row_bytes(), block.coefficients);
      for (size_t e = 0; e < factors.size(); ++e) block.coefficients[e] *= factors[e];
      if (wrong.has_value() && !found.has_value()) {
        found = {of.input->feature, of.ids[begin + wrong->first], wrong->second};
      }
      begin += block.indices.size();
    });
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

}  // namespace halograph
