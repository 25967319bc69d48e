#include "server/handlers/graph_counters.h"

#include <algorithm>
#include <string_view>

#include "common/metrics/found_series.h"

namespace halograph::server {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(CountedSampler::kEnd)> kSamplers = {
    "neighbor", "labor", "columns"};

const MetricInfo kDestinations = {"halograph_sampling_destinations_total", MetricUnit::kNone,
                                  "Nodes whose in-edges were drawn."};
const MetricInfo kEdges = {"halograph_sampling_edges_total", MetricUnit::kNone, "Edges drawn."};
const MetricInfo kScanned = {"halograph_sampling_scanned_edges_total", MetricUnit::kNone,
                             "In-edges looked at to draw them."};
const MetricInfo kRows = {"halograph_pull_rows_total", MetricUnit::kNone, "Rows sent."};
const MetricInfo kRowBytes = {"halograph_pull_bytes_total", MetricUnit::kBytes,
                              "Bytes of the rows sent."};

// Features and original ids of one type or relation.
void AddTensors(bool edge, const std::string& type, const std::vector<TensorSpec>& features,
                std::vector<TensorRef>* refs) {
  refs->push_back({.edge = edge, .type = type, .name = kOriginalIdTensor});
  for (const TensorSpec& spec : features) {
    refs->push_back({.edge = edge, .type = type, .name = spec.name});
  }
}

}  // namespace

std::string TensorLabel(const TensorRef& ref) { return ref.type + "/" + ref.name; }

GraphCounters::GraphCounters(MetricRegistry* metrics, const ServedGraph& graph)
    : rows_(metrics->AddFoundCounters(kRows, {"tensor"}, {}, kMostTensors)),
      bytes_(metrics->AddFoundCounters(kRowBytes, {"tensor"}, {}, kMostTensors)) {
  const Schema& schema = graph.schema();
  const auto add = [&](const std::string& relation) {
    OfRelation& of = relations_.emplace_back();
    for (size_t s = 0; s < kSamplers.size(); ++s) {
      const Labels labels{{"relation", relation}, {"sampler", std::string(kSamplers[s])}};
      of[s] = {.destinations = metrics->AddCounter(kDestinations, labels),
               .edges = metrics->AddCounter(kEdges, labels),
               .scanned = metrics->AddCounter(kScanned, labels)};
    }
  };
  if (graph.contents().topology) {
    const size_t own = std::min(schema.relations.size(), kMostRelations);
    for (size_t r = 0; r < own; ++r) add(schema.relations[r].triple());
    if (own < schema.relations.size()) add(std::string(kOtherLabel));
  }
  if (!graph.contents().features) return;
  std::vector<TensorRef> refs;
  for (const NodeType& type : schema.node_types) {
    AddTensors(false, type.name, type.features, &refs);
  }
  for (const Relation& relation : schema.relations) {
    AddTensors(true, relation.triple(), relation.features, &refs);
  }
  for (const TensorRef& ref : refs) tensors_.emplace(ref, Find(ref));
}

void GraphCounters::Sampled(int relation, CountedSampler sampler, const SampledGroup& group) {
  const size_t place = std::min(static_cast<size_t>(relation), relations_.size() - 1);
  const OfSampler& of = relations_[place][static_cast<size_t>(sampler)];
  of.destinations->Add(group.destinations);
  of.edges->Add(group.edges);
  of.scanned->Add(group.scanned);
}

GraphCounters::OfTensor GraphCounters::Find(const TensorRef& tensor) {
  const std::string label = TensorLabel(tensor);
  return {.rows = rows_->Of(label), .bytes = bytes_->Of(label)};
}

void GraphCounters::Pulled(const TensorRef& tensor, int64_t rows, int64_t bytes) {
  const auto own = tensors_.find(tensor);
  const OfTensor of = own != tensors_.end() ? own->second : Find(tensor);
  of.rows->Add(rows);
  of.bytes->Add(bytes);
}

}  // namespace halograph::server
