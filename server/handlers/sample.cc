#include "server/handlers/sample.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/request.h"
#include "proto/wire/writer.h"

namespace halograph::server {
namespace {

// A group's tags and lengths: its own, of its counts, its sources and what else it has.
int64_t GroupOverheadBytes(const LayerSamplePlan& plan) {
  const int arrays = 2 + (plan.draws.edge_ids ? 1 : 0) + (plan.draws.weights >= 0 ? 1 : 0) +
                     (plan.draws.degrees ? 1 : 0);
  return wire::kSampleGroupReplyOverhead + arrays * wire::kSampleGroupReplyArrayOverhead;
}

// What one drawn edge takes in a reply.
int64_t EdgeBytes(const LayerSamplePlan& plan) {
  const size_t source = plan.wide ? sizeof(uint64_t) : sizeof(uint32_t);
  return static_cast<int64_t>(source + (plan.draws.edge_ids ? sizeof(uint64_t) : 0) +
                              (plan.draws.weights >= 0 ? sizeof(float) : 0));
}

// Edges drawn at a time (one destination may have more), and what a thread keeps between calls:
// bounds the memory between the kernel and the reply.
constexpr int64_t kDrawEdges = 1 << 15;
constexpr size_t kKeptEdges = 1 << 17;

Status CheckLayer(uint32_t layer) {
  if (layer <= static_cast<uint32_t>(std::numeric_limits<int32_t>::max())) return OkStatus();
  return InvalidArgument("layer {} is above 2^31 - 1", layer);
}

// How many in-edges were looked at to draw what a plan says: LABOR looks at all of a destination.
int64_t ScannedEdges(const LayerSamplePlan& plan) {
  if (plan.draws.rule().kind != DrawKind::kLabor) return plan.edges;
  std::vector<int64_t> degrees;
  // Damaged offsets were met before, by counting.
  if (!GetInDegrees(*plan.draws.topology, plan.destinations, &degrees).done()) return plan.edges;
  return std::accumulate(degrees.begin(), degrees.end(), int64_t{0});
}

// What a group's rule, which names its weight, says of a relation of the schema.
StatusOr<DrawRule> RuleOf(const Schema& schema, int relation, const wire::SampleRule& sent) {
  // Kinds of later versions stay unknown ones.
  const uint32_t kind = std::min<uint32_t>(sent.kind, std::numeric_limits<uint8_t>::max());
  DrawRule rule = {
      .kind = static_cast<DrawKind>(kind), .fanout = sent.fanout, .replace = sent.replace};
  HG_RETURN_IF_ERROR(ValidateRule(schema, relation, rule));
  if (!sent.weight.empty() && !rule.nothing()) {
    HG_ASSIGN_OR_RETURN(rule.weight, FindSamplingWeight(schema, relation, sent.weight));
  }
  return rule;
}

// The edges of a destination that an answer is to have.
struct Wanted {
  int64_t first = 0;
  int64_t count = 0;
  int64_t more = 0;  // behind them
};

// Of `drawn` edges of the destination at `position` of a group.
StatusOr<Wanted> WantedOf(const LayerSampleGroup& group, size_t position, int64_t drawn) {
  if (position > 0) return Wanted{.count = drawn};
  if (group.first_edge > 0 && group.first_edge >= static_cast<uint64_t>(drawn)) {
    return OutOfRange("{}: edges from {} on of the {} drawn for node {}", group.relation,
                      group.first_edge, drawn, group.destinations[0]);
  }
  const auto first = static_cast<int64_t>(group.first_edge);
  const int64_t left = drawn - first;
  const bool all = group.max_edges == 0 || group.max_edges >= static_cast<uint64_t>(left);
  const int64_t count = all ? left : static_cast<int64_t>(group.max_edges);
  return Wanted{.first = first, .count = count, .more = left - count};
}

int64_t MoreBytes(const Wanted& wanted) {
  return wanted.more > 0 ? wire::kSampleGroupReplyMoreOverhead : 0;
}

// What an edge takes in a reply, and a destination beside its count and edges.
struct Sizes {
  int64_t edge = 0;
  int64_t destination = 0;

