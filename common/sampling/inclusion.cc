#include "common/sampling/inclusion.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace halograph {
namespace {

// Chances are summed up as logarithms of those to be left out: log(1 - chance), 0 to -infinity.
using LeftOut = std::vector<std::vector<double>>;

double LogLeftOut(double chance) { return std::log1p(-std::min(chance, 1.0)); }
float ChanceOf(double left_out) { return static_cast<float>(-std::expm1(left_out)); }

// What the destinations of one segment draw.
void DrawSegment(const CscSegment& segment, const DrawRule& rule,
                 const std::vector<float>& destinations, std::vector<double>* sources) {
  for (int64_t i = 0; i < segment.nodes.size(); ++i) {
    const double chance = destinations[static_cast<size_t>(segment.nodes.begin + i)];
    const int64_t degree = segment.indptr[i + 1] - segment.indptr[i];
    if (chance <= 0 || degree == 0) continue;
    const double log = LogLeftOut(chance * DrawChance(degree, rule));
    for (int64_t edge = segment.indptr[i]; edge < segment.indptr[i + 1]; ++edge) {
      (*sources)[static_cast<size_t>(segment.Source(edge))] += log;
    }
  }
}

}  // namespace

double DrawChance(int64_t degree, const DrawRule& rule) {
  if (rule.fanout == kFullNeighborhood) return 1;
  const auto edges = static_cast<double>(degree);
  if (!rule.replace) return std::min(1.0, rule.fanout / edges);
  return -std::expm1(rule.fanout * std::log1p(-1 / edges));
}

NodeChances InclusionChances(const Schema& schema, const Topology& topology,
                             const SamplingSpec& spec, const NodeChances& seeds) {
  NodeChances frontier = seeds;
  LeftOut left_out;
  for (const std::vector<float>& type : seeds) {
    std::vector<double>& logs = left_out.emplace_back();
    logs.reserve(type.size());
    for (const float chance : type) logs.push_back(LogLeftOut(chance));
  }
  for (const std::vector<RelationRule>& layer : spec.layers) {
    for (const RelationRule& draw : layer) {
      if (draw.rule.nothing()) continue;
      const auto relation = static_cast<size_t>(draw.relation);
      const auto source = static_cast<size_t>(schema.SourceType(draw.relation));
      const auto destination = static_cast<size_t>(schema.DestinationType(draw.relation));
      for (const CscSegment& segment : topology[relation].segments()) {
        if (!segment.present()) continue;
        DrawSegment(segment, draw.rule, frontier[destination], &left_out[source]);
      }
    }
    // A layer's sources are the frontier of the next one, its destinations among them.
    for (size_t type = 0; type < frontier.size(); ++type) {
      std::transform(left_out[type].begin(), left_out[type].end(), frontier[type].begin(),
                     ChanceOf);
    }
  }
  return frontier;
}

}  // namespace halograph
