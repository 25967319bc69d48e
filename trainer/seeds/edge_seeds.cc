#include "trainer/seeds/edge_seeds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace halograph {
namespace {

constexpr double kDegreePower = 0.75;  // as word2vec draws words

bool IsReverseName(std::string_view a, std::string_view b) {
  for (const std::string_view prefix : {"rev_", "rev-"}) {
    if (a.size() == prefix.size() + b.size() && a.substr(0, prefix.size()) == prefix &&
        a.substr(prefix.size()) == b) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<int> ReverseRelations(const Schema& schema, int relation) {
  const Relation& of = schema.relations[relation];
  std::vector<int> back, named;
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    const Relation& other = schema.relations[r];
    if (other.source != of.destination || other.destination != of.source) continue;
    back.push_back(static_cast<int>(r));
    if (IsReverseName(other.name, of.name) || IsReverseName(of.name, other.name)) {
      named.push_back(static_cast<int>(r));
    }
  }
  if (of.source != of.destination) return named.empty() ? back : named;
  named.push_back(relation);
  std::sort(named.begin(), named.end());
  return named;
}

NodeDrawer::NodeDrawer(std::span<const uint32_t> counts) : entries_(counts.size()) {
  std::vector<double> shares(counts.size());
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    shares[i] = std::pow(static_cast<double>(counts[i]), kDegreePower);
    sum += shares[i];
  }
  if (sum == 0) return;  // every entry keeps itself
  std::vector<uint32_t> small, large;
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i] *= static_cast<double>(shares.size()) / sum;
    (shares[i] < 1 ? small : large).push_back(static_cast<uint32_t>(i));
  }
  while (!small.empty() && !large.empty()) {
    const uint32_t less = small.back(), more = large.back();
    small.pop_back();
    entries_[less] = {.keep = static_cast<float>(shares[less]), .alias = more};
    shares[more] -= 1 - shares[less];
    if (shares[more] >= 1) continue;
    large.pop_back();
    small.push_back(more);
  }
}

int64_t NodeDrawer::Draw(CounterRng& rng) const {
  const uint64_t drawn = rng.NextBounded(entries_.size());
  const Entry& entry = entries_[drawn];
  return static_cast<int64_t>(rng.NextDouble() < entry.keep ? drawn : entry.alias);
}

StatusOr<NodeDrawers> DrawersByDegree(const Stores& stores, const Task& task) {
  const Schema& schema = stores.graph->info().schema;
  std::vector<std::vector<uint32_t>> counts(schema.node_types.size());
  for (const int relation : RelationsOf(schema, task)) {
    for (const int type : {schema.SourceType(relation), schema.DestinationType(relation)}) {
      const int64_t nodes = schema.node_types[type].count;
      if (nodes > int64_t{std::numeric_limits<uint32_t>::max()}) {
        return ResourceExhausted(
            "--negative-sampling degree: node type '{}' has {} nodes, more than {} that can be "
            "drawn by degree; use uniform",
            schema.node_types[type].name, nodes, std::numeric_limits<uint32_t>::max());
      }
      counts[type].resize(static_cast<size_t>(nodes));
    }
  }
  HG_RETURN_IF_ERROR(
      ForEachEdge(stores, task, "train", [&](int relation, std::span<const int64_t> pairs) {
        std::vector<uint32_t>& sources = counts[schema.SourceType(relation)];
        std::vector<uint32_t>& destinations = counts[schema.DestinationType(relation)];
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
          ++sources[static_cast<size_t>(pairs[i])];
          ++destinations[static_cast<size_t>(pairs[i + 1])];
        }
      }));
  NodeDrawers drawers(counts.size());
  for (size_t type = 0; type < counts.size(); ++type) {
    if (counts[type].empty()) continue;
    drawers[type] = std::make_shared<const NodeDrawer>(counts[type]);
    counts[type] = {};
  }
  return drawers;
}

EdgeSeeds::EdgeSeeds(const Schema* schema, EdgeRows rows, NegativeSpec negatives,
                     NodeDrawers drawers, int64_t tag)
    : schema_(schema),
      rows_(std::move(rows)),
      negatives_(negatives),
      drawers_(std::move(drawers)),
      tag_(tag) {
  for (size_t r = 0; r < schema->relations.size(); ++r) {
    runs_.push_back(RunOf(*schema, static_cast<int>(r)));
    reverse_.push_back(ReverseRelations(*schema, static_cast<int>(r)));
  }
}