  static Sizes Of(const LayerSamplePlan& plan) {
    return {.edge = EdgeBytes(plan),
            .destination = plan.draws.degrees ? int64_t{sizeof(uint64_t)} : 0};
  }
};

// What `wanted` takes in a reply; more than `room`, if it does not fit.
int64_t WantedBytes(const Wanted& wanted, const Sizes& sizes, int64_t room) {
  if (wanted.count > room) return room + 1;  // first, so that the product below is small
  const size_t count_bytes = wire::VarintBytes(static_cast<uint64_t>(wanted.count));
  return wanted.count * sizes.edge + sizes.destination + static_cast<int64_t>(count_bytes) +
         MoreBytes(wanted);
}

// The first edges of `wanted`, as many as `room` holds; maybe none.
Wanted PieceOf(const Wanted& wanted, const Sizes& sizes, int64_t room) {
  const int64_t beside =
      wire::kSampleGroupReplyMoreOverhead + int64_t{wire::kLongestVarint} + sizes.destination;
  const int64_t count = std::clamp<int64_t>((room - beside) / sizes.edge, 0, wanted.count);
  return {.first = wanted.first, .count = count, .more = wanted.more + wanted.count - count};
}

// Fills plan->counts, edges and what the first has more for the longest prefix of the group's
// destinations whose answer takes at most `room` bytes; gives the bytes it takes. `pieces`: where
// the first alone does not fit, a piece of it is taken. DataLoss: the offsets of one of them are
// damaged. OutOfRange as WantedOf.
StatusOr<int64_t> CountWhatFits(const LayerSampleGroup& group, bool pieces, int64_t room,
                                LayerSamplePlan* plan) {
  const Sizes sizes = Sizes::Of(*plan);
  const std::span<const int64_t> destinations = group.destinations;
  int64_t bytes = 0;
  for (size_t i = 0; i < destinations.size() && plan->more_edges == 0; ++i) {
    const int64_t v = destinations[i];
    const int64_t drawn = CountPicks(plan->draws, v);
    if (drawn < 0) {
      return DamageOf({.kind = FusedOutcome::Kind::kDamagedOffsets, .id = v}, group.relation);
    }
    HG_ASSIGN_OR_RETURN(Wanted wanted, WantedOf(group, i, drawn));
    if (pieces && i == 0 && WantedBytes(wanted, sizes, room) > room) {
      wanted = PieceOf(wanted, sizes, room);
      if (wanted.count == 0) break;
    }
    const int64_t more = WantedBytes(wanted, sizes, room - bytes);
    if (bytes + more > room) break;
    bytes += more;
    plan->counts.push_back(static_cast<uint32_t>(wanted.count));
    plan->edges += wanted.count;
    if (i > 0) continue;
    plan->first_edge = wanted.first;
    plan->more_edges = wanted.more;
  }
  plan->destinations = destinations.first(plan->counts.size());
  return bytes;
}

// Copies ids of 8 bytes as ids of 4; returns the end of what was written.
std::byte* WriteNarrow(std::span<const int64_t> ids, std::byte* out) {
  for (const int64_t id : ids) {
    const auto narrow = static_cast<uint32_t>(id);
    std::memcpy(out, &narrow, sizeof(narrow));
    out += sizeof(narrow);
  }
  return out;
}

// Copies values as they are; returns the end of what was written.
template <typename T>
std::byte* Write(const std::vector<T>& values, std::byte* out) {
  if (values.empty()) return out;  // and `out` may be null
  const size_t bytes = values.size() * sizeof(T);
  std::memcpy(out, values.data(), bytes);
  return out + bytes;
}

}  // namespace

StatusOr<LayerSamplePlan> SampleHandler::Resolve(const LayerSampleRequest& request,
                                                 const LayerSampleGroup& group) const {
  const Schema& schema = graph_->schema();
  LayerSamplePlan plan;
  HG_ASSIGN_OR_RETURN(plan.relation, schema.RelationIndex(group.relation));
  HG_ASSIGN_OR_RETURN(const DrawRule rule, RuleOf(schema, plan.relation, group.rule));
  const NodeType& destination = schema.node_types[schema.DestinationType(plan.relation)];
  HG_RETURN_IF_ERROR(
      graph_->CheckOwned(graph_->book().NodeBoundaries(schema.DestinationType(plan.relation)),
                         group.destinations, "node type " + destination.name));
  const uint32_t layer = group.layer.value_or(request.layer);
  HG_RETURN_IF_ERROR(CheckLayer(layer));
  const uint64_t layer_key =
      LayerKey(group.batch_seed.value_or(request.batch_seed), static_cast<int>(layer),
               static_cast<int>(schema.relations.size()), plan.relation);
  plan.wide = schema.node_types[schema.SourceType(plan.relation)].count > (int64_t{1} << 32);
  if ((group.first_edge > 0 || group.max_edges > 0) &&
      (!request.edge_pieces || group.destinations.empty())) {
    return InvalidArgument(
        "{}: first_edge {} and max_edges {} of a group with {} destinations, in a request that "
        "takes {}pieces",
        group.relation, group.first_edge, group.max_edges, group.destinations.size(),
        request.edge_pieces ? "" : "no ");
  }
  if (group.weights && rule.weight < 0 && !rule.nothing()) {
    return InvalidArgument(
        "{}: weights of drawn edges are asked for, but draws are uniform: name the edge feature to "
        "draw by, or do not ask for weights",
        group.relation);
  }
  HG_ASSIGN_OR_RETURN(plan.draws, MakeLayerDraws(graph_->topology()[plan.relation], rule, layer_key,
                                                 {.edge_ids = group.edge_ids,
                                                  .weights = group.weights,
                                                  .degrees = group.degrees}));
  return plan;
}

StatusOr<std::vector<LayerSamplePlan>> SampleHandler::Plan(
    const LayerSampleRequest& request) const {
  HG_RETURN_IF_ERROR(graph_->CheckServesTopology());
  if (request.groups.size() > kMaxGroups) {
    return InvalidArgument("{} groups in one request, at most {} are taken: split it",
                           request.groups.size(), kMaxGroups);
  }
  HG_RETURN_IF_ERROR(CheckLayer(request.layer));
  std::vector<LayerSamplePlan> plans;
  plans.reserve(request.groups.size());
  for (const LayerSampleGroup& group : request.groups) {  // all of it is checked, even if cut
    HG_ASSIGN_OR_RETURN(LayerSamplePlan plan, Resolve(request, group));
    plans.push_back(std::move(plan));
  }
  HG_RETURN_IF_ERROR(CutToFit(request, &plans));
  return plans;
}

Status SampleHandler::CutToFit(const LayerSampleRequest& request,
                               std::vector<LayerSamplePlan>* plans) const {
  int64_t bytes = 0;
  for (size_t g = 0; g < plans->size(); ++g) {
    LayerSamplePlan& plan = (*plans)[g];
    const LayerSampleGroup& group = request.groups[g];
    bytes += GroupOverheadBytes(plan);
    HG_ASSIGN_OR_RETURN(const int64_t more, CountWhatFits(group, request.edge_pieces && g == 0,
                                                          max_reply_bytes_ - bytes, &plan));
    bytes += more;
    const bool whole = plan.counts.size() == group.destinations.size() && plan.more_edges == 0;
    if (whole && bytes <= max_reply_bytes_) continue;
    if (g == 0 && plan.counts.empty()) {
      return ResourceExhausted(
          "{}: the node of global id {} alone draws {} edges, more than a message of {} bytes "
          "holds: lower the fanout {}, start the server with a larger --max-message-bytes, or use "
          "a client of this version, which takes them in pieces",
          group.relation, group.destinations[0], CountPicks(plan.draws, group.destinations[0]),
          max_reply_bytes_, plan.draws.rule().fanout);
    }
    plans->resize(plan.counts.empty() ? g : g + 1);
    break;
  }
  return OkStatus();
}

Status SampleHandler::Draw(const LayerSamplePlan& plan, const wire::SampleGroupArrays& out) const {
  thread_local NeighborPicks picks;  // its memory is reused
  Status status = DrawInPieces(plan, &picks, out);
  if (picks.sources.capacity() > kKeptEdges) picks = NeighborPicks();
  if (status.ok() && counters_ != nullptr && !plan.draws.rule().nothing()) {
    counters_->Sampled(plan.relation,
                       plan.draws.rule().kind == DrawKind::kLabor ? CountedSampler::kLabor
                                                                  : CountedSampler::kNeighbor,
                       {.destinations = std::ssize(plan.destinations),
                        .edges = plan.edges,
                        .scanned = ScannedEdges(plan)});
  }
  return status;
}

Status SampleHandler::CheckDrawn(const LayerSamplePlan& plan, const NeighborPicks& picks,
                                 int64_t counted, std::span<const int64_t> destinations) const {
  const std::string relation = graph_->schema().relations[plan.relation].triple();
  if (picks.size() != counted) {
    return DataLoss(
        "{}: {} edges were counted and {} drawn for {} destinations from node {} on; the "
        "partition folder changes while it is served: restart the server with --verify contents",
        relation, counted, picks.size(), destinations.size(), destinations[0]);
  }
  const auto expected = [&](bool wanted) { return wanted ? picks.sources.size() : 0; };
  if (picks.edge_ids.size() == expected(plan.draws.edge_ids) &&
      picks.weights.size() == expected(plan.draws.weights >= 0) &&
      picks.degrees.size() == (plan.draws.degrees ? destinations.size() : 0)) {
    return OkStatus();
  }
  return Internal("{}: {} edges were drawn with {} edge ids, {} weights and {} degrees", relation,
                  picks.size(), picks.edge_ids.size(), picks.weights.size(), picks.degrees.size());
}

void SampleHandler::WritePicks(const LayerSamplePlan& plan, const NeighborPicks& picks,
                               wire::SampleGroupArrays* out) {
  out->sources =
      plan.wide ? Write(picks.sources, out->sources) : WriteNarrow(picks.sources, out->sources);
  out->edge_ids = Write(picks.edge_ids, out->edge_ids);
  out->weights = Write(picks.weights, out->weights);
  out->degrees = Write(picks.degrees, out->degrees);
}

Status SampleHandler::DrawRange(const LayerSamplePlan& plan, int64_t first, int64_t count,
                                NeighborPicks* picks, wire::SampleGroupArrays* out) const {
  const FusedOutcome outcome =
      SampleNeighborRange(plan.draws, plan.destinations[0], first, count, picks);
  if (!outcome.done()) {
    return DamageOf(outcome, graph_->schema().relations[plan.relation].triple());
  }
  HG_RETURN_IF_ERROR(CheckDrawn(plan, *picks, count, plan.destinations.first(1)));
  WritePicks(plan, *picks, out);
  return OkStatus();
}

Status SampleHandler::DrawInPieces(const LayerSamplePlan& plan, NeighborPicks* picks,
                                   wire::SampleGroupArrays out) const {
  size_t begin = 0;
  if (plan.first_edge > 0 || plan.more_edges > 0) {
    HG_RETURN_IF_ERROR(DrawRange(plan, plan.first_edge, plan.counts[begin++], picks, &out));
  }
  for (size_t end = begin; begin < plan.destinations.size(); begin = end) {
    int64_t edges = 0;
    do {
      edges += plan.counts[end++];
    } while (end < plan.destinations.size() && edges + plan.counts[end] <= kDrawEdges);
    const FusedOutcome outcome =
        SampleNeighbors(plan.draws, plan.destinations.subspan(begin, end - begin), nullptr, picks);
    if (!outcome.done()) {
      return DamageOf(outcome, graph_->schema().relations[plan.relation].triple());
    }
    HG_RETURN_IF_ERROR(
        CheckDrawn(plan, *picks, edges, plan.destinations.subspan(begin, end - begin)));
    WritePicks(plan, *picks, &out);
  }
  return OkStatus();
}

}  // namespace halograph::server