std::vector<size_t> EdgeSeeds::InOrder(std::span<const int64_t> rows) const {
  std::vector<size_t> edges;
  edges.reserve(rows.size());
  for (const int64_t row : rows) edges.push_back(static_cast<size_t>(row - rows_.first_row));
  const auto place = [this](size_t edge) {
    const int32_t relation = rows_.relations[edge];
    return std::pair(runs_[relation], relation);
  };
  std::stable_sort(edges.begin(), edges.end(),
                   [&](size_t a, size_t b) { return place(a) < place(b); });
  return edges;
}

void EdgeSeeds::DrawInto(int type, std::span<int64_t> ids, CounterRng& rng) const {
  const auto nodes = static_cast<uint64_t>(schema_->node_types[type].count);
  const bool by_degree = negatives_.sampling == NegativeSampling::kDegree;
  for (int64_t& id : ids) {
    id = by_degree ? drawers_[type]->Draw(rng) : static_cast<int64_t>(rng.NextBounded(nodes));
  }
}

void EdgeSeeds::Exclude(std::span<const size_t> edges, StepSeeds* step) const {
  std::map<int, StepSeeds::Excluded> excluded;  // by relation
  const auto add = [&](int relation, int64_t source, int64_t destination) {
    StepSeeds::Excluded& of = excluded[relation];
    of.relation = relation;
    of.sources.push_back(source);
    of.destinations.push_back(destination);
  };
  for (const size_t edge : edges) {
    if (!rows_.is_edge(edge)) continue;
    const int relation = rows_.relations[edge];
    add(relation, rows_.sources[edge], rows_.destinations[edge]);
    for (const int back : reverse_[relation]) {
      add(back, rows_.destinations[edge], rows_.sources[edge]);
    }
  }
  for (auto& [relation, of] : excluded) step->exclude.push_back(std::move(of));
}

Status EdgeSeeds::Collect(std::span<const int64_t> rows, uint64_t key, StepSeeds* step) const {
  *step = {};
  const std::vector<size_t> edges = InOrder(rows);
  std::vector<int64_t> relations, labels;
  for (const size_t edge : edges) {
    relations.push_back(rows_.relations[edge]);
    labels.insert(labels.end(), {rows_.relations[edge], tag_, rows_.is_edge(edge) ? 1 : 0});
  }
  const EdgeLayout layout = LayOutEdges(*schema_, relations, negatives_);
  for (const EdgeLayout::List& list : layout.lists) {
    step->seeds.push_back(
        {.type = list.type, .ids = std::vector<int64_t>(static_cast<size_t>(list.size))});
  }
  CounterRng rng(key);
  for (const EdgeRun& run : layout.runs) {
    std::vector<int64_t>& sources = step->seeds[run.source_list].ids;
    std::vector<int64_t>& destinations = step->seeds[run.destination_list].ids;
    for (int64_t i = 0; i < run.rows.size(); ++i) {
      const size_t edge = edges[static_cast<size_t>(run.rows.begin + i)];
      sources[run.sources + i] = rows_.sources[edge];
      destinations[run.destinations + i] = rows_.destinations[edge];
    }
    const auto drawn = static_cast<size_t>(negatives_.shared ? negatives_.count
                                                             : negatives_.count * run.rows.size());
    if (run.tails >= 0) {
      DrawInto(layout.lists[run.destination_list].type,
               std::span(destinations).subspan(static_cast<size_t>(run.tails), drawn), rng);
    }
    if (run.heads >= 0) {
      DrawInto(layout.lists[run.source_list].type,
               std::span(sources).subspan(static_cast<size_t>(run.heads), drawn), rng);
    }
  }
  Exclude(edges, step);
  const auto bytes = std::as_bytes(std::span(labels));
  step->labels = {.dtype = DType::kInt64, .dim = kEdgeLabels, .data = {bytes.begin(), bytes.end()}};
  return OkStatus();
}

}  // namespace halograph
